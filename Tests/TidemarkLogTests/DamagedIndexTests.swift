import TestSupport
import Testing
import TidemarkLog

/// What sealing derived can be damaged without anything being lost, and without stopping anything.
@Suite struct DamagedIndexTests {
  @Test func `a damaged id page does not stop sealing`() throws {
    let fixture = try Fixture()
    for number in 0..<6 {
      try fixture.log.append(event("\(number)", id: id(UInt64(number))))
      try fixture.log.seal()
    }
    try fixture.log.close()
    let sealed = fixture.segmentFiles[2]
    // An id page ends where the index frame begins.
    try fixture.disk.image.flipBit(8 * ((fixture.disk.image.contents(of: sealed)?.count ?? 0) - 512 - 400), of: sealed)
    #expect(try fixture.verify().findings.map(\.kind) == [.damagedIndex])
    try fixture.reopen()
    for number in 6..<12 {
      try fixture.log.append(event("\(number)", id: id(UInt64(number))))
      try fixture.log.seal()
    }
    #expect(try fixture.verify().findings.isEmpty)
    #expect(fixture.disk.image.files(under: "/log/index").count == 1)
    #expect(try fixture.log.append(event("2", id: id(2))).isDuplicate)
  }

  /// Four sealed segments of several sessions, and an open one.
  private func sample() throws -> (fixture: Fixture, events: [Event]) {
    let fixture = try Fixture()
    for segment in 0..<4 {
      for number in 0..<8 { try fixture.log.append(event("\(segment)-\(number)", id: id(UInt64(segment * 10 + number)))) }
      try fixture.log.seal()
      if segment == 0 { try fixture.reopen() }
    }
    try fixture.log.append(event("last"))
    try fixture.log.close()
    return (fixture, try fixture.reader().events(in: 0..<35))
  }

  static let parts = ["header", "header of another segment", "id pages", "index"]

  private func damage(_ part: String, _ fixture: Fixture) throws {
    let (sealed, other) = (fixture.segmentFiles[2], fixture.segmentFiles[1])
    let bytes = try #require(fixture.disk.image.contents(of: sealed))
    func position(_ field: Int) -> Int { (0..<8).reduce(0) { $0 | Int(bytes[bytes.count - 512 + field + $1]) << (8 * $1) } }
    switch part {
    case "header": try fixture.disk.image.flipBit(80 * 8, of: sealed)
    case "id pages": try fixture.disk.image.flipBit((position(256) + 9) * 8, of: sealed)
    case "index": try fixture.disk.image.flipBit((position(272) + 70) * 8, of: sealed)
    default:
      let header = try #require(fixture.disk.image.contents(of: other)).prefix(4096)
      try fixture.disk.image.setContents(of: sealed, to: Array(header + bytes[4096...]))
    }
  }

  /// I9: opening, reading and verifying say the same of it.
  @Test(arguments: parts)
  func `what events can do without is no damage to history, and sealing makes it again`(_ part: String) throws {
    let (fixture, events) = try sample()
    try damage(part, fixture)
    let whole = try fixture.verify()
    #expect(whole.isOK && whole.findings.map(\.kind) == [.damagedIndex] && whole.eventCount == 33 && whole.segmentCount == 5)
    fixture.options.onCorruption = .refuse
    let reader = try fixture.reader()
    let texts = try Fixture.texts(reader)
    #expect(texts == events.map { String(decoding: $0.data, as: UTF8.self) } && texts.count == 33)
    // An append alone does not look for it; sealing does, also when nobody has met it.
    try fixture.reopen()
    try fixture.log.append(event("new"))
    try fixture.log.seal()
    #expect(try fixture.log.verify().findings.isEmpty)
    #expect(try fixture.log.event(id: id(13))?.offset == events[11].offset)
    for event in events { #expect(try fixture.log.event(at: event.offset).session == event.session) }
    try fixture.reopen()
    #expect(fixture.log.recoveryReport.findings.isEmpty)
  }

  @Test(arguments: ["header", "id pages", "index"])
  func `a writer makes again in the background what it meets`(_ part: String) async throws {
    let (fixture, _) = try sample()
    try damage(part, fixture)
    fixture.options.sealing = .background
    try fixture.reopen()
    if part != "id pages" { _ = try fixture.texts() }
    #expect(try fixture.log.event(id: id(23)) != nil)
    #expect(try await eventually { try fixture.log.verify().findings.isEmpty })
    try fixture.log.close()
  }

  @Test func `a newer header under the footer of this version is reported, and left as it is`() throws {
    let (fixture, events) = try sample()
    let sealed = fixture.segmentFiles[2]
    var bytes = try #require(fixture.disk.image.contents(of: sealed))
    bytes[10] = 2
    let hash = xxh3(bytes.rawSpan.slice(0, 4088))
    for byte in 0..<8 { bytes[4088 + byte] = UInt8(truncatingIfNeeded: hash >> UInt64(8 * byte)) }
    try fixture.disk.image.setContents(of: sealed, to: bytes)
    #expect(try fixture.verify().isOK && fixture.verify().findings.map(\.kind) == [.damagedIndex] && fixture.verify().eventCount == 33)
    try fixture.reopen { $0.onCorruption = .refuse }
    #expect(try fixture.texts() == events.map { String(decoding: $0.data, as: UTF8.self) })
    try fixture.log.seal()
    #expect(fixture.disk.image.contents(of: sealed) == bytes)
  }

  /// Its footer is gone, and so are the last of its frames: that is more than a damaged index.
  @Test func `a sealed segment that was cut short is refused, or reported as a gap`() throws {
    let fixture = try Fixture()
    for number in 0..<40 { try fixture.log.append(event("\(number)" + String(repeating: "x", count: 800), id: id(UInt64(number)))) }
    try fixture.log.seal()
    try fixture.log.append(event("last"))
    try fixture.log.close()
    let sealed = fixture.segmentFiles[0]
    let bytes = try #require(fixture.disk.image.contents(of: sealed))
    try fixture.disk.image.setContents(of: sealed, to: Array(bytes.prefix(4096 + 200)))
    // Something harmless beside it stays too where the log is refused.
    let unfinished = try #require(fixture.segmentFiles.last) + ".tmp"
    try fixture.disk.image.setContents(of: unfinished, to: [1])
    let before = fixture.segmentFiles
    var options = fixture.options
    options.onCorruption = .refuse
    let refused = error { _ = try Log.open(at: "/log", options: options, environment: fixture.environment) }
    #expect(refused?.code == .corrupt && refused?.file == sealed && refused?.offsets?.isEmpty == false)
    #expect(fixture.segmentFiles == before)
    let reading = error { _ = try Log.openForReading(at: "/log", options: options, environment: fixture.environment) }
    #expect(reading == refused)
    try fixture.disk.image.delete(unfinished)
    try fixture.reopen { $0.onCorruption = .quarantine }
    #expect(fixture.log.recoveryReport.findings.map(\.kind) == [.damagedIndex, .damagedFrame])
    let gap = try #require(fixture.log.recoveryReport.gaps.first)
    #expect(refused?.offsets == gap)
    try fixture.log.append(event("new"))
    #expect(try Fixture.texts(fixture.log, Query(onDamage: .skip)).suffix(2) == ["last", "new"])
  }

  @Test func `a damaged run of the id index is made again`() throws {
    let fixture = try Fixture()
    func fill(_ range: Range<Int>) throws {
      for number in range {
        try fixture.log.append(event("\(number)", id: id(UInt64(number))))
        try fixture.log.seal()
      }
    }
    try fill(0..<8)
    let run = try #require(fixture.disk.image.files(under: "/log/index").first)
    try fixture.log.close()
    try fixture.disk.image.flipBit(8 * 5000, of: run)
    #expect(try fixture.verify().findings.map(\.kind) == [.damagedIndex])
    try fixture.reopen()
    try fill(8..<64)
    #expect(try fixture.verify().findings.isEmpty)
    #expect(try fixture.log.append(event("2", id: id(2))).isDuplicate)
  }
}
