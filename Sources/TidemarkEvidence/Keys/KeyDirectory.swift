package import TidemarkLog
internal import TidemarkText

/// Signing keys as files in a directory that only its owner may enter: `<public key in hexadecimal>.key`, mode 0600, with the line
/// `tidemark-ed25519-seed`, then the seed (RFC 8032) in base64. A file that others may read or change is refused:
/// `LogError.Code.keysNotPrivate`.
///
/// ```swift
/// let keys = try KeyDirectory(at: "device-keys")
/// ```
public struct KeyDirectory: SigningKeyProvider {
  /// The directory.
  public let path: String
  private let files: any FileSystem

  private static let firstLine = "tidemark-ed25519-seed"
  private static let suffix = ".key"

  /// Makes the directory if it is not there. Throws errors of the file system.
  public init(at path: String) throws { try self.init(at: path, POSIXFileSystem()) }

  package init(at path: String, _ files: any FileSystem) throws {
    self.path = path
    self.files = files
    guard try files.status(path) == nil else { return }
    let above = files.directory(of: path)
    if try files.status(above) == nil { try files.makeDirectory(above) }
    try files.makePrivateDirectory(path)
    try files.syncDirectory(above)
  }

  private func file(_ publicKey: [UInt8]) -> String { "\(path)/\(publicKey.hexadecimal)\(Self.suffix)" }

  /// The public halves of all keys here.
  public func publicKeys() throws -> [[UInt8]] {
    try files.list(path).sorted().compactMap { name in
      guard name.hasSuffix(Self.suffix), name.utf8.count == 64 + Self.suffix.utf8.count else { return nil }
      return [UInt8](hexadecimal: name.dropLast(Self.suffix.count))
    }
  }

  public func makeKey() throws -> [UInt8] {
    var seed = Ed25519.random(Ed25519.seedByteCount)
    defer { Ed25519.wipe(&seed) }
    return try keep(seed)
  }

  /// Keeps the key of a seed, and returns its public half.
  package func keep(_ seed: [UInt8]) throws -> [UInt8] {
    let publicKey = Ed25519.keys(seed: seed).publicKey
    var text = Array("\(Self.firstLine)\n\(Base64.text(seed))\n".utf8)
    defer { Ed25519.wipe(&text) }
    try files.replace(file(publicKey), with: text, .createPrivate)
    return publicKey
  }

  public func sign(_ message: [UInt8], publicKey: [UInt8]) throws -> [UInt8] {
    let path = file(publicKey)
    try files.status(path)?.checkPrivate(path)
    guard let bytes = try files.contents(path) else {
      throw LogError(
        .missingKey, "a signing key is not there", file: path, why: "its file is gone",
        advice: "restore it from a backup; without it nothing more can be signed in this epoch")
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 3, lines[0] == Self.firstLine, lines[2].isEmpty, var seed = Base64.bytes(lines[1]), seed.count == 32 else {
      throw unreadable(path, "its contents are not a key's")
    }
    defer { Ed25519.wipe(&seed) }
    var keys = Ed25519.keys(seed: seed)
    defer { Ed25519.wipe(&keys.secretKey) }
    guard keys.publicKey == publicKey else { throw unreadable(path, "it holds another key than its name says") }
    return Ed25519.sign(message, secretKey: keys.secretKey)
  }

  private func unreadable(_ path: String, _ why: String) -> LogError {
    LogError(.missingKey, "a signing key can't be read", file: path, why: why, advice: "restore it from a backup")
  }

  public func removeKey(publicKey: [UInt8]) throws {
    let path = file(publicKey)
    guard try files.status(path) != nil else { return }
    try files.remove(path)
    try files.syncDirectory(self.path)
  }
}

extension [UInt8] {
  /// Nil if the text is not pairs of hexadecimal digits.
  package init?(hexadecimal text: some StringProtocol) {
    guard text.utf8.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text {
      guard let digit = character.hexDigitValue, character.isASCII else { return nil }
      if let first = high {
        bytes.append(first << 4 | UInt8(digit))
        high = nil
      } else {
        high = UInt8(digit)
      }
    }
    self = bytes
  }
}
