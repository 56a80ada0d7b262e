public import TidemarkLog

/// What a leaf of the history tree is hashed from: an event without its data, whose digest stands for it.
///
/// ```
///   0      4                 36                  68           100
///   +------+-----------------+-------------------+------------+--- - - - --------------------------------------------+
///   | TMD1 | SHA-256 of the  | SHA-256 of its    | SHA-256 of | the record's bytes up to its extensions: fixed part, |
///   |      | session's data  | extensions        | its data   | type, subject, actor, content type                   |
///   +------+-----------------+-------------------+------------+--- - - - --------------------------------------------+
/// ```
///
/// The session is the one in force: the last session record before the event; zeros if there is none. For an offset that was lost the
/// descriptor is `TMG1` and the offset as u64, little-endian.
///
/// It is a function of what is stored, so anybody can compute it again, and it stays the same when data is given away separately.
public struct Descriptor: Sendable, Hashable {
  /// As they are hashed.
  public let bytes: [UInt8]

  /// Bytes from elsewhere.
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Of an event, with the digest of the data of the session in force, which is zero without one.
  public init(_ event: EventView, session: Digest256, _ hasher: SHA256) {
    let head = event.record.byteCount - event.extensionBytes.byteCount - event.data.byteCount
    var bytes = Array("TMD1".utf8)
    bytes += session.bytes
    bytes += hasher.hash(event.extensionBytes).bytes
    bytes += hasher.hash(event.data).bytes
    bytes.add(event.record.slice(0, head))
    self.bytes = bytes
  }

  /// Of an offset whose event was lost.
  public init(lost offset: Offset) {
    var bytes = Array("TMG1".utf8)
    bytes.add(offset)
    self.bytes = bytes
  }

  /// The leaf's hash: SHA-256 of the byte 0 and the descriptor (RFC 6962, section 2.1).
  public func leaf(_ hasher: SHA256) -> Digest256 { hasher.hash([UInt8(0)].rawSpan, bytes.rawSpan) }
}

/// Hashes the leaves of events, one after another from the first of a log on, without a copy of each descriptor: for who has the events,
/// but no log, such as a server that they were shipped to.
///
/// ```swift
/// let hasher = SHA256()
/// var leaves = LeafHasher(hasher)
/// var range = CompactRange()
/// for event in events { range.append(leaves.leaf(event.view), hasher) }
/// let root = range.root(hasher)
/// ```
public struct LeafHasher: ~Copyable {
  package let hasher: SHA256
  /// The byte 0, then a descriptor's first 100 bytes.
  private var prefix: [UInt8]
  private let empty: Digest256
  /// SHA-256 of the data of the session in force behind the last leaf; zero if there is none.
  public private(set) var session: Digest256

  private static let sessionAt = 5
  private static let extensionsAt = 37
  private static let dataAt = 69

  /// - Parameters:
  ///   - hasher: what to hash with; by one thread at a time.
  ///   - session: SHA-256 of the data of the session in force before the first event; zero if there is none.
  public init(_ hasher: SHA256, session: Digest256 = .zero) {
    self.hasher = hasher
    self.session = session
    empty = hasher.hash([])
    prefix = [0] + Array("TMD1".utf8) + session.bytes + empty.bytes + empty.bytes
  }

  /// The events from here on have this session.
  package mutating func begin(_ session: Digest256) {
    self.session = session
    session.store(in: &prefix, at: Self.sessionAt)
  }

  /// The leaf's hash of the next event, control events included. A session record is in force for those behind it.
  public mutating func leaf(_ event: EventView) -> Digest256 {
    let data = event.data
    let extensions = event.extensionBytes
    let dataDigest = data.byteCount == 0 ? empty : hasher.hash(data)
    dataDigest.store(in: &prefix, at: Self.dataAt)
    (extensions.byteCount == 0 ? empty : hasher.hash(extensions)).store(in: &prefix, at: Self.extensionsAt)
    let head = event.record.byteCount - extensions.byteCount - data.byteCount
    let leaf = hasher.hash(prefix.rawSpan, event.record.slice(0, head))
    if event.kind == .session {
      begin(dataDigest)
    }
    return leaf
  }
}
