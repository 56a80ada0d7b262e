internal import TidemarkLog

/// The folds of one projection over one log that were saved.
struct SavedFolds<P: Projection>: Sendable {
  let projection: P
  let log: Log
  let store: SnapshotStore
  let options: ProjectionOptions

  private var snapshot: Snapshot<P> { Snapshot(projection: projection, identity: log.identity) }

  /// The newest that serves, of those at offsets that do, or nothing folded yet. Throws `historyTrimmed` if history is not whole enough.
  func resume(
    _ discarded: inout [ProjectionReport.DiscardedSnapshot], at isCandidate: (Offset) -> Bool,
    where isWanted: (Fold<P.State>) -> Bool = { _ in true }
  ) throws(LogError) -> Fold<P.State> {
    if let fold = try newest(&discarded, at: isCandidate, where: isWanted) { return fold }
    let first = log.first
    if first > 0 && !(options.restartsWhereTrimmed && isCandidate(first)) {
      throw .historyTrimmed(projection.name, position: 0, first: first)
    }
    var fold = Fold(initial: projection.initial)
    fold.ledger.position = first
    fold.ledger.missingBelow = first
    return fold
  }

  /// The newest that serves, of those at offsets that do. Those that can't serve are removed, but for those that could not be read just
  /// now.
  func newest(
    _ discarded: inout [ProjectionReport.DiscardedSnapshot], at isCandidate: (Offset) -> Bool,
    where isWanted: (Fold<P.State>) -> Bool = { _ in true }
  ) throws(LogError) -> Fold<P.State>? {
    let first = log.first
    for position in try store.positions().reversed() where position >= first && isCandidate(position) {
      let bytes: [UInt8]
      do throws(LogError) { bytes = try store.read(position) } catch {
        discarded.append(.init(file: store.path(position), why: "\(error)"))
        continue
      }
      do throws(UnreadableEvent) {
        let fold = try check(bytes, position)
        if isWanted(fold) { return fold }
      } catch {
        discarded.append(.init(file: store.path(position), why: error.why))
        // Where history was trimmed it may be all that is left of it, for the version that wrote it.
        if first == 0 { try? store.remove(position) }
      }
    }
    return nil
  }

  func check(_ bytes: [UInt8], _ position: Offset) throws(UnreadableEvent) -> Fold<P.State> {
    let (fold, lastID) = try snapshot.decode(bytes, position: position)
    if lastID != .zero, let found = try? log.event(at: position - 1), found.id != lastID {
      throw UnreadableEvent("the log holds another event at offset \(position - 1) now")
    }
    switch options.onUnreadable {
    case .skip: break
    case .park where fold.ledger.parked.count != fold.ledger.unreadableCount:
      throw UnreadableEvent("it skipped events that are to be parked now")
    case .fail where fold.ledger.unreadableCount + fold.ledger.damagedOffsetCount > 0:
      throw UnreadableEvent("it skipped events that are to be read now")
    case .park, .fail: break
    }
    return fold
  }

  /// Whether what corrections changed can be folded again from a snapshot no further back than a number of events.
  func isMendingCheap(_ ledger: Ledger, within count: Offset) throws(LogError) -> Bool {
    guard let from = ledger.refoldFrom else { return true }
    let spans = ledger.corrections.spans
    let base = try store.positions().last { $0 <= from && !spans.reach(across: $0) } ?? 0
    return ledger.position - min(base, ledger.position) <= count
  }

  /// Saves a fold after the log's events below it are durable. False if they are not, in a log opened for reading.
  func save(_ fold: Fold<P.State>, syncs: Bool) throws(LogError) -> Bool {
    guard let lastID = try makeDurable(fold) else { return false }
    try store.write(snapshot.encode(fold, lastID: lastID), fold.ledger.position, syncs: syncs)
    return true
  }

  /// Makes the log's events below a fold durable, and gives the id of the last of them, or zero if that is not known. Nil in a log opened
  /// for reading where they are not durable.
  func makeDurable(_ fold: Fold<P.State>) throws(LogError) -> EventID? {
    do {
      let durable = log.isWriter ? try log.recordDurable() : log.durable
      guard fold.ledger.position <= durable else { return nil }
      guard fold.ledger.position > log.first else { return .zero }
      if let last = fold.ledger.last, last.offset == fold.ledger.position - 1 { return last.id }
      return try idIfReadable(fold.ledger.position - 1)
    } catch let error as LogError { throw error } catch {
      throw LogError(.io, "a fold can't be saved", why: "\(error)", advice: "try again")
    }
  }

  /// None where damage hides the event.
  private func idIfReadable(_ offset: Offset) throws -> EventID {
    do { return try log.event(at: offset).id } catch LogError.Code.corrupt { return .zero }
  }
}
