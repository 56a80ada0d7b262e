/// The stored form of one commit: unit of write, checksum and compression.
///
/// ```
///   0          8      12   13   14     16        20        24           32       36     40         48            56
///   +----------+------+----+----+------+---------+---------+------------+--------+------+----------+-------------+--- - - ---+---+
///   | hash     | TMFR |ver |type|flags | stored  | raw     | base       | count  | zero | durable  | incarnation | stored    |pad|
///   +----------+------+----+----+------+---------+---------+------------+--------+------+----------+-------------+--- - - ---+---+
/// ```
package struct FrameHeader: Equatable, Sendable {
  package enum Kind: UInt8, Sendable {
    case events = 1
    case mark = 2
    case close = 3
    case gap = 4
    case index = 5
  }

  package var kind: UInt8
  package var isCompressed = false
  package var storedLength: Int
  package var rawLength: Int
  package var base: Offset
  package var count: UInt32
  package var durable: Offset
  package var incarnation: UInt64

  package static let byteCount = 56
  static let magic: UInt32 = 0x5246_4D54  // "TMFR"
  static let version: UInt8 = 1
  /// Longer than anything that is ever written, and short enough to be harmless.
  static let lengthLimit = 1 << 27

  /// The length in the file, padding included.
  package var frameLength: Int { Self.frameLength(stored: storedLength) }
  static func frameLength(stored: Int) -> Int { (byteCount + stored + 7) & ~7 }
  package var end: Offset { base + UInt64(count) }
  /// Whether it is of a later type that readers may pass over. Nothing in it counts for them.
  var canBeSkipped: Bool { kind >= 0x80 }

  package init(
    _ kind: Kind, isCompressed: Bool = false, storedLength: Int = 0, rawLength: Int = 0, base: Offset, count: UInt32 = 0, durable: Offset,
    incarnation: UInt64
  ) {
    self.kind = kind.rawValue
    self.isCompressed = isCompressed
    self.storedLength = storedLength
    self.rawLength = rawLength
    self.base = base
    self.count = count
    self.durable = durable
    self.incarnation = incarnation
  }

  private init(_ bytes: RawSpan, at position: Int) {
    kind = bytes.u8(position + 13)
    isCompressed = bytes.u16(position + 14) == 1
    storedLength = Int(bytes.u32(position + 16))
    rawLength = Int(bytes.u32(position + 20))
    base = bytes.u64(position + 24)
    count = bytes.u32(position + 32)
    durable = bytes.u64(position + 40)
    incarnation = bytes.u64(position + 48)
  }

  /// Writes the header before a frame's stored bytes and padding, which are in place, and hashes the whole.
  func encode(into bytes: inout MutableRawSpan, at position: Int = 0, seed: UInt64) {
    bytes.store(Self.magic, at: position + 8)
    bytes.store(Self.version, at: position + 12)
    bytes.store(kind, at: position + 13)
    bytes.store(UInt16(isCompressed ? 1 : 0), at: position + 14)
    bytes.store(UInt32(storedLength), at: position + 16)
    bytes.store(UInt32(rawLength), at: position + 20)
    bytes.store(base, at: position + 24)
    bytes.store(count, at: position + 32)
    bytes.store(UInt32(0), at: position + 36)
    bytes.store(durable, at: position + 40)
    bytes.store(incarnation, at: position + 48)
    bytes.store(xxh3(bytes.bytes.slice(position + 8, frameLength - 8), seed: seed), at: position)
  }

  package func encode(into frame: inout [UInt8], at position: Int = 0, seed: UInt64) {
    frame.withMutableSpan { encode(into: &$0, at: position, seed: seed) }
  }

  /// What stands at a place where a frame may begin.
  package enum Check {
    case frame(FrameHeader)
    /// The header is there, but the whole frame needs so many bytes.
    case incomplete(Int)
    case bad(String)
    case unsupported(String)
  }

  /// Looks at `bytes` from `position` on, which may end before the frame does; `remaining` is how many bytes the file has from there.
  package static func check(_ bytes: RawSpan, at position: Int, remaining: UInt64, seed: UInt64) -> Check {
    guard remaining >= UInt64(byteCount) else { return .bad("the file ends inside a frame header") }
    guard bytes.byteCount - position >= byteCount else { return .incomplete(byteCount) }
    guard bytes.u32(position + 8) == magic else { return .bad("no frame begins here") }
    let header = FrameHeader(bytes, at: position)
    guard header.storedLength <= lengthLimit, header.rawLength <= lengthLimit else { return .bad("the frame's length is impossible") }
    let length = header.frameLength
    guard UInt64(length) <= remaining else { return .bad("the frame reaches beyond the end of the file") }
    guard bytes.byteCount - position >= length else { return .incomplete(length) }
    let isWhole =
      bytes.u64(position) == xxh3(bytes.slice(position + 8, length - 8), seed: seed) || seeded(.noChecksum)
      || seeded(.paddingNotCovered) && header.isWholeButForPadding(bytes, at: position, seed: seed)
    guard isWhole else { return .bad("the frame's checksum does not match") }
    guard bytes.u8(position + 12) == version else { return .unsupported("its frame header has version \(bytes.u8(position + 12))") }
    guard header.kind != 0 else { return .bad("the frame has type 0") }
    if header.canBeSkipped { return header.count == 0 ? .frame(header) : .bad("a frame that can be skipped takes offsets") }
    guard Kind(rawValue: header.kind) != nil else { return .unsupported("a frame has type \(header.kind)") }
    let flags = bytes.u16(position + 14)
    guard flags <= 1 else { return .unsupported("a frame has flags \(flags)") }
    // LZ4 makes at most 255 bytes of one.
    guard flags == 1 ? header.rawLength <= 255 * header.storedLength : header.rawLength == header.storedLength else {
      return .bad("the frame's lengths contradict each other")
    }
    guard header.base <= Record.offsetLimit - UInt64(header.count), header.durable <= Record.offsetLimit else {
      return .bad("the frame's offsets are impossible")
    }
    return .frame(header)
  }
}
