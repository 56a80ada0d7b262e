import BenchmarkSupport
import CBaseline
import TidemarkLog

/// Resident memory of an agent that has a long log open and waits, above that of an empty Swift process.
func measureMemory(_ bench: Bench) throws -> [Measurement] {
  let path = try bench.fresh("memory")
  let count = bench.scaled(1_000_000, quick: 200_000)
  bench.progress("  making \(count) events")
  try buildLog(at: path, options: LogOptions(), events: makeEvents(1000), count: count, batch: 1000, sealed: true)
  var above: [Double] = [], empty: [Double] = []
  for _ in 0..<bench.rounds {
    let baseline = try Child([], executable: "EmptyProcess").finish()
    let idle = try Child(["child-idle", path]).finish()
    above.append(Double(idle - baseline) / 1048576)
    empty.append(Double(baseline) / 1048576)
  }
  try bench.remove(path)
  return [
    Measurement(
      group: "memory", name: "idle agent with \(count) events above an empty Swift process", unit: "MiB", samples: above,
      target: .atMost(12), note: "empty process: " + medianText(empty, "MiB"))
  ]
}
