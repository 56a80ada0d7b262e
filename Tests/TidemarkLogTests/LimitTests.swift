import TestSupport
import Testing
import TidemarkLog

/// Each limit of the format at its value and one above.
@Suite struct LimitTests {
  /// The length of a record that has a type of one byte, no other strings, and so much data.
  private func record(_ dataByteCount: Int) -> NewEvent { NewEvent(type: "t", data: [UInt8](repeating: 7, count: dataByteCount)) }
  private let recordOverhead = 49

  private static let strings: [(String, Int, @Sendable (String) -> NewEvent)] = [
    ("type", 255, { NewEvent(type: $0) }),
    ("subject", 1024, { NewEvent(type: "t", subject: $0) }),
    ("actor", 255, { NewEvent(type: "t", actor: $0) }),
    ("content type", 255, { NewEvent(type: "t", contentType: $0) }),
    ("media type", 255, { NewEvent(type: "t", extensions: [.attachment(attachment(mediaType: $0, name: ""))]) }),
    ("name of an attachment", 255, { NewEvent(type: "t", extensions: [.attachment(attachment(mediaType: "", name: $0))]) }),
    ("name of an attribute", 255, { NewEvent(type: "t", extensions: [.attribute(name: $0, value: "")]) }),
    // 4 bytes of entry, 1 of length, 1 of name.
    ("extensions", 65535 - 6, { NewEvent(type: "t", extensions: [.attribute(name: "n", value: $0)]) }),
    ("extensions", 65535 - 4 - 20, { NewEvent(type: "t", extensions: [.correlation(id(1)), .unknown(tag: 99, value: Array($0.utf8))]) }),
  ]

  private static func attachment(mediaType: String, name: String) -> EventExtension.Attachment {
    EventExtension.Attachment(byteCount: 1, digest: [UInt8](repeating: 1, count: 32), mediaType: mediaType, name: name)
  }

  @Test(arguments: strings.indices)
  func `a string is taken at its limit, counted in bytes, and refused one above`(_ index: Int) throws {
    let (what, limit, make) = Self.strings[index]
    let fixture = try Fixture()
    for unit in ["x", "é", "🙂"] {
      let count = limit / unit.utf8.count
      let longest = String(repeating: unit, count: count) + String(repeating: "x", count: limit - count * unit.utf8.count)
      let appended = try fixture.log.append(make(longest))
      let read = try fixture.log.event(at: appended.offset)
      let expected = make(longest)
      #expect(read.type == expected.type && read.subject == expected.subject && read.actor == expected.actor)
      #expect(try read.contentType == expected.contentType && read.extensions == expected.extensions)
      let refused = error { try fixture.log.append(make(longest + "x")) }
      #expect(refused?.code == .stringTooLong)
      #expect(refused?.what.contains(what) == true && refused?.why.contains("\(limit + 1)") != (what == "extensions"))
      #expect(refused?.advice.isEmpty == false)
    }
    try fixture.log.seal()
    try fixture.reopen()
    #expect(try fixture.texts().count == 3)
  }

  @Test func `an absent string and an empty one read as they are stored`() throws {
    let fixture = try Fixture()
    try fixture.log.append(NewEvent(type: "t", subject: "", actor: "", contentType: "", data: []))
    let read = try fixture.log.event(at: 1)
    // The format has no empty strings: a length of zero means absent.
    #expect(read.subject == nil && read.actor == nil && read.contentType == nil && read.data.isEmpty)
  }

  @Test func `events that break a rule are refused, and nothing of their batch is stored`() throws {
    let fixture = try Fixture()
    let short = EventExtension.Attachment(byteCount: 1, digest: [1, 2, 3], mediaType: "", name: "")
    for wrong in [
      NewEvent(type: ""), NewEvent(type: "t", extensions: [.attachment(short)]),
      NewEvent(type: "t", extensions: [.attribute(name: "", value: "v")]),
    ] {
      let refused = error { try fixture.log.append([event("a"), wrong]) }
      #expect(refused?.code == .invalidEvent && refused?.advice.isEmpty == false)
    }
    #expect(code { try fixture.log.append([NewEvent]()) } == .invalidEvent)
    #expect(fixture.log.size == 0)
  }

  @Test func `an event and a batch are taken at their limits and refused one byte above`() throws {
    let fixture = try Fixture {
      $0.maximumEventByteCount = 1000
      $0.maximumBatchByteCount = 3000
    }
    try fixture.log.append(record(1000 - recordOverhead))
    #expect(code { try fixture.log.append(record(1001 - recordOverhead)) } == .tooLarge)
    try fixture.log.append((0..<3).map { _ in record(1000 - recordOverhead) })
    let refused = error { try fixture.log.append((0..<4).map { _ in record(751 - recordOverhead) }) }
    #expect(refused?.code == .tooLarge && refused?.why.contains("3004") == true && refused?.why.contains("3000") == true)
    try fixture.log.append((0..<4).map { _ in record(750 - recordOverhead) })
    #expect(try fixture.texts().count == 8)
    // A lone event is bound by the limit of events only.
    try fixture.reopen { $0.maximumBatchByteCount = 100 }
    try fixture.log.append(record(900))
  }

  @Test func `what was taken is readable under any smaller limits, open and sealed`() throws {
    let fixture = try Fixture { $0.segmentByteCount = 1 << 20 }
    try fixture.log.append((0..<5).map { record(100_000 + $0) })
    try fixture.log.append(record(900_000))
    try fixture.kill()
    try fixture.reopen {
      $0.segmentByteCount = 8192
      $0.maximumEventByteCount = 48
      $0.maximumBatchByteCount = 48
    }
    func check() throws { #expect(try fixture.log.events(in: 1..<7).map(\.data.count) == (0..<5).map { 100_000 + $0 } + [900_000]) }
    try check()
    try fixture.log.seal()
    try check()
    let report = try fixture.verify()
    #expect(report.isOK && report.eventCount == 6)
  }

  @Test func `the largest event there can be is stored, found, sealed and repeated`() throws {
    let folder = try TemporaryFolder()
    var options = LogOptions()
    options.maximumEventByteCount = 16 << 20
    try Log.create(at: folder.path + "/log", options: options)
    var log = try Log.open(at: folder.path + "/log", options: options)
    let largest = NewEvent(type: "t", id: id(1), data: [UInt8](repeating: 9, count: 16 << 20 - recordOverhead))
    let offset = try log.append(largest).offset
    var larger = largest
    larger.data.append(1)
    #expect(code { try log.append(larger) } == .tooLarge)
    try log.close()
    log = try Log.open(at: folder.path + "/log")
    #expect(try log.event(at: offset).data == largest.data)
    try log.seal()
    #expect(try log.event(at: offset).data == largest.data)
    #expect(try log.event(id: id(1))?.offset == offset)
    #expect(try log.verify().findings.isEmpty)
    try log.close()
  }

  /// A frame that no reader accepts must never be acknowledged.
  @Test func `what is staged stays within what readers accept of one frame`() throws {
    let folder = try TemporaryFolder()
    var options = LogOptions()
    options.maximumEventByteCount = 16 << 20
    try Log.create(at: folder.path + "/log", options: options)
    var log = try Log.open(at: folder.path + "/log", options: options)
    let large = [UInt8](repeating: 0, count: 15 << 20)
    var staged = 0
    for _ in 0..<9 {
      let refused = error { try log.stage(control: .receipt, data: large) }
      if refused == nil { staged += 1 } else { #expect(refused?.code == .tooLarge && refused?.advice.isEmpty == false) }
    }
    #expect(staged > 0)
    try log.append(event("a"))
    try log.close()
    log = try Log.open(at: folder.path + "/log", options: options)
    #expect(try Fixture.texts(log) == ["a"])
    #expect(log.recoveryReport.findings.isEmpty && log.size == UInt64(staged) + 2)
    try log.close()
  }

  private static func sizes(_ log: Log) throws -> [Int] {
    var sizes: [Int] = []
    var cursor = try log.read()
    while let event = try cursor.next() { sizes.append(event.data.byteCount) }
    return sizes
  }

  /// Batches that meet in one frame: together more than any reader accepts of one.
  @Test func `what concurrent callers gather stays within what readers accept of one frame`() async throws {
    let folder = try TemporaryFolder()
    var options = LogOptions()
    options.durability = .written
    options.maximumEventByteCount = 16 << 20
    options.sealing = .manual
    let path = folder.path + "/log"
    try Log.create(at: path, options: options)
    let log = try Log.open(at: path, options: options)
    let data = [UInt8](repeating: 1, count: 15 << 20)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<12 { group.addTask { try await log.append(NewEvent(type: "t", data: data)) } }
      try await group.waitForAll()
    }
    try log.close()
    let reader = try Log.openForReading(at: path, options: options)
    #expect(reader.recoveryReport.findings.isEmpty)
    #expect(try Self.sizes(reader) == [Int](repeating: data.count, count: 12))
  }

  @Test(arguments: [
    ("segmentByteCount", 8191), ("segmentByteCount", (1 << 30) + 1), ("zerosAheadByteCount", -1), ("zerosAheadByteCount", (16 << 20) + 1),
    ("maximumEventByteCount", 47), ("maximumEventByteCount", (16 << 20) + 1), ("maximumBatchByteCount", 47),
    ("maximumBatchByteCount", (64 << 20) + 1), ("syncIntervalMilliseconds", -1),
  ])
  func `an option out of its limits is refused by name, at making and at opening`(_ name: String, _ value: Int) throws {
    let fixture = try Fixture()
    try fixture.log.close()
    var options = fixture.options
    switch name {
    case "segmentByteCount": options.segmentByteCount = value
    case "zerosAheadByteCount": options.zerosAheadByteCount = value
    case "maximumEventByteCount": options.maximumEventByteCount = value
    case "maximumBatchByteCount": options.maximumBatchByteCount = value
    default: options.syncIntervalMilliseconds = value
    }
    let opened = error { _ = try Log.open(at: "/log", options: options, environment: fixture.environment) }
    #expect(opened?.code == .invalidArgument && opened?.what.contains(name) == true && opened?.why.contains("\(value)") == true)
    #expect(code { _ = try Log.create(at: "/other", options: options, environment: fixture.environment) } == .invalidArgument)
    #expect(fixture.disk.image.files(under: "/other").isEmpty)
  }
}
