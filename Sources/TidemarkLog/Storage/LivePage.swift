/// The page that a writer shares with readers of the same boot: a hint that saves them from waiting for marks. Recovery never reads it.
///
/// ```
///   0        8             16        32      40          48        56
///   +--------+-------------+---------+-------+-----------+---------+---------+
///   | TMLIVE | incarnation | boot id | hash  | published | durable | counter |
///   +--------+-------------+---------+-------+-----------+---------+---------+
/// ```
struct LivePage: Sendable {
  private static let magic: UInt64 = 0x4556_494C_4D54  // "TMLIVE"
  private let page: SharedPage

  /// For the writer.
  init(writing page: SharedPage, incarnation: UInt64, bootID: EventID, published: Offset, durable: Offset) {
    self.page = page
    page.store64(0, at: 32)
    page.store64(published, at: 40)
    page.store64(durable, at: 48)
    page.store64(Self.magic, at: 0)
    page.store64(incarnation, at: 8)
    page.store64(bootID.high.byteSwapped, at: 16)
    page.store64(bootID.low.byteSwapped, at: 24)
    page.store64(Self.hash(page), at: 32)
    announce()
  }

  /// For a reader: nil unless the page was written in this boot and is whole.
  init?(reading page: SharedPage, bootID: EventID?) {
    guard let bootID, page.load64(0) == Self.magic, page.load64(32) == Self.hash(page),
      page.load64(16) == bootID.high.byteSwapped, page.load64(24) == bootID.low.byteSwapped, page.load64(8) != 0
    else { return nil }
    self.page = page
  }

  private static func hash(_ page: SharedPage) -> UInt64 {
    var bytes = [UInt8](repeating: 0, count: 32)
    for word in 0..<4 { bytes.store(page.load64(word * 8), at: word * 8) }
    return xxh3(bytes.rawSpan)
  }

  var published: Offset { page.load64(40) }
  var durable: Offset { page.load64(48) }
  var isOpen: Bool { page.load64(8) != 0 }

  func publish(_ published: Offset, durable: Offset) {
    page.store64(durable, at: 48)
    page.store64(published, at: 40)
    announce()
  }

  /// Tells readers that the writer is gone in good order.
  func close() {
    page.store64(0, at: 8)
    announce()
  }

  private func announce() {
    page.increment32(56)
    page.wake(56)
  }

  var counter: UInt32 { page.load32(56) }

  func wait(while counter: UInt32, nanoseconds: Int64) { page.wait(56, while: counter, nanoseconds: nanoseconds) }
}
