import BenchmarkSupport
import CBaseline
import TidemarkLog
import TidemarkProjections

private let keyCount = 1000

/// Events of `keyCount` subjects, with JSON data of 200 bytes.
private func subjectEvents(_ count: Int) -> [NewEvent] {
  makeEvents(count).enumerated().map { index, event in
    NewEvent(type: event.type, subject: "N\(10_000 + index * 7 % keyCount)", data: event.data)
  }
}

/// Folds everything anew, beside its snapshots; how many keys there are.
private func fold<P: Projection>(_ projection: P, _ log: Log, _ bench: Bench, count: (P.State) -> Int) throws -> Int {
  var options = ProjectionOptions()
  options.directory = try bench.fresh("folds")
  let runner = try ProjectionRunner(projection, of: log, options: options)
  return count(try runner.current().state)
}

/// Folds over sealed events against bare replay, and over JSON against C with a parser from the system; going back in time; memory.
func measureFold(_ bench: Bench) throws -> [Measurement] {
  let count = bench.scaled(1_000_000, quick: 200_000)
  let path = try bench.fresh("fold")
  bench.progress("  making \(count) events")
  try buildLog(at: path, options: LogOptions(), events: subjectEvents(keyCount), count: count, batch: 1000, sealed: true)
  let log = try Log.openForReading(at: path)
  defer { try? log.close() }
  let json = #"{"name": "distance", "key": ["/place"], "value": "/distance", "fold": "sum"}"#
  let overJSON = try ProjectionDefinition(json: Array(json.utf8)).projection
  let folds: [(name: String, run: () throws -> Int, keys: Int)] = [
    ("count by subject", { try fold(CountByKey("count") { _ in .subject }, log, bench) { $0.count } }, keyCount),
    (
      "sum by subject",
      {
        try fold(SumByKey("sum") { event in Keyed(.subject, ExactDecimal(event.data.byteCount)) }, log, bench) { $0.count }
      },
      keyCount
    ),
  ]
  var result: [Measurement] = []
  for (name, run, keys) in folds {
    let ratios = try interleaved(bench) {
      guard try run() == keys else { throw BenchmarkFailure(description: "\(name) has other keys") }
    } _: {
      guard try replay(log).eventCount == UInt64(count) else { throw BenchmarkFailure(description: "the replay has other events") }
    }
    result.append(Measurement(group: "fold", name: "\(name), against bare replay, sealed", samples: ratios, target: .atLeast(0.6)))
  }
  let ratios = try interleaved(bench) {
    guard try fold(overJSON, log, bench, count: { overJSON.rows(of: $0).count }) == 3 else {
      throw BenchmarkFailure(description: "the sums of JSON have other keys")
    }
  } _: {
    var totals = baseline_replay(), keys: UInt64 = 0, sum: Int64 = 0
    try check(baseline_sum_json(path, "place", "distance", &totals, &keys, &sum), "summing JSON in C")
    guard keys == 3, totals.eventCount == UInt64(count) else { throw BenchmarkFailure(description: "C sees other keys") }
  }
  result.append(
    Measurement(group: "fold", name: "sum of a JSON member by another, against C with yajl", samples: ratios, target: .atLeast(0.25)))
  return result + (try measureLong(bench))
}

/// How much faster the first is than the second, once a round.
private func interleaved(_ bench: Bench, _ first: () throws -> Void, _ second: () throws -> Void) throws -> [Double] {
  var ratios: [Double] = []
  for round in -1..<bench.rounds {
    var one: UInt64 = 0, other: UInt64 = 0
    try interleave(turns: 2) {
      one += try nanoseconds { try first() }
    } _: {
      other += try nanoseconds { try second() }
    }
    if round >= 0 { ratios.append(ratio(other, one)) }
  }
  return ratios
}

/// Going back in time in a long log, and what a process takes that folds it.
private func measureLong(_ bench: Bench) throws -> [Measurement] {
  let count = bench.scaled(10_000_000, quick: 1_000_000)
  let path = try bench.fresh("long")
  bench.progress("  making \(count) events")
  try buildLog(at: path, options: LogOptions(), events: subjectEvents(keyCount), count: count, batch: 1000, sealed: true)
  defer { try? bench.remove(path) }
  return [try measureTravel(bench, path, count), try measureFoldMemory(bench, path, count)]
}

/// The state as of random offsets against folding all of that again.
private func measureTravel(_ bench: Bench, _ path: String, _ count: Int) throws -> Measurement {
  let log = try Log.openForReading(at: path)
  defer { try? log.close() }
  var options = ProjectionOptions()
  options.directory = try bench.fresh("travel")
  let projection = CountByKey("count") { _ in .subject }
  let runner = try ProjectionRunner(projection, of: log, options: options)
  try runner.catchUp()
  try runner.save()
  var generator = SplitMix(state: 11)
  var shares: [Double] = []
  for round in -1..<bench.rounds {
    var travel: UInt64 = 0
    for _ in 0..<4 {
      let size = UInt64.random(in: 0..<UInt64(count), using: &generator)
      travel += try nanoseconds { _ = try runner.state(asOf: size) }
    }
    let refold = try nanoseconds { _ = try fold(projection, log, bench) { $0.count } }
    if round >= 0 { shares.append(ratio(travel, refold * 4)) }
  }
  return Measurement(
    group: "fold", name: "state as of a random offset of \(count), against a refold", samples: shares, target: .atMost(0.1))
}

/// What a process takes that folds many events of few keys.
private func measureFoldMemory(_ bench: Bench, _ path: String, _ count: Int) throws -> Measurement {
  var samples: [Double] = []
  for _ in 0..<10 {
    try bench.remove(path + "/projections")
    samples.append(Double(try Child(["child-fold", path]).finish()) / 1048576)
  }
  return Measurement(
    group: "fold", name: "resident after folding \(count) events of \(keyCount) keys", unit: "MiB", samples: samples, target: .atMost(64))
}

/// `child-fold LOG`: folds a whole log. Prints its resident bytes at the end.
func childFold(_ path: String) throws {
  let log = try Log.openForReading(at: path)
  let runner = try ProjectionRunner(CountByKey("count") { _ in .subject }, of: log)
  try runner.catchUp()
  write("\(baseline_resident_byte_count(0))\n", to: 1)
  try log.close()
}
