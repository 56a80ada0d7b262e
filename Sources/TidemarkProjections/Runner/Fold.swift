internal import TidemarkLog

/// A value under way: the state, and what must be remembered to go on.
struct Fold<State: Sendable>: Sendable {
  var state: State
  var ledger = Ledger()

  init(initial: State) { state = initial }
}

/// How far a fold has come, and what it met. Apart from the state, which can be of any type: this is touched at each event.
struct Ledger: Sendable {
  var position: Offset = 0
  /// The last event of a caller that was taken in, if that is known.
  var last: Last?
  /// The latest time of an event below `position`, control events aside.
  var latestTime = Timestamp.earliest
  var corrections = Corrections()
  var unreadableCount: UInt64 = 0
  var parked: [ProjectionReport.Parked] = []
  var damagedOffsetCount: UInt64 = 0
  /// Where a fold began that was begun again on a trimmed log; 0 for one of the whole history.
  var missingBelow: Offset = 0
  /// What was corrected from this place on could not be mended: the state does not count until it was folded again.
  var refoldFrom: Offset?

  struct Last {
    var offset: Offset
    var id: EventID
  }

  var report: ProjectionReport {
    var report = ProjectionReport()
    report.unreadableCount = unreadableCount
    report.parked = parked
    report.damagedOffsetCount = damagedOffsetCount
    report.missingBelow = missingBelow
    report.setAsideCount = corrections.setAsideCount
    return report
  }
}
