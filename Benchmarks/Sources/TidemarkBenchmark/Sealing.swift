import BenchmarkSupport
import CBaseline
import TidemarkLog

/// Appends durable events one by one until `isOver` says so; looks at that every 200 events. How long each took.
private func append(_ events: [NewEvent], to log: Log, until isOver: (Int) throws -> Bool) throws -> [UInt64] {
  var taken: [UInt64] = []
  while try !isOver(taken.count) {
    for index in 0..<200 {
      taken.append(try nanoseconds { try log.append(events[(taken.count + index) % events.count]) })
    }
  }
  return taken
}

/// What sealing in the background does to the latency of durable appends: appends to a log while it seals a segment, from the
/// beginning of that to its end, against as many appends to a log that leaves the same segment alone.
func measureSealing(_ bench: Bench) throws -> [Measurement] {
  let events = makeEvents(1000)
  var tails: [Double] = [], medians: [Double] = [], rates: [Double] = [], counts: [Double] = [], unfinished = 0
  var all: (beside: [UInt64], alone: [UInt64]) = ([], [])
  for round in -1..<bench.rounds {
    var latencies: [Sealing: [UInt64]] = [:]
    // The first one tells how many appends it takes.
    for sealing in [Sealing.background, .manual] {
      let path = try bench.fresh("sealing")
      var options = LogOptions()
      options.sealing = sealing
      try Log.create(at: path, options: options)
      let log = try Log.open(at: path, options: options)
      for _ in 0..<15 { try log.append(events, durability: .written) }
      try log.roll()
      let wanted = latencies[.background]?.count
      latencies[sealing] = try append(events, to: log) { count in
        if let wanted { return count >= wanted }
        return try log.statistics().sealedSegmentCount >= 1 || count >= 25_000
      }
      if try sealing == .background && log.statistics().sealedSegmentCount < 1 { unfinished += 1 }
      try log.close()
      try bench.remove(path)
    }
    guard round >= 0, let beside = latencies[.background], let alone = latencies[.manual], !alone.isEmpty else { continue }
    let latency = LatencyRatio(beside, to: alone)
    tails.append(latency.ninetyNinth)
    medians.append(latency.median)
    rates.append(ratio(alone.reduce(0, +), beside.reduce(0, +)))
    counts.append(Double(beside.count))
    all.beside += beside
    all.alone += alone
  }
  guard !counts.isEmpty else { throw Skipped(reason: "sealing was over before it could be measured") }
  return [
    Measurement(
      group: "sealing", name: "p99 of durable appends beside background sealing against without", samples: tails, target: .atMost(1.5),
      note: "\(microseconds(0.99, of: all.beside)) against \(microseconds(0.99, of: all.alone)); a segment took "
        + "\(medianText(counts, "appends")); not done in time in \(unfinished) of \(bench.rounds + 1) rounds"),
    Measurement(group: "sealing", name: "p50 beside background sealing against without", samples: medians),
    Measurement(group: "sealing", name: "throughput beside background sealing against without", samples: rates),
  ]
}
