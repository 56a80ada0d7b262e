import TidemarkCrash

/// What follows from a measurement, as a sentence. Each rule has one threshold.
package struct BenchAdvice: Equatable {
  package enum Rule: String {
    case quickSync = "quick_sync"
    case belowRawLimit = "below_raw_limit"
    case slowWriter = "slow_writer"
    case batchesGain = "batches_gain"
    case writersGain = "writers_gain"
    case unevenLatency = "uneven_latency"
  }

  /// No storage is known that has data on its medium so soon; what protects its cache against a loss of power may answer this fast.
  static let shortestSyncNanoseconds: UInt64 = 50_000
  /// The part of the raw limit that one writer should reach.
  static let leastPartOfRawLimit = 0.8
  /// Commits a second below which one writer that waits for each is felt.
  static let fewestCommitsPerSecond = 50.0
  /// How many times as many events a second are worth a change in a program.
  static let leastGain = 2.0
  /// How many times as long as the median the slowest hundredth may take.
  static let greatestTail: UInt64 = 10

  package var rule: Rule
  package var text: String

  /// The advice that these figures call for, the gravest first.
  package static func from(_ report: BenchReport) -> [BenchAdvice] {
    let single = report[.oneWriter]
    let commits = single.appendsPerSecond
    let raw = report[.rawLimit].appendsPerSecond
    var advice: [BenchAdvice] = []
    func add(_ rule: Rule, _ text: String) { advice.append(BenchAdvice(rule: rule, text: text)) }

    if report.medianSyncNanoseconds < shortestSyncNanoseconds {
      add(
        .quickSync,
        "A sync takes \(microseconds(report.medianSyncNanoseconds)) microseconds: unless its cache survives a loss of power, the disk, or "
          + "a layer above it, probably acknowledges before data are safe. `tidemark crashtest` finds out; for the drive itself, pull the "
          + "plug (`--witness`).")
    }
    if commits < raw * leastPartOfRawLimit {
      add(
        .belowRawLimit,
        "One writer reaches \(Decimal.text(commits / raw, digits: 2)) of the raw limit, where at least \(leastPartOfRawLimit) is usual: "
          + "the processor is busy or slow, or the file system makes a write to new space dear.")
    }
    if commits < fewestCommitsPerSecond {
      add(
        .slowWriter,
        "One writer makes \(Decimal.text(commits, digits: 1)) commits a second: append in batches, use several writers, or use `.written` "
          + "with `sync()` where it matters.")
    }
    for (part, rule, name) in [(BenchPart.batches, Rule.batchesGain, "Batches of 100"), (.writers, .writersGain, "16 writers")] {
      let gain = report[part].eventsPerSecond / single.eventsPerSecond
      if gain >= leastGain {
        add(rule, "\(name) save \(Decimal.text(gain, digits: 1)) times as many events a second as one writer: use them for imports.")
      }
    }
    if single.p99 > single.p50 * greatestTail {
      add(
        .unevenLatency,
        "Of one writer's commits, one in a hundred takes more than \(microseconds(single.p99)) microseconds, where the median is "
          + "\(microseconds(single.p50)): something else writes to this disk, or keeps the processor.")
    }
    return advice
  }

  private static func microseconds(_ nanoseconds: UInt64) -> String { Decimal.text(Double(nanoseconds) / 1000, digits: 0) }
}
