internal import TidemarkLog
internal import TidemarkText

/// Text with signatures under it: a C2SP signed note.
///
/// ```
/// text, one or more lines
///
/// — <key name> <base64 of key id and signature>
/// ```
public struct SignedNote: Sendable, Hashable, CustomStringConvertible {
  /// A line under the text. What is behind the key's id is the signature, or for a cosignature the time and the signature.
  public struct Signature: Sendable, Hashable {
    /// Who says to have signed.
    public let name: String
    /// Which of the keys of that name.
    public let keyID: UInt32
    /// What the key made.
    public let bytes: [UInt8]

    /// A signature from elsewhere.
    public init(name: String, keyID: UInt32, bytes: [UInt8]) {
      self.name = name
      self.keyID = keyID
      self.bytes = bytes
    }

    /// The line, with its line feed.
    var line: String {
      let id = (0..<4).map { UInt8(truncatingIfNeeded: keyID >> UInt32(24 - 8 * $0)) }
      return "\u{2014} \(name) \(Base64.text(id + bytes))\n"
    }
  }

  /// What is signed, with its last line feed.
  public let text: String
  /// In the order in which they were added.
  public private(set) var signatures: [Signature]

  static let byteCountLimit = 60_000
  private static let signatureLimit = 64

  /// A text and signatures under it.
  package init(text: String, signatures: [Signature]) {
    self.text = text
    self.signatures = signatures
  }

  /// The same with a signature in the place of any of the same key.
  func replacing(_ signature: Signature) -> SignedNote {
    let others = signatures.filter { $0.name != signature.name || $0.keyID != signature.keyID }
    return SignedNote(text: text, signatures: others + [signature])
  }

  /// Reads a note. Nothing is verified. Throws `LogError.Code.invalidText` for what is not one.
  public init(_ bytes: [UInt8]) throws {
    guard bytes.count <= Self.byteCountLimit else {
      throw LogError.malformed("a note", "it takes \(bytes.count) bytes, the limit is 60,000")
    }
    guard UTF8Check.firstInvalid(bytes.span) == nil else { throw LogError.malformed("a note", "it is not UTF-8") }
    guard !bytes.contains(where: { $0 < 0x20 && $0 != 0x0A }) else { throw LogError.malformed("a note", "it has control characters in it") }
    // The last empty line parts text and signatures.
    guard let split = bytes.indices.dropLast().last(where: { bytes[$0] == 0x0A && bytes[$0 + 1] == 0x0A }), split > 0, bytes.last == 0x0A
    else {
      throw LogError.malformed("a note", "no empty line parts its text from its signatures")
    }
    text = String(decoding: bytes[...split], as: UTF8.self)
    var found: [Signature] = []
    let lines = bytes[(split + 2)...].split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
    guard !lines.isEmpty, lines.count <= Self.signatureLimit else { throw LogError.malformed("a note", "it has \(lines.count) signatures") }
    let first = bytes[..<(split + 2)].count { $0 == 0x0A } + 1
    for (index, line) in lines.enumerated() { found.append(try Self.signature(String(decoding: line, as: UTF8.self), first + index)) }
    signatures = found
  }

  private static func signature(_ line: String, _ number: Int) throws -> Signature {
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "\u{2014}", VerifierKey.isName(String(parts[1])), let bytes = Base64.bytes(parts[2]),
      bytes.count > 4
    else { throw LogError.malformed("a note", line: number, "a signature is a dash, a name and base64") }
    return Signature(
      name: String(parts[1]), keyID: bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }, bytes: Array(bytes.dropFirst(4)))
  }

  /// As it is sent and kept.
  public var description: String { text + "\n" + signatures.map(\.line).joined() }
  /// The same in UTF-8.
  public var bytes: [UInt8] { Array(description.utf8) }

  /// Whether a key of the kind ``VerifierKey/Kind/note`` signed the text. A second signature that says to be of the same key and is not
  /// makes the answer no.
  public func isSigned(by key: VerifierKey) -> Bool {
    let candidates = signatures.filter { $0.name == key.name && $0.keyID == key.keyID }
    return key.kind == .note && !candidates.isEmpty && candidates.allSatisfy { key.isValid($0.bytes, of: Array(text.utf8)) }
  }
}
