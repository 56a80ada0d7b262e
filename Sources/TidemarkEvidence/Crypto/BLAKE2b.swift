internal import CSodium
package import TidemarkLog

/// BLAKE2b (RFC 7693) with libsodium, keyed and personalised: a pseudorandom function of its key. Uses with different personalisations have
/// nothing to do with each other.
package enum BLAKE2b {
  static let personalisationByteCount = 16

  /// - Parameters:
  ///   - byteCount: of the result, 16 to 64.
  ///   - key: 16 to 64 bytes.
  ///   - personalisation: what the result is for: 16 bytes of ASCII.
  ///   - salt: 16 bytes.
  package static func keyed(_ message: [UInt8], byteCount: Int, key: [UInt8], personalisation: StaticString, salt: EventID = .zero)
    -> [UInt8]
  {
    Ed25519.checkReady()
    var salted: [UInt8] = []
    salted.add(salt)
    let person = Array("\(personalisation)".utf8)
    precondition((16...64).contains(byteCount) && (16...64).contains(key.count) && person.count == personalisationByteCount)
    var result = [UInt8](repeating: 0, count: byteCount)
    let done = unsafe crypto_generichash_blake2b_salt_personal(
      &result, byteCount, message, UInt64(message.count), key, key.count, salted, person)
    precondition(done == 0)
    return result
  }

  /// Whether two results are the same, in a time that does not depend on where they differ.
  static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    return unsafe sodium_memcmp(left, right, left.count) == 0
  }
}
