internal import TidemarkLog

/// Folds events of a log. Everything here is synchronous and single-threaded.
struct Folder<P: Projection> {
  let projection: P
  let log: Log
  let policy: ProjectionOptions.UnreadablePolicy
  /// Only events whose time is not later count; nil: all.
  let latest: Timestamp?

  typealias Progress = (FoldProgress) -> Bool

  /// Where a fold stands still on its way, as often as there is a next offset to do so, and what is done there.
  struct Stops {
    var next: (Offset) -> Offset?
    var pause: (inout Fold<P.State>) throws(LogError) -> Void
  }

  private func query(_ range: Range<Offset>) -> Query {
    Query(offsets: range, times: latest.map { .earliest...$0 }, onDamage: policy == .fail ? .fail : .skip)
  }

  // MARK: Going on

  /// Takes the events from where the fold stands up to `end`, which is not beyond the log's. If it throws, what was folded stays.
  func advance(_ fold: inout Fold<P.State>, to end: Offset, _ progress: Progress?, stops: Stops? = nil) throws(LogError) {
    guard fold.ledger.position < end else { return }
    do { try walk(&fold.ledger, &fold.state, to: end, progress, stops) } catch { throw typed(error, fold.ledger.position) }
  }

  private func walk(_ ledger: inout Ledger, _ state: inout P.State, to end: Offset, _ progress: Progress?, _ stops: Stops?) throws {
    var cursor = try log.read(seen: query(ledger.position..<end))
    var count = 0
    var stop = stops?.next(ledger.position) ?? end
    // Of what the cursor passed over, as much as the fold has counted.
    var lost: UInt64 = 0
    defer { ledger.damagedOffsetCount += Self.lost(cursor.gaps, below: ledger.position) - lost }
    // The first event behind a stop.
    var waiting: Event?
    repeat {
      if let event = waiting.take() {
        while let stops, event.offset >= stop {
          try pause(&ledger, &state, at: stop, stops, cursor.gaps, &lost)
          stop = stops.next(stop) ?? end
        }
        try take(event.view, &ledger, &state)
      }
      while let event = try cursor.next() {
        if event.offset >= stop {
          waiting = event.copy()
          break
        }
        try take(event, &ledger, &state)
        count &+= 1
        if count & 1023 == 0 { try check(progress, ledger.position, end) }
      }
    } while waiting != nil
    ledger.position = end
  }

  @inline(never) private func pause(
    _ ledger: inout Ledger, _ state: inout P.State, at stop: Offset, _ stops: Stops, _ gaps: [Finding], _ lost: inout UInt64
  ) throws(LogError) {
    let all = Self.lost(gaps, below: stop)
    ledger.damagedOffsetCount += all - lost
    lost = all
    ledger.position = stop
    var fold = Fold<P.State>(initial: state)
    fold.ledger = ledger
    defer { (ledger, state) = (fold.ledger, fold.state) }
    try stops.pause(&fold)
  }

  private static func lost(_ gaps: [Finding], below end: Offset) -> UInt64 {
    gaps.reduce(0) { lost, gap in lost + (gap.offsets.map { min($0.upperBound, end) - min($0.lowerBound, end) } ?? 0) }
  }

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

  @inline(__always) private func take(_ event: EventView, _ ledger: inout Ledger, _ state: inout P.State) throws {
    ledger.position = event.offset
    if ledger.refoldFrom == nil && ledger.corrections.isEmpty && (!event.hasExtensions || !projection.takesCorrections) {
      // What nearly every event is: neither a correction nor corrected.
      try apply(event, Place(offset: event.offset, time: event.time), &ledger, &state)
    } else {
      try takeIn(event, &ledger, &state)
    }
    ledger.position = event.offset + 1
    ledger.last = Ledger.Last(offset: event.offset, id: event.id)
    ledger.latestTime = max(ledger.latestTime, event.time)
  }

  private func takeIn(_ event: EventView, _ ledger: inout Ledger, _ state: inout P.State) throws {
    let target: EventID?
    do { target = projection.takesCorrections ? try event.superseded : nil } catch {
      if ledger.refoldFrom == nil { try refuse(event.offset, error, &ledger) }
      return
    }
    let place = Place(offset: event.offset, time: event.time)
    if target == nil && (ledger.corrections.isEmpty || ledger.corrections.members[event.id] == nil) {
      if ledger.refoldFrom == nil { try apply(event, place, &ledger, &state) }
      return
    }
    let change = try ledger.corrections.note(event.id, at: place, superseding: target) { try find($0, before: event.offset) }
    guard let change else {
      if ledger.refoldFrom == nil { try apply(event, place, &ledger, &state) }
      return
    }
    if let from = ledger.refoldFrom {
      ledger.refoldFrom = min(from, change.firstOffset)
      return
    }
    // What goes wrong from here on leaves the corrections right and the state to be folded again.
    do { try carryOut(change, event, &ledger, &state) } catch { ledger.refoldFrom = change.firstOffset }
  }

  private func find(_ id: EventID, before offset: Offset) throws -> Corrections.Named {
    var found: Event?
    do { found = try log.event(id: id) } catch { try passOver(error) }
    if let event = found {
      let counts = !event.isControl && event.offset < offset && latest.map { event.time <= $0 } ?? true
      return counts ? .at(Place(offset: event.offset, time: event.time)) : .missing
    }
    return log.first > 0 ? .perhapsTrimmed : .missing
  }

  // MARK: One event

  @inline(__always) private func apply(
    _ event: EventView, _ place: Place, _ ledger: inout Ledger, _ state: inout P.State
  ) throws(LogError) {
    do { try projection.apply(event, at: place, to: &state) } catch { try refuse(event.offset, error, &ledger) }
  }

  /// What counts at a place may be the event at hand.
  private func apply(_ counted: Corrections.Counted, _ event: EventView, _ ledger: inout Ledger, _ state: inout P.State) throws {
    if counted.offset == event.offset { return try apply(event, counted.place, &ledger, &state) }
    var other: Event?
    do { other = try log.event(at: counted.offset) } catch {
      try passOver(error)
      try refuse(counted.offset, error, &ledger)
    }
    if let other { try apply(other.view, counted.place, &ledger, &state) }
  }

  /// Throws an error again, unless it is damage that the policy passes over.
  private func passOver(_ error: any Error) throws {
    if policy == .fail || (error as? LogError)?.code != .corrupt { throw error }
  }

  private func refuse(_ offset: Offset, _ error: any Error, _ ledger: inout Ledger) throws(LogError) {
    if policy == .fail {
      throw LogError(
        .unreadableEvent, "the projection \(projection.name) can't read event \(offset)", offsets: offset..<(offset + 1), why: "\(error)",
        advice: "correct the event with one that supersedes it, or choose the policy to skip or to park")
    }
    ledger.unreadableCount += 1
    if policy == .park {
      let index = ledger.parked.lastIndex { $0.offset < offset }.map { $0 + 1 } ?? 0
      ledger.parked.insert(ProjectionReport.Parked(offset: offset, why: "\(error)"), at: index)
    }
  }

  /// Takes an event out again. False if the state alone does not tell how.
  private func retract(_ event: Event, _ place: Place, _ ledger: inout Ledger, _ state: inout P.State) -> Bool {
    do {
      _ = try event.view.superseded
      return try projection.retract(event.view, at: place, from: &state)
    } catch {
      ledger.unreadableCount -= min(1, ledger.unreadableCount)
      if let index = ledger.parked.firstIndex(where: { $0.offset == event.offset }) { ledger.parked.remove(at: index) }
      return true
    }
  }

  // MARK: Corrections

  private func carryOut(_ change: Corrections.Change, _ event: EventView, _ ledger: inout Ledger, _ state: inout P.State) throws {
    if change.retracted.count == 1 && change.retracted.first == change.applied { return }
    var old: [(event: Event, place: Place)] = []
    for counted in change.retracted {
      guard let event = try kept(counted.offset) else { return ledger.corrections.setAside(change.family) }
      old.append((event, counted.place))
    }
    // Where history was trimmed, folding again is no way out.
    let before = log.first > 0 ? (ledger, state) : nil
    if let applied = change.applied { try apply(applied, event, &ledger, &state) }
    var isMended = true
    for (event, place) in old where isMended { isMended = retract(event, place, &ledger, &state) }
    if isMended { return }
    if let before {
      (ledger, state) = before
      ledger.corrections.setAside(change.family)
    } else {
      ledger.refoldFrom = change.firstOffset
    }
  }

  /// An event of the log; nil if it was trimmed.
  private func kept(_ offset: Offset) throws -> Event? { offset < log.first ? nil : try log.event(at: offset) }

  /// Folds again what a correction changed, from a saved fold that no correction reaches behind.
  func mend(
    _ fold: inout Fold<P.State>, _ saved: SavedFolds<P>, _ discarded: inout [ProjectionReport.DiscardedSnapshot], _ progress: Progress?
  ) throws(LogError) {
    guard let from = fold.ledger.refoldFrom else { return }
    let spans = fold.ledger.corrections.spans
    let base = try saved.resume(&discarded) { position in
      position <= from && !spans.reach(across: position)
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
    guard error.code == .unreadableEvent, error.offsets?.lowerBound == fold.ledger.position else { throw error }
    var ahead = fold
    ahead.ledger.refoldFrom = fold.ledger.position
    try advance(&ahead, to: end, progress)
    guard ahead.ledger.corrections.members.values.contains(where: { $0.place?.offset == fold.ledger.position }) else { throw error }
    try mend(&ahead, saved, &discarded, progress)
    fold = ahead
  }

  /// Whether a saved fold, which holds all events below its position, holds none that is too late.
  func serves(_ saved: Fold<P.State>) -> Bool { latest.map { saved.ledger.latestTime <= $0 } ?? true }

  /// Folds everything below the fold's position again, with the corrections that are known by now, in the order of places.
  ///
  /// - Parameter base: a fold of a beginning that no correction has changed since.
  private func refold(_ fold: inout Fold<P.State>, from base: Fold<P.State>, _ progress: Progress?) throws(LogError) {
    var fresh = base
    let start = fresh.ledger.position
    fresh.ledger.corrections = fold.ledger.corrections
    do { try walkAgain(&fresh.ledger, &fresh.state, to: fold.ledger.position, progress) } catch { throw typed(error, start) }
    fresh.ledger.position = fold.ledger.position
    fresh.ledger.latestTime = fold.ledger.latestTime
    fresh.ledger.last = fold.ledger.last
    fresh.ledger.refoldFrom = nil
    fold = fresh
  }

  private func walkAgain(_ ledger: inout Ledger, _ state: inout P.State, to end: Offset, _ progress: Progress?) throws {
    var cursor = try log.read(seen: query(ledger.position..<end))
    var count = 0
    while let event = try cursor.next() {
      try takeAgain(event, &ledger, &state)
      ledger.position = event.offset + 1
      count &+= 1
      if count & 1023 == 0 { try check(progress, ledger.position, end) }
    }
    ledger.damagedOffsetCount += Self.lost(cursor.gaps, below: end)
  }

  private func takeAgain(_ event: EventView, _ ledger: inout Ledger, _ state: inout P.State) throws {
    guard !ledger.corrections.isEmpty, let member = ledger.corrections.members[event.id], member.place?.offset == event.offset else {
      // What supersedes another and is of no family does not tell whom.
      do { if projection.takesCorrections { _ = try event.superseded } } catch { return try refuse(event.offset, error, &ledger) }
      return try apply(event, Place(offset: event.offset, time: event.time), &ledger, &state)
    }
    if let counted = ledger.corrections.counted(at: member) { try apply(counted, event, &ledger, &state) }
  }
}
