/// The envelope of every structure that is read before anything else. It never changes, so "newer" and "damaged" stay apart.
///
/// ```
///   0        8      10      12        16              24               32                   n-8      n
///   +--------+------+-------+---------+---------------+----------------+---- - - - - - -----+--------+
///   | magic  | kind |version| zero    | compatible    | incompatible   | fields of the kind | hash   |
///   +--------+------+-------+---------+---------------+----------------+---- - - - - - -----+--------+
/// ```
enum Page {
  static let magic: UInt64 = 0x4B52_414D_4544_4954  // "TIDEMARK"
  static let version: UInt16 = 1

  enum Kind: UInt16 {
    case identity = 1
    case segmentHeader = 2
    case footer = 3
    case idIndex = 4
  }

  enum Check: Equatable {
    case sound
    case damaged(String)
    case unsupported(String)
  }

  /// An empty page to store fields into, to be finished with ``finish(_:)``.
  static func make(_ kind: Kind, byteCount: Int) -> [UInt8] {
    var page = [UInt8](repeating: 0, count: byteCount)
    page.store(magic, at: 0)
    page.store(kind.rawValue, at: 8)
    page.store(version, at: 10)
    return page
  }

  static func finish(_ page: inout [UInt8]) {
    page.store(xxh3(page.rawSpan.slice(0, page.count - 8)), at: page.count - 8)
  }

  static func check(_ page: RawSpan, _ kind: Kind) -> Check {
    guard page.u64(0) == magic else { return .damaged("the magic bytes are missing") }
    guard page.u64(page.byteCount - 8) == xxh3(page.slice(0, page.byteCount - 8)) else { return .damaged("the checksum does not match") }
    guard page.u16(8) == kind.rawValue else { return .damaged("it is a page of kind \(page.u16(8)), not \(kind.rawValue)") }
    guard page.u16(10) == version else {
      return .unsupported("it has format version \(page.u16(10)), this program knows version \(version)")
    }
    guard page.u64(24) == 0 else {
      return .unsupported("it needs features that this program does not know (bits \(String(page.u64(24), radix: 16)))")
    }
    return .sound
  }
}
