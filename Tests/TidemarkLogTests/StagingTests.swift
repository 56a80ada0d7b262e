import TestSupport
import Testing
import TidemarkLog

/// Control records of modules: they wait for the next commit, and stand before its events.
@Suite struct StagingTests {
  @Test func `they stand in order before the next events, and reading hides them`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    for number in UInt8(0)..<3 { try fixture.log.stage(control: EventKind(rawValue: 16 + number), data: [number]) }
    try fixture.log.append([event("b"), event("c")])
    let all = try (0..<fixture.log.size).map { try fixture.log.event(at: $0) }
    #expect(all.map(\.kind.rawValue) == [2, 1, 16, 17, 18, 1, 1])
    #expect(all[2...4].map(\.data) == [[0], [1], [2]] && all[2...4].allSatisfy { $0.isControl && $0.type.isEmpty })
    #expect(Set(all.map(\.id)).count == 7)
    #expect(try fixture.texts() == ["a", "b", "c"])
    try fixture.log.seal()
    #expect(try fixture.log.events(in: 0..<7).map(\.data) == [Array("a".utf8), Array("b".utf8), Array("c".utf8)])
    let statistics = try fixture.log.statistics()
    #expect(statistics.userEventCount == 3 && statistics.controlEventCount == 4)
  }

  @Test func `alone they cause no call on the disk, and are lost with the process`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let calls = fixture.disk.callCount
    try fixture.log.stage(control: .receipt, data: [UInt8](repeating: 1, count: 1000))
    #expect(fixture.disk.callCount == calls && fixture.log.size == 2)
    try fixture.log.sync()
    try fixture.log.recordDurable()
    try fixture.log.roll()
    #expect(fixture.log.size == 2)
    try fixture.log.close()
    try fixture.reopen()
    #expect(fixture.log.size == 2)
  }

  @Test func `a commit that fails puts them back, in their place`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.stage(control: .receipt, data: [1])
    fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .write)
    #expect(code { try fixture.log.append(event("b")) } == .outcomeUnknown)
    try fixture.log.stage(control: .receipt, data: [2])
    #expect(code { try fixture.log.append(event("c")) } != nil)
    fixture.disk.plan = FaultPlan()
    try fixture.log.append(event("d"))
    let all = try (0..<fixture.log.size).map { try fixture.log.event(at: $0) }
    #expect(all.map(\.kind) == [.session, .event, .receipt, .receipt, .event])
    #expect(all.map(\.data)[2...3] == [[1], [2]])
    try fixture.cutPower()
    #expect(try fixture.log.event(at: 3).data == [2])
  }

  @Test func `an append that is refused takes none along`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a", id: id(1)))
    try fixture.log.stage(control: .receipt, data: [1])
    #expect(code { try fixture.log.append(event("b", id: id(1))) } == .conflict)
    #expect(code { try fixture.log.append(event("b"), expecting: 1) } == .unexpectedSize)
    #expect(code { try fixture.log.append(NewEvent(type: "")) } == .invalidEvent)
    #expect(try fixture.log.append(event("a", id: id(1))).isDuplicate)
    #expect(fixture.log.size == 2)
    try fixture.log.append(event("b"))
    #expect(try fixture.log.event(at: 2).kind == .receipt && fixture.log.size == 4)
  }

  @Test func `only kinds of modules are taken`() throws {
    let fixture = try Fixture()
    for kind in UInt8.min...UInt8.max {
      let isTaken = (4...6).contains(kind) || kind >= 16
      #expect(code { try fixture.log.stage(control: EventKind(rawValue: kind), data: [kind]) } == (isTaken ? nil : .invalidEvent))
    }
    try fixture.log.append(event("a"))
    #expect(fixture.log.size == 245)
    try fixture.log.seal()
    #expect(try fixture.verify().findings.isEmpty)
    #expect(try fixture.texts() == ["a"])
  }

  @Test func `one is bound by the limit of events`() throws {
    let fixture = try Fixture { $0.maximumEventByteCount = 1000 }
    try fixture.log.stage(control: .receipt, data: [UInt8](repeating: 1, count: 952))
    let refused = error { try fixture.log.stage(control: .receipt, data: [UInt8](repeating: 1, count: 953)) }
    #expect(refused?.code == .tooLarge && refused?.advice.isEmpty == false)
    try fixture.log.append(event("a"))
    #expect(try fixture.log.event(at: 1).data.count == 952)
  }
}
