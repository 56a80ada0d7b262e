import TestSupport
import Testing
import TidemarkLog

@Suite struct AppendTests {
  @Test func `gives offsets in order and keeps every field`() throws {
    let fixture = try Fixture()
    let extensions: [EventExtension] = [
      .correlation(id(1)), .supersedes(id(2)), .attribute(name: "traceparent", value: "00-å"),
      .attachment(.init(byteCount: 7, digest: [UInt8](repeating: 3, count: 32), mediaType: "image/jpeg", name: "ø.jpg")),
      .locationFix(.init(time: Timestamp(nanoseconds: -5), elapsed: 9, accuracyMillimetres: 1500)), .unknown(tag: 900, value: [1, 2]),
    ]
    let full = NewEvent(
      type: "sign-in", subject: "Dør 7", actor: "ingrid", time: Timestamp(nanoseconds: 1_600_000_000_123_000_000), timeFractionDigits: 3,
      utcOffsetMinutes: -90, contentType: "text/plain", id: id(9), extensions: extensions, data: Array("hei".utf8))
    let first = try fixture.log.append(full)
    let second = try fixture.log.append(event("b"))
    #expect(second.offset == first.offset + 1)
    let read = try fixture.log.event(at: first.offset)
    #expect(read.id == id(9) && read.type == "sign-in" && read.subject == "Dør 7" && read.actor == "ingrid")
    #expect(read.time.nanoseconds == 1_600_000_000_123_000_000 && read.timeFractionDigits == 3 && read.utcOffsetMinutes == -90)
    #expect(read.isTimeFromCaller && read.clockSource == .caller && read.contentType == "text/plain")
    #expect(try read.extensions == extensions)
    #expect(read.data == Array("hei".utf8))
    #expect(read.session?.bootID == fixture.clock.bootID)
  }

  @Test func `a batch is there whole or not at all`() throws {
    let fixture = try Fixture()
    let answers = try fixture.log.append([event("a"), event("b"), event("c")])
    #expect(answers.map(\.offset) == [1, 2, 3])
    #expect(try fixture.log.events(in: 1..<4).map(\.continuesBatch) == [true, true, false])
    let tooLarge = NewEvent(type: "t", data: [UInt8](repeating: 0, count: 2 << 20))
    #expect(code { try fixture.log.append([event("d"), tooLarge]) } == .tooLarge)
    #expect(try fixture.texts() == ["a", "b", "c"])
  }

  @Test func `an expected size is compared with the last event of a caller`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"), expecting: 0)
    let size = fixture.log.size
    // The session of the next opening takes an offset, but is no event of a caller.
    try fixture.reopen()
    try fixture.log.append(event("b"), expecting: size)
    #expect(code { try fixture.log.append(event("c"), expecting: size) } == .unexpectedSize)
    #expect(try fixture.texts() == ["a", "b"])
  }

  @Test(arguments: ["open", "rolled", "sealed", "reopened", "merged"])
  func `the same id and content is the first event`(_ state: String) throws {
    let fixture = try Fixture()
    let first = try fixture.log.append((0..<40).map { event("\($0)", id: id($0)) })
    switch state {
    case "rolled": try fixture.log.roll()
    case "sealed": try fixture.log.seal()
    case "reopened":
      try fixture.log.seal()
      try fixture.reopen()
    case "merged":
      for number in 0..<20 {
        try fixture.log.append(event("filler \(number)", id: id(1000 + UInt64(number))))
        try fixture.log.seal()
      }
      #expect(!fixture.disk.image.files(under: "/log/index").isEmpty)
    default: break
    }
    let size = fixture.log.size
    let again = try fixture.log.append((0..<40).map { event("\($0)", id: id($0)) })
    #expect(again.map(\.offset) == first.map(\.offset))
    #expect(again.filter { !$0.isDuplicate }.isEmpty)
    #expect(fixture.log.size == size)
    let conflict = error { try fixture.log.append([event("new", id: id(77)), event("other", id: id(7))]) }
    #expect(conflict?.code == .conflict)
    // Both digests: 32 hexadecimal digits each.
    #expect(conflict?.why.split(whereSeparator: { !$0.isHexDigit }).filter { $0.count == 32 }.count == 2)
    #expect(fixture.log.size == size)
    #expect(try fixture.log.event(id: id(77)) == nil)
    #expect(try fixture.log.event(id: id(7))?.offset == first[7].offset)
  }

  @Test func `a repeat within one batch is answered once for both`() throws {
    let fixture = try Fixture()
    let answers = try fixture.log.append([event("a", id: id(1)), event("b", id: id(2)), event("a", id: id(1))])
    #expect(answers[2].offset == answers[0].offset)
    #expect(try fixture.texts() == ["a", "b"])
    #expect(code { try fixture.log.append([event("x", id: id(3)), event("y", id: id(3))]) } == .conflict)
    #expect(try fixture.texts() == ["a", "b"])
  }

  @Test func `strings are taken up to their limit`() throws {
    let fixture = try Fixture()
    func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    for (limit, make) in [
      (255, { NewEvent(type: $0) }), (1024, { NewEvent(type: "t", subject: $0) }), (255, { NewEvent(type: "t", actor: $0) }),
      (255, { NewEvent(type: "t", contentType: $0) }),
    ] as [(Int, (String) -> NewEvent)] {
      #expect(code { try fixture.log.append(make(text(limit))) } == nil)
      #expect(code { try fixture.log.append(make(text(limit + 1))) } == .stringTooLong)
    }
    #expect(code { try fixture.log.append(NewEvent(type: "")) } == .invalidEvent)
    #expect(code { try fixture.log.append([NewEvent]()) } == .invalidEvent)
    // What was taken is readable under smaller limits.
    try fixture.log.append(NewEvent(type: "t", data: [UInt8](repeating: 1, count: 5000)))
    try fixture.reopen { $0.maximumEventByteCount = 100 }
    #expect(try fixture.log.event(at: fixture.log.size - 1).data.count == 5000)
    #expect(code { try fixture.log.append(NewEvent(type: "t", data: [UInt8](repeating: 1, count: 5000))) } == .tooLarge)
  }

  @Test func `staged control records stand before the next events and cause no commit alone`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let calls = fixture.disk.callCount
    try fixture.log.stage(control: .receipt, data: [1, 2, 3])
    #expect(fixture.disk.callCount == calls)
    #expect(code { try fixture.log.stage(control: .trim, data: []) } == .invalidEvent)
    let appended = try fixture.log.append(event("b"))
    let receipt = try fixture.log.event(at: appended.offset - 1)
    #expect(receipt.kind == .receipt && receipt.data == [1, 2, 3])
    #expect(try fixture.texts() == ["a", "b"])
  }

  @Test func `one append is one write and one sync, into space written before`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    fixture.disk.trace = []
    try fixture.log.append(event("b"))
    let trace = fixture.disk.trace ?? []
    #expect(trace.map(\.kind) == [.write, .sync])
    let length = fixture.disk.image.contents(of: trace[0].path)?.count ?? 0
    #expect(Int(trace[0].position) + trace[0].byteCount < length)
  }

  @Test func `a new segment's name is durable before its first frame`() throws {
    let fixture = try Fixture()
    fixture.disk.trace = []
    while fixture.segmentFiles.count == 1 { try fixture.log.append(event("some text to fill the segment")) }
    let trace = fixture.disk.trace ?? []
    let renamed = try #require(trace.lastIndex { $0.kind == .rename })
    let synced = try #require(trace[..<renamed].lastIndex { $0.kind == .sync })
    let named = try #require(trace[renamed...].firstIndex { $0.kind == .syncDirectory })
    let frame = try #require(trace[renamed...].firstIndex { $0.kind == .write })
    #expect(synced < renamed && named < frame)
  }
}
