import TestSupport
import Testing
import TidemarkLog

/// Optimistic concurrency: append only if nobody else did since the log had a size.
@Suite struct ExpectedSizeTests {
  @Test func `control events of the engine and of modules do not count`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"), expecting: 0)
    try fixture.log.append(event("b"), expecting: 2)
    let size = fixture.log.size
    try fixture.reopen()
    try fixture.log.stage(control: .receipt, data: [1])
    try fixture.log.append(event("c"), expecting: size)
    #expect(fixture.log.size == size + 3)
    #expect(code { try fixture.log.append(event("d"), expecting: size) } == .unexpectedSize)
    let before = fixture.log.size
    try fixture.log.seal()
    try fixture.log.trim(below: before)
    #expect(fixture.log.size > before)
    try fixture.log.append(event("d"), expecting: before)
    #expect(code { try fixture.log.append(event("e"), expecting: before) } == .unexpectedSize)
  }

  @Test func `what a gap has swallowed counts: it may have been a caller's`() throws {
    for isSealed in [false, true] {
      let fixture = try Fixture { $0.onCorruption = .quarantine }
      try fixture.log.append(event("a"))
      let before = fixture.log.size
      try fixture.log.append(event("b"))
      try fixture.log.recordDurable()
      var image = fixture.disk.image
      image.processKill()
      let file = fixture.segmentFiles[0]
      let bytes = image.contents(of: file) ?? []
      try image.flipBit(try #require(bytes.lastIndex(of: UInt8(ascii: "b"))) * 8, of: file)
      let disk = SimulatedDisk(image)
      let log = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 4))
      #expect(log.recoveryReport.gaps == [before..<before + 1])
      if isSealed { try log.seal() }
      #expect(code { try log.append(event("c"), expecting: before) } == .unexpectedSize)
      #expect(try log.append(event("c"), expecting: log.size).offset > before)
      try log.close()
      let report = try Log.verify(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 5))
      #expect(report.findings.allSatisfy { $0.kind == .gap } && report.findings.count == 1)
    }
  }

  @Test func `a refused append says what it met, and nothing of its batch is stored`() throws {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    let size = fixture.log.size
    let calls = fixture.disk.callCount
    let refused = error { try fixture.log.append([event("c"), event("d")], expecting: size - 1) }
    #expect(refused?.code == .unexpectedSize && refused?.offsets == size - 1..<size)
    #expect(refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
    #expect(fixture.disk.callCount == calls && fixture.log.size == size)
  }

  @Test func `a size that the log has not reached is refused`() throws {
    let fixture = try Fixture { $0.durability = .written }
    try fixture.log.append([event("a"), event("b")])
    try fixture.log.sync()
    try fixture.log.append(event("c"))
    let size = fixture.log.size
    // The decision rests on an event that the power cut took.
    try fixture.cutPower()
    #expect(try fixture.texts() == ["a", "b"])
    #expect(code { try fixture.log.append(event("d"), expecting: size) } == .unexpectedSize)
    #expect(code { try fixture.log.append(event("d"), expecting: .max) } == .unexpectedSize)
    try fixture.log.append(event("d"), expecting: fixture.log.size)
    #expect(try fixture.texts() == ["a", "b", "d"])
  }

  @Test(arguments: Durability.allCases)
  func `one's own size is what is expected next, at every level`(_ level: Durability) throws {
    let fixture = try Fixture { $0.durability = level }
    for number in 0..<20 {
      let size = fixture.log.size
      let appended = try fixture.log.append(event("\(number)"), expecting: size)
      #expect(appended.offset + 1 == fixture.log.size)
      #expect(code { try fixture.log.append(event("late"), expecting: size) } == .unexpectedSize)
    }
    #expect(try fixture.texts() == (0..<20).map { "\($0)" })
  }

  @Test func `a retry with the same ids is recognised though the log has grown by the first attempt`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let size = fixture.log.size
    let first = try fixture.log.append([event("b", id: id(1)), event("c", id: id(2))], expecting: size)
    let again = try fixture.log.append([event("b", id: id(1)), event("c", id: id(2))], expecting: size)
    #expect(again.map(\.offset) == first.map(\.offset) && again.allSatisfy { $0.isDuplicate })
    // With anything new in it the batch is judged as a whole.
    #expect(code { try fixture.log.append([event("b", id: id(1)), event("d", id: id(3))], expecting: size) } == .unexpectedSize)
  }

  @Test(arguments: Durability.allCases)
  func `after a failed write the expected size is still right`(_ level: Durability) throws {
    let fixture = try Fixture { $0.durability = level }
    try fixture.log.append(event("a"))
    try fixture.log.sync()
    var size = fixture.log.size
    fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: [.write, .sync])
    if level == .buffered {
      try fixture.log.append(event("b"), expecting: size)
      size += 1
      #expect(code { try fixture.log.sync() } != nil)
      try fixture.log.append(event("c"), expecting: size)
      size += 1
    } else {
      #expect(code { try fixture.log.append(event("b"), expecting: size) } == .outcomeUnknown)
    }
    fixture.disk.plan = FaultPlan()
    #expect(fixture.log.size == size)
    try fixture.log.append(event("z"), expecting: size)
    #expect(try fixture.texts() == (level == .buffered ? ["a", "b", "c", "z"] : ["a", "z"]))
  }
}
