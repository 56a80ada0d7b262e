import BenchmarkSupport
import CBaseline

/// What is measured at each size of a store.
enum GrowthFigure: String, CaseIterable {
  case bulk, bytes, opening, memory, replay, ids, numbers, range, batches, killed

  var chart: Chart {
    switch self {
    case .bulk: Chart("growth-bulk", title: "Bulk import", unit: "events/s")
    case .bytes: Chart("growth-bytes", title: "Bytes on disk, closed and at rest", unit: "bytes/event")
    case .opening: Chart("growth-opening", title: "Opening after a clean close", unit: "ms")
    case .memory: Chart("growth-memory", title: "Resident memory after opening and 20 appends", unit: "MiB")
    case .replay: Chart("growth-replay", title: "Replay from the page cache", unit: "events/s")
    case .ids: Chart("growth-ids", title: "Look-up by a random id", unit: "us")
    case .numbers: Chart("growth-numbers", title: "Look-up by a random offset", unit: "us")
    case .range: Chart("growth-range", title: "Scan of 1,000 events by time", unit: "us")
    case .batches: Chart("growth-batches", title: "Durable batches of 100 into a store of so many", unit: "events/s")
    case .killed: Chart("growth-killed", title: "Opening after kill -9", unit: "ms")
    }
  }
}

/// How stores behave as they grow: figures by contender and size, and ratios between ours and another where both were measured in turns.
final class Growth {
  let bench: Bench
  private var figures: [(figure: GrowthFigure, entry: Entry, size: Int, samples: [Double])] = []
  private var pairs: [(figure: GrowthFigure, own: Entry, peer: Entry, size: Int, ratios: [Double])] = []

  /// What one write and sync of our open segment took, in milliseconds, each time that it was opened after `kill -9`.
  var rewrites: [Double] = []

  init(_ bench: Bench) { self.bench = bench }

  /// Rounds of each comparison; large stores have the fewest that an interval of 95 % needs.
  func rounds(_ size: Int) -> Int { bench.isQuick ? 4 : size < 1_000_000 ? 10 : 6 }

  func record(_ figure: GrowthFigure, _ entry: Entry, _ size: Int, _ value: Double) {
    if let index = figures.firstIndex(where: { $0.figure == figure && $0.entry == entry && $0.size == size }) {
      figures[index].samples.append(value)
    } else {
      figures.append((figure, entry, size, [value]))
    }
  }

  func samples(_ figure: GrowthFigure, _ entry: Entry, _ size: Int) -> [Double] {
    figures.first { $0.figure == figure && $0.entry == entry && $0.size == size }?.samples ?? []
  }

  /// Ours divided by the peer's, round by round; empty where they were not measured.
  func ratios(_ figure: GrowthFigure, _ own: Entry = .tidemark, to peer: Entry, _ size: Int) -> [Double] {
    pairs.first { $0.figure == figure && $0.own == own && $0.peer == peer && $0.size == size }?.ratios ?? []
  }

  /// Measures something of both in turns; of ours alone without a peer. `body` returns nil where a store can't do it.
  func compare(
    _ figure: GrowthFigure, _ own: Contender, _ peer: Contender?, _ size: Int, rounds: Int? = nil, warmsUp: Bool = true,
    _ body: (Contender) throws -> Double?
  ) throws {
    var ratios: [Double] = []
    for round in (warmsUp ? -1 : 0)..<(rounds ?? self.rounds(size)) {
      var values: [String: Double] = [:]
      try takeTurns([own] + (peer.map { [$0] } ?? []), turn: round + 1) { values[$0.entry.name] = try body($0) }
      if round < 0 { continue }
      for contender in [own, peer].compactMap({ $0 }) {
        if let value = values[contender.entry.name] { record(figure, contender.entry, size, value) }
      }
      if let peer, let first = values[own.entry.name], let second = values[peer.entry.name] { ratios.append(first / second) }
    }
    if let peer, !ratios.isEmpty { pairs.append((figure, own.entry, peer.entry, size, ratios)) }
  }

  func measurements(group: String) -> [Measurement] {
    GrowthFigure.allCases.flatMap { figure in
      figures.filter { $0.figure == figure }.map { value in
        Measurement(
          group: group, name: "\(figure.chart.title): \(value.entry.name), \(value.size) events", unit: figure.chart.unit,
          samples: value.samples, place: ChartPlace(figure.chart, series: value.entry.name, at: .point(Double(value.size))))
      }
    }
  }
}

/// Fills a store up to a size and lets it settle; records what that took. In steps, so that what is left to compress or compact stays
/// within the disk.
func fill(_ contender: Contender, from start: Int, to size: Int, _ growth: Growth) throws {
  let step = 1_000_000
  var nanoseconds: UInt64 = 0
  var done = start
  while done < size {
    let count = min(step, size - done)
    nanoseconds += try contender.bulk(count).nanoseconds
    done += count
    if done < size && contender.entry.program == nil { _ = try contender.ask("settle") }
  }
  growth.record(.bulk, contender.entry, size, Double(size - start) * 1e9 / Double(max(nanoseconds, 1)))
  _ = try contender.ask("settle")
  try contender.close()
  growth.record(.bytes, contender.entry, size, Double(try contender.allocatedByteCount()) / Double(size))
  try contender.open()
}

/// All that is measured of a store that is there, against ours of the same size.
func compareAtRest(_ own: Contender, _ peer: Contender?, _ size: Int, _ growth: Growth) throws {
  try growth.compare(.opening, own, peer, size) { contender in
    try contender.close()
    try contender.open()
    let milliseconds = Double(contender.opening) / 1e6
    _ = try contender.append(20, batch: 1)
    growth.record(.memory, contender.entry, size, Double(try contender.residentByteCount()) / 1_048_576)
    return milliseconds
  }
  try growth.compare(.replay, own, peer, size) { contender in
    guard let answer = try contender.askIfAble("replay") else { return nil }
    guard answer.eventCount >= UInt64(size), answer.rest.first == answer.eventCount * UInt64(dataByteCount) else {
      throw BenchmarkFailure(description: "\(contender.entry.name) replays \(answer.eventCount) events of \(size)")
    }
    return answer.rate
  }
  let count = growth.bench.scaled(2000, quick: 500)
  for (figure, verb) in [(GrowthFigure.ids, "ids"), (.numbers, "numbers")] {
    var seed = 0
    try growth.compare(figure, own, peer, size) { contender in
      seed += 1
      return try contender.askIfAble("\(verb) \(count) \(size) \(seed)").map { $0.nanosecondsAnEvent / 1000 }
    }
  }
  var first = 0
  try growth.compare(.range, own, peer, size) { contender in
    first = (first + size / 3 + 17) % max(size - 1000, 1)
    guard let answer = try contender.askIfAble("range \(first) 1000") else { return nil }
    guard answer.eventCount == 1000 else {
      throw BenchmarkFailure(description: "\(contender.entry.name) found \(answer.eventCount) of 1,000 events by time")
    }
    return Double(answer.nanoseconds) / 1000
  }
  try growth.compare(.batches, own, peer, size) { try $0.append(500, batch: 100).rate }
}
