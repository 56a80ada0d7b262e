package import TidemarkLog

/// All of a fold but its state, for those who keep the state elsewhere: in the form of a snapshot with an empty state.
package struct FoldElsewhere: Sendable {
  package var position: Offset
  /// Of the event below the position; zero if that is not known.
  package var lastID: EventID
  package var report: ProjectionReport
  package var bytes: [UInt8]
}

/// Stands for a projection whose state is not in the snapshot.
private struct StateElsewhere: Projection {
  let name: String
  let version: UInt32
  var initial: Void { () }
  func apply(_ event: EventView, at place: Place, to state: inout Void) {}
  func encode(_ state: Void) -> [UInt8] { [] }
  func decode(_ bytes: [UInt8]) throws { if !bytes.isEmpty { throw UnreadableEvent("it holds a state") } }
}

extension ProjectionRunner {
  /// Goes on with a state that was kept elsewhere, if what was kept with it serves this log and projection. Throws an ``UnreadableEvent``
  /// that says why it does not.
  package convenience init(
    _ projection: P, of log: Log, options: ProjectionOptions, state: P.State, position: Offset, keptWith bytes: [UInt8]
  ) throws {
    try Self.check(projection.name)
    let end = log.isWriter ? log.size : try log.refresh()
    guard position <= end else { throw UnreadableEvent("it is of offset \(position), and the log ends at offset \(end)") }
    guard position >= log.first else { throw UnreadableEvent("it is of offset \(position), and the log begins at offset \(log.first)") }
    let store = Self.store(projection, log, options)
    let kept = SavedFolds(
      projection: StateElsewhere(name: projection.name, version: projection.version), log: log, store: store, options: options)
    var fold = Fold(initial: state)
    fold.ledger = try kept.check(bytes, position).ledger
    self.init(projection, of: log, options: options, resuming: fold)
  }

  /// Where the newest snapshot lies, whether it serves or not; 0 if there is none or nobody may look.
  package var newestSnapshot: Offset { (try? saved.store.positions().last) ?? 0 }

  /// Folds up to an offset in steps, and gives each to somebody who writes it down: state and offset belong to each other, the log's events
  /// below are durable, and what corrections changed is carried out. Where an event stops the fold, what comes before it is given first.
  /// Where carrying a correction out takes much more than the steps, several are given as one.
  ///
  /// - Parameters:
  ///   - end: not beyond what is durable, in a log opened for reading.
  ///   - count: the most events of a step.
  ///   - commit: may change what a state remembers of earlier steps, not what it is. Returns whether a snapshot is worth its price, where
  ///     there should be one.
  package func advance(
    to end: Offset, by count: Offset, progress: ((FoldProgress) -> Bool)?, commit: (inout P.State, FoldElsewhere) throws(LogError) -> Bool
  ) throws {
    try core.withLock { (core) throws(LogError) in
      let spacing = Spacing(end: end, finest: options.finestSpacing)
      var written = core.fold.ledger.position
      repeat {
        let position = core.fold.ledger.position
        var stop = position + max(1, count)
        // Where there may be a snapshot, if one lies on the way.
        if stop / spacing.even > position / spacing.even { stop -= stop % spacing.even }
        stop = min(end, stop)
        let trouble = step(&core, to: stop, of: end, since: written, progress)
        if core.fold.ledger.refoldFrom == nil, core.fold.ledger.position <= end {
          let isWorthSaving = try commit(&core.fold.state, try elsewhere(core.fold))
          written = core.fold.ledger.position
          if isWorthSaving, core.fold.ledger.position.isMultiple(of: spacing.even) { trySaving(core.fold, &core.savingTrouble, spacing) }
        }
        if let trouble { throw trouble }
      } while core.fold.ledger.position < end
    }
  }

  /// Returns what stopped it.
  private func step(
    _ core: inout Core, to stop: Offset, of end: Offset, since written: Offset, _ progress: Folder<P>.Progress?
  ) -> LogError? {
    var trouble: LogError?
    do throws(LogError) {
      if core.fold.ledger.position < stop { try folder.advance(&core.fold, to: stop, progress) }
    } catch {
      do throws(LogError) {
        try folder.goOn(&core.fold, behind: error, to: end, saved, &core.discarded, progress)
      } catch { trouble = error }
    }
    let isLast = core.fold.ledger.position >= end || trouble != nil
    do throws(LogError) {
      // A correction that reaches far back waits, for the end or until as much is new: it would cost a fold of everything at each step.
      if core.fold.ledger.refoldFrom != nil {
        let isDue =
          isLast
          ? true
          : try saved.isMendingCheap(core.fold.ledger, within: 4 * (core.fold.ledger.position - min(written, core.fold.ledger.position)))
        if isDue { try mend(&core, progress) }
      }
    } catch {
      // On the way, a later event may correct the one that can't be read.
      if trouble == nil, isLast || error.code != .unreadableEvent { trouble = error }
    }
    return trouble
  }

  private func elsewhere(_ fold: Fold<P.State>) throws(LogError) -> FoldElsewhere {
    guard let lastID = try saved.makeDurable(fold) else {
      throw LogError(
        .io, "offset \(fold.ledger.position) of \(projection.name) can't be written down",
        why: "the log's events below it are not known to be durable", advice: "ask again when its writer has synced them")
    }
    let snapshot = Snapshot(projection: StateElsewhere(name: projection.name, version: projection.version), identity: log.identity)
    var bare = Fold(initial: ())
    bare.ledger = fold.ledger
    return FoldElsewhere(
      position: fold.ledger.position, lastID: lastID, report: fold.ledger.report, bytes: snapshot.encode(bare, lastID: lastID))
  }
}

extension ProjectionRunner<DefinedProjection> {
  /// How many keys the state has.
  package var keyCount: Int { core.withLock { $0.fold.state.keyCount } }
}
