/// What single commits took, while they are measured.
struct BenchSamples: Sendable {
  private(set) var eventCount = 0
  private(set) var nanoseconds: [UInt64] = []
  /// How long all turns took together.
  var duration: UInt64 = 0

  /// Commits until the time or the space is used up, or somebody presses Ctrl-C.
  ///
  /// - Parameter commit: makes one commit; it is told how many there were.
  mutating func take(eventsPerCommit: Int, eventLimit: Int, until deadline: UInt64, _ commit: (Int) throws -> Void) throws {
    var start = System.monotonicNanoseconds()
    while start < deadline, eventCount < eventLimit {
      try Interrupt.check()
      try commit(nanoseconds.count)
      let end = System.monotonicNanoseconds()
      nanoseconds.append(end - start)
      eventCount += eventsPerCommit
      start = end
    }
  }

  mutating func add(_ other: BenchSamples) {
    eventCount += other.eventCount
    nanoseconds += other.nanoseconds
  }

  var figures: BenchFigures {
    let sorted = nanoseconds.sorted()
    func percentile(_ part: Double) -> UInt64 { sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))] }
    return BenchFigures(
      eventCount: eventCount, appendCount: sorted.count, nanoseconds: duration, p50: percentile(0.5), p99: percentile(0.99),
      longest: sorted.last ?? 0)
  }
}
