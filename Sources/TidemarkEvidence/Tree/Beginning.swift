internal import TidemarkLog

/// What the events of a log say of its beginning: its keys, and what trimming has left of the tree.
struct Beginning {
  private(set) var keys: KeyChain
  /// The last trim event.
  private(set) var trim: (offset: Offset, record: TrimRecord)?
  private let first: Offset

  init(of log: Log) {
    keys = KeyChain(of: log.identity, isTrimmed: log.first > 0)
    first = log.first
  }

  /// Takes an event in, if it bears on that.
  mutating func add(_ event: EventView) {
    keys.add(event)
    if event.kind == .trim, let record = TrimRecord(event.data) { trim = (event.offset, record) }
  }

  /// Whether events were removed that a tree was made of, and nothing says what their hashes were: no root can then be compared with one
  /// that was signed. A log whose first key came later had no tree when it was trimmed; its tree begins with lost events.
  var isLost: Bool {
    guard first > 0 else { return false }
    guard let trim else { return true }
    if trim.record.floor == first, CompactRange(size: first, encoded: trim.record.compactRange) != nil { return false }
    return keys.entries.first.map { $0.offset < trim.offset } ?? true
  }

  /// Likewise; reads all of a log. Throws errors of the file system.
  static func isLost(of log: Log) throws -> Bool {
    var beginning = Beginning(of: log)
    var cursor = try log.read(seen: Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() { beginning.add(event) }
    return beginning.isLost
  }
}
