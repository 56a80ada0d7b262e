internal import TidemarkLog

/// How far the wall clock has moved against the time since boot, beyond what slewing explains: in each direction the largest such change
/// from any earlier event of the boot up to this one, in two numbers. So a step counts, and so do many small ones in a row.
struct DriftSum: Sendable {
  /// From where on a change adds up.
  struct Start: Sendable {
    var offset: Offset
    /// Wall clock less time since boot, in nanoseconds.
    var difference: Int128
  }

  private struct Side: Sendable {
    /// In millionths of a nanosecond, so that parts in a million leave no rest.
    var sum: Int128 = 0
    var start: Start?

    mutating func add(_ change: Int128, from start: Start) {
      if sum == 0 { self.start = start }
      sum = max(0, sum + change)
    }
  }

  private var forward = Side()
  private var back = Side()

  /// - Parameters:
  ///   - start: the event before.
  ///   - difference: wall clock less time since boot at this event.
  ///   - elapsed: how much time passed since the event before, in nanoseconds.
  mutating func add(from start: Start, to difference: Int128, elapsed: UInt64, slewPartsPerMillion: UInt32) {
    let change = (difference - start.difference) * 1_000_000
    let slewing = Int128(elapsed) * Int128(slewPartsPerMillion)
    forward.add(change - slewing, from: start)
    back.add(-change - slewing, from: start)
  }

  /// Where a change begins that is more than the threshold; nil if there is none.
  func start(ofMoreThan nanoseconds: UInt64) -> Start? {
    let most = Int128(nanoseconds) * 1_000_000
    return forward.sum > most ? forward.start : back.sum > most ? back.start : nil
  }

  mutating func reset() { self = DriftSum() }
}
