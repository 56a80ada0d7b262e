import BenchmarkSupport
import CBaseline
import TidemarkLog
import TidemarkProjections
import TidemarkSQLite

private let keyByteCount = 12
private let valueByteCount = 4

/// Keys and values of events, and the events themselves.
private struct Delays {
  var keys: [UInt8] = []
  var values: [UInt8] = []
  var events: [NewEvent] = []

  /// Sums of these values are spelled with as many bytes while a key has one.
  init(count: Int, keyCount: Int) {
    var generator = SplitMix(state: 7)
    let names = (0..<keyCount).map { _ in
      let digits = String(UInt64.random(in: 0..<(1 << 44), using: &generator), radix: 16)
      return "N" + String(repeating: "0", count: keyByteCount - 1 - digits.utf8.count) + digits
    }
    for index in 0..<count {
      let key = keyCount == count ? names[index] : names[Int.random(in: 0..<keyCount, using: &generator)]
      let value = "\(Int.random(in: 10..<100, using: &generator)).\(Int.random(in: 1..<10, using: &generator))"
      keys += key.utf8
      values += value.utf8
      let text = #"{"aircraft":"\#(key)","place":"EWR","gate":"C7","carrier":"UA","delay":\#(value)}"#
      events.append(NewEvent(type: "scan", data: Array(text.utf8)))
    }
  }
}

/// Rows through the sink, from the log on, against batched upserts alone of one row an event.
func measureSQLite(_ bench: Bench) throws -> [Measurement] {
  let count = bench.scaled(300_000, quick: 100_000)
  let json = #"{"name": "delays", "types": ["scan"], "key": ["/aircraft"], "value": "/delay", "fold": "sum"}"#
  let definition = try ProjectionDefinition(json: Array(json.utf8))
  var result: [Measurement] = []
  let shapes = [
    (name: "20 events a row, 65,536 events a transaction", keyCount: count / 20, perTransaction: 65_536),
    (name: "each event a row of its own, likewise", keyCount: count, perTransaction: 65_536),
    (name: "each event a row of its own, 1,000 events a transaction", keyCount: count, perTransaction: 1_000),
  ]
  for (name, keyCount, perTransaction) in shapes {
    bench.progress("  \(name): making \(count) events")
    let delays = Delays(count: count, keyCount: keyCount)
    let path = try bench.fresh("sqlite-log")
    try buildLog(at: path, options: LogOptions(), events: delays.events, count: count, batch: 1000, sealed: false)
    let log = try Log.openForReading(at: path)
    var ratios: [Double] = [], sinkRates: [Double] = [], upsertRates: [Double] = []
    for round in -1..<bench.rounds {
      var sink: UInt64 = 0, upserts: UInt64 = 0
      try interleave(turns: 2) {
        let file = try freshDatabase(bench, "sink.sqlite")
        var options = SQLiteSinkOptions()
        options.eventsPerTransaction = perTransaction
        options.snapshotDirectory = try bench.fresh("sink-snapshots")
        sink += try nanoseconds { try keepRows(definition, log, file, options, keyCount) }
      } _: {
        let file = try freshDatabase(bench, "upserts.sqlite")
        upserts += try nanoseconds {
          try check(
            baseline_upsert(
              file, delays.keys, Int32(keyByteCount), delays.values, Int32(valueByteCount), UInt64(count), UInt64(perTransaction)),
            "upserting into \(file)")
        }
      }
      if round < 0 { continue }
      ratios.append(ratio(upserts, sink))
      sinkRates.append(Double(count * 2) * 1e6 / Double(sink))
      upsertRates.append(Double(count * 2) * 1e6 / Double(upserts))
    }
    try log.close()
    try bench.remove(path)
    let note = "\(medianText(sinkRates, "thousand events a second")) against \(medianText(upsertRates, "thousand upserts"))"
    result.append(
      Measurement(group: "sqlite", name: "\(name), sink against upserts alone", samples: ratios, target: .atLeast(0.8), note: note))
  }
  return result
}

/// Both sides close the database, which takes what is in its WAL over.
private func keepRows(_ definition: ProjectionDefinition, _ log: Log, _ file: String, _ options: SQLiteSinkOptions, _ keyCount: Int) throws
{
  let sink = try SQLiteSink(definition, of: log, file: file, options: options)
  let position = try sink.catchUp()
  guard position == log.size, sink.rowCount <= keyCount, sink.rowCount > keyCount * 9 / 10 else {
    throw BenchmarkFailure(description: "the sink stands at \(position) with \(sink.rowCount) rows")
  }
}

private func freshDatabase(_ bench: Bench, _ name: String) throws -> String {
  for suffix in ["-wal", "-shm"] { try bench.remove(bench.directory + "/" + name + suffix) }
  return try bench.fresh(name)
}
