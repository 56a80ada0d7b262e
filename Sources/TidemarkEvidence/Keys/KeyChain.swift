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
  /// Offsets of key events that were salvaged with the log that they are of; they change nothing either.
  private(set) var salvaged: Set<Offset> = []
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
      salvaged.formUnion(foreign.filter { $0.value == origin }.keys)
      refused.removeAll(where: salvaged.contains)
      foreign = [:]
    default: break
    }
  }

  private mutating func add(_ data: [UInt8], at offset: Offset) {
    guard let record = KeyRecord(data, of: identity) else {
      refused.append(offset)
      if KeyRecord(ofAny: data) != nil { foreign[offset] = KeyRecord.origin(of: data) }
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

  /// The keys that may sign a checkpoint of a size: that one. Of a trimmed log, whose first key event may be a repetition, before that its
  /// key and the one before it.
  func publicKeys(at size: Offset) -> [[UInt8]] {
    if let key = publicKey(at: size) { return [key] }
    guard isTrimmed, let first = entries.first else { return [] }
    return [first.publicKey] + (predecessor.map { [$0] } ?? [])
  }

  /// Of a whole log: reads all of it. Throws errors of the file system.
  public init(of log: Log) throws {
    self.init(of: log.identity, isTrimmed: log.first > 0)
    var cursor = try log.read(seen: Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() { add(event) }
  }
}

extension SalvageRecord {
  /// What the log that was salvaged is called in notes.
  var origin: String { Checkpoint.origin(log: logID, epoch: epochID) }
}
