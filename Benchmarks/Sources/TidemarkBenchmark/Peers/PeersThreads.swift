import BenchmarkSupport
import CBaseline

private let chart = Chart("peers-threads", title: "Several writers, one event a commit", unit: "events/s")
private let queued = ", queued"

private func column(_ count: Int) -> String { count == 1 ? "1 writer" : "\(count) writers" }

/// 1, 4, 16 and 64 threads that append durably to one store: each with commits of its own, and by way of one thread that commits what
/// waits. This engine needs no queue: it is one.
func measurePeersThreads(_ bench: Bench) throws -> [Measurement] {
  let contenders = try openContenders([.raw, .tidemark, .outbox, .lean, .lmdb, .rocksDB, .levelDB, .lines], bench)
  let milliseconds = bench.scaled(150, quick: 30)
  let counts = [1, 4, 16, 64]
  var rates = Figures(chart)
  for round in -1..<bench.rounds {
    for count in round.isMultiple(of: 2) ? counts : counts.reversed() {
      var own: [String: Double] = [:], throughQueue: [String: Double] = [:]
      try takeTurns(contenders, turn: round + 1) { contender in
        let name = contender.entry.name
        // One file has one place to write to: its limit is with a queue before it.
        if contender.entry != .raw {
          own[name] = try contender.threads(count, queued: false, milliseconds: milliseconds).rate
        }
        if contender.entry != .tidemark && count > 1 {
          throughQueue[name] = try contender.threads(count, queued: true, milliseconds: milliseconds).rate
        }
      }
      if round < 0 { continue }
      for name in contenders.map(\.entry.name) {
        if let rate = own[name] { rates.add(rate, name, column(count)) }
        if let rate = throughQueue[name] { rates.add(rate, name + queued, column(count)) }
      }
    }
  }
  try closeContenders(contenders, bench)
  var result: [Measurement] = []
  let one = column(1)
  let bounds: [(count: Int, alone: Double, rocksDB: Double)] = [(16, 9, 3), (64, 22, 4)]
  for bound in bounds {
    let what = column(bound.count)
    result.append(
      Measurement(
        group: "peers-threads", name: "\(what) against one of ours",
        samples: ratios(rates.samples(Entry.tidemark.name, what), rates.samples(Entry.tidemark.name, one)),
        target: .atLeast(bound.alone)))
    result.append(rates.ratio("peers-threads", what, .tidemark, to: .rocksDB, what, target: .atLeast(bound.rocksDB)))
    result.append(rates.ratio("peers-threads", what, .tidemark, to: .levelDB, what, target: .atLeast(2)))
    result.append(rates.ratio("peers-threads", what, .tidemark, to: .outbox, what, target: .atLeast(40)))
    result.append(rates.ratio("peers-threads", what, .tidemark, to: .outbox, what, target: .atLeast(2), suffix: queued))
    result.append(rates.ratio("peers-threads", what, .tidemark, to: .lean, what, target: nil, suffix: queued))
  }
  return result + rates.measurements(group: "peers-threads")
}
