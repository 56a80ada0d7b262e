import BenchmarkSupport
import CBaseline
import TidemarkLog

/// What sealing in the background does to the latency of durable appends: the same appends to two logs with the same full segments
/// behind them, one that seals them meanwhile and one that leaves them.
func measureSealing(_ bench: Bench) throws -> [Measurement] {
  let events = makeEvents(1000)
  let appendCount = bench.scaled(1500, quick: 500)
  let backlog = bench.scaled(4, quick: 2)
  var tails: [Double] = [], medians: [Double] = [], rates: [Double] = [], sealedMeanwhile: [Double] = []
  for round in -1..<bench.rounds {
    var latencies: [Sealing: [UInt64]] = [:]
    for sealing in round.isMultiple(of: 2) ? [Sealing.background, .manual] : [.manual, .background] {
      let path = try bench.fresh("sealing")
      var options = LogOptions()
      options.sealing = sealing
      try Log.create(at: path, options: options)
      let log = try Log.open(at: path, options: options)
      for _ in 0..<backlog {
        for _ in 0..<30 { try log.append(events, durability: .written) }
        try log.roll()
      }
      var taken: [UInt64] = []
      for index in 0..<appendCount {
        taken.append(try nanoseconds { try log.append(events[index % events.count]) })
      }
      latencies[sealing] = taken
      if sealing == .background && round >= 0 { sealedMeanwhile.append(Double(try log.statistics().sealedSegmentCount)) }
      try log.close()
      try bench.remove(path)
    }
    guard round >= 0, let beside = latencies[.background], let alone = latencies[.manual] else { continue }
    let latency = LatencyRatio(beside, to: alone)
    tails.append(latency.ninetyNinth)
    medians.append(latency.median)
    rates.append(ratio(alone.reduce(0, +), beside.reduce(0, +)))
  }
  return [
    Measurement(
      group: "sealing", name: "p99 of durable appends beside background sealing against without", samples: tails, target: .atMost(1.5),
      note: "of \(backlog) segments, \(decimal(Interval(of: sealedMeanwhile).median)) were sealed during \(appendCount) appends"),
    Measurement(group: "sealing", name: "p50 beside background sealing against without", samples: medians),
    Measurement(group: "sealing", name: "throughput beside background sealing against without", samples: rates),
  ]
}
