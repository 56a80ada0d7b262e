import Foundation
import TestSupport
import Testing
import TidemarkLog

@Suite struct SealTests {
  private func fill(_ log: Log) throws {
    for number in 0..<60 {
      try log.append(TestEvent(number: UInt64(number), dataByteCount: number * 13 % 500).newEvent())
      if number % 20 == 19 { try log.stage(control: .receipt, data: [UInt8(number)]) }
    }
  }

  private func records(_ log: Log) throws -> [[UInt8]] {
    var records: [[UInt8]] = []
    var cursor = try log.read(Query(includesControlEvents: true))
    while let record = try cursor.nextRecord() { records.append(record.1) }
    return records
  }

  @Test(arguments: [Compression.none, .fast, .high])
  func `the sealed form holds the same records to the byte, in fewer and smaller frames`(_ compression: Compression) throws {
    let fixture = try Fixture {
      $0.compression = compression
      $0.segmentByteCount = 65536
    }
    try fill(fixture.log)
    try fixture.log.append((60..<70).map { TestEvent(number: UInt64($0), dataByteCount: 300).newEvent() })
    let before = try records(fixture.log)
    let frames = try fixture.verify().frameCount
    try fixture.log.seal()
    #expect(try records(fixture.log) == before)
    let report = try fixture.verify()
    #expect(report.findings.isEmpty && report.frameCount < frames / 10 && report.eventCount == 70)
    let statistics = try fixture.log.statistics()
    let sealed = try #require(fixture.segmentFiles.first { $0.hasSuffix(".sealed") })
    let length = UInt64(fixture.disk.image.contents(of: sealed)?.count ?? 0)
    if compression != .none { #expect(length < 4096 + 4096 + statistics.bytesOfEvents) }
    try fixture.reopen()
    #expect(try records(fixture.log) == before)
  }

  @Test func `an event larger than a frame of the sealed form keeps its own`() throws {
    let fixture = try Fixture { $0.segmentByteCount = 1 << 20 }
    var random = SeededRandom(seed: 3)
    let large = (0..<200_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    try fixture.log.append([event("a"), NewEvent(type: "t", data: large), event("b")])
    try fixture.log.seal()
    #expect(try fixture.log.event(at: 2).data == large && fixture.log.event(at: 3).data == Array("b".utf8))
    #expect(try fixture.verify().findings.isEmpty)
  }

  @Test func `an empty newest segment is not rolled, and sealing twice does nothing`() throws {
    let fixture = try Fixture()
    try fixture.log.seal()
    #expect(fixture.segmentFiles.count == 1)
    try fixture.log.append(event("a"))
    try fixture.log.seal()
    fixture.disk.trace = []
    try fixture.log.seal()
    #expect(fixture.disk.trace?.contains { !Calls.changing.isDisjoint(with: $0.kind) } == false)
  }

  @Test func `a file on the real disk is read-only once it is sealed`() throws {
    let real = try RealLog { $0.sealing = .manual }
    try real.log.append(event("a"))
    try real.log.seal()
    let folder = real.path + "/segments"
    let sealed = try #require(FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".sealed") })
    let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(sealed)")[.posixPermissions] as? Int
    #expect(mode == 0o444)
  }

  @Test func `segments are sealed by themselves, and none is left when all is quiet`() async throws {
    let real = try RealLog { $0.durability = .written }
    for number in 0..<600 { try await real.log.append(event("\(number)")) }
    #expect(try await eventually { try real.log.statistics().openSegmentCount == 1 })
    let statistics = try real.log.statistics()
    #expect(statistics.sealedSegmentCount >= 3 && statistics.userEventCount == 600)
    #expect(try Fixture.texts(real.log) == (0..<600).map { "\($0)" })
    // The open form of the last one may be there for a moment longer.
    #expect(try await eventually { try real.log.verify().findings.isEmpty })
  }

  @Test func `what an earlier process left unsealed is sealed by the next`() async throws {
    let real = try RealLog { $0.sealing = .manual }
    for segment in 0..<3 {
      try await real.log.append((0..<5).map { event("\(segment)-\($0)") })
      try real.log.roll()
    }
    try real.log.close()
    var options = real.options
    options.sealing = .background
    let log = try Log.open(at: real.path, options: options)
    #expect(try await eventually { try log.statistics().sealedSegmentCount == 3 })
    #expect(try Fixture.texts(log).count == 15)
    try log.close()
  }

  /// At every call: one of the two forms is there, whole, whatever is lost.
  @Test func `a cut at any step of sealing leaves the history whole, and the next opening ends the work`() throws {
    let start = try Fixture()
    try start.log.append((0..<15).map { event("\($0)", id: id(UInt64($0))) })
    try start.log.roll()
    try start.log.append(event("15"))
    start.disk.processKill()
    let image = start.disk.image
    for kind in 0..<3 {
      for call in 0..<60 {
        let disk = SimulatedDisk(image)
        let environment = Environment.simulated(disk, seed: UInt64(call * 3 + kind + 2))
        let log = try Log.open(at: "/log", options: start.options, environment: environment)
        disk.plan = FaultPlan(.cut(writing: call * 53 % 700), at: disk.callCount + call)
        let isDone = (try? log.waitForSealing()) != nil
        disk.powerCycle([.losesEverything, .keepsEverything, .seeded(UInt64(call))][kind])
        let again = try Log.open(at: "/log", options: start.options, environment: environment)
        #expect(try Fixture.texts(again) == (0..<16).map { "\($0)" }, "call \(call)")
        #expect(again.recoveryReport.gaps.isEmpty && again.recoveryReport.findings.allSatisfy { $0.isHarmless })
        try again.waitForSealing()
        let names = disk.image.files(under: "/log/segments")
        #expect(names.count { $0.hasSuffix(".sealed") } == 1 && names.count == 2, "call \(call)")
        #expect(try again.event(id: id(7))?.offset == 8)
        #expect(try again.verify().findings.isEmpty)
        if isDone { break }
      }
    }
  }
}
