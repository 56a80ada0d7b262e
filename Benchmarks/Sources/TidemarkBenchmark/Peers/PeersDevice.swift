import BenchmarkSupport
import CBaseline

private let chart = Chart("peers-device", title: "What reaches the device for a durable event", unit: "an event")

/// Bytes and flushes that each contender causes at the block device for an event that is committed alone.
func measurePeersDevice(_ bench: Bench) throws -> [Measurement] {
  guard let device = bench.device else { throw Skipped(reason: "no block device of the benchmark's own is known under the directory") }
  let durable: [Entry] = [.raw, .tidemark, .outbox, .lean, .lmdb, .lmdbLean, .rocksDB, .rocksDBLean, .levelDB, .levelDBLean, .lines]
  let contenders = try openContenders(durable, bench)
  let count = bench.scaled(1500, quick: 500)
  var figures = Figures(chart)
  for round in -1..<bench.scaled(6, quick: 3) {
    try takeTurns(contenders, turn: round + 1) { contender in
      try check(baseline_sync_file_system(bench.directory), "syncing")
      let before = try DeviceCounters(device)
      _ = try contender.append(count, batch: 1)
      let after = try DeviceCounters(device)
      guard round >= 0 else { return }
      let bytes = Double(after.writtenByteCount - before.writtenByteCount) / 1024 / Double(count)
      figures.add(bytes, contender.entry.name, "KiB written")
      figures.add(Double(after.flushCount - before.flushCount) / Double(count), contender.entry.name, "flushes")
    }
  }
  try closeContenders(contenders, bench)
  return [Entry.outbox, .rocksDB, .lines].map { entry in
    figures.ratio("peers-device", "bytes written", .tidemark, to: entry, "KiB written", target: .atMost(0.3))
  } + figures.measurements(group: "peers-device")
}
