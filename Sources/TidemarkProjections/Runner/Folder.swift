internal import TidemarkLog

/// Folds events of a log. Everything here is synchronous and single-threaded.
struct Folder<P: Projection> {
  let projection: P
  let log: Log
  let policy: ProjectionOptions.UnreadablePolicy
  /// Only events whose time is not later count; nil: all.
  let latest: Timestamp?

  typealias Progress = (FoldProgress) -> Bool

  private func query(_ range: Range<Offset>) -> Query {
    Query(offsets: range, times: latest.map { .earliest...$0 }, onDamage: policy == .fail ? .fail : .skip)
  }

  // MARK: Going on

  /// Takes the events from where the fold stands up to `end`, which is not beyond the log's. If it throws, what was folded stays.
  func advance(_ fold: inout Fold<P.State>, to end: Offset, _ progress: Progress?) throws(LogError) {
    guard fold.position < end else { return }
    do { try walk(&fold, to: end, progress) } catch { throw typed(error, fold.position) }
  }

  private func walk(_ fold: inout Fold<P.State>, to end: Offset, _ progress: Progress?) throws {
    var cursor = try log.read(query(fold.position..<end))
    var count = 0
    while let event = try cursor.next() {
      try take(event, &fold)
      count &+= 1
      if count & 1023 == 0 { try check(progress, fold.position, end) }
    }
    fold.damagedOffsetCount += Self.lost(cursor.gaps)
    fold.position = end
  }

  private static func lost(_ gaps: [Finding]) -> UInt64 { gaps.reduce(0) { $0 + UInt64($1.offsets?.count ?? 0) } }

  private func check(_ progress: Progress?, _ position: Offset, _ end: Offset) throws(LogError) {
    if Task.isCancelled || progress.map({ !$0(FoldProgress(position: position, end: end)) }) ?? false {
      throw LogError(
        .cancelled, "folding \(projection.name) was stopped", offsets: position..<end, why: "the caller, or its task, asked for it",
        advice: "call again to go on")
    }
  }

  private func typed(_ error: any Error, _ position: Offset) -> LogError {
    guard let error = error as? LogError else {
      return LogError(.io, "folding \(projection.name) failed", why: "\(error)", advice: "try again")
    }
    return error.code == .trimmed ? .historyTrimmed(projection.name, position: position, first: log.first) : error
  }

  private func take(_ event: EventView, _ fold: inout Fold<P.State>) throws {
    fold.position = event.offset
    try takeIn(event, &fold)
    fold.position = event.offset + 1
    fold.latestTime = max(fold.latestTime, event.time)
  }

  private func takeIn(_ event: EventView, _ fold: inout Fold<P.State>) throws {
    let target: EventID?
    do { target = try event.superseded } catch {
      if fold.refoldFrom == nil { try refuse(event.offset, error, &fold) }
      return
    }
    let place = Place(offset: event.offset, time: event.time)
    if target == nil && (fold.corrections.isEmpty || fold.corrections.members[event.id] == nil) {
      if fold.refoldFrom == nil { try apply(event, place, &fold) }
      return
    }
    let change = try fold.corrections.note(event.id, at: place, superseding: target) { try find($0, before: event.offset) }
    guard let change else {
      if fold.refoldFrom == nil { try apply(event, place, &fold) }
      return
    }
    if let from = fold.refoldFrom {
      fold.refoldFrom = min(from, change.firstOffset)
      return
    }
    // What goes wrong from here on leaves the corrections right and the state to be folded again.
    do { try carryOut(change, event, &fold) } catch { fold.refoldFrom = change.firstOffset }
  }

  private func find(_ id: EventID, before offset: Offset) throws -> Corrections.Named {
    if let event = try log.event(id: id) {
      let counts = !event.isControl && event.offset < offset && latest.map { event.time <= $0 } ?? true
      return counts ? .at(Place(offset: event.offset, time: event.time)) : .missing
    }
    return log.first > 0 ? .perhapsTrimmed : .missing
  }

  // MARK: One event

  private func apply(_ event: EventView, _ place: Place, _ fold: inout Fold<P.State>) throws(LogError) {
    do { try projection.apply(event, at: place, to: &fold.state) } catch { try refuse(event.offset, error, &fold) }
  }

  /// What counts at a place may be the event at hand.
  private func apply(_ counted: Corrections.Counted, _ event: EventView, _ fold: inout Fold<P.State>) throws {
    if counted.offset == event.offset { return try apply(event, counted.place, &fold) }
    let other = try log.event(at: counted.offset)
    try apply(other.view, counted.place, &fold)
  }

  private func refuse(_ offset: Offset, _ error: any Error, _ fold: inout Fold<P.State>) throws(LogError) {
    if policy == .fail {
      throw LogError(
        .unreadableEvent, "the projection \(projection.name) can't read event \(offset)", offsets: offset..<(offset + 1), why: "\(error)",
        advice: "correct the event with one that supersedes it, or choose the policy to skip or to park")
    }
    fold.unreadableCount += 1
    if policy == .park {
      let index = fold.parked.lastIndex { $0.offset < offset }.map { $0 + 1 } ?? 0
      fold.parked.insert(ProjectionReport.Parked(offset: offset, why: "\(error)"), at: index)
    }
  }

  /// Takes an event out again. False if the state alone does not tell how.
  private func retract(_ event: Event, _ place: Place, _ fold: inout Fold<P.State>) -> Bool {
    do {
      _ = try event.view.superseded
      return try projection.retract(event.view, at: place, from: &fold.state)
    } catch {
      fold.unreadableCount -= min(1, fold.unreadableCount)
      if let index = fold.parked.firstIndex(where: { $0.offset == event.offset }) { fold.parked.remove(at: index) }
      return true
    }
  }

  // MARK: Corrections

  private func carryOut(_ change: Corrections.Change, _ event: EventView, _ fold: inout Fold<P.State>) throws {
    if change.retracted.count == 1 && change.retracted.first == change.applied { return }
    var old: [(event: Event, place: Place)] = []
    for counted in change.retracted {
      guard let event = try kept(counted.offset) else { return fold.corrections.setAside(change.family) }
      old.append((event, counted.place))
    }
    // Where history was trimmed, folding again is no way out.
    let before = log.first > 0 ? fold : nil
    if let applied = change.applied { try apply(applied, event, &fold) }
    var isMended = true
    for (event, place) in old where isMended { isMended = retract(event, place, &fold) }
    if isMended { return }
    if let before {
      fold = before
      fold.corrections.setAside(change.family)
    } else {
      fold.refoldFrom = change.firstOffset
    }
  }

  /// An event of the log; nil if it was trimmed.
  private func kept(_ offset: Offset) throws -> Event? { offset < log.first ? nil : try log.event(at: offset) }

  /// Folds again what a correction changed, from a saved fold that no correction reaches behind.
  func mend(
    _ fold: inout Fold<P.State>, _ saved: SavedFolds<P>, _ discarded: inout [ProjectionReport.DiscardedSnapshot], _ progress: Progress?
  ) throws(LogError) {
    guard let from = fold.refoldFrom else { return }
    let spans = fold.corrections.spans
    let base = try saved.resume(&discarded) { position in
      position <= from && !spans.contains { $0.lowerBound < position && position <= $0.upperBound }
    } where: {
      serves($0)
    }
    try refold(&fold, from: base, progress)
  }

  /// Where a fold stopped before an event that can't be read, goes on if a later one, below `end`, corrects it. Throws the error otherwise.
  func goOn(
    _ fold: inout Fold<P.State>, behind error: LogError, to end: Offset, _ saved: SavedFolds<P>,
    _ discarded: inout [ProjectionReport.DiscardedSnapshot], _ progress: Progress?
  ) throws(LogError) {
    guard error.code == .unreadableEvent, error.offsets?.lowerBound == fold.position else { throw error }
    var ahead = fold
    ahead.refoldFrom = fold.position
    try advance(&ahead, to: end, progress)
    guard ahead.corrections.members.values.contains(where: { $0.place?.offset == fold.position }) else { throw error }
    try mend(&ahead, saved, &discarded, progress)
    fold = ahead
  }

  /// Whether a saved fold, which holds all events below its position, holds none that is too late.
  func serves(_ saved: Fold<P.State>) -> Bool { latest.map { saved.latestTime <= $0 } ?? true }

  /// Folds everything below the fold's position again, with the corrections that are known by now, in the order of places.
  ///
  /// - Parameter base: a fold of a beginning that no correction has changed since.
  private func refold(_ fold: inout Fold<P.State>, from base: Fold<P.State>, _ progress: Progress?) throws(LogError) {
    var fresh = base
    let start = fresh.position
    fresh.corrections = fold.corrections
    do { try walkAgain(&fresh, start..<fold.position, progress) } catch { throw typed(error, start) }
    fresh.position = fold.position
    fresh.latestTime = fold.latestTime
    fresh.refoldFrom = nil
    fold = fresh
  }

  private func walkAgain(_ fold: inout Fold<P.State>, _ range: Range<Offset>, _ progress: Progress?) throws {
    var cursor = try log.read(query(range))
    var count = 0
    while let event = try cursor.next() {
      try takeAgain(event, &fold)
      fold.position = event.offset + 1
      count &+= 1
      if count & 1023 == 0 { try check(progress, fold.position, range.upperBound) }
    }
    fold.damagedOffsetCount += Self.lost(cursor.gaps)
  }

  private func takeAgain(_ event: EventView, _ fold: inout Fold<P.State>) throws {
    guard !fold.corrections.isEmpty, let member = fold.corrections.members[event.id], member.place?.offset == event.offset else {
      // What supersedes another and is of no family does not tell whom.
      do { _ = try event.superseded } catch { return try refuse(event.offset, error, &fold) }
      return try apply(event, Place(offset: event.offset, time: event.time), &fold)
    }
    if let counted = fold.corrections.counted(at: member) { try apply(counted, event, &fold) }
  }
}
