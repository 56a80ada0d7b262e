internal import CSodium
internal import TidemarkLog

/// Ed25519 (RFC 8032) with libsodium.
package enum Ed25519 {
  package static let seedByteCount = 32
  package static let signatureByteCount = 64

  /// libsodium asks for this before anything else; it may be called any number of times, from any thread.
  private static let isReady: Bool = sodium_init() >= 0

  static func checkReady() { precondition(isReady, "libsodium can't be started") }

  /// Both keys that a seed stands for: the secret one as libsodium has it, seed and public key.
  package static func keys(seed: [UInt8]) -> (publicKey: [UInt8], secretKey: [UInt8]) {
    checkReady()
    precondition(seed.count == seedByteCount)
    var publicKey = [UInt8](repeating: 0, count: 32)
    var secretKey = [UInt8](repeating: 0, count: 64)
    let result = unsafe crypto_sign_ed25519_seed_keypair(&publicKey, &secretKey, seed)
    precondition(result == 0)
    return (publicKey, secretKey)
  }

  package static func sign(_ message: [UInt8], secretKey: [UInt8]) -> [UInt8] {
    checkReady()
    precondition(secretKey.count == 64)
    var signature = [UInt8](repeating: 0, count: signatureByteCount)
    let result = unsafe crypto_sign_ed25519_detached(&signature, nil, message, UInt64(message.count), secretKey)
    precondition(result == 0)
    return signature
  }

  /// False also for a key or signature of a wrong length.
  package static func isValid(_ signature: [UInt8], of message: [UInt8], publicKey: [UInt8]) -> Bool {
    checkReady()
    guard signature.count == signatureByteCount, publicKey.count == 32 else { return false }
    return unsafe crypto_sign_ed25519_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
  }

  /// Bytes from the system's random source.
  static func random(_ count: Int) -> [UInt8] {
    checkReady()
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe randombytes_buf(&bytes, count)
    return bytes
  }

  /// Overwrites a secret in memory in a way that the compiler does not leave out.
  static func wipe(_ secret: inout [UInt8]) { unsafe sodium_memzero(&secret, secret.count) }
}
