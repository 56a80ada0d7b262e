public import TidemarkLog

/// The data of a key event: which key signs this history from here on. The first one of an epoch has no key before it.
///
/// ```
///   0         1        2        18         34                  66               98                   162                      226
///   +---------+--------+--------+----------+-------------------+----------------+--------------------+------------------------+
///   | version | flags  | log id | epoch id | key before, or 0  | key            | signature by key   | by the key before, or 0|
///   +---------+--------+--------+----------+-------------------+----------------+--------------------+------------------------+
/// ```
///
/// Version is 1; flag 1 says that there was a key before. Both sign the line `tidemark key rotation v1` and bytes 0 to 98.
public struct KeyRecord: Sendable, Hashable {
  /// What was signed with up to here; nil for the first key.
  public let previous: [UInt8]?
  /// What is signed with from here on.
  public let publicKey: [UInt8]
  /// As stored.
  public let bytes: [UInt8]

  static let byteCount = 226
  private static let signedCount = 98

  private static func message(_ bytes: [UInt8]) -> [UInt8] { Array("tidemark key rotation v1\n".utf8) + bytes[..<signedCount] }

  /// Signs the change from one key to another.
  init(_ identity: LogIdentity, from previous: [UInt8]?, to publicKey: [UInt8], _ keys: any SigningKeyProvider) throws {
    var bytes: [UInt8] = [1, previous == nil ? 0 : 1]
    bytes.add(identity.logID)
    bytes.add(identity.epochID)
    bytes += previous ?? [UInt8](repeating: 0, count: 32)
    bytes += publicKey
    bytes += try keys.sign(Self.message(bytes), publicKey: publicKey)
    bytes += try previous.map { try keys.sign(Self.message(bytes), publicKey: $0) } ?? [UInt8](repeating: 0, count: 64)
    self.previous = previous
    self.publicKey = publicKey
    self.bytes = bytes
  }

  /// Nil for what is not a key record of this log and epoch, or whose signatures do not verify.
  public init?(_ bytes: [UInt8], of identity: LogIdentity) { self.init(bytes, logID: identity.logID, epochID: identity.epochID) }

  /// The same, for whoever does not have the log.
  package init?(_ bytes: [UInt8], logID: EventID, epochID: EventID) {
    guard Self.origin(of: bytes) == Checkpoint.origin(log: logID, epoch: epochID) else { return nil }
    self.init(ofAny: bytes)
  }

  /// Which history a key record is of, as notes call it. Nil for what is none.
  static func origin(of bytes: [UInt8]) -> String? {
    bytes.count == byteCount ? Checkpoint.origin(log: bytes.rawSpan.id(2), epoch: bytes.rawSpan.id(18)) : nil
  }

  /// Of whatever log. Nil for what is no key record, or whose signatures do not verify.
  init?(ofAny bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes[0] == 1, bytes[1] <= 1 else { return nil }
    let publicKey = Array(bytes[66..<98])
    let previous = bytes[1] == 1 ? Array(bytes[34..<66]) : nil
    guard Ed25519.isValid(Array(bytes[98..<162]), of: Self.message(bytes), publicKey: publicKey) else { return nil }
    if let previous {
      guard Ed25519.isValid(Array(bytes[162..<226]), of: Self.message(bytes), publicKey: previous) else { return nil }
    } else if bytes[34..<66].contains(where: { $0 != 0 }) || bytes[162..<226].contains(where: { $0 != 0 }) {
      return nil
    }
    self.previous = previous
    self.publicKey = publicKey
    self.bytes = bytes
  }
}
