import TestSupport
import Testing
import TidemarkLog

/// Segments whose pages verify and contradict each other, and what is left of a log: found by the fuzzers.
@Suite struct ForgedSegmentTests {
  /// Two sealed segments and an open one, of four events each.
  private func log() throws -> Fixture {
    let fixture = try Fixture()
    for segment in 0..<3 {
      try fixture.log.append((0..<4).map { event("\(segment)\($0)", id: id(UInt64(segment * 4 + $0)), time: Int64(segment)) })
      if segment < 2 { try fixture.log.seal() }
    }
    try fixture.log.close()
    return fixture
  }

  private func texts(_ log: Log) throws -> [String] { try Fixture.texts(log, Query(onDamage: .skip)) }

  // The new segment's id sorts before or behind the other's.
  @Test(arguments: 1...6) func `what is appended behind the rest of a sealed segment is there again`(seed: UInt64) throws {
    let fixture = try log()
    let files = fixture.segmentFiles
    let environment = try fixture.forged(seed: seed) { image in
      try image.delete(files[2])
      var rest = try #require(image.contents(of: files[1]))
      rest.replaceSubrange(4096..., with: [UInt8](repeating: 0, count: rest.count - 4096))
      try image.setContents(of: files[1], to: rest)
    }.environment
    for round in 0..<3 {
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(try texts(log) == ["00", "01", "02", "03"] + (0..<round).map { "new \($0)" })
      try log.append(event("new \(round)"))
      try log.close()
    }
  }

  /// A file that claims the offsets in the middle of a frame: checking gives the frame up, and nobody is served a part of it.
  @Test func `of a frame that reaches beyond its segment nothing is served`() throws {
    let fixture = try Fixture()
    try fixture.log.append((0..<4).map { event("\($0)") })
    try fixture.log.close()
    let page = try #require(fixture.disk.image.contents(of: "/log/identity"))
    let environment = try fixture.forged(seed: 1) { image in
      try image.setContents(of: "/log/segments/00000000000000000002-\(String(repeating: "ab", count: 16)).sealed", to: page)
    }.environment
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
    #expect(report.eventCount == 0 && report.controlEventCount == 0 && !report.isOK)
    #expect(try Fixture.texts(reader, Query(includesControlEvents: true, onDamage: .skip)) == [])
    #expect(code { _ = try reader.event(at: 1) } == .corrupt)
  }

  @Test func `a query by time ends where an index leads back`() throws {
    let fixture = try log()
    let files = fixture.segmentFiles
    let environment = try fixture.forged { image in
      try image.delete(files[2])
      var forgery = try Forgery(image, files[1])
      forgery.changeFooter { bytes, start in
        let end = bytes.rawSpan.u64(start + 88)
        bytes.store(end + 1, at: start + 88)
      }
      try forgery.put(into: &image)
    }.environment
    let log = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
    let all = Timestamp(nanoseconds: 0)...Timestamp(nanoseconds: 9)
    #expect(try Fixture.texts(log, Query(times: all, onDamage: .skip)) == ["00", "01", "02", "03", "10", "11", "12", "13"])
  }

  @Test func `a footer that claims more than its successor leaves it takes nothing from the successor`() throws {
    let fixture = try log()
    let files = fixture.segmentFiles
    let environment = try fixture.forged { image in
      var forgery = try Forgery(image, files[1])
      forgery.changeFooter { bytes, start in
        let end = bytes.rawSpan.u64(start + 88)
        bytes.store(end + 1, at: start + 88)
      }
      try forgery.put(into: &image)
    }.environment
    var expected = ["00", "01", "02", "03", "10", "11", "12", "13", "20", "21", "22", "23"]
    for round in 0..<3 {
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(try texts(log) == expected)
      try log.append(event("new \(round)"))
      expected.append("new \(round)")
      try log.seal()
      try log.close()
    }
  }

  @Test func `a segment is not packed again under the header of another log`() throws {
    let fixture = try log()
    let files = fixture.segmentFiles
    let environment = try fixture.forged { image in
      var forgery = try Forgery(image, files[0])
      forgery.changePage(at: 0, byteCount: 4096) { $0.store(UInt64(7), at: 32) }
      for frame in forgery.frames { forgery.changeFrame(frame) { _ in } }
      try forgery.put(into: &image)
    }.environment
    // Nothing in it belongs to this log; and nothing that is served once may be gone later.
    let expected = ["10", "11", "12", "13", "20", "21", "22", "23"]
    for _ in 0..<2 {
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(try texts(log) == expected)
      try log.waitForSealing()
      #expect(try texts(log) == expected)
      try log.close()
      let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
      #expect(!report.findings.contains { $0.kind == .foreignSegment })
    }
  }

  @Test func `an id index that claims more pages than there are offsets is made again`() throws {
    let fixture = try Fixture()
    for segment in 0..<9 {
      try fixture.log.append(event("\(segment)", id: id(UInt64(segment))))
      try fixture.log.seal()
    }
    try fixture.log.close()
    let run = try #require(fixture.disk.image.files(under: "/log/index").first)
    let environment = try fixture.forged { image in
      var forgery = try Forgery(image, run)
      forgery.changePage(at: 0, byteCount: 4096) { $0.store(UInt64(1) << 60, at: 64) }
      try forgery.put(into: &image)
    }.environment
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    #expect(report.findings.map(\.kind) == [.damagedIndex])
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(try log.append(event("3", id: id(3))).isDuplicate)
    try log.close()
  }

  @Test(arguments: [80, 104, 144, 176, 184]) func `a header that names an offset that no log reaches is damaged`(field: Int) throws {
    let fixture = try log()
    let files = fixture.segmentFiles
    let environment = try fixture.forged { image in
      var forgery = try Forgery(image, files[2])
      forgery.changePage(at: 0, byteCount: 4096) { $0.store(UInt64(1) << 45, at: field) }
      try forgery.put(into: &image)
    }.environment
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    #expect(report.findings.contains { $0.kind == .damagedHeader })
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(log.size < 100)
    try log.append(event("d"))
  }
}
