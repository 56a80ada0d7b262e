internal import CCrypto
internal import TidemarkLog

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
