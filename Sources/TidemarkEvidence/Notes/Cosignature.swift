internal import TidemarkLog

/// A server's signature under a checkpoint, with the server's time: `cosignature/v1` of C2SP tlog-cosignature.
public struct Cosignature: Sendable, Hashable {
  /// Seconds since 1970, by the server's clock.
  public let seconds: UInt64
  /// Ed25519: 64 bytes.
  let signature: [UInt8]

  init(seconds: UInt64, signature: [UInt8]) {
    self.seconds = seconds
    self.signature = signature
  }

  /// What is signed: a line that says what this is, the time, the checkpoint.
  static func message(_ text: String, seconds: UInt64) -> [UInt8] { Array("cosignature/v1\ntime \(seconds)\n\(text)".utf8) }

  /// As a note carries it.
  var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: seconds >> UInt64(56 - 8 * $0)) } + signature }

  init?(_ bytes: [UInt8]) {
    guard bytes.count == 72, bytes[0] < 0x80 else { return nil }
    self.init(seconds: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, signature: Array(bytes.dropFirst(8)))
  }
}

extension SignedNote {
  /// The same with a cosignature. Nothing is verified: that is for the caller to have done.
  ///
  /// - Parameter seconds: the time to sign, since 1970.
  package func cosigned(by key: VerifierKey, _ keys: any SigningKeyProvider, seconds: UInt64) throws -> SignedNote {
    let signature = try keys.sign(Cosignature.message(text, seconds: seconds), publicKey: key.publicKey)
    return replacing(Signature(name: key.name, keyID: key.keyID, bytes: Cosignature(seconds: seconds, signature: signature).bytes))
  }

  /// The cosignature that a key of the kind ``VerifierKey/Kind/cosignature`` made; nil if there is none that verifies, or one beside it
  /// that says to be of the same key and does not.
  public func cosignature(by key: VerifierKey) -> Cosignature? {
    guard key.kind == .cosignature else { return nil }
    let candidates = signatures.filter { $0.name == key.name && $0.keyID == key.keyID }
    var found: Cosignature?
    for candidate in candidates {
      guard let cosignature = Cosignature(candidate.bytes),
        key.isValid(cosignature.signature, of: Cosignature.message(text, seconds: cosignature.seconds))
      else { return nil }
      found = found ?? cosignature
    }
    return found
  }
}
