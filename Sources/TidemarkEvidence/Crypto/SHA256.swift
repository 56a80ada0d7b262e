internal import CCrypto
internal import TidemarkLog

/// A SHA-256 digest: 32 bytes, held in place.
public struct Digest256: Hashable, Sendable {
  /// Bytes 0 to 7, 8 to 15, 16 to 23 and 24 to 31, as they lie in memory.
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

  init(_ bytes: RawSpan) {
    self.init()
    words = (bytes.u64(0).littleEndian, bytes.u64(8).littleEndian, bytes.u64(16).littleEndian, bytes.u64(24).littleEndian)
  }

  /// The 32 bytes.
  public var bytes: [UInt8] { unsafe withUnsafeBytes(of: words) { unsafe [UInt8]($0) } }

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

/// Computes SHA-256 with libcrypto. The digest is looked up once and the context is used again: for short inputs that is most of the time.
///
/// Not for use by two threads at once: make one for each.
///
/// ```swift
/// let hasher = SHA256()
/// let digest = hasher.hash(Array("abc".utf8))
/// ```
@safe public final class SHA256 {
  private let context: OpaquePointer
  private let digest: OpaquePointer

  /// Looks the digest up. Traps where there is no memory for it.
  public init() {
    guard let context = unsafe EVP_MD_CTX_new(), let digest = unsafe EVP_MD_fetch(nil, "SHA256", nil) else {
      preconditionFailure("libcrypto has no SHA-256, or no memory for it")
    }
    unsafe self.context = context
    unsafe self.digest = digest
  }

  deinit {
    unsafe EVP_MD_CTX_free(context)
    unsafe EVP_MD_free(digest)
  }

  /// The digest of bytes.
  public func hash(_ bytes: [UInt8]) -> Digest256 { hash(bytes.rawSpan) }

  /// The digest of up to three parts, one behind the other.
  package func hash(_ first: RawSpan, _ second: RawSpan = RawSpan(), _ third: RawSpan = RawSpan()) -> Digest256 {
    var result = Digest256.zero
    let done = unsafe first.withUnsafeBytes { first in
      unsafe second.withUnsafeBytes { second in
        unsafe third.withUnsafeBytes { third in
          unsafe withUnsafeMutableBytes(of: &result.words) { output in
            unsafe tidemark_sha256(
              context, digest, first.baseAddress, first.count, second.baseAddress, second.count, third.baseAddress, third.count,
              output.baseAddress?.assumingMemoryBound(to: UInt8.self))
          }
        }
      }
    }
    precondition(done == 1, "libcrypto can't compute SHA-256")
    return result
  }
}
