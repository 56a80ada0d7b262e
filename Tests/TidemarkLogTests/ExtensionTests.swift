import TestSupport
import Testing
import TidemarkLog

@Suite struct ExtensionTests {
  private static let attachment = EventExtension.Attachment(
    byteCount: .max, digest: (0..<32).map { UInt8($0) }, mediaType: "image/jpeg", name: "bilde ø 🙂.jpg")

  private static let all: [EventExtension] = [
    .correlation(id(1)), .causation(.zero), .supersedes(EventID(high: .max, low: .max)), .attachment(attachment),
    .attachment(.init(byteCount: 0, digest: [UInt8](repeating: 0, count: 32), mediaType: "", name: "")),
    .locationFix(.init(time: Timestamp(nanoseconds: .min), elapsed: .max, accuracyMillimetres: .max)),
    .locationFix(.init(time: Timestamp(nanoseconds: 0), elapsed: 0, accuracyMillimetres: 0)), .subjectKey(id(4)),
    .attribute(name: "traceparent", value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    .attribute(name: "n", value: ""), .attribute(name: "dør", value: "åpen 🚪"), .unknown(tag: 8, value: []),
    .unknown(tag: .max, value: [0, 1, 254, 255]), .unknown(tag: 0, value: [UInt8](repeating: 7, count: 1000)),
  ]

  @Test(arguments: all.indices)
  func `each kind is read as it was appended, open and sealed`(_ index: Int) throws {
    let fixture = try Fixture()
    try fixture.log.append(NewEvent(type: "t", extensions: [Self.all[index]], data: [1]))
    func check() throws {
      let read = try fixture.log.event(at: 1)
      #expect(try read.extensions == [Self.all[index]] && read.data == [1])
    }
    try check()
    try fixture.log.seal()
    try fixture.reopen()
    try check()
  }

  @Test func `all together keep their order, and several of one kind stand beside each other`() throws {
    let fixture = try Fixture()
    try fixture.log.append(NewEvent(type: "t", extensions: Self.all + Self.all.reversed(), data: Array("data".utf8)))
    #expect(try fixture.log.event(at: 1).extensions == Self.all + Self.all.reversed())
    #expect(try fixture.log.event(at: 1).data == Array("data".utf8))
    try fixture.log.append(NewEvent(type: "t"))
    #expect(try fixture.log.event(at: 2).extensions.isEmpty)
  }

  /// An entry of a known tag that does not have the form of that tag: the other fields of the event are sound all the same.
  @Test(
    arguments: [
      (1, 15), (1, 17), (2, 0), (3, 8), (4, 40), (5, 19), (5, 21), (6, 1), (7, 0),
    ] as [(UInt16, Int)])
  func `entries that can't be taken apart are told, and nothing else of the event is lost`(_ tag: UInt16, _ length: Int) throws {
    let fixture = try Fixture()
    try fixture.log.append(
      NewEvent(type: "t", subject: "s", extensions: [.unknown(tag: tag, value: [UInt8](repeating: 255, count: length))], data: [5]))
    let read = try fixture.log.event(at: 1)
    #expect(error { _ = try read.extensions }?.code == .corrupt)
    #expect(read.type == "t" && read.subject == "s" && read.data == [5])
    #expect(try fixture.verify().isOK)
  }
}
