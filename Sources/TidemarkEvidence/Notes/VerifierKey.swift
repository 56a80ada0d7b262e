internal import TidemarkLog
internal import TidemarkText

/// The public half of a key that signs notes, with the name that it signs under. As text a C2SP *vkey*:
/// `<name>+<key id>+<base64 of the type and the key>`.
///
/// ```swift
/// let key = try VerifierKey("witness.example/1+c4e5a1b0+BO...")
/// ```
public struct VerifierKey: Sendable, Hashable, CustomStringConvertible {
  /// How a key signs.
  public enum Kind: UInt8, Sendable {
    /// Ed25519 over a note's text.
    case note = 1
    /// Ed25519 over a checkpoint and a time: `cosignature/v1` of C2SP tlog-cosignature.
    case cosignature = 4
  }

  /// Whose it is: without spaces and `+`.
  public let name: String
  /// How it signs.
  public let kind: Kind
  /// Ed25519: 32 bytes.
  public let publicKey: [UInt8]

  /// Throws `LogError.Code.invalidText` for a name that a note can't carry, or a key that has not 32 bytes.
  public init(name: String, kind: Kind, publicKey: [UInt8]) throws {
    guard Self.isName(name) else { throw LogError.malformed("a key's name", "it is empty, or has a space or a plus in it") }
    guard publicKey.count == 32 else { throw LogError.malformed("the key of \(name)", "it has \(publicKey.count) bytes, not 32") }
    self.init(checked: name, kind, publicKey)
  }

  private init(checked name: String, _ kind: Kind, _ publicKey: [UInt8]) {
    self.name = name
    self.kind = kind
    self.publicKey = publicKey
  }

  static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255
      && name.unicodeScalars.allSatisfy { $0 != "+" && !$0.properties.isWhitespace && $0.value >= 0x20 && $0.value != 0x7F }
  }

  /// Tells keys of one name apart: the first four bytes of SHA-256 over name, line feed, kind and key.
  public var keyID: UInt32 {
    let digest = SHA256().hash(Array(name.utf8) + [0x0A, kind.rawValue] + publicKey).bytes
    return digest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Reads the text form. Throws `LogError.Code.invalidText`.
  public init(_ text: some StringProtocol) throws {
    let parts = text.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let material = try? Base64.decode(String(parts[2]).utf8Span.span), material.count == 33 else {
      throw LogError.malformed("a verifier key", "it is not of the form name+id+base64, with 33 bytes in base64")
    }
    guard let kind = Kind(rawValue: material[0]) else {
      throw LogError.malformed("a verifier key", "its kind is \(material[0]), only 1 (Ed25519) and 4 (cosignature) are known")
    }
    try self.init(name: String(parts[0]), kind: kind, publicKey: Array(material.dropFirst()))
    guard parts[1].utf8.count == 8, UInt32(parts[1], radix: 16) == keyID, parts[1] == parts[1].lowercased() else {
      throw LogError.malformed("the verifier key of \(name)", "its id is not the one of this name and key")
    }
  }

  public var description: String {
    "\(name)+\(Self.hexadecimal(keyID))+\(Base64.text([kind.rawValue] + publicKey))"
  }

  static func hexadecimal(_ id: UInt32) -> String {
    (0..<4).map { UInt8(truncatingIfNeeded: id >> UInt32(24 - 8 * $0)) }.hexadecimal
  }

  /// Whether it made a signature under this message.
  package func isValid(_ signature: some Sequence<UInt8>, of message: [UInt8]) -> Bool {
    Ed25519.isValid(Array(signature), of: message, publicKey: publicKey)
  }
}

extension Base64 {
  static func text(_ bytes: [UInt8]) -> String {
    var output: [UInt8] = []
    encode(bytes.span, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  /// Nil if the text is no base64.
  static func bytes(_ text: some StringProtocol) -> [UInt8]? { try? decode(String(text).utf8Span.span) }
}
