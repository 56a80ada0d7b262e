import TestSupport
import Testing
import TidemarkLog

/// A mark records on the disk how far history is durable, so that recovery can tell damage from a torn tail.
@Suite struct MarkTests {
  /// Spoils the frame of the last event.
  private func spoilLastEvent(_ fixture: Fixture) throws {
    let text = Array("the last".utf8)
    for path in fixture.segmentFiles {
      let bytes = fixture.disk.image.contents(of: path) ?? []
      guard let at = (0..<(bytes.count - text.count)).first(where: { Array(bytes[$0..<($0 + text.count)]) == text }) else { continue }
      return try fixture.disk.image.flipBit(at * 8, of: path)
    }
    Issue.record("the event is nowhere")
  }

  private func logWithLastEvent(then step: (Log) throws -> Void) throws -> Fixture {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.append(event("the last"))
    try step(fixture.log)
    fixture.disk.processKill()
    try spoilLastEvent(fixture)
    try fixture.kill()
    return fixture
  }

  @Test func `damage to what nothing records is a torn tail, kept aside`() throws {
    let fixture = try logWithLastEvent { _ in }
    let report = fixture.log.recoveryReport
    #expect(report.findings.map(\.kind) == [.tornTail] && report.gaps.isEmpty && !report.wasClean)
    #expect(report.findings.first?.offsets == 2..<2)
    #expect(report.preservedBytes > 100 && report.preservedFiles.count == 1)
    let kept = try #require(fixture.disk.image.contents(of: "/log/" + (report.preservedFiles.first ?? "")))
    #expect(UInt64(kept.count) == report.preservedBytes)
    let reason = fixture.disk.image.files(under: "/log/torn").first { $0.hasSuffix(".txt") }
    #expect(reason.flatMap { fixture.disk.image.contents(of: $0) }.map { String(decoding: $0, as: UTF8.self) }?.contains("byte") == true)
    #expect(try fixture.texts() == ["a"])
    #expect(try fixture.log.append(event("b")).offset == 3)
  }

  @Test(arguments: ["mark", "close", "suspend", "next event"])
  func `damage to what is recorded as durable is a reported gap`(_ how: String) throws {
    let fixture = try logWithLastEvent { log in
      switch how {
      case "mark": #expect(try log.recordDurable() == 3)
      case "close": try log.close()
      case "suspend": try log.suspend()
      default: try log.append(event("next"))
      }
    }
    let damage = try #require(fixture.log.recoveryReport.findings.first { !$0.isHarmless })
    #expect(damage.kind == .damagedFrame && damage.offsets == 2..<3 && damage.position ?? 0 > 4096)
    #expect(fixture.log.recoveryReport.gaps == [2..<3])
    let refused = error { _ = try fixture.texts() }
    #expect(refused?.code == .corrupt && refused?.offsets == 2..<3)
    #expect(try fixture.log.append(event("b")).offset == (how == "next event" ? 5 : 4))
    // Once given up, it stays a known gap.
    try fixture.reopen()
    #expect(fixture.log.recoveryReport.gaps == [2..<3])
    #expect(try fixture.texts(Query(onDamage: .skip)).first == "a")
  }

  /// Opening reads of a closed segment no more than its header; reading and verifying meet the damage.
  @Test func `damage below a successor's pin is damage too`() throws {
    let fixture = try logWithLastEvent { try $0.roll() }
    let report = try fixture.verify()
    #expect(report.findings.filter { !$0.isHarmless }.map(\.kind) == [.damagedFrame] && report.findings.contains { $0.offsets == 2..<3 })
    #expect(error { _ = try fixture.texts() }?.offsets == 2..<3)
    try fixture.log.seal()
    #expect(try fixture.log.statistics().gaps == [2..<3])
    #expect(try fixture.texts(Query(onDamage: .skip)) == ["a"])
  }

  @Test func `a floor that the host knows counts as a record`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.append(event("the last"))
    fixture.disk.processKill()
    try spoilLastEvent(fixture)
    fixture.options.durableFloor = 3
    try fixture.kill()
    #expect(fixture.log.recoveryReport.gaps == [2..<3])
    fixture.options.durableFloor = 10
    try fixture.kill()
    let missing = try #require(fixture.log.recoveryReport.findings.first { $0.kind == .missingNewest })
    #expect(missing.offsets == 3..<10)
    #expect(fixture.log.size == 10)
    // New events never take offsets that something else was known under.
    #expect(try fixture.log.append(event("b")).offset == 11)
    fixture.options.onCorruption = .refuse
    fixture.options.durableFloor = 100
    fixture.disk.processKill()
    #expect(code { _ = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment) } == .corrupt)
  }

  @Test func `one is written only when nothing names the durable offset yet`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    fixture.disk.trace = []
    #expect(try fixture.log.recordDurable() == 2)
    #expect(fixture.disk.trace?.map(\.kind) == [.write, .sync])
    fixture.disk.trace = []
    for _ in 0..<5 { #expect(try fixture.log.recordDurable() == 2) }
    #expect(fixture.disk.trace?.isEmpty == true)
    try fixture.log.append(event("b"))
    #expect(try fixture.log.recordDurable() == 3)
    try fixture.log.roll()
    fixture.disk.trace = []
    // The header of the new segment names it.
    #expect(try fixture.log.recordDurable() == 3)
    #expect(fixture.disk.trace?.isEmpty == true)
    #expect(fixture.log.size == 3)
  }

  @Test(arguments: Durability.allCases)
  func `recording makes durable what was acknowledged, and survives a power cut`(_ level: Durability) throws {
    let fixture = try Fixture { $0.durability = level }
    try fixture.log.append([event("a"), event("b")])
    #expect(try fixture.log.recordDurable() == 3)
    #expect(fixture.log.durable == 3)
    fixture.disk.powerCycle(.losesEverything)
    fixture.clock.reboot()
    let reader = try fixture.reader()
    #expect(reader.size == 3)
    #expect(try Fixture.texts(reader) == ["a", "b"])
  }

  @Test func `marks and close frames take no offset and no place in history`() throws {
    let fixture = try Fixture()
    for number in 0..<10 {
      try fixture.log.append(event("\(number)"))
      try fixture.log.recordDurable()
      if number % 3 == 0 { try fixture.reopen() }
    }
    #expect(fixture.log.size == 14)
    let before = try fixture.verify()
    #expect(before.eventCount == 10 && before.controlEventCount == 4)
    try fixture.log.seal()
    #expect(try fixture.texts() == (0..<10).map { "\($0)" })
    #expect(try fixture.verify().frameCount < before.frameCount)
  }
}
