/// The offsets from UTC that local time has in one place: what a file of the time zone database says.
///
/// Days and seconds are those of a calendar without leap seconds. Reading is in `ZoneRules+TZif.swift`.
package struct ZoneRules: Sendable, Equatable {
  /// Seconds since 1970-01-01T00:00:00Z at which an offset begins, rising.
  let transitions: [Int64]
  /// The offset that begins with each, in seconds east of UTC.
  let offsets: [Int32]
  /// The offset before the first.
  let firstOffset: Int32
  /// What holds from the last on, or always where there is none; nil: the last offset for ever.
  let rule: ZoneRule?

  init(transitions: [Int64], offsets: [Int32], firstOffset: Int32, rule: ZoneRule?) {
    self.transitions = transitions
    self.offsets = offsets
    self.firstOffset = firstOffset
    self.rule = rule
  }

  /// A stretch of time with one offset from UTC.
  package struct Stretch: Sendable, Equatable {
    /// Its first second, since 1970-01-01T00:00:00Z.
    package var from: Int64
    /// The first second behind it.
    package var until: Int64
    /// East of UTC.
    package var offsetSeconds: Int

    package init(from: Int64 = .min, until: Int64 = .max, offsetSeconds: Int) {
      self.from = from
      self.until = until
      self.offsetSeconds = offsetSeconds
    }

    package func contains(_ seconds: Int64) -> Bool { from <= seconds && seconds < until }
  }

  /// The stretch around a second, which need not be the longest with that offset. Answers for all that 64 bits of nanoseconds hold; what
  /// lies beyond is taken for the end of that.
  package func stretch(at seconds: Int64) -> Stretch {
    let limit = Int64.max / 1_000_000_000 + 1
    let seconds = min(max(seconds, -limit), limit)
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
    }
    let from = low == 0 ? Int64.min : transitions[low - 1]
    if low == transitions.count, let rule {
      var stretch = rule.stretch(at: seconds)
      stretch.from = max(stretch.from, from)
      return stretch
    }
    return Stretch(
      from: from, until: low == transitions.count ? .max : transitions[low],
      offsetSeconds: Int(low == 0 ? firstOffset : offsets[low - 1]))
  }
}
