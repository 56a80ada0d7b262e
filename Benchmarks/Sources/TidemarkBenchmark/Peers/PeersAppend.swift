import BenchmarkSupport
import CBaseline

private let rateChart = Chart("peers-append", title: "One writer, one event a commit", unit: "events/s")
private let tailChart = Chart("peers-append-tail", title: "Time of one commit", unit: "us")
private let costChart = Chart("peers-append-cost", title: "What an event costs beside its time", unit: "an event")
private let batchChart = Chart("peers-batches", title: "One writer, batches", unit: "events/s")

/// One writer, one event a commit, for all contenders in turns.
func measurePeersAppend(_ bench: Bench) throws -> [Measurement] {
  let contenders = try openContenders(Entry.all, bench)
  let rounds = max(20, bench.rounds)
  let turnCount = bench.scaled(10, quick: 3)
  var rates = Figures(rateChart), tails = Figures(tailChart), costs = Figures(costChart)
  for round in -1..<rounds {
    var sums: [String: (count: UInt64, nanoseconds: UInt64, processor: UInt64, switches: UInt64, taken: [UInt64])] = [:]
    for turn in 0..<turnCount {
      try takeTurns(contenders, turn: turn + round + 1) { contender in
        let answer = try contender.append(20, batch: 1)
        var sum = sums[contender.entry.name] ?? (0, 0, 0, 0, [])
        sum.count += answer.eventCount
        sum.nanoseconds += answer.nanoseconds
        sum.processor += answer.processorNanoseconds
        sum.switches += answer.switchCount
        sum.taken += answer.rest
        sums[contender.entry.name] = sum
      }
    }
    if round < 0 { continue }
    for contender in contenders {
      let name = contender.entry.name
      guard let sum = sums[name] else { continue }
      rates.add(Double(sum.count) * 1e9 / Double(sum.nanoseconds), name, "one writer")
      tails.add(Double(percentile(0.5, of: sum.taken)) / 1000, name, "p50")
      tails.add(Double(percentile(0.99, of: sum.taken)) / 1000, name, "p99")
      costs.add(Double(sum.processor) / 1000 / Double(sum.count), name, "processor, us")
      costs.add(Double(sum.switches) / Double(sum.count), name, "waits of a thread")
    }
  }
  try closeContenders(contenders, bench)
  let column = "one writer"
  var result = [rates.ratio("peers-append", "rate", .tidemark, to: .raw, column, target: .atLeast(0.95))]
  for (entry, bound) in [(Entry.outbox, 1.15), (.lmdb, 2.2), (.rocksDB, 1.5), (.levelDB, 1.5)] {
    result.append(rates.ratio("peers-append", "rate", .tidemark, to: entry, column, target: .atLeast(bound)))
    result.append(tails.ratio("peers-append", "p99", .tidemark, to: entry, "p99", target: .atMost(1)))
  }
  for entry in [Entry.lean, .lmdbLean, .rocksDBLean, .levelDBLean, .lines] {
    result.append(rates.ratio("peers-append", "rate", .tidemark, to: entry, column, target: nil))
  }
  return result + [rates, tails, costs].flatMap { $0.measurements(group: "peers-append") }
}

/// One writer, durable batches of 10, 100 and 1,000 events.
func measurePeersBatches(_ bench: Bench) throws -> [Measurement] {
  let contenders = try openContenders(Entry.all, bench)
  let turnCount = bench.scaled(5, quick: 1)
  var rates = Figures(batchChart)
  for size in [10, 100, 1000] {
    for round in -1..<bench.rounds {
      var sums: [String: (count: UInt64, nanoseconds: UInt64)] = [:]
      for turn in 0..<turnCount {
        try takeTurns(contenders, turn: turn + round + 1) { contender in
          let answer = try contender.append(3 * size, batch: size)
          let sum = sums[contender.entry.name] ?? (0, 0)
          sums[contender.entry.name] = (sum.count + answer.eventCount, sum.nanoseconds + answer.nanoseconds)
        }
      }
      if round < 0 { continue }
      for contender in contenders {
        guard let sum = sums[contender.entry.name] else { continue }
        rates.add(Double(sum.count) * 1e9 / Double(sum.nanoseconds), contender.entry.name, "batches of \(size)")
      }
    }
  }
  try closeContenders(contenders, bench)
  let column = "batches of 100"
  let targets: [(entry: Entry, target: Target?)] = [
    (.raw, .atLeast(0.85)), (.outbox, .atLeast(5)), (.lean, .atLeast(1.5)), (.rocksDB, .atLeast(3.5)), (.rocksDBLean, nil), (.levelDB, nil),
    (.levelDBLean, nil), (.lmdb, nil),
  ]
  return targets.map { rates.ratio("peers-batches", column, .tidemark, to: $0.entry, column, target: $0.target) }
    + rates.measurements(group: "peers-batches")
}
