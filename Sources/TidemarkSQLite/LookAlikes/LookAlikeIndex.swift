internal import TidemarkLog
internal import TidemarkProjections

/// The tables of ``LookAlikes``: for each content its first event, and for each later one of the same content that first.
struct LookAlikeIndex {
  private static let schema: Int64 = 1
  private static let perTransaction: Offset = 16_384
  private static let tables = """
    CREATE TABLE IF NOT EXISTS tidemark_look_alikes_applied(
      only INTEGER PRIMARY KEY CHECK(only = 1), schema INTEGER NOT NULL, log_id TEXT NOT NULL, epoch_id TEXT NOT NULL,
      first_offset INTEGER NOT NULL, applied_offset INTEGER NOT NULL, last_id TEXT NOT NULL,
      damaged_offset_count INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS tidemark_look_alikes_index(digest BLOB PRIMARY KEY NOT NULL, first_offset INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tidemark_look_alikes(
      first_offset INTEGER NOT NULL, offset INTEGER NOT NULL, PRIMARY KEY(first_offset, offset)) WITHOUT ROWID;
    """
  private static let what = "the look-alikes can't be kept"

  private let database: Database
  /// Where looking began.
  private var first: Offset
  private(set) var position: Offset
  private(set) var damagedOffsetCount: UInt64 = 0

  init(_ log: Log, _ file: String) throws {
    database = try Database.forRows(file, busyTimeoutMilliseconds: 5000)
    (first, position) = (log.first, log.first)
    try database.execute("BEGIN IMMEDIATE", Self.what)
    do {
      try database.execute(Self.tables, Self.what)
      let selection = try database.prepare(
        "SELECT schema, log_id, epoch_id, first_offset, applied_offset, last_id, damaged_offset_count FROM tidemark_look_alikes_applied",
        Self.what)
      defer { selection.reset() }
      if try selection.step() {
        guard selection.integer(0) == Self.schema else {
          throw LogError(
            .unsupportedVersion, "the look-alikes were written by another version", file: file,
            why: "their schema has version \(selection.integer(0)), not \(Self.schema)",
            advice: "use the program that wrote them, or another file")
        }
        let end = Offset(clamping: selection.integer(4))
        let serves =
          selection.text(1) == "\(log.identity.logID)" && selection.text(2) == "\(log.identity.epochID)" && end >= log.first
          && end <= log.size
        if try serves && Self.id(below: end, of: log) == selection.text(5) {
          (first, position) = (Offset(clamping: selection.integer(3)), end)
          damagedOffsetCount = UInt64(clamping: selection.integer(6))
        } else {
          for table in ["tidemark_look_alikes_applied", "tidemark_look_alikes_index", "tidemark_look_alikes"] {
            try database.execute("DELETE FROM \(table)", Self.what)
          }
        }
      }
      try database.execute("COMMIT", Self.what)
    } catch {
      rollBack()
      throw error
    }
  }

  private func rollBack() { if database.isInTransaction { try? database.execute("ROLLBACK", Self.what) } }

  /// The id of the event below an offset, as text; empty if there is none, or it can't be read.
  private static func id(below offset: Offset, of log: Log) throws -> String {
    guard offset > log.first else { return "" }
    do { return "\(try log.event(at: offset - 1).id)" } catch LogError.Code.corrupt { return "" }
  }

  // MARK: Looking

  mutating func advance(_ log: Log, to end: Offset, _ progress: ((FoldProgress) -> Bool)?) throws {
    while position < end {
      let stop = min(end, position + Self.perTransaction)
      try database.execute("BEGIN IMMEDIATE", Self.what)
      do {
        let damaged = damagedOffsetCount + (try look(log, position..<stop, end, progress))
        try note(log, stop, damaged)
        try database.execute("COMMIT", Self.what)
        damagedOffsetCount = damaged
      } catch {
        rollBack()
        throw error
      }
      position = stop
    }
  }

  /// Returns how many offsets damage hides.
  private func look(_ log: Log, _ range: Range<Offset>, _ end: Offset, _ progress: ((FoldProgress) -> Bool)?) throws -> UInt64 {
    let find = try database.prepare("SELECT first_offset FROM tidemark_look_alikes_index WHERE digest = ?1", Self.what)
    let add = try database.prepare("INSERT INTO tidemark_look_alikes_index(digest, first_offset) VALUES(?1, ?2)", Self.what)
    let list = try database.prepare("INSERT INTO tidemark_look_alikes(first_offset, offset) VALUES(?1, ?2)", Self.what)
    var cursor = try log.read(seen: Query(offsets: range, onDamage: .skip))
    var count = 0
    while let event = try cursor.next() {
      let (digest, offset) = (event.contentDigest, Int64(clamping: event.offset))
      try find.bind(1, blob: digest)
      let known: Int64? = try find.step() ? find.integer(0) : nil
      find.reset()
      if let known {
        try list.bind(1, known)
        try list.bind(2, offset)
        try list.run()
      } else {
        try add.bind(1, blob: digest)
        try add.bind(2, offset)
        try add.run()
      }
      count += 1
      if count & 1023 == 0, Task.isCancelled || progress.map({ !$0(FoldProgress(position: event.offset, end: end)) }) ?? false {
        throw LogError(
          .cancelled, "looking for look-alikes was stopped", offsets: event.offset..<end, why: "the caller, or its task, asked for it",
          advice: "call again to go on")
      }
    }
    return cursor.gaps.reduce(0) { $0 + UInt64($1.offsets?.count ?? 0) }
  }

  private func note(_ log: Log, _ stop: Offset, _ damaged: UInt64) throws {
    let row = try database.prepare(
      """
      INSERT OR REPLACE INTO tidemark_look_alikes_applied(only, schema, log_id, epoch_id, first_offset, applied_offset, last_id,
        damaged_offset_count)
      VALUES(1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)
      """, Self.what)
    try row.bind(1, Self.schema)
    try row.bind(2, "\(log.identity.logID)")
    try row.bind(3, "\(log.identity.epochID)")
    try row.bind(4, Int64(clamping: first))
    try row.bind(5, Int64(clamping: stop))
    try row.bind(6, try Self.id(below: stop, of: log))
    try row.bind(7, Int64(clamping: damaged))
    try row.run()
  }

  // MARK: Listing

  func count() throws(LogError) -> UInt64 {
    let selection = try database.prepare("SELECT count(*) FROM tidemark_look_alikes", Self.what)
    defer { selection.reset() }
    return try selection.step() ? UInt64(clamping: selection.integer(0)) : 0
  }

  func groups(from offset: Offset, limit: Int) throws(LogError) -> [LookAlikes.Group] {
    let selection = try database.prepare(
      """
      SELECT first_offset, offset FROM tidemark_look_alikes WHERE first_offset IN (
        SELECT DISTINCT first_offset FROM tidemark_look_alikes WHERE first_offset >= ?1 ORDER BY first_offset LIMIT ?2)
      ORDER BY first_offset, offset
      """, Self.what)
    try selection.bind(1, Int64(clamping: offset))
    try selection.bind(2, Int64(clamping: max(0, limit)))
    defer { selection.reset() }
    var groups: [LookAlikes.Group] = []
    while try selection.step() {
      let (first, other) = (Offset(clamping: selection.integer(0)), Offset(clamping: selection.integer(1)))
      if groups.last?.first == first {
        groups[groups.count - 1].others.append(other)
      } else {
        groups.append(LookAlikes.Group(first: first, others: [other]))
      }
    }
    return groups
  }
}
