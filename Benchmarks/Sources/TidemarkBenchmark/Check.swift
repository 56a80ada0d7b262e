import BenchmarkSupport

/// Ratios against plain C that mean a regression wherever they are not met: far below what is measured on a quiet machine, so that a busy
/// one raises no alarm.
let regressionBounds: [(group: String, name: String, bound: Target)] = [
  ("append", "throughput against pwrite + fdatasync", .atLeast(0.6)),
  ("batch", "100 durable events against pwrite + fdatasync of the same bytes", .atLeast(0.4)),
  ("written", "1,000 written events against filling, hashing and writing a buffer", .atLeast(0.3)),
  ("threads", "16 threads against one", .atLeast(3)),
  ("replay", "stored raw, 1,000 events a frame, cursor against C", .atLeast(0.4)),
  ("replay", "sealed, LZ4, cursor against C", .atLeast(0.5)),
]

/// Prints a line for each bound; false if one is missed by its whole interval, or was not measured.
func checkRegressions(_ report: Report) -> Bool {
  var isGood = true
  for (group, name, bound) in regressionBounds {
    let found = report.measurements.first { $0.group == group && $0.name == name }
    guard let interval = found?.interval else {
      write("missing  \(group): \(name)\n", to: 1)
      isGood = false
      continue
    }
    let isMissed = bound.isSurelyMissed(by: interval)
    if isMissed { isGood = false }
    let figures = "\(decimal(interval.median)) (\(decimal(interval.lower)) to \(decimal(interval.upper)))"
    write("\(isMissed ? "slower " : "ok     ")  \(group): \(name): \(figures), bound \(bound)\n", to: 1)
  }
  return isGood
}
