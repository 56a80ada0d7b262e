import TestSupport
import Testing
import TidemarkLog

@Suite struct StatisticsTests {
  /// What must be so of any log.
  private func check(_ fixture: Fixture, users: Int, controls: Int, sealed: Int, open: Int) throws {
    let image = fixture.disk.image
    let bytes = fixture.segmentFiles.reduce(0) { $0 + (image.contents(of: $1)?.count ?? 0) }
    var rawBytes = 0
    var cursor = try fixture.log.read(Query(includesControlEvents: true, onDamage: .skip))
    while let record = try cursor.nextRecord() { rawBytes += record.1.count }
    for log in [fixture.log, try fixture.reader()] {
      let statistics = try log.statistics()
      #expect(statistics.first == log.first && statistics.size == log.size && statistics.durable == log.durable)
      #expect(statistics.userEventCount == UInt64(users) && statistics.controlEventCount == UInt64(controls))
      #expect(statistics.sealedSegmentCount == sealed && statistics.openSegmentCount == open)
      #expect(statistics.bytesOfEvents == UInt64(rawBytes))
      #expect(statistics.gaps.isEmpty && statistics.lostOffsetCount == 0)
    }
    #expect(try fixture.reader().statistics().bytesOnDisk == UInt64(bytes))
  }

  @Test func `counts are the same for the writer and for readers, open, rolled, sealed, trimmed and reopened`() throws {
    let fixture = try Fixture()
    try check(fixture, users: 0, controls: 0, sealed: 0, open: 1)
    try fixture.log.append((0..<10).map { event("\($0)") })
    try check(fixture, users: 10, controls: 1, sealed: 0, open: 1)
    try fixture.log.roll()
    try fixture.log.append(event("a"))
    try check(fixture, users: 11, controls: 1, sealed: 0, open: 2)
    try fixture.reopen()
    try check(fixture, users: 11, controls: 1, sealed: 0, open: 2)
    try fixture.log.append(event("b"))
    try fixture.log.seal()
    try check(fixture, users: 12, controls: 2, sealed: 2, open: 1)
    #expect(try fixture.log.trim(below: 12) == 11)
    try check(fixture, users: 2, controls: 2, sealed: 1, open: 1)
    try fixture.kill()
    try check(fixture, users: 2, controls: 2, sealed: 1, open: 1)
  }

  @Test func `a reader counts what was appended since it looked`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let reader = try fixture.reader()
    try fixture.log.append((0..<10).map { event("\($0)") })
    let statistics = try reader.statistics()
    #expect(statistics.size == 12 && statistics.userEventCount == 11 && statistics.controlEventCount == 1)
    #expect(try statistics.bytesOfEvents == fixture.log.statistics().bytesOfEvents)
  }

  @Test func `what happened since the opening is counted`() throws {
    let fixture = try Fixture()
    for number in 0..<10 { try fixture.log.append([event("\(number)"), event("\(number)b")]) }
    var statistics = try fixture.log.statistics()
    #expect(statistics.commitCount == 10 && statistics.syncCount == 10)
    #expect(statistics.appendedByteCount == statistics.bytesOfEvents)
    try fixture.log.recordDurable()
    #expect(try fixture.log.statistics().syncCount == 11)
    #expect(code { try fixture.log.append(NewEvent(type: "")) } == .invalidEvent)
    #expect(try fixture.log.statistics().commitCount == 10)
    try fixture.reopen()
    statistics = try fixture.log.statistics()
    #expect(statistics.commitCount == 0 && statistics.syncCount == 0 && statistics.appendedByteCount == 0)
    #expect(statistics.userEventCount == 20)
  }

  @Test func `lost offsets are neither events of callers nor control events`() throws {
    let fixture = try Fixture()
    for number in 0..<10 { try fixture.log.append(event("\(number)")) }
    try fixture.log.close()
    // The frames of two events in the middle.
    let path = fixture.segmentFiles[0]
    let bytes = try #require(fixture.disk.image.contents(of: path))
    for text in ["4", "5"] {
      let record = Array("tests\(text)".utf8)
      let at = try #require((0..<(bytes.count - record.count)).first { Array(bytes[$0..<($0 + record.count)]) == record })
      try fixture.disk.image.flipBit(at * 8, of: path)
    }
    try fixture.reopen()
    for _ in 0..<2 {
      let statistics = try fixture.log.statistics()
      #expect(statistics.userEventCount == 8 && statistics.controlEventCount == 1 && statistics.lostOffsetCount == 2)
      #expect(statistics.gaps == [5..<7] || statistics.gaps == [5..<6, 6..<7])
      #expect(statistics.size == 11)
      try fixture.log.seal()
    }
    let report = try fixture.verify()
    #expect(report.eventCount == 8 && report.controlEventCount == 1 && !report.isOK)
    #expect(report.findings.filter { !$0.isHarmless }.allSatisfy { $0.kind == .gap })
  }

  @Test func `a missing segment's offsets are counted by nobody`() throws {
    let fixture = try Fixture()
    for segment in 0..<3 {
      try fixture.log.append((0..<10).map { event("\(segment)-\($0)") })
      try fixture.log.seal()
    }
    try fixture.log.close()
    try fixture.disk.image.delete(fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }[1])
    try fixture.reopen()
    let statistics = try fixture.log.statistics()
    #expect(statistics.userEventCount == 20 && statistics.controlEventCount == 1 && statistics.lostOffsetCount == 0)
    #expect(statistics.gaps == [11..<21] && statistics.size == 31)
    let refused = error { _ = try fixture.log.event(at: 15) }
    #expect(refused?.code == .corrupt && refused?.offsets == 11..<21)
  }
}
