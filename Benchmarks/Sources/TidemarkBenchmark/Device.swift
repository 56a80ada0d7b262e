import BenchmarkSupport
import CBaseline
import TidemarkLog

struct DeviceCounters {
  var writtenByteCount: UInt64 = 0
  var flushCount: UInt64 = 0

  init(_ device: String) throws {
    try check(baseline_device_counters(device, &writtenByteCount, &flushCount), "reading the counters of \(device)")
  }
}

/// Bytes and flushes that reach the block device for each durable event.
func measureDevice(_ bench: Bench) throws -> [Measurement] {
  guard let device = bench.device else { throw Skipped(reason: "no block device is known under the directory") }
  // Sealing is measured by itself: what it writes would fall into some rounds and not into others.
  var options = LogOptions()
  options.sealing = .manual
  let path = try bench.fresh("device")
  try Log.create(at: path, options: options)
  let log = try Log.open(at: path, options: options)
  var growing = try BaselineFile(growing: bench.fresh("device-growing"))
  defer { growing.close() }
  let events = makeEvents(1000)
  let count = bench.scaled(2000, quick: 1500)
  var bytes: [Double] = [], flushes: [Double] = [], growingBytes: [Double] = [], growingFlushes: [Double] = []
  for round in -1..<bench.rounds {
    try check(baseline_sync_file_system(bench.directory), "syncing")
    let start = try DeviceCounters(device)
    for index in 0..<count { try log.append(events[index % events.count]) }
    let middle = try DeviceCounters(device)
    var latencies: [UInt64] = []
    try growing.appendSynced(byteCount: 248, count: count, to: &latencies)
    let end = try DeviceCounters(device)
    if round < 0 { continue }
    bytes.append(ratio(middle.writtenByteCount - start.writtenByteCount, UInt64(count)) / 1024)
    flushes.append(ratio(middle.flushCount - start.flushCount, UInt64(count)))
    growingBytes.append(ratio(end.writtenByteCount - middle.writtenByteCount, UInt64(count)) / 1024)
    growingFlushes.append(ratio(end.flushCount - middle.flushCount, UInt64(count)))
  }
  try check(baseline_sync_file_system(bench.directory), "syncing")
  let beforeSealing = try DeviceCounters(device)
  try log.seal()
  try check(baseline_sync_file_system(bench.directory), "syncing")
  let afterSealing = try DeviceCounters(device)
  try log.close()
  try bench.remove(path)
  let eventCount = UInt64((bench.rounds + 1) * count)
  return [
    Measurement(group: "device", name: "bytes written for a durable event", unit: "KiB", samples: bytes, target: .atMost(4.8)),
    // Half a percent is room for what does not come with each event: a new segment each 27,000.
    Measurement(
      group: "device", name: "flushes for a durable event", samples: flushes, target: .atMost(1.005),
      note: "one, and half a percent for new segments"),
    Measurement(
      group: "device", name: "bytes that sealing adds for an event", unit: "KiB",
      samples: [ratio(afterSealing.writtenByteCount - beforeSealing.writtenByteCount, eventCount) / 1024],
      note: "measured once, over all rounds"),
    Measurement(group: "device", name: "bytes for an append to a growing file in C", unit: "KiB", samples: growingBytes),
    Measurement(group: "device", name: "flushes for an append to a growing file in C", samples: growingFlushes),
  ]
}

/// Thrown by a case that can't run here.
struct Skipped: Error {
  var reason: String
}
