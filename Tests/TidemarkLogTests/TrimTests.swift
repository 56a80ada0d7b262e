import TestSupport
import Testing
import TidemarkLog

@Suite struct TrimTests {
  /// Five sealed segments of ten events; the first has the session too.
  private func sample(_ change: (inout LogOptions) -> Void = { _ in }) throws -> Fixture {
    let fixture = try Fixture(change)
    for segment in 0..<5 {
      try fixture.log.append((0..<10).map { event("\(segment)-\($0)", id: id(UInt64(segment * 10 + $0))) })
      try fixture.log.seal()
    }
    return fixture
  }

  @Test func `only whole segments below the floor go, whatever floor is asked for`() throws {
    let bases: [UInt64] = [0, 11, 21, 31, 41, 51]
    for floor in UInt64(0)...51 {
      let fixture = try sample()
      let first = try fixture.log.trim(below: floor)
      #expect(first == bases.last { $0 <= floor } && fixture.log.first == first, "floor \(floor)")
      let kept = fixture.segmentFiles.count
      #expect(kept == 6 - (bases.firstIndex(of: first) ?? 0))
      // Asked again, or for less, it does nothing.
      let size = fixture.log.size
      #expect(try fixture.log.trim(below: floor) == first && fixture.log.trim(below: 0) == first && fixture.log.size == size)
    }
  }

  @Test func `a file that is gone already does not keep the others`() throws {
    let fixture = try sample()
    try fixture.disk.remove(fixture.segmentFiles[0])
    #expect(try fixture.log.trim(below: 31) == 31)
    #expect(fixture.segmentFiles.count == 3)
    #expect(try fixture.texts().first == "3-0" && fixture.verify().findings.isEmpty)
  }

  @Test func `the newest segment stays, also one that is not sealed yet`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    #expect(try fixture.log.trim(below: 2) == 0)
    try fixture.log.roll()
    try fixture.log.append(event("b"))
    // A closed segment need not be sealed to go.
    #expect(try fixture.log.trim(below: 3) == 2)
    #expect(try fixture.texts() == ["b"])
    #expect(code { try fixture.log.trim(below: 99) } == .offsetOutOfRange)
  }

  @Test func `the record of it is an event, which holds floor and session`() throws {
    let fixture = try sample { $0.program = "agent 7" }
    #expect(try fixture.log.trim(below: 25) == 21)
    let record = try fixture.log.event(at: fixture.log.size - 1)
    #expect(record.kind == .trim && record.isControl && record.data.prefix(8) == [21, 0, 0, 0, 0, 0, 0, 0])
    #expect(String(decoding: record.data, as: UTF8.self).contains("agent 7"))
    #expect(try fixture.texts() == (2..<5).flatMap { segment in (0..<10).map { "\(segment)-\($0)" } })
  }

  @Test(arguments: ["reopened", "killed", "cut off", "sealed on"])
  func `what was trimmed stays trimmed, and what stays is found`(_ state: String) throws {
    let fixture = try sample()
    try fixture.log.trim(below: 31)
    switch state {
    case "reopened": try fixture.reopen()
    case "killed": try fixture.kill()
    case "cut off": try fixture.cutPower()
    default:
      for number in 0..<9 {
        try fixture.log.append(event("more \(number)"))
        try fixture.log.seal()
      }
    }
    #expect(fixture.log.first == 31)
    #expect(fixture.log.recoveryReport.findings.isEmpty)
    for offset in [UInt64(0), 30] {
      let refused = error { _ = try fixture.log.event(at: offset) }
      #expect(refused?.code == .trimmed && refused?.offsets == offset..<31)
    }
    #expect(code { _ = try fixture.log.events(in: 30..<33) } == .trimmed)
    #expect(try fixture.log.events(in: 31..<33).count == 2)
    #expect(try fixture.log.event(id: id(5)) == nil && fixture.log.event(id: id(35))?.offset == 36)
    // Of a trimmed event nothing is known: its id is free again.
    #expect(try !fixture.log.append(event("0-5", id: id(5))).isDuplicate)
    #expect(try fixture.log.append(event("3-5", id: id(35))).isDuplicate)
    #expect(try fixture.verify().findings.isEmpty)
  }

  /// Without its record, a missing oldest segment is damage.
  @Test func `a segment that somebody else removed is missing, not trimmed`() throws {
    let fixture = try sample()
    try fixture.log.close()
    try fixture.disk.image.delete(fixture.segmentFiles[0])
    try fixture.reopen()
    let finding = try #require(fixture.log.recoveryReport.findings.first)
    #expect(finding.kind == .missingOldest && finding.offsets == 0..<11 && !finding.isHarmless)
    #expect(error { _ = try fixture.log.event(at: 3) }?.code == .corrupt)
    // Trimming past it settles the matter.
    #expect(try fixture.log.trim(below: 21) == 21)
    try fixture.reopen()
    #expect(fixture.log.first == 21 && fixture.log.recoveryReport.findings.isEmpty)
  }

  @Test func `damaged segments go like others, unless the policy is to refuse`() throws {
    for policy in [CorruptionPolicy.quarantine, .salvage] {
      let fixture = try sample { $0.onCorruption = policy }
      try fixture.log.close()
      try fixture.disk.image.flipBit(4200 * 8, of: fixture.segmentFiles[1])
      try fixture.reopen()
      #expect(try fixture.log.trim(below: 25) == 21)
      #expect(try fixture.verify().findings.isEmpty)
    }
  }

  @Test func `a cursor and a log opened for reading find what stays`() throws {
    let fixture = try sample()
    let reader = try fixture.reader()
    try fixture.log.trim(below: 31)
    #expect(error { _ = try reader.event(at: 12) }?.code == .trimmed)
    #expect(try Fixture.texts(reader).first == "3-0")
    #expect(try reader.statistics().first == 31)
  }

  @Test func `a removal that fails is done at the next opening`() throws {
    let fixture = try sample()
    fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .remove)
    #expect(code { try fixture.log.trim(below: 31) } == .io)
    fixture.disk.plan = FaultPlan()
    #expect(fixture.log.first == 31)
    #expect(try fixture.texts().first == "3-0")
    try fixture.log.append(event("z"))
    try fixture.reopen()
    #expect(fixture.log.first == 31 && fixture.segmentFiles.count == 3)
    #expect(fixture.log.recoveryReport.findings.allSatisfy { $0.kind == .leftover })
    #expect(try fixture.verify().findings.isEmpty)
  }
}
