import BenchmarkSupport
import CBaseline
import TidemarkLog

/// What a replay adds up; both sides must come to the same.
struct Totals: Equatable {
  var eventCount: UInt64 = 0
  var dataByteCount: UInt64 = 0
  var timeSum: UInt64 = 0
}

/// Replays with the cursor: no copy and no allocation an event.
func replay(_ log: Log) throws -> Totals {
  var totals = Totals()
  var cursor = try log.read()
  while let event = try cursor.next() {
    totals.eventCount += 1
    totals.dataByteCount += UInt64(event.data.byteCount)
    totals.timeSum &+= UInt64(bitPattern: event.time.nanoseconds)
  }
  return totals
}

func replayInC(_ path: String) throws -> Totals {
  var result = baseline_replay()
  try check(baseline_replay(path, &result), "replaying \(path) in C")
  return Totals(eventCount: result.eventCount, dataByteCount: result.dataByteCount, timeSum: result.timeSum)
}

/// Catches up with the tail: events one at a time through an `AsyncSequence`.
func catchUp(_ log: Log, count: UInt64) async throws -> Totals {
  var totals = Totals()
  for try await event in log.tail(from: 0) {
    totals.eventCount += 1
    totals.dataByteCount += UInt64(event.view.data.byteCount)
    totals.timeSum &+= UInt64(bitPattern: event.time.nanoseconds)
    if totals.eventCount == count { break }
  }
  return totals
}

/// How long it takes to read files and hash them with XXH3, in nanoseconds.
private func hashFiles(_ directory: String, _ suffix: String) throws -> UInt64 {
  var byteCount: UInt64 = 0
  let taken = try nanoseconds { try check(baseline_read_files(directory, suffix, 1, &byteCount), "hashing \(directory)") }
  guard byteCount > 0 else { throw BenchmarkFailure(description: "there are no files to hash in \(directory)") }
  return taken
}

private struct Shape {
  var name: String
  var batch: Int
  var sealed: Bool
}

/// Replay from the page cache, checksums verified, against the same in C; and the tail against the cursor.
func measureReplay(_ bench: Bench) async throws -> [Measurement] {
  let shapes = [
    Shape(name: "stored raw, 1,000 events a frame", batch: 1000, sealed: false),
    Shape(name: "stored raw, one event a frame", batch: 1, sealed: false),
    Shape(name: "sealed, LZ4", batch: 1000, sealed: true),
  ]
  let count = bench.scaled(400_000, quick: 100_000)
  let events = makeEvents(1000)
  var result: [Measurement] = []
  for shape in shapes {
    var options = LogOptions()
    options.sealing = .manual
    let path = try bench.fresh("replay")
    bench.progress("  \(shape.name): making \(count) events")
    try buildLog(at: path, options: options, events: events, count: count, batch: shape.batch, sealed: shape.sealed)
    let log = try Log.openForReading(at: path)
    var ratios: [Double] = [], engineRates: [Double] = [], baselineRates: [Double] = [], tails: [Double] = [], hashed: [Double] = []
    for round in -1..<bench.rounds {
      var totals: [Totals] = []
      var engine: UInt64 = 0, baseline: UInt64 = 0
      try interleave(turns: 2) {
        engine += try nanoseconds { totals.append(try replay(log)) }
      } _: {
        baseline += try nanoseconds { totals.append(try replayInC(path)) }
      }
      let start = baseline_now()
      totals.append(try await catchUp(log, count: UInt64(count)))
      let tail = baseline_now() - start
      guard totals.allSatisfy({ $0 == totals[0] }), totals[0].eventCount == UInt64(count) else {
        throw BenchmarkFailure(description: "the replays do not agree: \(totals)")
      }
      if round < 0 { continue }
      ratios.append(ratio(baseline, engine))
      tails.append(ratio(tail * 2, engine))
      if !shape.sealed { hashed.append(Double(try hashFiles(path + "/segments", ".open") * 2) / Double(engine)) }
      engineRates.append(Double(count * 2) * 1e3 / Double(engine))
      baselineRates.append(Double(count * 2) * 1e3 / Double(baseline))
    }
    try log.close()
    try bench.remove(path)
    let note = "\(medianText(engineRates, "million events a second")) against \(medianText(baselineRates, "million"))"
    result.append(
      Measurement(group: "replay", name: "\(shape.name), cursor against C", samples: ratios, target: .atLeast(0.8), note: note))
    if shape.batch > 1 && !shape.sealed {
      result.append(
        Measurement(
          group: "replay", name: "\(shape.name), cursor against hashing the files as xxhsum -H3 does", samples: hashed,
          target: .atLeast(0.65)))
    }
    result.append(
      Measurement(group: "tail", name: "\(shape.name), time to catch up against the cursor's", samples: tails, target: .atMost(2)))
  }
  return result
}
