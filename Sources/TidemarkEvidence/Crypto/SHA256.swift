internal import CCrypto
package import TidemarkLog

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

  /// The digest of a file's first bytes, read a piece at a time. Nil if the file is shorter. Throws errors of the file system.
  ///
  /// - Parameter seen: is shown each piece, in order.
  package func hash(
    _ file: any File, byteCount: UInt64, seen: (RawSpan) throws(LogError) -> Void = { (_) throws(LogError) in }
  ) throws(LogError) -> Digest256? {
    var buffer = [UInt8](repeating: 0, count: Int(min(byteCount, Self.pieceByteCount)))
    var position: UInt64 = 0
    check(unsafe EVP_DigestInit_ex2(context, digest, nil))
    while position < byteCount {
      let count = Int(min(byteCount - position, Self.pieceByteCount))
      guard try file.read(count, at: position, into: &buffer, at: 0) == count else { return nil }
      let piece = buffer.rawSpan.slice(0, count)
      check(unsafe piece.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) })
      try seen(piece)
      position += UInt64(count)
    }
    var result = Digest256.zero
    check(
      unsafe withUnsafeMutableBytes(of: &result.words) { output in
        unsafe EVP_DigestFinal_ex(context, output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
      })
    return result
  }

  private static let pieceByteCount: UInt64 = 1 << 20

  private func check(_ done: Int32) { precondition(done == 1, "libcrypto can't compute SHA-256") }

  /// An inner node of a history tree.
  func node(_ left: Digest256, _ right: Digest256) -> Digest256 {
    var result = Digest256.zero
    let done = unsafe withUnsafeBytes(of: left.words) { left in
      unsafe withUnsafeBytes(of: right.words) { right in
        unsafe withUnsafeMutableBytes(of: &result.words) { output in
          unsafe tidemark_sha256_node(
            context, digest, left.baseAddress, right.baseAddress, output.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
      }
    }
    precondition(done == 1, "libcrypto can't compute SHA-256")
    return result
  }
}
