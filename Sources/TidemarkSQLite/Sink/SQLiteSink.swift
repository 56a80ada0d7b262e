public import TidemarkLog
public import TidemarkProjections

/// Keeps the rows of a definition in a SQLite database, for apps that query with plain SQL.
///
/// Rows, and the offset up to which they are the value of the log, change in one transaction: whatever kills the process, they belong to
/// each other, and the next sink goes on there. The log is the truth. What is applied is durable in the log before, and a database that is
/// deleted, of another log or of another version of the definition is made anew.
///
/// ```swift
/// let definition = try ProjectionDefinition(json: file)
/// let sink = try SQLiteSink(definition, of: log, file: "captures.sqlite")
/// try sink.catchUp()
/// // SELECT key, value FROM "delay-by-carrier" ORDER BY key
/// ```
///
/// `Specs/projections.md` has the schema. All methods may be called from any thread or task; one works at a time, and blocks its thread
/// while it does. Those that throw, throw a `LogError`; the codes that this module adds are `notADatabase`, `databaseLocked`,
/// `databaseReadOnly`, `databaseDamaged` and `databaseSchema`.
public final class SQLiteSink: Sendable {
  /// Whose rows they are.
  public let definition: ProjectionDefinition
  /// The log that it reads.
  public let log: Log
  /// The database, as a path.
  public let file: String
  private let options: SQLiteSinkOptions
  private let core: Locked<Core>

  private struct Core {
    let database: Database
    var table: RowTable
    var runner: ProjectionRunner<DefinedProjection>
    var whyAnew: String?
    var snapshotPosition: Offset
  }

  /// Opens the database, or makes it, and resumes at what it holds; if that does not serve, at the newest snapshot of the projection, or at
  /// the log's beginning. Nothing is folded yet.
  ///
  /// The database is put into WAL mode, with `synchronous` at `NORMAL`: a power cut may take the last transactions away, whole, and the
  /// next sink applies their events again.
  ///
  /// Throws `notADatabase`, `databaseLocked`, `databaseReadOnly`, `databaseDamaged`, `databaseSchema` if a table of the definition's name
  /// is another's, `LogError.Code.unsupportedVersion` for rows of a newer sink, `LogError.Code.invalidArgument` for a name or
  /// a number that will not do, `LogError.Code.historyTrimmed` if the log begins too late and neither database nor snapshots
  /// reach there, and errors of the file system.
  ///
  /// ```swift
  /// let sink = try SQLiteSink(definition, of: log, file: "captures.sqlite")
  /// ```
  public init(_ definition: ProjectionDefinition, of log: Log, file: String, options: SQLiteSinkOptions = SQLiteSinkOptions()) throws {
    try Self.check(definition, file, options)
    self.definition = definition
    self.log = log
    self.file = file
    self.options = options
    let database = try Database.forRows(file, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
    core = Locked(try Self.resume(definition.projection, log, database, options))
  }

  private static func check(_ definition: ProjectionDefinition, _ file: String, _ options: SQLiteSinkOptions) throws(LogError) {
    let name = definition.name
    if definition.fold == .presence || definition.fold == .acknowledgements {
      throw LogError(
        .invalidArgument, "\(name) can't be kept in a table", why: "\(definition.fold.rawValue) remembers more than its rows say",
        advice: "ask a projection for it, or `tidemark project`")
    }
    if name.hasPrefix("sqlite_") || name.hasPrefix("tidemark_") {
      throw LogError(
        .invalidArgument, "a table can't be named \"\(name)\"", why: "such names are SQLite's and the sink's own",
        advice: "give the definition another name")
    }
    if options.eventsPerTransaction < 1 || options.busyTimeoutMilliseconds < 0 {
      throw LogError(
        .invalidArgument, "the sink can't work like that",
        why: "\(options.eventsPerTransaction) events a transaction, \(options.busyTimeoutMilliseconds) ms to wait",
        advice: "take at least one event, and no negative time")
    }
  }

  private static func resume(_ projection: DefinedProjection, _ log: Log, _ database: Database, _ options: SQLiteSinkOptions) throws -> Core
  {
    let table = RowTable(projection, log.identity, database)
    var running = ProjectionOptions()
    running.onUnreadable = options.onUnreadable
    running.directory = options.snapshotDirectory
    if let (applied, loaded) = try table.load() {
      var state = loaded
      state.changes = TableChanges()
      do {
        let runner = try ProjectionRunner(
          projection, of: log, options: running, state: state, position: applied.position, keptWith: applied.fold)
        return Core(database: database, table: table, runner: runner, snapshotPosition: runner.newestSnapshot)
      } catch let error as UnreadableEvent { table.makeAnew(error.why) }
    }
    let runner = try ProjectionRunner(projection, of: log, options: running)
    return Core(database: database, table: table, runner: runner, whyAnew: table.whyAnew, snapshotPosition: runner.newestSnapshot)
  }

  // MARK: The rows

  /// All events below it are in the rows. Nothing of it is in the database yet if that was made anew and nothing was applied since.
  public var position: Offset { core.withLock { $0.runner.position } }

  /// How many keys have a value.
  public var rowCount: Int { core.withLock { $0.runner.keyCount } }

  /// What was met besides values; the counts stand in `tidemark_applied` as well.
  public var report: ProjectionReport { core.withLock { $0.runner.report } }

  /// Why rows that were there did not serve and are made anew; nil if they did, or there were none.
  public var whyAnew: String? { core.withLock { $0.whyAnew } }

  /// Applies what was appended since the last time, in transactions of at most ``SQLiteSinkOptions/eventsPerTransaction`` events, and
  /// returns the offset up to which the rows now are the log's value.
  ///
  /// In a log opened for reading that is as far as its events are durable: what a power cut could take back is not applied. A writer's
  /// events are made durable.
  ///
  /// - Parameter progress: told after each 1,024 events; returning false stops the work, as cancelling the task does. It must not call the
  ///   sink.
  ///
  /// Throws `LogError.Code.cancelled`, `LogError.Code.unreadableEvent` and `LogError.Code.corrupt` as the policy says, after applying what
  /// comes before; `databaseLocked`, also if another sink keeps the same rows; `LogError.Code.diskFull`, and other errors of the
  /// database and of the file system. Each transaction is there as a whole or not at all, and the next call goes on there.
  ///
  /// ```swift
  /// let position = try sink.catchUp()
  /// ```
  @discardableResult
  public func catchUp(progress: ((FoldProgress) -> Bool)? = nil) throws -> Offset {
    let end = log.isWriter ? log.size : min(try log.refresh(), log.durable)
    return try core.withLock { core in
      do { return try Self.advance(&core, to: end, options, progress) } catch {
        guard core.table.isStale else { throw error }
      }
      // Another sink was here: what it wrote is as good as what this one would have.
      core = try Self.resume(definition.projection, log, core.database, options)
      return try Self.advance(&core, to: end, options, progress)
    }
  }

  /// As if the disk had no more pages than that.
  package func limit(pageCount: Int) throws {
    try core.withLock { (core) throws(LogError) in
      try core.database.execute("PRAGMA max_page_count = \(pageCount)", "the database can't be limited")
    }
  }

  private static func advance(_ core: inout Core, to end: Offset, _ options: SQLiteSinkOptions, _ progress: ((FoldProgress) -> Bool)?)
    throws -> Offset
  {
    let table = core.table
    var saved = core.snapshotPosition
    defer { core.snapshotPosition = saved }
    try core.runner.advance(to: end, by: Offset(options.eventsPerTransaction), progress: progress) { (state, fold) throws(LogError) in
      try table.commit(&state, fold)
      // A snapshot is as long as the table: it is worth its price where many times as many events were folded.
      guard fold.position - min(saved, fold.position) >= 16 * UInt64(state.keyCount) else { return false }
      saved = fold.position
      return true
    }
    return core.runner.position
  }
}
