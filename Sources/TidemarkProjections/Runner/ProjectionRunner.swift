public import TidemarkLog

/// Keeps a projection's state up to date with a log, and saves it.
///
/// It resumes at the newest snapshot that serves. Snapshots are caches: one that is damaged, or of another log, epoch, name or version, is
/// thrown away, and the value folded again. On a log that was trimmed beyond the newest, that can't be done and is
/// ``TidemarkLog/LogError/Code/historyTrimmed``.
///
/// ```swift
/// let runner = try ProjectionRunner(CountByKey("scans-by-gate") { $0.type == "scan" ? $0.subject : nil }, of: log)
/// try runner.catchUp()
/// print(try runner.state()["gate-7"] ?? 0)
/// try runner.save()
/// ```
///
/// All methods may be called from any thread or task; one works at a time, and blocks its thread while it does. Those that throw, throw a
/// ``TidemarkLog/LogError``.
public final class ProjectionRunner<P: Projection>: Sendable {
  /// What it runs.
  public let projection: P
  /// The log that it reads.
  public let log: Log
  let options: ProjectionOptions
  let store: SnapshotStore
  private let core: Locked<Core>

  struct Core {
    var fold: Fold<P.State>
    var discarded: [ProjectionReport.DiscardedSnapshot] = []
    var savingTrouble: LogError?
  }

  /// Resumes a projection where it was saved, or at the log's beginning. Nothing is folded yet.
  ///
  /// Throws ``TidemarkLog/LogError/Code/historyTrimmed``, ``TidemarkLog/LogError/Code/invalidArgument`` for a name that can't name a
  /// directory, and errors of the file system.
  public init(_ projection: P, of log: Log, options: ProjectionOptions = ProjectionOptions()) throws {
    try Self.check(projection.name)
    self.projection = projection
    self.log = log
    self.options = options
    store = SnapshotStore(options.directory ?? "\(log.path)/projections", name: projection.name, log.environment.fileSystem)
    var discarded: [ProjectionReport.DiscardedSnapshot] = []
    let end = log.isWriter ? log.size : try log.refresh()
    let fold = try Self.newest(projection, log, store, &discarded) { $0 <= end } ?? Fold(initial: projection.initial)
    core = Locked(Core(fold: fold, discarded: discarded))
    if fold.position < log.first { throw LogError.historyTrimmed(projection.name, position: fold.position, first: log.first) }
  }

  private static func check(_ name: String) throws(LogError) {
    let isGood = name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
      case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
      default: false
      }
    }
    if !isGood || name.isEmpty || name.utf8.count > 64 || name.hasPrefix(".") {
      throw LogError(
        .invalidArgument, "a projection can't be named \"\(name)\"", why: "the name is that of a directory",
        advice: "take 1 to 64 of a to z, 0 to 9, \"-\", \"_\" and \".\", and no \".\" first")
    }
  }

  // MARK: The value

  /// All events below it are in the state.
  public var position: Offset { core.withLock { $0.fold.position } }

  /// What was met besides values.
  public var report: ProjectionReport { core.withLock { $0.report } }

  /// Every family of events that correct each other, in the order of places.
  ///
  /// ```swift
  /// for correction in runner.corrections { print(correction.place.offset, correction.history) }
  /// ```
  public var corrections: [ProjectionReport.Correction] { core.withLock { $0.fold.corrections.list } }

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
  /// Throws ``TidemarkLog/LogError/Code/cancelled``, ``TidemarkLog/LogError/Code/unreadableEvent`` and
  /// ``TidemarkLog/LogError/Code/corrupt`` as the policy says, ``TidemarkLog/LogError/Code/historyTrimmed``, and errors of the file system.
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
      return core.fold.position
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
      return Projected(state: core.fold.state, position: core.fold.position, report: core.report)
    }
  }

  private var folder: Folder<P> { Folder(projection: projection, log: log, policy: options.onUnreadable, latest: nil) }

  private func fold(_ core: inout Core, to end: Offset, _ progress: Folder<P>.Progress?) throws(LogError) {
    let spacing = Spacing(end: end, finest: options.finestSpacing)
    while let stop = spacing.next(after: core.fold.position) {
      try folder.advance(&core.fold, to: stop, progress)
      // While corrections wait to be carried out, a snapshot would cost a fold of everything.
      if core.fold.refoldFrom == nil { trySaving(&core, spacing) }
    }
    try folder.advance(&core.fold, to: end, progress)
    try mend(&core, progress)
  }

  /// Folds again what a correction changed, from a snapshot that no correction reaches behind.
  private func mend(_ core: inout Core, _ progress: Folder<P>.Progress?) throws(LogError) {
    guard let from = core.fold.refoldFrom else { return }
    let spans = core.fold.corrections.spans
    let base = try Self.newest(projection, log, store, &core.discarded) { position in
      position <= from && !spans.contains { $0.lowerBound < position && position <= $0.upperBound }
    }
    try folder.refold(&core.fold, from: base, progress)
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
      return try save(&core, Spacing(end: core.fold.position, finest: options.finestSpacing))
    }
  }

  private func trySaving(_ core: inout Core, _ spacing: Spacing) {
    do throws(LogError) {
      try save(&core, spacing)
    } catch { core.savingTrouble = error }
  }

  @discardableResult
  private func save(_ core: inout Core, _ spacing: Spacing) throws(LogError) -> Bool {
    let position = core.fold.position
    var lastID = EventID.zero
    do {
      let durable = log.isWriter ? try log.recordDurable() : log.durable
      guard position <= durable else { return false }
      if position > log.first { lastID = try log.event(at: position - 1).id }
    } catch LogError.Code.corrupt {
      // Damage hides the event: its id is left open.
    } catch let error as LogError { throw error } catch {
      throw LogError(.io, "a snapshot can't be saved", why: "\(error)", advice: "try again")
    }
    try store.write(Snapshot(projection: projection, identity: log.identity).encode(core.fold, lastID: lastID), position)
    core.savingTrouble = nil
    try store.prune(spacing: spacing)
    return true
  }

  // MARK: Resuming

  /// The newest snapshot that serves, of those at offsets that do. Those that can't serve are removed, but for those that could not be
  /// read just now.
  static func newest(
    _ projection: P, _ log: Log, _ store: SnapshotStore, _ discarded: inout [ProjectionReport.DiscardedSnapshot],
    at isCandidate: (Offset) -> Bool, where isWanted: (Fold<P.State>) -> Bool = { _ in true }
  ) throws(LogError) -> Fold<P.State>? {
    let snapshot = Snapshot(projection: projection, identity: log.identity)
    for position in try store.positions().reversed() where position >= log.first && isCandidate(position) {
      let bytes: [UInt8]
      do throws(LogError) { bytes = try store.read(position) } catch {
        discarded.append(.init(file: store.path(position), why: "\(error)"))
        continue
      }
      do throws(UnreadableEvent) {
        let (fold, lastID) = try snapshot.decode(bytes, position: position)
        if lastID != .zero, let found = try? log.event(at: position - 1), found.id != lastID {
          throw UnreadableEvent("the log holds another event at offset \(position - 1) now")
        }
        if isWanted(fold) { return fold }
      } catch {
        discarded.append(.init(file: store.path(position), why: error.why))
        // Where history was trimmed it may be all that is left of it, for the version that wrote it.
        if log.first == 0 { try? store.remove(position) }
      }
    }
    return nil
  }
}

extension ProjectionRunner.Core {
  var report: ProjectionReport {
    var report = fold.report
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
