import BenchmarkSupport
import CBaseline

private let coldChart = Chart("peers-cold", title: "Opening and replay with a cold page cache", unit: "events/s")

/// Stores from ten thousand events to ten million, and ours to a hundred million on demand: import, size, opening, memory, replay,
/// look-ups, scans by time, batches, opening after `kill -9`, and replay with a cold page cache. Ours and one other at a time, in turns.
func measurePeersGrowth(_ bench: Bench) throws -> [Measurement] {
  let sizes = bench.isQuick ? [2_000, 20_000] : [10_000, 100_000, 1_000_000, 10_000_000]
  let killedSizes = sizes.suffix(bench.isQuick ? 1 : 2)
  let growth = Growth(bench)
  var own = try OwnStores(growth, sizes)
  var cold = ColdReplay(bench)
  for entry in [Entry.outbox, .lean, .lmdb, .rocksDB, .levelDB, .lines] {
    bench.progress("  \(entry.name)")
    let peer: Contender
    do { peer = try Contender(entry, bench) } catch let skipped as Skipped {
      bench.progress("  \(entry.name): \(skipped.reason)")
      continue
    }
    var start = 0
    for size in sizes {
      try fill(peer, from: start, to: size, growth)
      start = size
      let store = try own.store(of: size)
      try compareAtRest(store, peer, size, growth)
      if size == sizes.last { try cold.measure([store, peer]) }
      if killedSizes.contains(size) { try compareKilled(store, peer, size, growth) }
      try own.putBack(store, size)
    }
    try peer.close()
    if entry == .outbox { try compareUnsealed(with: peer, sizes, growth) }
    try bench.remove(peer.directory)
  }
  if bench.isScaled {
    let size = 100_000_000
    let store = try own.store(of: size)
    try compareAtRest(store, nil, size, growth)
    try compareKilled(store, nil, size, growth)
    try own.putBack(store, size)
  }
  let memory = try own.memoryAboveAnEmptyProcess(sizes.last ?? 0)
  try own.remove()
  return targets(growth, sizes, Array(killedSizes)) + cold.measurements() + [memory] + growth.measurements(group: "peers-growth")
}

/// Our stores by size: small ones are made anew for each comparison, for what comparing appends would change them.
private struct OwnStores {
  private let growth: Growth
  private var kept: [Int: Contender] = [:]
  private let smallSize = 100_000

  init(_ growth: Growth, _ sizes: [Int]) throws {
    self.growth = growth
    for size in sizes where size > smallSize { try putBack(try make(size), size) }
  }

  private func make(_ size: Int) throws -> Contender {
    growth.bench.progress("  making \(size) events of ours")
    let contender = try Contender(.tidemark, growth.bench, directory: "tidemark-\(size)")
    try fill(contender, from: 0, to: size, growth)
    return contender
  }

  /// One that is open.
  mutating func store(of size: Int) throws -> Contender {
    guard let contender = kept[size] else { return try make(size) }
    try contender.open()
    return contender
  }

  mutating func putBack(_ contender: Contender, _ size: Int) throws {
    try contender.close()
    if size > smallSize { kept[size] = contender } else { try growth.bench.remove(contender.directory) }
  }

  func memoryAboveAnEmptyProcess(_ size: Int) throws -> Measurement {
    let empty = Double(try Child([], executable: "EmptyProcess").finish()) / 1_048_576
    return Measurement(
      group: "peers-growth", name: "resident memory at \(size) events above an empty Swift process", unit: "MiB",
      samples: growth.samples(.memory, .tidemark, size).map { $0 - empty }, target: .atMost(16),
      note: "empty process: \(decimal(empty)) MiB")
  }

  func remove() throws {
    for contender in kept.values { try growth.bench.remove(contender.directory) }
  }
}

/// Opening after `kill -9` amid appends, with as much behind as gathers between two rewrites of the logs of others.
private func compareKilled(_ own: Contender, _ peer: Contender?, _ size: Int, _ growth: Growth) throws {
  let count = growth.bench.scaled(50_000, quick: 2_000)
  try growth.compare(.killed, own, peer, size, warmsUp: false) { contender in
    _ = try contender.append(count, batch: 1000)
    try contender.kill(during: "append \(contender.next) 1000000 10", after: 60)
    let openByteCount = contender.entry.program == nil ? baseline_file_byte_count(contender.directory + "/segments", ".open") : 0
    try contender.open()
    if openByteCount > 0 {
      var nanoseconds: UInt64 = 0
      let copy = try growth.bench.fresh("growth-copy")
      try check(baseline_write_and_sync(copy, UInt64(openByteCount), &nanoseconds), "writing \(copy)")
      growth.rewrites.append(Double(nanoseconds) / 1e6)
      try growth.bench.remove(copy)
    }
    return Double(contender.opening) / 1e6
  }
}

/// Frames as they were written, against the same rows in SQLite.
private func compareUnsealed(with peer: Contender, _ sizes: [Int], _ growth: Growth) throws {
  guard let size = sizes.last(where: { $0 <= 1_000_000 }) else { return }
  let own = try Contender(.tidemarkRaw, growth.bench)
  _ = try own.bulk(size)
  try peer.open()
  try growth.compare(.replay, own, peer, size) { try $0.ask("replay").rate }
  try peer.close()
  try own.close()
  try growth.bench.remove(own.directory)
}

private func targets(_ growth: Growth, _ sizes: [Int], _ killedSizes: [Int]) -> [Measurement] {
  let largest = sizes.last ?? 0, unsealed = sizes.last { $0 <= 1_000_000 } ?? 0
  let group = "peers-growth"
  func against(_ what: String, _ figure: GrowthFigure, _ own: Entry, _ peer: Entry, _ size: Int, _ target: Target) -> Measurement {
    let samples = growth.ratios(figure, own, to: peer, size)
    return Measurement(
      group: group, name: "\(what), \(own.name) against \(peer.name), \(size) events", samples: samples, target: target,
      note: samples.isEmpty ? "\(peer.name) could not be measured here" : "")
  }
  var result = [
    against("replay from the page cache", .replay, .tidemark, .outbox, largest, .atLeast(1.5)),
    against("replay from the page cache", .replay, .tidemarkRaw, .outbox, unsealed, .atLeast(3)),
    against("time of a look-up by id", .ids, .tidemark, .outbox, largest, .atMost(2)),
    against("time of a look-up by offset", .numbers, .tidemark, .outbox, largest, .atMost(4)),
    against("batches of 100", .batches, .tidemark, .outbox, unsealed, .atLeast(8)),
  ]
  for (entry, bound) in [(Entry.outbox, 0.4), (.levelDB, 1), (.rocksDB, 1)] {
    let own = growth.samples(.bytes, .tidemark, largest), other = growth.samples(.bytes, entry, largest)
    result.append(
      Measurement(
        group: group, name: "bytes on disk, tidemark-synced against \(entry.name), \(largest) events",
        samples: own.isEmpty || other.isEmpty ? [] : [own[0] / other[0]], target: .atMost(bound), note: "a size, so one sample"))
  }
  result.append(
    Measurement(
      group: group, name: "opening after kill -9, rocksdb-outbox against tidemark-synced, \(largest) events",
      samples: growth.ratios(.killed, to: .rocksDB, largest).map { 1 / $0 }, target: .atLeast(10)))
  let rewrite = growth.rewrites.isEmpty ? 0 : Interval(of: growth.rewrites).median
  let own = growth.samples(.killed, .tidemark, largest), sqlite = growth.samples(.killed, .outbox, largest)
  result.append(
    Measurement(
      group: group, name: "opening after kill -9 against SQLite's and one write and sync of the open segment, \(largest) events",
      samples: zip(own, sqlite).map { $0 / ($1 + rewrite) }, target: .atMost(1),
      note: "that write and sync: \(decimal(rewrite)) ms"))
  if let least = killedSizes.first, least < largest {
    result.append(
      Measurement(
        group: group, name: "opening after kill -9 at \(largest) events against \(least)",
        samples: ratios(own, growth.samples(.killed, .tidemark, least)), target: .atMost(1.25)))
  }
  return result
}

/// Opening and replay after the page cache has forgotten a store, against reading our sealed files as `cat` does.
private struct ColdReplay {
  private let bench: Bench
  private var figures = Figures(coldChart)
  private var ratios: [Double] = []
  private var reason = "no store was large enough"

  init(_ bench: Bench) { self.bench = bench }

  mutating func measure(_ contenders: [Contender]) throws {
    for round in 0..<bench.scaled(6, quick: 2) {
      for contender in round.isMultiple(of: 2) ? contenders : contenders.reversed() {
        let isOurs = contender.entry == .tidemark
        let before = isOurs && round.isMultiple(of: 2) ? try cat(contender) : nil
        try contender.close()
        guard try forgets(contender) else {
          try contender.open()
          continue
        }
        try contender.open()
        let answer = try contender.ask("replay")
        let taken = contender.opening + answer.nanoseconds
        figures.add(Double(answer.eventCount) * 1e9 / Double(taken), contender.entry.name, "cold")
        if isOurs, let least = try before ?? cat(contender) { ratios.append(ratio(taken, least)) }
      }
    }
  }

  /// Whether nothing of it is left in the page cache.
  private mutating func forgets(_ contender: Contender) throws -> Bool {
    let left = try check(baseline_forget_files(contender.directory), "emptying the page cache")
    if left > 0 { reason = "the page cache kept \(left) pages" }
    return left == 0
  }

  private mutating func cat(_ contender: Contender) throws -> UInt64? {
    // It may be open, and have pages of its own mapped; the sealed files are not.
    _ = try check(baseline_forget_files(contender.directory + "/segments"), "emptying the page cache")
    var byteCount: UInt64 = 0
    let taken = try nanoseconds {
      try check(baseline_read_files(contender.directory + "/segments", ".sealed", 0, &byteCount), "reading the sealed files")
    }
    return byteCount > 0 ? taken : nil
  }

  func measurements() -> [Measurement] {
    [
      Measurement(
        group: "peers-growth", name: "opening and replay with a cold page cache against reading the sealed files as cat does",
        samples: ratios,
        target: .atMost(1.2), note: ratios.isEmpty ? reason : "the host of a virtual disk may still have them in memory")
    ] + figures.measurements(group: "peers-growth")
  }
}
