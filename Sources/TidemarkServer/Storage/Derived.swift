internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkSQLite

/// The rows that are derived from the ingest log, on one connection.
final class Derived {
  let rows: Rows

  private static let version: Int64 = 1
  private static let schema = """
    CREATE TABLE IF NOT EXISTS applied (
      one INTEGER PRIMARY KEY CHECK (one = 1), log BLOB NOT NULL, epoch BLOB NOT NULL, next INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS tenants (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, through INTEGER NOT NULL, quarantined INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS epochs (
      number INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, device BLOB NOT NULL, log BLOB NOT NULL, epoch BLOB NOT NULL,
      parent BLOB NOT NULL, start INTEGER NOT NULL, start_range BLOB NOT NULL, accepted INTEGER NOT NULL, range BLOB NOT NULL,
      key BLOB NOT NULL, settled INTEGER NOT NULL, time INTEGER NOT NULL, UNIQUE (log, epoch));
    CREATE INDEX IF NOT EXISTS epochs_of_device ON epochs (device);
    CREATE TABLE IF NOT EXISTS holes (
      epoch INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL, PRIMARY KEY (epoch, first)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS events (
      tenant INTEGER NOT NULL, id BLOB NOT NULL, digest BLOB NOT NULL, epoch INTEGER NOT NULL, offset INTEGER NOT NULL,
      PRIMARY KEY (tenant, id)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS requests (
      ingest INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, epoch INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL,
      first_change INTEGER NOT NULL, last_change INTEGER NOT NULL, time INTEGER NOT NULL, note BLOB NOT NULL, range BLOB NOT NULL,
      verdicts BLOB NOT NULL);
    CREATE UNIQUE INDEX IF NOT EXISTS requests_of_epoch ON requests (epoch, end);
    CREATE TABLE IF NOT EXISTS quarantine (
      tenant INTEGER NOT NULL, number INTEGER NOT NULL, epoch INTEGER NOT NULL, ingest INTEGER NOT NULL, verdict BLOB NOT NULL,
      state INTEGER NOT NULL, PRIMARY KEY (tenant, number)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS quarantine_of_epoch ON quarantine (epoch, state);
    CREATE TABLE IF NOT EXISTS changes (
      tenant INTEGER NOT NULL, last INTEGER NOT NULL, ingest INTEGER NOT NULL, offset INTEGER NOT NULL, body BLOB NOT NULL,
      place TEXT NOT NULL, person TEXT NOT NULL, device BLOB NOT NULL, PRIMARY KEY (tenant, last)) WITHOUT ROWID;
    \(itemSchema)
    CREATE TABLE IF NOT EXISTS awaited (
      epoch INTEGER NOT NULL, offset INTEGER NOT NULL, event BLOB NOT NULL, digest BLOB NOT NULL, length INTEGER NOT NULL,
      name TEXT NOT NULL, PRIMARY KEY (epoch, offset, digest)) WITHOUT ROWID;
    PRAGMA user_version = \(version);
    """
  /// All of them, for a comparison; but for files that are awaited, which are crossed off when somebody looks.
  static let tables = ["applied", "tenants", "epochs", "holes", "events", "requests", "quarantine", "changes", "items", "acknowledgements"]

  /// Opens the database. Throws also for one of another version.
  init(_ file: String) throws {
    rows = try Rows(file, "the server's rows can't be used")
    let found = try rows.first("PRAGMA user_version") { $0.integer(0) } ?? 0
    guard found == 0 || found == Self.version else {
      throw LogError(.unsupportedVersion, "the server's rows are of another version", file: file, why: "it is \(found)")
    }
    if found == 0 { try rows.execute(Self.schema) }
  }

  // MARK: How far it is

  /// The offset of the ingest log's next event; nil if the rows are of another log.
  func next(of identity: LogIdentity) throws -> Offset? {
    let found = try rows.first("SELECT log, epoch, next FROM applied") { ($0.id(0), $0.id(1), $0.unsigned(2)) }
    guard let found else {
      try rows.run("INSERT INTO applied VALUES (1, ?, ?, 0)", RowValue(identity.logID), RowValue(identity.epochID))
      return 0
    }
    return found.0 == identity.logID && found.1 == identity.epochID ? found.2 : nil
  }

  func setNext(_ offset: Offset) throws { try rows.run("UPDATE applied SET next = ?", RowValue(offset)) }

  // MARK: Tenants

  /// The number of a tenant; made if there is none.
  func tenant(_ name: String) throws -> Int64 {
    if let number = try rows.first("SELECT number FROM tenants WHERE name = ?", RowValue(name), read: { $0.integer(0) }) { return number }
    let made = try rows.first(
      "INSERT INTO tenants (name, through, quarantined) VALUES (?, 0, 0) RETURNING number", RowValue(name), read: { $0.integer(0) })
    return made ?? 0
  }

  func through(_ tenant: String) throws -> UInt64 {
    try rows.first("SELECT through FROM tenants WHERE name = ?", RowValue(tenant)) { $0.unsigned(0) } ?? 0
  }

  /// Takes the next numbers of a tenant for changes; nil if none are needed.
  func takeChanges(_ tenant: Int64, count: Int) throws -> ClosedRange<UInt64>? {
    guard count > 0 else { return nil }
    let last = try rows.first(
      "UPDATE tenants SET through = through + ? WHERE number = ? RETURNING through", .number(Int64(count)), .number(tenant)
    ) { $0.unsigned(0) }
    return last.map { $0 - UInt64(count) + 1...$0 }
  }

  func takeQuarantineNumber(_ tenant: Int64) throws -> UInt64 {
    try rows.first("UPDATE tenants SET quarantined = quarantined + 1 WHERE number = ? RETURNING quarantined", .number(tenant)) {
      $0.unsigned(0)
    } ?? 0
  }

  // MARK: Epochs

  private static let positions = """
    SELECT e.number, t.name, e.device, e.log, e.epoch, e.parent, e.start, e.start_range, e.accepted, e.range, e.key, e.settled, e.time,
      (SELECT count(*) FROM quarantine q WHERE q.epoch = e.number AND q.state = 0)
    FROM epochs e JOIN tenants t ON t.number = e.tenant
    """

  private func position(_ row: Statement) throws -> Position {
    guard let start = CompactRange(size: row.unsigned(6), encoded: row.bytes(7)),
      let range = CompactRange(size: row.unsigned(8), encoded: row.bytes(9))
    else { throw damaged("a tree is of another size") }
    let parent = row.id(5)
    return Position(
      number: row.integer(0), tenant: row.text(1), device: row.id(2), log: row.id(3), epoch: row.id(4),
      parent: parent == .zero ? nil : parent, start: start, range: range, key: row.bytes(10), settled: row.unsigned(11),
      seconds: row.unsigned(12), holes: [], quarantined: row.unsigned(13))
  }

  private func damaged(_ why: String) -> LogError {
    LogError(
      .corrupt, "the server's rows are damaged", why: why,
      advice: "stop the server and delete derived.sqlite: it is made again from the log")
  }

  func position(log: EventID, epoch: EventID) throws -> Position? {
    let found = try rows.first(Self.positions + " WHERE e.log = ? AND e.epoch = ?", RowValue(log), RowValue(epoch), read: position)
    return try found.map(withHoles)
  }

  func positions(of device: EventID?) throws -> [Position] {
    let found =
      if let device {
        try rows.all(Self.positions + " WHERE e.device = ? ORDER BY e.number", RowValue(device), read: position)
      } else {
        try rows.all(Self.positions + " ORDER BY e.number", read: position)
      }
    return try found.map(withHoles)
  }

  private func withHoles(_ position: Position) throws -> Position {
    var position = position
    position.holes = try rows.all("SELECT first, end FROM holes WHERE epoch = ? ORDER BY first", .number(position.number)) {
      $0.unsigned(0)..<$0.unsigned(1)
    }
    return position
  }

  func owner(of log: EventID) throws -> EventID? {
    try rows.first("SELECT device FROM epochs WHERE log = ? LIMIT 1", RowValue(log)) { $0.id(0) }
  }

  // MARK: Requests

  private static let requests = """
    SELECT r.ingest, e.log, e.epoch, r.first, r.end, r.first_change, r.last_change, r.time, r.note, r.range, r.verdicts
    FROM requests r JOIN epochs e ON e.number = r.epoch
    """

  private func request(_ row: Statement) throws -> Request {
    guard let range = CompactRange(size: row.unsigned(4), encoded: row.bytes(9)), let verdicts = Verdict.decode(row.bytes(10).rawSpan),
      row.unsigned(3) < row.unsigned(4), row.unsigned(5) <= row.unsigned(6)
    else { throw damaged("a request's row can't be read") }
    return Request(
      ingest: row.unsigned(0), log: row.id(1), epoch: row.id(2), offsets: row.unsigned(3)..<row.unsigned(4),
      changes: row.unsigned(5) == 0 ? nil : row.unsigned(5)...row.unsigned(6), seconds: row.unsigned(7), note: row.bytes(8), range: range,
      verdicts: verdicts)
  }

  func requests(of position: Position, overlapping offsets: Range<Offset>) throws -> [Request] {
    try rows.all(
      Self.requests + " WHERE r.epoch = ? AND r.end > ? AND r.first < ? ORDER BY r.end", .number(position.number),
      RowValue(offsets.lowerBound), RowValue(offsets.upperBound), read: request)
  }

  /// The last one that ends at a size or below.
  func request(of position: Position, endingUpTo size: Offset) throws -> Request? {
    try rows.first(
      Self.requests + " WHERE r.epoch = ? AND r.end <= ? ORDER BY r.end DESC LIMIT 1", .number(position.number), RowValue(size),
      read: request)
  }

  func request(ingest: Offset) throws -> Request? {
    try rows.first(Self.requests + " WHERE r.ingest = ?", RowValue(ingest), read: request)
  }

  // MARK: Changes

  /// A row of changes.
  enum Changed {
    /// Events of a request: those that were accepted, up to a number; or one that was released.
    case events(Request, device: EventID, released: Offset?, last: UInt64)
    /// One that is about an item.
    case item(number: UInt64, body: [UInt8], place: String, person: String, device: EventID)
  }

  /// What has changes above a number, in order.
  func changed(_ tenant: String, since number: UInt64, limit: Int64, withEvents: Bool) throws -> [Changed] {
    let found = try rows.all(
      """
      SELECT c.last, c.ingest, c.offset, c.body, c.place, c.person, c.device FROM changes c JOIN tenants t ON t.number = c.tenant
      WHERE t.name = ? AND c.last > ? AND (c.ingest < 0 OR ?) ORDER BY c.last LIMIT ?
      """, RowValue(tenant), RowValue(number), .number(withEvents ? 1 : 0), .number(limit)
    ) { row in
      (
        row.integer(1), row.integer(2) < 0 ? nil : row.unsigned(2),
        Changed.item(number: row.unsigned(0), body: row.bytes(3), place: row.text(4), person: row.text(5), device: row.id(6))
      )
    }
    return try found.map { ingest, released, item in
      guard ingest >= 0, case .item(let last, _, _, _, _) = item else { return item }
      guard let request = try request(ingest: UInt64(ingest)) else { throw damaged("a change is of no request") }
      return .events(request, device: try owner(ingest: UInt64(ingest)), released: released, last: last)
    }
  }

  // MARK: Files

  /// What events name, of a device's logs or of all: those that were not known to be here when they were last looked for.
  func awaited(of device: EventID?) throws -> [AwaitedFile] {
    let filter = device == nil ? "?" : "e.device = ?"
    return try rows.all(
      """
      SELECT t.name, e.device, e.log, e.epoch, e.number, a.offset, a.event, a.digest, a.length, a.name FROM awaited a
      JOIN epochs e ON e.number = a.epoch JOIN tenants t ON t.number = e.tenant WHERE \(filter) ORDER BY a.epoch, a.offset
      """, device.map { RowValue($0) } ?? 1
    ) { row in
      AwaitedFile(
        tenant: row.text(0), device: row.id(1), log: row.id(2), epoch: row.id(3), number: row.integer(4), offset: row.unsigned(5),
        event: row.id(6), digest: Digest256(row.bytes(7)) ?? .zero, byteCount: row.unsigned(8), name: row.text(9))
    }
  }

  func crossOff(_ file: AwaitedFile) throws {
    try rows.run(
      "DELETE FROM awaited WHERE epoch = ? AND offset = ? AND digest = ?", .number(file.number), RowValue(file.offset),
      RowValue(file.digest.bytes))
  }

  // MARK: Quarantine

  func quarantine(of tenant: String?) throws -> [Quarantined] {
    try rows.all(
      """
      SELECT t.name, q.number, e.device, e.log, e.epoch, q.verdict FROM quarantine q JOIN tenants t ON t.number = q.tenant
      JOIN epochs e ON e.number = q.epoch WHERE q.state = 0 AND (? = '' OR t.name = ?) ORDER BY t.name, q.number
      """, RowValue(tenant ?? ""), RowValue(tenant ?? "")
    ) { row in
      guard let verdict = Verdict.decode(row.bytes(5).rawSpan)?.first else { throw damaged("a quarantined event's row can't be read") }
      return Quarantined(
        tenant: row.text(0), number: row.unsigned(1), device: row.id(2), log: row.id(3), epoch: row.id(4), verdict: verdict)
    }
  }

  /// Every row of every table as text, for a comparison.
  func everything() throws -> [String] {
    var lines: [String] = []
    for table in Self.tables {
      let columns = try rows.all("SELECT name FROM pragma_table_info('\(table)')") { $0.text(0) }
      let quoted = columns.map { "quote(\($0))" }.joined(separator: " || ',' || ")
      lines += try rows.all("SELECT \(quoted) FROM \(table)") { "\(table): \($0.text(0))" }
    }
    return lines
  }
}
