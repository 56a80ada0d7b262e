public import TidemarkLog

/// What an erasure event in the log says: which keys are, or are about to be, destroyed.
///
/// ```
///   0         1      2       4
///   +---------+------+-------+--------+-----------+--- - -
///   | version | zero | count | key id | pseudonym |
///   +---------+------+-------+--------+-----------+--- - -
/// ```
///
/// When it was is in the event's own fields. Nothing in it tells who the subject is.
///
/// ```swift
/// if let erasure = try ErasureRecord(log.event(at: offset)) { print(erasure.keys.map(\.id)) }
/// ```
public struct ErasureRecord: Sendable, Equatable {
  /// One key.
  public struct Key: Sendable, Equatable {
    /// The key's id, as sealed events name it.
    public var id: EventID
    /// The subject's pseudonym; all bits zero if it could no longer be read.
    public var pseudonym: EventID
  }

  /// In the order of their ids.
  public var keys: [Key]

  static let version: UInt8 = 1
  private static let keyByteCount = 32

  init(keys: [Key]) { self.keys = keys }

  func encode() -> [UInt8] {
    var bytes: [UInt8] = [Self.version, 0]
    bytes.add(UInt16(truncatingIfNeeded: keys.count))
    for key in keys {
      bytes.add(key.id)
      bytes.add(key.pseudonym)
    }
    return bytes
  }

  /// Nil for events that are no erasure. Throws `LogError.Code.unsupportedVersion`, and `LogError.Code.corrupt` for data that can't be
  /// taken apart.
  public init?(_ event: Event) throws { try self.init(event.view) }

  /// The same where the event lies in a reader's buffer.
  public init?(_ event: EventView) throws {
    guard event.kind == .erasure else { return nil }
    let (bytes, offset) = (event.data, event.offset)
    guard bytes.byteCount >= 4 else { throw Self.malformed(offset) }
    guard bytes.u8(0) == Self.version else {
      throw LogError(
        .unsupportedVersion, "an erasure can't be read", offsets: offset..<offset + 1,
        why: "it has version \(bytes.u8(0)), not \(Self.version)", advice: "use a newer version of this program")
    }
    let count = Int(bytes.u16(2))
    guard bytes.byteCount == 4 + count * Self.keyByteCount else { throw Self.malformed(offset) }
    keys = []
    for index in 0..<count {
      let at = 4 + index * Self.keyByteCount
      keys.append(Key(id: bytes.id(at), pseudonym: bytes.id(at + 16)))
    }
  }

  private static func malformed(_ offset: Offset) -> LogError {
    LogError(
      .corrupt, "an erasure can't be read", offsets: offset..<offset + 1, why: "its data can't be taken apart", advice: "run verify")
  }
}
