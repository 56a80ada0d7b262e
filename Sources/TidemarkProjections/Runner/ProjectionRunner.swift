public import TidemarkLog

/// Keeps a projection's state up to date with a log, and saves it.
///
/// It resumes at the newest snapshot that serves. Snapshots are caches: one that is damaged, or of another log, epoch, name or version, is
/// thrown away, and the value folded again. On a log that was trimmed beyond the newest, that can't be done and is
/// `LogError.Code.historyTrimmed`.
///
/// ```swift
/// let runner = try ProjectionRunner(CountByKey("scans-by-gate") { $0.type == "scan" ? .subject : nil }, of: log)
/// try runner.catchUp()
/// print(try runner.state()["gate-7"] ?? 0)
/// try runner.save()
/// ```
///
/// All methods may be called from any thread or task; one works at a time, and blocks its thread while it does. Those that throw, throw a
/// `LogError`.
public final class ProjectionRunner<P: Projection>: Sendable {
  /// What it runs.
  public let projection: P
  /// The log that it reads.
  public let log: Log
  let options: ProjectionOptions
  let saved: SavedFolds<P>
  let core: Locked<Core>

  struct Core {
    var fold: Fold<P.State>
    var discarded: [ProjectionReport.DiscardedSnapshot] = []
    var savingTrouble: LogError?
  }

  /// Resumes a projection where it was saved, or at the log's beginning. Nothing is folded yet.
  ///
  /// Throws `LogError.Code.historyTrimmed`, `LogError.Code.invalidArgument` for a name that can't name a
  /// directory, and errors of the file system.
  public init(_ projection: P, of log: Log, options: ProjectionOptions = ProjectionOptions()) throws {
    try Self.check(projection.name)
    self.projection = projection
    self.log = log
    self.options = options
    saved = SavedFolds(projection: projection, log: log, store: Self.store(projection, log, options), options: options)
    var discarded: [ProjectionReport.DiscardedSnapshot] = []
    let end = log.isWriter ? log.size : try log.refresh()
    core = Locked(Core(fold: try saved.resume(&discarded) { $0 <= end }, discarded: discarded))
  }

  /// Goes on with a fold that was not saved.
  init(_ projection: P, of log: Log, options: ProjectionOptions, resuming fold: Fold<P.State>) {
    self.projection = projection
    self.log = log
    self.options = options
    saved = SavedFolds(projection: projection, log: log, store: Self.store(projection, log, options), options: options)
    core = Locked(Core(fold: fold))
  }

  static func store(_ projection: P, _ log: Log, _ options: ProjectionOptions) -> SnapshotStore {
    SnapshotStore(options.directory ?? "\(log.path)/projections", name: projection.name, log.environment.fileSystem)
  }

  static func check(_ name: String) throws(LogError) {
    if !isName(name) {
      throw LogError(
        .invalidArgument, "a projection can't be named \"\(name)\"", why: "the name is that of a directory",
        advice: "take 1 to 64 of a to z, 0 to 9, \"-\", \"_\" and \".\", and no \".\" first")
    }
  }

  // MARK: The value

  /// All events below it are in the state.
  public var position: Offset { core.withLock { $0.fold.ledger.position } }

  /// What was met besides values.
  public var report: ProjectionReport { core.withLock { $0.report } }

  /// Every family of events that correct each other, in the order of places.
  ///
  /// ```swift
  /// for correction in runner.corrections { print(correction.place.offset, correction.history) }
  /// ```
  public var corrections: [ProjectionReport.Correction] { core.withLock { $0.fold.ledger.corrections.list } }

  /// The state as of ``position``: of the last time that it was brought up to date.
  ///
  /// Throws as ``catchUp(progress:)`` does if that was stopped before a correction was carried out.
  public func state() throws -> P.State {
    try core.withLock { (core) throws(LogError) in
      try mend(&core, nil)
      return core.fold.state
    }
  }

  /// Folds what was appended since the last time, up to what is visible now, and saves snapshots on long ways.
  ///
  /// - Parameter progress: told after each 1,024 events; returning false stops the work, as cancelling the task does. It must not call
  ///   the runner.
  ///
  /// Throws `LogError.Code.cancelled`, `LogError.Code.unreadableEvent` and
  /// `LogError.Code.corrupt` as the policy says, `LogError.Code.historyTrimmed`, and errors of the file system.
  /// What was folded before it threw stays, and the next call goes on there.
  ///
  /// ```swift
  /// let position = try runner.catchUp { progress in show(progress.position, of: progress.end); return true }
  /// ```
  @discardableResult
  public func catchUp(progress: ((FoldProgress) -> Bool)? = nil) throws -> Offset {
    let end = log.isWriter ? log.size : try log.refresh()
    return try core.withLock { (core) throws(LogError) in
      try fold(&core, to: end, progress)
      return core.fold.ledger.position
    }
  }

  /// The state, brought up to date, and of which events it is the value.
  ///
  /// Throws as ``catchUp(progress:)`` does.
  ///
  /// ```swift
  /// let now = try runner.current()
  /// ```
  public func current() throws -> Projected<P.State> {
    let end = log.isWriter ? log.size : try log.refresh()
    return try core.withLock { (core) throws(LogError) in
      try fold(&core, to: end, nil)
      return Projected(state: core.fold.state, position: core.fold.ledger.position, report: core.report)
    }
  }

  var folder: Folder<P> { Folder(projection: projection, log: log, policy: options.onUnreadable, latest: nil) }

  private func fold(_ core: inout Core, to end: Offset, _ progress: Folder<P>.Progress?) throws(LogError) {
    do throws(LogError) {
      try advance(&core, to: end, progress)
    } catch {
      try folder.goOn(&core.fold, behind: error, to: end, saved, &core.discarded, progress)
    }
    try mend(&core, progress)
  }

  private func advance(_ core: inout Core, to end: Offset, _ progress: Folder<P>.Progress?) throws(LogError) {
    let spacing = Spacing(end: end, finest: options.finestSpacing)
    // The fold itself stands in the core again only at the end.
    var (discarded, savingTrouble) = (core.discarded, core.savingTrouble)
    defer { (core.discarded, core.savingTrouble) = (discarded, savingTrouble) }
    let stops = Folder<P>.Stops(next: { spacing.next(after: $0) }) { (fold) throws(LogError) in
      // A correction that reaches far back waits for the end, and snapshots with it: it would cost a fold of everything each time.
      if fold.ledger.refoldFrom != nil, try self.saved.isMendingCheap(fold.ledger, within: 4 * spacing.even) {
        do throws(LogError) { try self.folder.mend(&fold, self.saved, &discarded, progress) } catch {
          // A later event may correct that one.
          if error.code != .unreadableEvent { throw error }
        }
      }
      if fold.ledger.refoldFrom == nil { self.trySaving(fold, &savingTrouble, spacing) }
    }
    try folder.advance(&core.fold, to: end, progress, stops: stops)
  }

  func mend(_ core: inout Core, _ progress: Folder<P>.Progress?) throws(LogError) {
    try folder.mend(&core.fold, saved, &core.discarded, progress)
  }

  // MARK: Saving

  /// Saves state and offset in one file, after the log's events below it are durable.
  ///
  /// In a log opened for reading nothing is saved, and false returned, while the state holds events that are not yet durable.
  /// Throws as ``state()`` does, and errors of the file system: then the snapshots before stay.
  ///
  /// ```swift
  /// try runner.save()
  /// ```
  @discardableResult
  public func save() throws -> Bool {
    try core.withLock { (core) throws(LogError) in
      try mend(&core, nil)
      let spacing = Spacing(end: core.fold.ledger.position, finest: options.finestSpacing)
      return try save(core.fold, &core.savingTrouble, spacing, syncs: true)
    }
  }

  func trySaving(_ fold: Fold<P.State>, _ trouble: inout LogError?, _ spacing: Spacing) {
    do throws(LogError) {
      // While history is whole a snapshot can be made again; where it was trimmed, one that is lost may have been the last.
      try save(fold, &trouble, spacing, syncs: log.first > 0)
    } catch { trouble = error }
  }

  @discardableResult
  private func save(_ fold: Fold<P.State>, _ trouble: inout LogError?, _ spacing: Spacing, syncs: Bool) throws(LogError) -> Bool {
    guard try saved.save(fold, syncs: syncs) else { return false }
    trouble = nil
    try saved.store.prune(spacing: spacing)
    return true
  }
}

extension ProjectionRunner.Core {
  var report: ProjectionReport {
    var report = fold.ledger.report
    report.discardedSnapshots = discarded
    report.savingTrouble = savingTrouble
    return report
  }
}

extension Corrections {
  var list: [ProjectionReport.Correction] {
    families.values.sorted { $0.place.offset < $1.place.offset }.map { family in
      ProjectionReport.Correction(
        place: family.place, standing: family.standing, history: family.ids.compactMap { members[$0]?.place?.offset }.sorted(),
        hasOriginal: family.hasOriginal, isSetAside: family.isSetAside)
    }
  }
}

/// Whether a projection may have that name.
func isName(_ name: String) -> Bool {
  let isGood = name.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
    default: false
    }
  }
  return isGood && !name.isEmpty && name.utf8.count <= 64 && !name.hasPrefix(".")
}
