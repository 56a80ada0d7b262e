package import TidemarkLog

/// A SHA-256 digest: 32 bytes, held in place.
public struct Digest256: Hashable, Sendable, BitwiseCopyable {
  /// Bytes 0 to 7, 8 to 15, 16 to 23 and 24 to 31, as they lie in memory: so on a machine whose integers are little-endian, as all are that
  /// this runs on.
  var words: (UInt64, UInt64, UInt64, UInt64)

  /// All bytes zero.
  public static let zero = Digest256()

  private init() { words = (0, 0, 0, 0) }

  /// The 32 bytes of a digest. Nil if there are more or fewer.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.init()
    unsafe withUnsafeMutableBytes(of: &words) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Reads 64 lower-case hexadecimal digits. Nil for anything else.
  package init?(hexadecimal text: some StringProtocol) {
    guard text.utf8.count == 64, let bytes = [UInt8](hexadecimal: text), bytes.hexadecimal == text else { return nil }
    self.init(bytes)
  }

  package init(_ bytes: RawSpan) {
    self.init()
    words = (bytes.u64(0), bytes.u64(8), bytes.u64(16), bytes.u64(24))
  }

  /// The first 16 bytes, held as an id is.
  package var leading: EventID { EventID(high: words.0.byteSwapped, low: words.1.byteSwapped) }

  /// The 32 bytes.
  public var bytes: [UInt8] { unsafe withUnsafeBytes(of: words) { unsafe [UInt8]($0) } }

  func store(in buffer: inout [UInt8], at position: Int) {
    buffer.store(words.0, at: position)
    buffer.store(words.1, at: position + 8)
    buffer.store(words.2, at: position + 16)
    buffer.store(words.3, at: position + 24)
  }

  /// 64 lower-case hexadecimal digits.
  public var hexadecimal: String { bytes.hexadecimal }

  public static func == (left: Digest256, right: Digest256) -> Bool { left.words == right.words }

  public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

extension [UInt8] {
  /// Two lower-case hexadecimal digits a byte.
  package var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(2 * count)
    for byte in self {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
