internal import TidemarkLog
internal import TidemarkProjections

/// The table of a definition's rows in a database, and its row in `tidemark_applied`.
///
/// The two change together, in one transaction: nothing else may touch them.
final class RowTable {
  private let database: Database
  private let projection: DefinedProjection
  private let identity: LogIdentity
  /// What was last read or written there.
  private var applied: Applied?
  /// Whether the rows must be made anew.
  private var isAnew = true
  /// Why, if there were any.
  private(set) var whyAnew: String?
  /// Whether another connection has written since.
  private(set) var isStale = false
  private var statements: Statements?

  /// They need the tables to be there.
  private struct Statements {
    let upsert: Statement
    let delete: Statement
    let apply: Statement
  }

  init(_ projection: DefinedProjection, _ identity: LogIdentity, _ database: Database) {
    self.projection = projection
    self.identity = identity
    self.database = database
  }

  private var name: String { "\"\(projection.name)\"" }
  /// In brackets: a name in double quotes that is none of the table's would be taken for a text.
  private var columnNames: String { projection.columns.map { "[\($0.name)]" }.joined(separator: ", ") }

  private var definition: String {
    var parts = ["key TEXT PRIMARY KEY NOT NULL"]
    let count = projection.definition.key.count + (projection.definition.window == nil ? 0 : 1)
    if count > 1 {
      for index in 0..<count { parts.append("key_\(index + 1) TEXT GENERATED ALWAYS AS (json_extract(key, '$[\(index)]')) VIRTUAL") }
    }
    for column in projection.columns {
      switch column.kind {
      case .integer: parts.append("[\(column.name)] INTEGER NOT NULL")
      case .text: parts.append("[\(column.name)] TEXT NOT NULL")
      case .any: parts.append("[\(column.name)] NOT NULL")
      }
    }
    return "CREATE TABLE \(name)(\(parts.joined(separator: ", "))) WITHOUT ROWID"
  }

  // MARK: Reading

  /// What the database holds, read in one transaction; nil if there is nothing that could serve.
  func load() throws(LogError) -> (applied: Applied, state: DefinedProjection.State)? {
    isStale = false
    applied = nil
    isAnew = true
    whyAnew = nil
    try database.execute("BEGIN", "the database can't be read")
    defer { try? database.execute("COMMIT", "the database can't be read") }
    guard let found = try find() else { return nil }
    applied = found
    // The columns follow from the version.
    guard found.version == projection.version else {
      return whyAnew("it is of version \(found.version) of the projection, not \(projection.version)")
    }
    guard try hasTable(projection.name) else { return whyAnew("the table is gone") }
    guard let state = try rows() else { return whyAnew("its rows are not those of a sink") }
    guard state.keyCount == found.rowCount else { return whyAnew("it has \(state.keyCount) rows, not \(found.rowCount)") }
    isAnew = false
    return (found, state)
  }

  private func whyAnew(_ why: String) -> (Applied, DefinedProjection.State)? {
    whyAnew = why
    return nil
  }

  /// What was loaded does not serve.
  func makeAnew(_ why: String) {
    isAnew = true
    whyAnew = why
  }

  private func find() throws(LogError) -> Applied? {
    guard try hasTable(Applied.table) else {
      try checkOwner()
      return nil
    }
    let selection = try database.prepare(Applied.selection, "the table tidemark_applied is not as it should be")
    try selection.bind(1, projection.name)
    defer { selection.reset() }
    guard try selection.step() else {
      try checkOwner()
      return nil
    }
    guard selection.integer(0) == Applied.schema else {
      throw LogError(
        .unsupportedVersion, "the rows of \(projection.name) were written by another version", file: database.path,
        why: "their schema has version \(selection.integer(0)), not \(Applied.schema)",
        advice: "use the program that wrote them, or another file")
    }
    return Applied(selection)
  }

  /// A table of that name which nothing says is ours stays as it is.
  private func checkOwner() throws(LogError) {
    if try !hasTable(projection.name) { return }
    throw LogError(
      .databaseSchema, "the table \(projection.name) is not the sink's", file: database.path,
      why: "it is there, and tidemark_applied does not name it", advice: "give the definition another name, or take another file")
  }

  private func hasTable(_ name: String) throws(LogError) -> Bool {
    let selection = try database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1", "the database can't be read")
    try selection.bind(1, name)
    defer { selection.reset() }
    return try selection.step()
  }

  /// Nil if they are not what a sink wrote.
  private func rows() throws(LogError) -> DefinedProjection.State? {
    let selection = try database.prepare(
      "SELECT key, \(columnNames) FROM \(name)", "the table \(projection.name) is not as the sink makes it")
    defer { selection.reset() }
    var state = projection.initial
    var count = 0
    while try selection.step() {
      var row = Columns(selection)
      do throws(UnreadableEvent) { try projection.read(selection.text(0), to: &state, from: &row) } catch { return nil }
      count += 1
    }
    return state.keyCount == count ? state : nil
  }

  private struct Columns: RowReader {
    let row: Statement
    var next = 1

    init(_ row: Statement) { self.row = row }

    mutating func integer() throws(UnreadableEvent) -> Int64 {
      guard row.isInteger(next) else { throw UnreadableEvent("no number") }
      defer { next += 1 }
      return row.integer(next)
    }
    mutating func bytes() -> [UInt8] {
      defer { next += 1 }
      return row.bytes(next)
    }
  }

  // MARK: Writing

  /// Writes what changed, and the offset to which it belongs, in one transaction. If it throws, nothing has changed.
  func commit(_ state: inout DefinedProjection.State, _ fold: FoldElsewhere) throws(LogError) {
    if let applied, !isAnew, applied.fold == fold.bytes, applied.digits == projection.definition.digits,
      state.changes?.isEmpty ?? false
    {
      return
    }
    let what = "the rows of \(projection.name) can't be written"
    try database.execute("BEGIN IMMEDIATE", what)
    do throws(LogError) {
      try checkUnchanged()
      let new = Applied(fold, projection, rowCount: state.keyCount, generation: (applied?.generation ?? 0) + 1)
      let changes = try makeReady(state)
      let statements = if let known = self.statements { known } else { try prepare() }
      self.statements = statements
      for key in changes.keys { try write(key, state, statements) }
      try new.write(statements.apply, projection, identity, fold)
      try database.execute("COMMIT", what)
      applied = new
      isAnew = false
    } catch {
      // Statements may be of tables that are gone with the transaction.
      statements = nil
      if database.isInTransaction { try? database.execute("ROLLBACK", what) }
      throw error
    }
    state.changes = TableChanges()
  }

  /// Makes the tables if they have to be, and tells which rows to write.
  private func makeReady(_ state: DefinedProjection.State) throws(LogError) -> TableChanges {
    guard let applied, !isAnew else {
      statements = nil
      try database.execute("DROP TABLE IF EXISTS \(name)", "the table \(projection.name) can't be replaced")
      try database.execute(Applied.definition, "the table tidemark_applied can't be made")
      try database.execute(definition, "the table \(projection.name) can't be made")
      return DefinedProjection.State.everything(in: state)
    }
    if applied.digits != projection.definition.digits { return DefinedProjection.State.everything(in: state) }
    if let changes = state.changes { return changes }
    // The fold was made anew.
    if let old = try rows() { return DefinedProjection.State.changes(from: old, to: state) }
    try database.execute("DELETE FROM \(name)", "the table \(projection.name) can't be replaced")
    return DefinedProjection.State.everything(in: state)
  }

  private func prepare() throws(LogError) -> Statements {
    let what = "the rows of \(projection.name) can't be written"
    let columns = projection.columns
    let parameters = (0...columns.count).map { "?\($0 + 1)" }.joined(separator: ", ")
    let updates = columns.map { "[\($0.name)] = excluded.[\($0.name)]" }.joined(separator: ", ")
    return Statements(
      upsert: try database.prepare(
        "INSERT INTO \(name)(key, \(columnNames)) VALUES(\(parameters)) ON CONFLICT(key) DO UPDATE SET \(updates)", what),
      delete: try database.prepare("DELETE FROM \(name) WHERE key = ?1", what),
      apply: try database.prepare(Applied.insertion, what))
  }

  private func write(_ key: String, _ state: DefinedProjection.State, _ statements: Statements) throws(LogError) {
    var row = Parameters(statements.upsert)
    let statement = projection.write(key, of: state, to: &row) ? statements.upsert : statements.delete
    if let trouble = row.trouble { throw trouble }
    try statement.bind(1, key)
    try statement.run()
  }

  private struct Parameters: RowWriter {
    let statement: Statement
    var next = 2
    var trouble: LogError?

    init(_ statement: Statement) { self.statement = statement }

    mutating func add(_ number: Int64) { take { (statement, index) throws(LogError) in try statement.bind(index, number) } }
    mutating func add(_ text: String) { take { (statement, index) throws(LogError) in try statement.bind(index, text) } }
    mutating func add(_ bytes: [UInt8]) { take { (statement, index) throws(LogError) in try statement.bind(index, bytes) } }

    private mutating func take(_ bind: (Statement, Int) throws(LogError) -> Void) {
      do throws(LogError) { try bind(statement, next) } catch { trouble = trouble ?? error }
      next += 1
    }
  }

  /// With a transaction open for writing: whether the database is still as it was left.
  private func checkUnchanged() throws(LogError) {
    let found = try find()
    if found?.generation == applied?.generation && found?.position == applied?.position { return }
    isStale = true
    throw LogError(
      .databaseLocked, "the rows of \(projection.name) were written by another", file: database.path,
      why: "two sinks keep the same table", advice: "let one of them do it")
  }
}
