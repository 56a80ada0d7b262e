package import TidemarkLog

/// Reads a log and hashes the leaf of each offset of a range, those whose events were lost too.
package struct LeafReader: ~Copyable {
  private var cursor: Cursor
  private var hasher: LeafHasher
  private let log: Log
  private let end: Offset
  /// The offset of the next leaf.
  private(set) var position: Offset
  /// Is shown each event before its leaf is given.
  private let observer: ((EventView) -> Void)?
  /// The leaf of the event that the cursor gave last, and where it stands.
  private var waiting: (offset: Offset, leaf: Digest256)?
  /// The last events of these kinds.
  private(set) var lastKeyRecord: Offset?
  private(set) var lastReceipt: Offset?
  /// The ranges whose events can't be read.
  private(set) var lost: [Finding] = []

  /// - Parameter session: of the session in force at the beginning, if that is known.
  init(_ log: Log, _ range: Range<Offset>, session: Digest256?, _ hasher: SHA256, observer: ((EventView) -> Void)? = nil) throws {
    self.observer = observer
    self.log = log
    let session = try session ?? hasher.hash(session: Self.sessionData(log, at: range.lowerBound))
    cursor = try log.read(seen: Query(offsets: range, includesControlEvents: true, onDamage: .skip))
    self.hasher = LeafHasher(hasher, session: session)
    position = range.lowerBound
    end = range.upperBound
  }

  /// Of the session in force behind the last leaf.
  var session: Digest256 { hasher.session }

  /// The next leaf; nil at the end.
  mutating func next() throws -> Digest256? {
    guard position < end else { return nil }
    if waiting == nil { try read() }
    defer { position += 1 }
    guard let next = waiting, next.offset == position else { return Descriptor(lost: position).leaf(hasher.hasher) }
    waiting = nil
    return next.leaf
  }

  private mutating func read() throws {
    let next = try Self.next(&cursor, &hasher, log, position, observer) ?? (end, .event, .zero)
    waiting = (next.offset, next.leaf)
    switch next.kind {
    case .keyRotation: lastKeyRecord = next.offset
    case .receipt: lastReceipt = next.offset
    default: break
    }
    if next.offset != position { lost = cursor.gaps }
  }

  private static func next(
    _ cursor: inout Cursor, _ hasher: inout LeafHasher, _ log: Log, _ position: Offset, _ observer: ((EventView) -> Void)?
  ) throws -> (offset: Offset, kind: EventKind, leaf: Digest256)? {
    guard let event = try cursor.next() else { return nil }
    // A session record may be among what was lost: the segment tells, as it does to whoever begins here.
    if event.offset != position { hasher.begin(hasher.hasher.hash(session: try sessionData(log, at: event.offset))) }
    observer?(event)
    return (event.offset, event.kind, hasher.leaf(event))
  }

  /// The data of the session in force at an offset: of the last session record before it. Empty if there is none.
  package static func sessionData(_ log: Log, at offset: Offset) throws -> [UInt8] {
    guard offset > 0, offset < log.size else { return [] }
    var before = try log.read(seen: Query(offsets: max(log.first, offset - 1)..<offset + 1, includesControlEvents: true, onDamage: .skip))
    // The event before has the session that it leaves in force; so has this one, unless it is a session record itself.
    guard let isKnown = try Self.hasSession(before: offset, &before) else { return [] }
    return isKnown ? before.sessionData : try log.sessionData(before: offset)
  }
}

extension LeafReader {
  private static func hasSession(before offset: Offset, _ cursor: inout Cursor) throws -> Bool? {
    guard let event = try cursor.next() else { return nil }
    return event.offset < offset || event.kind != .session
  }
}

extension Log {
  /// The data of the session in force at an offset, which begins the hashing of what follows: of the last session record before it. Empty
  /// if there is none.
  package func sessionData(inForceAt offset: Offset) throws -> [UInt8] { try LeafReader.sessionData(self, at: offset) }
}

extension SHA256 {
  /// Zero without a session.
  package func hash(session data: [UInt8]) -> Digest256 { data.isEmpty ? .zero : hash(data) }
}
