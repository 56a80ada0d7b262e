import BenchmarkSupport
import CBaseline
import TidemarkLog

private func milliseconds(_ body: () throws -> Void) rethrows -> Double { Double(try nanoseconds(body)) / 1e6 }

/// Makes a log of `segmentCount` sealed segments of `eventCount` events each.
private func buildSegments(at path: String, segmentCount: Int, eventCount: Int) throws {
  var options = LogOptions()
  options.sealing = .manual
  let events = makeEvents(eventCount)
  try Log.create(at: path, options: options)
  let log = try Log.open(at: path, options: options)
  for _ in 0..<segmentCount {
    try log.append(events)
    try log.roll()
  }
  try log.seal()
  try log.close()
}

/// Opening a log of 1,000 segments, after closing it and after `kill -9`, with the page cache warm.
func measureOpening(_ bench: Bench) throws -> [Measurement] {
  let segmentCount = bench.scaled(1000, quick: 200)
  let few = try bench.fresh("opening"), many = try bench.fresh("opening-more")
  bench.progress("  making two logs of \(segmentCount) segments")
  try buildSegments(at: few, segmentCount: segmentCount, eventCount: 10)
  try buildSegments(at: many, segmentCount: segmentCount, eventCount: 100)
  var options = LogOptions()
  options.sealing = .manual
  let open = { (path: String) in
    var log: Log?
    let time = try milliseconds { log = try Log.open(at: path, options: options) }
    try log?.close()
    return time
  }
  var clean: [Double] = [], growth: [Double] = [], killed: [Double] = [], share: [Double] = [], sizes: [Double] = []
  for round in -1..<bench.rounds {
    let time = try open(few)
    let timeOfMany = try open(many)
    let child = try Child(["child-append", few])
    let batches = child.waitForOutput(bench.scaled(150, quick: 50))
    try child.kill()
    guard batches > 0 else { throw BenchmarkFailure(description: "the child that appends did not start") }
    let openByteCount = try check(baseline_file_byte_count(few + "/segments", ".open"), "sizing the open segment")
    var log: Log?
    let timeAfterKill = try milliseconds { log = try Log.open(at: few, options: options) }
    let copy = try bench.fresh("opening-copy")
    var rewriteNanoseconds: UInt64 = 0
    try check(baseline_write_and_sync(copy, UInt64(openByteCount), &rewriteNanoseconds), "writing \(copy)")
    let rewrite = Double(rewriteNanoseconds) / 1e6
    try log?.seal()
    try log?.close()
    if round < 0 { continue }
    clean.append(time)
    growth.append(timeOfMany / time)
    killed.append(timeAfterKill - rewrite)
    share.append(timeAfterKill / (time + rewrite))
    sizes.append(Double(openByteCount) / 1048576)
  }
  try bench.remove(few)
  try bench.remove(many)
  return [
    Measurement(
      group: "opening", name: "a cleanly closed log of \(segmentCount) segments", unit: "ms", samples: clean, target: .atMost(50)),
    Measurement(group: "opening", name: "ten times the events against that", samples: growth, target: .atMost(1.25)),
    Measurement(
      group: "opening", name: "after kill -9, less one write and sync of the open segment", unit: "ms", samples: killed,
      target: .atMost(50), note: "open segment: " + medianText(sizes, "MiB")),
    Measurement(
      group: "opening", name: "after kill -9 against a clean opening and one write and sync in C", samples: share),
  ]
}
