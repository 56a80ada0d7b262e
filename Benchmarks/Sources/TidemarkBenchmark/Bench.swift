import BenchmarkSupport
import CBaseline

/// What every case needs to know about this run.
struct Bench: Sendable {
  /// Where files may be made; on the file system to be measured.
  var directory: String
  /// The block device under it, such as `loop0`; nil if unknown.
  var device: String?
  var rounds = 15
  var isQuick = false
  /// What the cases of shipping need besides this program; nil without it.
  var shipping: ShippingPrograms?
  /// Also a hundred million events, of this engine alone.
  var isScaled = false
  /// Where the programs of `tools/peers --contenders` are; nil without them.
  var contenders: String?
  /// Lines of departures to store; nil without that input.
  var departures: String?
  /// What the same departures take in an outbox table of SQLite, indexes included; nil if not measured.
  var outboxByteCount: UInt64?
  /// The same after `VACUUM`.
  var vacuumedByteCount: UInt64?

  /// A path in the directory with nothing there yet.
  func fresh(_ name: String) throws -> String {
    let path = directory + "/" + name
    try remove(path)
    return path
  }

  func remove(_ path: String) throws {
    try check(baseline_remove_tree(path), "removing \(path)")
  }

  /// One number for full runs and a smaller one for quick ones.
  func scaled(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }

  /// Says on standard error what is being done.
  func progress(_ text: String) { write(text + "\n", to: 2) }
}

struct BenchmarkFailure: Error, CustomStringConvertible {
  var description: String
}

/// Turns the baselines' `-errno` into an error.
@discardableResult
func check<Number: SignedInteger>(_ status: Number, _ what: String) throws -> Number {
  if status < 0 { throw BenchmarkFailure(description: "\(what): error \(-status)") }
  return status
}

/// How long `body` takes, in nanoseconds.
func nanoseconds(_ body: () throws -> Void) rethrows -> UInt64 {
  let start = baseline_now()
  try body()
  return baseline_now() - start
}

/// How long this thread is at work in `body`, in nanoseconds: whoever else wants the processor meanwhile does not count.
func threadNanoseconds(_ body: () throws -> Void) rethrows -> UInt64 {
  let start = baseline_thread_now()
  try body()
  return baseline_thread_now() - start
}

/// Runs two things in turns, the order swapped from turn to turn, so that whatever drifts hits both alike.
func interleave(turns: Int, _ first: () throws -> Void, _ second: () throws -> Void) rethrows {
  for turn in 0..<turns {
    if turn.isMultiple(of: 2) {
      try first()
      try second()
    } else {
      try second()
      try first()
    }
  }
}

func ratio(_ numerator: UInt64, _ denominator: UInt64) -> Double { Double(numerator) / Double(max(denominator, 1)) }

/// The median and the 99th percentile of one side's latencies against the other's.
struct LatencyRatio {
  var median: Double
  var ninetyNinth: Double

  init(_ measured: [UInt64], to baseline: [UInt64]) {
    median = ratio(percentile(0.5, of: measured), percentile(0.5, of: baseline))
    ninetyNinth = ratio(percentile(0.99, of: measured), percentile(0.99, of: baseline))
  }
}

/// Microseconds of a percentile, for notes.
func microseconds(_ fraction: Double, of samples: [UInt64]) -> String {
  decimal(Double(percentile(fraction, of: samples)) / 1000) + " us"
}

func medianText(_ samples: [Double], _ unit: String) -> String { decimal(Interval(of: samples).median) + " " + unit }
