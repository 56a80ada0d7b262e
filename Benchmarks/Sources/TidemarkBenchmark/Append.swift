import BenchmarkSupport
import CBaseline
import TidemarkLog

/// A file of the C baseline and where it is in it.
struct BaselineFile {
  let descriptor: Int32
  let limit: UInt64
  var position: UInt64 = 0

  init(writtenAhead path: String, byteCount: UInt64) throws {
    descriptor = try check(baseline_create_written_ahead(path, byteCount), "making \(path)")
    limit = byteCount
  }

  init(growing path: String) throws {
    descriptor = try check(baseline_create_growing(path), "making \(path)")
    limit = .max
  }

  mutating func appendSynced(byteCount: Int, count: Int, to latencies: inout [UInt64]) throws {
    var taken = [UInt64](repeating: 0, count: count)
    try check(baseline_append_synced(descriptor, &position, limit, byteCount, count, &taken), "appending to the baseline")
    latencies += taken
  }

  func close() { baseline_close(descriptor) }
}

/// One thread, one durable event at a time, against pwrite + fdatasync of 248 bytes.
func measureAppend(_ bench: Bench) throws -> [Measurement] {
  let path = try bench.fresh("append")
  try Log.create(at: path)
  let log = try Log.open(at: path)
  var ahead = try BaselineFile(writtenAhead: bench.fresh("append-ahead"), byteCount: 32 << 20)
  var growing = try BaselineFile(growing: bench.fresh("append-growing"))
  defer {
    ahead.close()
    growing.close()
  }
  let events = makeEvents(1000)
  let turnCount = bench.scaled(100, quick: 30)
  var rates: [Double] = [], medians: [Double] = [], tails: [Double] = [], growths: [Double] = [], perSecond: [Double] = []
  var all: (engine: [UInt64], ahead: [UInt64]) = ([], [])
  for round in -1..<bench.rounds {
    var engine: [UInt64] = [], pre: [UInt64] = [], grown: [UInt64] = []
    try interleave(turns: turnCount) {
      for index in 0..<20 {
        engine.append(try nanoseconds { try log.append(events[index]) })
      }
    } _: {
      try ahead.appendSynced(byteCount: 248, count: 20, to: &pre)
    }
    try growing.appendSynced(byteCount: 248, count: 100, to: &grown)
    if round < 0 { continue }
    let latency = LatencyRatio(engine, to: pre)
    rates.append(ratio(pre.reduce(0, +), engine.reduce(0, +)))
    medians.append(latency.median)
    tails.append(latency.ninetyNinth)
    growths.append(ratio(pre.reduce(0, +) * UInt64(grown.count), grown.reduce(0, +) * UInt64(pre.count)))
    perSecond.append(Double(engine.count) * 1e9 / Double(engine.reduce(0, +)))
    all.engine += engine
    all.ahead += pre
  }
  try log.close()
  try bench.remove(path)
  let note = { (fraction: Double) in
    "\(microseconds(fraction, of: all.engine)) against \(microseconds(fraction, of: all.ahead))"
  }
  return [
    Measurement(
      group: "append", name: "throughput against pwrite + fdatasync", samples: rates, target: .atLeast(0.95),
      note: medianText(perSecond, "events a second")),
    Measurement(group: "append", name: "p50 against it", samples: medians, target: .atMost(1.15), note: note(0.5)),
    Measurement(group: "append", name: "p99 against it", samples: tails, target: .atMost(1.15), note: note(0.99)),
    Measurement(group: "append", name: "C on a growing file against C on a written one", samples: growths),
  ]
}

/// Durable batches of 100 events, against a loop that writes and syncs the same number of bytes.
func measureBatch(_ bench: Bench) throws -> [Measurement] {
  let path = try bench.fresh("batch")
  try Log.create(at: path)
  let log = try Log.open(at: path)
  var ahead = try BaselineFile(writtenAhead: bench.fresh("batch-ahead"), byteCount: 64 << 20)
  defer { ahead.close() }
  let events = makeEvents(100)
  let byteCount = storedByteCount(events)
  let turnCount = bench.scaled(40, quick: 15)
  var rates: [Double] = [], perSecond: [Double] = []
  for round in -1..<bench.rounds {
    var engine: [UInt64] = [], baseline: [UInt64] = []
    try interleave(turns: turnCount) {
      for _ in 0..<5 { engine.append(try nanoseconds { try log.append(events) }) }
    } _: {
      try ahead.appendSynced(byteCount: byteCount, count: 5, to: &baseline)
    }
    if round < 0 { continue }
    rates.append(ratio(baseline.reduce(0, +), engine.reduce(0, +)))
    perSecond.append(Double(engine.count * 100) * 1e9 / Double(engine.reduce(0, +)))
  }
  try log.close()
  try bench.remove(path)
  return [
    Measurement(
      group: "batch", name: "100 durable events against pwrite + fdatasync of the same bytes", samples: rates, target: .atLeast(0.8),
      note: medianText(perSecond, "events a second"))
  ]
}

/// Batches of 1,000 events that are written but not synced, against a loop that fills a buffer, hashes it with XXH3 and writes it.
/// The segment is larger than what a round writes, so that neither side syncs.
func measureWritten(_ bench: Bench) throws -> [Measurement] {
  var options = LogOptions()
  options.durability = .written
  options.segmentByteCount = 256 << 20
  options.sealing = .manual
  options.syncIntervalMilliseconds = 0
  let events = makeEvents(1000)
  let data = copies(of: events)
  defer { data.forEach { $0?.deallocate() } }
  let turnCount = bench.scaled(10, quick: 5)
  var rates: [Double] = [], perSecond: [Double] = []
  for round in -1..<bench.rounds {
    let path = try bench.fresh("written")
    try Log.create(at: path, options: options)
    let log = try Log.open(at: path, options: options)
    var file = try BaselineFile(growing: bench.fresh("written-growing"))
    var engine: UInt64 = 0, baseline: UInt64 = 0
    try log.append(events)
    try interleave(turns: turnCount) {
      engine += try nanoseconds {
        for _ in 0..<20 { try log.append(events) }
      }
    } _: {
      baseline += try nanoseconds {
        try check(baseline_append_written(file.descriptor, &file.position, 20, events.count, data, dataByteCount), "baseline")
      }
    }
    try log.close()
    file.close()
    try bench.remove(path)
    try bench.remove(bench.directory + "/written-growing")
    if round < 0 { continue }
    rates.append(ratio(baseline, engine))
    perSecond.append(Double(turnCount * 20_000) * 1e3 / Double(engine))
  }
  return [
    Measurement(
      group: "written", name: "1,000 written events against filling, hashing and writing a buffer", samples: rates, target: .atLeast(0.7),
      note: medianText(perSecond, "million events a second"))
  ]
}

/// The events' data in memory of its own, as the C baseline takes it.
private func copies(of events: [NewEvent]) -> [UnsafeRawPointer?] {
  events.map { event in
    let copy = UnsafeMutableRawPointer.allocate(byteCount: event.data.count, alignment: 8)
    copy.copyMemory(from: event.data, byteCount: event.data.count)
    return UnsafeRawPointer(copy)
  }
}
