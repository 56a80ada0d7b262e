internal import TidemarkLog
internal import TidemarkProjections

/// The row of a definition in `tidemark_applied`: of which events the rows of its table are the value.
struct Applied {
  static let table = "tidemark_applied"
  static let schema: Int64 = 1
  static let definition = """
    CREATE TABLE IF NOT EXISTS tidemark_applied(
      name TEXT PRIMARY KEY, schema INTEGER NOT NULL, version INTEGER NOT NULL, digits INTEGER NOT NULL, log_id TEXT NOT NULL,
      epoch_id TEXT NOT NULL, applied_offset INTEGER NOT NULL, last_id TEXT NOT NULL, row_count INTEGER NOT NULL,
      unreadable_count INTEGER NOT NULL, damaged_offset_count INTEGER NOT NULL, set_aside_count INTEGER NOT NULL,
      generation INTEGER NOT NULL, fold BLOB NOT NULL) WITHOUT ROWID
    """

  var version: UInt32
  var position: Offset
  /// Digits of an average, of which the version does not speak.
  var digits: Int
  var rowCount: Int64
  /// Rises with each commit: tells whether another connection wrote meanwhile.
  var generation: Int64
  /// All of the fold but the rows.
  var fold: [UInt8]

  static let selection = "SELECT schema, applied_offset, digits, row_count, generation, fold, version FROM tidemark_applied WHERE name = ?1"

  init(_ row: Statement) {
    position = Offset(clamping: row.integer(1))
    digits = Int(clamping: row.integer(2))
    rowCount = row.integer(3)
    generation = row.integer(4)
    fold = row.bytes(5)
    version = UInt32(clamping: row.integer(6))
  }

  init(_ fold: FoldElsewhere, _ projection: DefinedProjection, rowCount: Int, generation: Int64) {
    version = projection.version
    position = fold.position
    digits = projection.definition.digits
    self.rowCount = Int64(rowCount)
    self.generation = generation
    self.fold = fold.bytes
  }

  static let insertion = """
    INSERT OR REPLACE INTO tidemark_applied(name, schema, version, digits, log_id, epoch_id, applied_offset, last_id, row_count,
      unreadable_count, damaged_offset_count, set_aside_count, generation, fold)
    VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
    """

  func write(_ statement: Statement, _ projection: DefinedProjection, _ identity: LogIdentity, _ fold: FoldElsewhere) throws(LogError) {
    try statement.bind(1, projection.name)
    try statement.bind(2, Self.schema)
    try statement.bind(3, Int64(projection.version))
    try statement.bind(4, Int64(digits))
    try statement.bind(5, "\(identity.logID)")
    try statement.bind(6, "\(identity.epochID)")
    try statement.bind(7, Int64(clamping: position))
    try statement.bind(8, "\(fold.lastID)")
    try statement.bind(9, rowCount)
    try statement.bind(10, Int64(clamping: fold.report.unreadableCount))
    try statement.bind(11, Int64(clamping: fold.report.damagedOffsetCount))
    try statement.bind(12, Int64(clamping: fold.report.setAsideCount))
    try statement.bind(13, generation)
    try statement.bind(14, blob: fold.bytes)
    try statement.run()
  }
}
