import TestSupport
import Testing
import TidemarkLog

/// Control records of modules that do not wait for a caller's events.
@Suite struct ControlCommitTests {
  @Test(arguments: Durability.allCases)
  func `it survives a power cut whatever level the log has, and so does what was acknowledged before it`(_ level: Durability) throws {
    let fixture = try Fixture { $0.durability = level }
    try fixture.log.append(event("a"))
    let offset = try fixture.log.commit(control: .erasure, data: [7, 8])
    #expect(offset == 2 && fixture.log.size == 3 && fixture.log.durable == 3)
    try fixture.cutPower()
    let record = try fixture.log.event(at: offset)
    #expect(record.kind == .erasure && record.data == [7, 8] && record.isControl)
    #expect(try fixture.texts() == ["a"] && fixture.verify().findings.isEmpty)
  }

  @Test func `a new session and what is staged go before it`() throws {
    let fixture = try Fixture()
    try fixture.log.stage(control: .receipt, data: [1])
    #expect(try fixture.log.commit(control: .erasure, data: [2]) == 2)
    #expect(try fixture.log.commit(control: .keyRotation, data: [3]) == 3)
    try fixture.reopen()
    #expect(try fixture.log.commit(control: .erasure, data: [4]) == 5)
    try fixture.log.append(event("a"))
    let all = try (0..<fixture.log.size).map { try fixture.log.event(at: $0) }
    #expect(all.map(\.kind) == [.session, .receipt, .erasure, .keyRotation, .session, .erasure, .event])
    #expect(all.map(\.continuesBatch).allSatisfy { !$0 })
    #expect(try fixture.texts() == ["a"])
  }

  @Test func `one that fails leaves the session and what was staged for the next`() throws {
    let fixture = try Fixture()
    try fixture.log.stage(control: .receipt, data: [1])
    fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .write)
    #expect(code { _ = try fixture.log.commit(control: .erasure, data: [2]) } == .outcomeUnknown)
    fixture.disk.plan = FaultPlan()
    #expect(try fixture.log.commit(control: .erasure, data: [3]) == 2)
    let all = try (0..<fixture.log.size).map { try fixture.log.event(at: $0) }
    #expect(all.map(\.kind) == [.session, .receipt, .erasure] && all.map(\.data)[1...2] == [[1], [3]])
    try fixture.cutPower()
    #expect(fixture.log.size == 3)
  }

  @Test func `kinds, sizes and a closed log are refused as in staging`() throws {
    let fixture = try Fixture { $0.maximumEventByteCount = 1000 }
    for kind in UInt8.min...UInt8.max where !((4...6).contains(kind) || kind >= 16) {
      #expect(code { _ = try fixture.log.commit(control: EventKind(rawValue: kind), data: []) } == .invalidEvent)
    }
    #expect(code { _ = try fixture.log.commit(control: .erasure, data: [UInt8](repeating: 1, count: 953)) } == .tooLarge)
    #expect(code { _ = try fixture.reader().commit(control: .erasure, data: []) } == .readOnly)
    #expect(fixture.log.size == 0)
    try fixture.log.close()
    #expect(code { _ = try fixture.log.commit(control: .erasure, data: []) } == .closed)
  }

  @Test func `it takes a suspended log up again`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.suspend()
    let offset = try fixture.log.commit(control: .erasure, data: [1])
    #expect(try fixture.log.event(at: offset).kind == .erasure && fixture.log.durable == offset + 1)
  }
}
