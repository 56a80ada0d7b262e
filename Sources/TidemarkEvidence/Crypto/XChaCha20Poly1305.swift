internal import CSodium
internal import TidemarkLog

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) with libsodium: authenticated encryption with a nonce of 24 bytes.
///
/// It does not commit to its key: one ciphertext can be made that opens under two. Whoever needs to know that there is only one, binds the
/// key in another way, as ``SealedEnvelope`` does.
package enum XChaCha20Poly1305 {
  static let keyByteCount = 32
  static let nonceByteCount = 24
  static let tagByteCount = 16

  /// The ciphertext, then the tag: as long as the message and 16 bytes more.
  package static func seal(_ message: [UInt8], associatedData: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8] {
    Ed25519.checkReady()
    precondition(key.count == keyByteCount && nonce.count == nonceByteCount)
    var sealed = [UInt8](repeating: 0, count: message.count + tagByteCount)
    let result = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
      &sealed, nil, message, UInt64(message.count), associatedData, UInt64(associatedData.count), nil, nonce, key)
    precondition(result == 0)
    return sealed
  }

  /// The message; nil if it, the associated data, nonce or key is not what it was sealed with.
  package static func open(_ sealed: [UInt8], associatedData: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]? {
    Ed25519.checkReady()
    precondition(key.count == keyByteCount && nonce.count == nonceByteCount)
    guard sealed.count >= tagByteCount else { return nil }
    var message = [UInt8](repeating: 0, count: sealed.count - tagByteCount)
    let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
      &message, nil, nil, sealed, UInt64(sealed.count), associatedData, UInt64(associatedData.count), nonce, key)
    return result == 0 ? message : nil
  }
}
