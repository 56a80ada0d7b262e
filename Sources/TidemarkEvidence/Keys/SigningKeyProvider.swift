/// Where a device's signing keys are: the secret half of a key never leaves it. ``KeyDirectory`` keeps them in files; a host with a
/// keystore in hardware gives its own.
///
/// ```swift
/// let evidence = try Evidence(log, keys: KeyDirectory(at: "device-keys"))
/// ```
public protocol SigningKeyProvider: Sendable {
  /// Makes an Ed25519 key, keeps it durably, and returns its public half, 32 bytes.
  func makeKey() throws -> [UInt8]
  /// Signs with the key that has this public half: 64 bytes (RFC 8032). Throws `LogError.Code.missingKey` if it is not there.
  func sign(_ message: [UInt8], publicKey: [UInt8]) throws -> [UInt8]
  /// Forgets a key that signs nothing more. One that is not there is no error.
  func removeKey(publicKey: [UInt8]) throws
}
