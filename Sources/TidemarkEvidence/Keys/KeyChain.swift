public import TidemarkLog

/// Which key signs a history at which size, as its key events tell.
public struct KeyChain: Sendable {
  /// A key, and the offset of the event that brought it.
  public struct Entry: Sendable, Hashable {
    /// Of the event.
    public let offset: Offset
    /// Ed25519: 32 bytes.
    public let publicKey: [UInt8]
  }

  /// In the order of their offsets.
  public private(set) var entries: [Entry] = []
  /// Offsets of key events that do not follow from those before them; they change nothing.
  public private(set) var refused: [Offset] = []
  /// Offsets of key events of a history that this one goes on from: an earlier epoch's, or those of a log that was salvaged. They change
  /// nothing either.
  private(set) var inherited: Set<Offset> = []
  /// Key events since the last salvage event that are right, but of another history: its name in notes.
  private var foreign: [Offset: String] = [:]
  private let identity: LogIdentity
  /// Whether events were removed, and key events with them.
  let isTrimmed: Bool
  /// The key that the first one followed, and that signed for it: known where key events were removed.
  private(set) var predecessor: [UInt8]?

  /// Without a key.
  ///
  /// - Parameters:
  ///   - identity: of the log.
  ///   - isTrimmed: whether events were removed, and key events with them: then the first that is there is the beginning.
  public init(of identity: LogIdentity, isTrimmed: Bool = false) {
    self.identity = identity
    self.isTrimmed = isTrimmed
  }

  /// Takes an event in, if it bears on keys. A key event that brings the key that is in force, as trimming repeats it, changes nothing.
  mutating func add(_ event: EventView) {
    switch event.kind {
    case .keyRotation: add(event.data.array(), at: event.offset)
    case .salvage:
      // What was salvaged brings the key events of its history along.
      guard let origin = SalvageRecord(event.data)?.origin else { return }
      inherited.formUnion(foreign.filter { $0.value == origin }.keys)
      refused.removeAll(where: inherited.contains)
      foreign = [:]
    default: break
    }
  }

  private mutating func add(_ data: [UInt8], at offset: Offset) {
    guard let record = KeyRecord(data, of: identity) else {
      let origin = KeyRecord(ofAny: data) == nil ? nil : KeyRecord.origin(of: data)
      if let origin, identity.earlierOrigins.contains(origin) {
        inherited.insert(offset)
        return
      }
      refused.append(offset)
      foreign[offset] = origin
      return
    }
    if record.publicKey == entries.last?.publicKey { return }
    guard record.previous == entries.last?.publicKey || (entries.isEmpty && isTrimmed) else {
      refused.append(offset)
      return
    }
    if entries.isEmpty { predecessor = record.previous }
    entries.append(Entry(offset: offset, publicKey: record.publicKey))
  }

  /// The key that signs checkpoints of a size: the last whose event is among so many. Nil before the first.
  public func publicKey(at size: Offset) -> [UInt8]? { entries.last { $0.offset < size }?.publicKey }

  /// The keys that may sign a checkpoint of a size: that one. Before the first, its key, which signs also what was there when it was made;
  /// of a trimmed log, whose first key event may be a repetition, the one before it, too.
  func publicKeys(at size: Offset) -> [[UInt8]] {
    if let key = publicKey(at: size) { return [key] }
    guard let first = entries.first else { return [] }
    return [first.publicKey] + (predecessor.map { [$0] } ?? [])
  }

  /// Of a whole log: reads all of it. Throws errors of the file system.
  public init(of log: Log) throws {
    self.init(of: log.identity, isTrimmed: log.first > 0)
    var cursor = try log.read(seen: Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() { add(event) }
  }
}

extension LogIdentity {
  /// What the histories of earlier epochs are called in notes.
  var earlierOrigins: [String] { epochs.dropLast().map { Checkpoint.origin(log: logID, epoch: $0.id) } }
}

extension SalvageRecord {
  /// What the log that was salvaged is called in notes.
  var origin: String { Checkpoint.origin(log: logID, epoch: epochID) }
}
