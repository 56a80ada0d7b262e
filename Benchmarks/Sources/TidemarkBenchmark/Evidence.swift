import BenchmarkSupport
import CBaseline
import TidemarkEvidence
import TidemarkLog

/// Hashing and verifying a history against C with the same library; proofs and checkpoints of a large log; what evidence costs appends.
func measureEvidence(_ bench: Bench) throws -> [Measurement] {
  let count = bench.scaled(10_000_000, quick: 500_000)
  let path = try bench.fresh("evidence")
  bench.progress("  making \(count) events")
  try buildLog(at: path, options: LogOptions(), events: makeEvents(1000), count: count, batch: 1000, sealed: true)
  let log = try Log.open(at: path)
  let keys = try KeyDirectory(at: bench.fresh("evidence-keys"))
  let start = baseline_now()
  let evidence = try Evidence(log, keys: keys)
  let first = baseline_now() - start
  _ = try evidence.checkpoint()
  try evidence.save()
  let size = try evidence.update().size
  var result = [
    Measurement(
      group: "evidence", name: "hashing a log for the first time, an event", unit: "us", samples: [Double(first) / Double(size) / 1000],
      note: "\(size) events of \(dataByteCount) bytes in one go; reading, decompressing and keeping leaves included")
  ]
  result += try measureHashing(bench)
  result += try measureProofs(bench, log, evidence, size)
  try log.close()
  result += try measureAudit(bench, path)
  try bench.remove(path)
  return result + (try measureAppendBesideEvidence(bench))
}

/// Leaves and nodes of events in memory, and nothing else, against C that hashes the same bytes with the same library.
private func measureHashing(_ bench: Bench) throws -> [Measurement] {
  let path = try bench.fresh("hashing")
  try buildLog(at: path, options: LogOptions(), events: makeEvents(1000, byteCount: 256), count: 1000, batch: 1000, sealed: false)
  let log = try Log.openForReading(at: path)
  var events: [Event] = []
  var cursor = try log.read(Query(includesControlEvents: true))
  while let event = try cursor.next() { events.append(event.copy()) }
  var records = baseline_records()
  try check(baseline_read_records(path, &records), "reading in C")
  defer { baseline_free_records(&records) }
  let turns = 4
  let times = bench.scaled(50, quick: 15)
  var durations: [Double] = [], ratios: [Double] = []
  for round in -1..<bench.rounds {
    var ours: UInt64 = 0, theirs: UInt64 = 0
    var root: Digest256?
    var other = [UInt8](repeating: 0, count: 32)
    try interleave(turns: turns) {
      ours += threadNanoseconds { root = hash(events, times: times) }
    } _: {
      theirs += try threadNanoseconds { try check(baseline_hash_records(&records, Int32(times), &other), "hashing in C") }
    }
    guard root?.bytes == other else { throw BenchmarkFailure(description: "C has another root") }
    if round < 0 { continue }
    durations.append(Double(ours) / Double(turns * times * events.count) / 1000)
    ratios.append(ratio(theirs, ours))
  }
  try log.close()
  try bench.remove(path)
  return [
    Measurement(
      group: "evidence", name: "hashing an event of 256 bytes, and nothing else", unit: "us", samples: durations, target: .atMost(0.8),
      note: "leaf and nodes of events in memory; time of the processor"),
    Measurement(group: "evidence", name: "that against C that hashes the same", samples: ratios),
  ]
}

private func hash(_ events: [Event], times: Int) -> Digest256 {
  let hasher = SHA256()
  var leaves = LeafHasher(hasher)
  var range = CompactRange()
  for _ in 0..<times {
    for event in events { range.append(leaves.leaf(event.view), hasher) }
  }
  return range.root(hasher)
}

/// All of an audit against C that hashes the same.
private func measureAudit(_ bench: Bench, _ path: String) throws -> [Measurement] {
  var ratios: [Double] = []
  let rounds = bench.isQuick ? bench.rounds : max(10, bench.rounds / 3)
  for round in -1..<rounds {
    var totals = baseline_replay()
    var root = [UInt8](repeating: 0, count: 32)
    var report: AuditReport?
    let ours = try nanoseconds { report = try Auditor(nil).audit(at: path) }
    let theirs = try nanoseconds { try check(baseline_history(path, &totals, &root), "hashing in C") }
    guard let report, report.head.root.bytes == root, report.verdict == .unproven else {
      throw BenchmarkFailure(description: "C has another root, or the audit finds something")
    }
    if round >= 0 { ratios.append(ratio(theirs, ours)) }
  }
  return [
    Measurement(
      group: "evidence", name: "verifying a log end to end, against C that hashes the same", samples: ratios, target: .atLeast(0.6))
  ]
}

private func measureProofs(_ bench: Bench, _ log: Log, _ evidence: Evidence, _ size: Offset) throws -> [Measurement] {
  var generator = SplitMix(state: 5)
  var proofs: [Double] = [], checkpoints: [Double] = []
  for _ in 0..<200 {
    let offset = Offset.random(in: 0..<size, using: &generator)
    proofs.append(Double(try nanoseconds { _ = try evidence.inclusionProof(of: offset, in: size) }) / 1e6)
  }
  for _ in 0..<50 {
    try log.append(NewEvent(type: "scan"))
    checkpoints.append(Double(try nanoseconds { _ = try evidence.checkpoint() }) / 1e6)
  }
  return [
    Measurement(group: "evidence", name: "inclusion proof in a log of \(size) events", unit: "ms", samples: proofs, target: .atMost(2)),
    Measurement(group: "evidence", name: "checkpoint of it after one more event", unit: "ms", samples: checkpoints, target: .atMost(5)),
  ]
}

/// Appends to a log of which a checkpoint is signed every thousand events, against one without.
private func measureAppendBesideEvidence(_ bench: Bench) throws -> [Measurement] {
  let events = makeEvents(1000)
  try Log.create(at: bench.fresh("plain"))
  try Log.create(at: bench.fresh("watched"))
  let one = try Log.open(at: bench.directory + "/plain"), other = try Log.open(at: bench.directory + "/watched")
  let evidence = try Evidence(other, keys: KeyDirectory(at: bench.fresh("watched-keys")))
  var medians: [Double] = [], tails: [Double] = []
  for round in -1..<bench.rounds {
    var without: [UInt64] = [], with: [UInt64] = []
    try interleave(turns: bench.scaled(100, quick: 30)) {
      for index in 0..<20 { with.append(try nanoseconds { try other.append(events[index]) }) }
    } _: {
      for index in 0..<20 { without.append(try nanoseconds { try one.append(events[index]) }) }
    }
    _ = try evidence.checkpoint()
    if round < 0 { continue }
    let latency = LatencyRatio(with, to: without)
    medians.append(latency.median)
    tails.append(latency.ninetyNinth)
  }
  try one.close()
  try other.close()
  for name in ["plain", "watched", "watched-keys"] { try bench.remove(bench.directory + "/" + name) }
  return [
    Measurement(group: "evidence", name: "p50 of an append with evidence on, against off", samples: medians, target: .atMost(1.05)),
    Measurement(group: "evidence", name: "p99 of it", samples: tails),
  ]
}
