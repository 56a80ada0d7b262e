import BenchmarkSupport
import CBaseline
import Glibc
import TidemarkEvidence
import TidemarkLog
import TidemarkReplication

// From a device to its server, over TLS, both on this machine.

private func programs(_ bench: Bench) throws -> ShippingPrograms {
  guard let programs = bench.shipping else { throw Skipped(reason: "the programs for it were not built") }
  return programs
}

// MARK: Catching up

/// A log with a backlog from the device's files to receipts, against `curl` that sends as many bytes, in as many requests, to a program
/// that does nothing but append and sync them.
func measureCatchUp(_ bench: Bench) throws -> [Measurement] {
  let programs = try programs(bench)
  let count = bench.scaled(500_000, quick: 100_000)
  bench.progress("  making \(count) events")
  let original = try bench.fresh("backlog")
  try buildLog(at: original, options: LogOptions(), events: makeEvents(10_000), count: count, batch: 1000, sealed: true)
  let sink = try Child(program: programs.sink, [try bench.fresh("sink"), programs.certificate, programs.key])
  defer { sink.terminate() }
  let address = "https://127.0.0.1:\(try sink.line())/"
  var pieces: [String] = []
  var byteCount: UInt64 = 0
  var ratios: [Double] = [], rates: [Double] = []
  for round in -1..<bench.rounds {
    let (log, data) = (try bench.fresh("device"), try bench.fresh("server"))
    _ = try Child.output(of: "cp", ["-r", original, log])
    let server = try ServerChild(programs, at: data)
    defer { server.stop() }
    try server.enrol(log)
    var shipped: UInt64 = 0, sent: UInt64 = 0
    func ship() throws { shipped = try nanoseconds { _ = try Child.output(of: server.tool, ["replicate", log]) } }
    func send() throws {
      sent = try nanoseconds {
        _ = try Child.output(
          of: "curl", ["-sS", "--fail", "-H", "Expect:", "--cacert", programs.certificate] + pieces.flatMap { ["-T", $0, address] })
      }
    }
    if round < 0 {
      // The bytes that were shipped, in pieces as long as the largest shipments are.
      try ship()
      (pieces, byteCount) = try cut(data + "/ingest", into: bench.fresh("pieces"))
      continue
    }
    if round.isMultiple(of: 2) {
      try ship()
      try send()
    } else {
      try send()
      try ship()
    }
    ratios.append(ratio(sent, shipped))
    rates.append(Double(count) * 1e6 / Double(shipped))
  }
  let note =
    "\(medianText(rates, "thousand events a second")); \(byteCount / 1_000_000) MB for \(count) events, in \(pieces.count) requests"
  return [
    Measurement(
      group: "catch-up", name: "bulk catch-up, device to receipts, against curl to a sink that syncs", samples: ratios,
      target: .atLeast(0.3),
      note: note)
  ]
}

/// The bytes of a log's segments, in files of 4 MiB.
private func cut(_ log: String, into directory: String) throws -> ([String], UInt64) {
  try check(mkdir(directory, 0o700), "making \(directory)")
  let listing = try Child.output(of: "find", [log + "/segments", "-type", "f"])
  var bytes: [UInt8] = []
  for path in listing.split(separator: "\n").sorted() { bytes += try readFile(String(path)) }
  // What is written ahead was not shipped.
  while bytes.last == 0 { bytes.removeLast() }
  var pieces: [String] = []
  for start in stride(from: 0, to: bytes.count, by: 4 << 20) {
    let path = "\(directory)/\(pieces.count)"
    let descriptor = try check(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600), "making \(path)")
    defer { close(descriptor) }
    let piece = bytes[start..<min(start + 4 << 20, bytes.count)]
    let written = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    guard written == piece.count else { throw BenchmarkFailure(description: "writing \(path): error \(errno)") }
    pieces.append(path)
  }
  return (pieces, UInt64(bytes.count))
}

// MARK: Ingest

/// Batches of 500 events from several devices at once, against PostgreSQL with the same promises from as many connections.
func measureIngest(_ bench: Bench) throws -> [Measurement] {
  let programs = try programs(bench)
  let count = bench.scaled(400_000, quick: 80_000)
  var result: [Measurement] = []
  for devices in [1, 4, 16] {
    let name = "batches of 500 from \(devices) devices, against PostgreSQL"
    guard let postgresql = programs.postgresql else {
      result.append(Measurement(group: "ingest", name: name, samples: [], note: "not measured: PostgreSQL is not there"))
      continue
    }
    bench.progress("  \(name)")
    var ratios: [Double] = [], ours: [Double] = [], theirs: [Double] = []
    for round in -1..<bench.rounds {
      var rates = (ours: 0.0, theirs: 0.0)
      try interleave(turns: 1) {
        rates.ours = try load(bench, programs, ["--devices", "\(devices)", "--events", "\(count / devices)", "--batch", "500"]).rate
      } _: {
        let text = try Child.output(of: programs.client, [postgresql, "\(devices)", "\(count / devices / 500)", "500"])
        rates.theirs = Double(text.filter { $0 != "\n" }) ?? 0
      }
      if round < 0 { continue }
      ratios.append(rates.ours / rates.theirs)
      ours.append(rates.ours / 1e3)
      theirs.append(rates.theirs / 1e3)
    }
    let note = "\(medianText(ours, "thousand events a second")) over HTTPS against \(medianText(theirs, "thousand")) over a local socket"
    // What each does best is compared.
    result.append(Measurement(group: "ingest", name: name, samples: ratios, target: devices == 16 ? .atLeast(2) : nil, note: note))
  }
  return result
}

/// What `tidemark-load` met at a server of its own.
private struct LoadResult {
  var rate = 0.0
  var slowest = 0.0
  var peakByteCount: UInt64 = 0
  var text = ""
}

private func load(_ bench: Bench, _ programs: ShippingPrograms, _ options: [String]) throws -> LoadResult {
  let server = try ServerChild(programs, at: try bench.fresh("server"))
  defer { server.stop() }
  let text = try Child.output(
    of: programs.tool("tidemark-load"),
    ["--server", server.url, "--operator-token", server.directory + "/operator-token", "--ca", programs.certificate] + options)
  func number(_ name: String) -> Double {
    guard let found = text.range(ofText: "\"\(name)\":") else { return 0 }
    return Double(text[found...].prefix { $0.isNumber || $0 == "." }) ?? 0
  }
  return LoadResult(
    rate: number("events_a_second"), slowest: number("slowest"), peakByteCount: try server.child.peakByteCount(),
    text: text.filter { $0 != "\n" })
}

extension String {
  /// Where the first occurrence of a text ends.
  fileprivate func range(ofText text: String) -> Index? {
    indices.first { self[$0...].hasPrefix(text) }.map { index($0, offsetBy: text.count) }
  }
}

// MARK: One event

/// From before an event is appended until its receipt was verified and kept, against two syncs and a round trip to a socket here.
func measureReceipt(_ bench: Bench) async throws -> [Measurement] {
  let programs = try programs(bench)
  bench.progress("  one event to its receipt")
  let server = try ServerChild(programs, at: try bench.fresh("server"))
  defer { server.stop() }
  let path = try bench.fresh("device")
  try Log.create(at: path, options: LogOptions())
  let log = try Log.open(at: path)
  let keys = try KeyDirectory(at: path + "/evidence/keys")
  let store = FileCredentialStore(at: path + "/credentials")
  let transport = CurlTransport(authorities: programs.certificate)
  _ = try await Replicator.enrol(
    ServerAddress(server.url), code: server.code(), keys: keys, credentials: store, transport: transport)
  let replicator = Replicator(try Evidence(log, keys: keys), keys: keys, credentials: store, transport: transport)
  try replicator.start()
  let statuses = replicator.statuses
  let event = makeEvents(1)[0]
  let file = try check(baseline_create_written_ahead(try bench.fresh("ahead"), 16 << 20), "making a file")
  defer { baseline_close(file) }
  var iterator = statuses.makeAsyncIterator()
  var ratios: [Double] = [], receipts: [UInt64] = [], leasts: [UInt64] = []
  var position: UInt64 = 0
  for round in -1..<bench.rounds {
    var ours: [UInt64] = [], least: [UInt64] = []
    for _ in 0..<bench.scaled(50, quick: 20) {
      let start = baseline_now()
      let offset = try await log.append(event).offset
      while let status = await iterator.next(), status.accepted <= offset {}
      ours.append(baseline_now() - start)
      let begin = baseline_now()
      try check(baseline_append_synced(file, &position, 8 << 20, 248, 2, nil), "writing")
      try check(baseline_round_trip(), "a round trip")
      least.append(baseline_now() - begin)
    }
    if round < 0 { continue }
    ratios.append(ratio(percentile(0.5, of: ours), percentile(0.5, of: least)))
    receipts += ours
    leasts += least
  }
  await replicator.stop()
  try log.close()
  let note = "p50 \(microseconds(0.5, of: receipts)), p99 \(microseconds(0.99, of: receipts)) against \(microseconds(0.5, of: leasts))"
  return [
    Measurement(
      group: "receipt", name: "one event from append to receipt, against two syncs and a round trip, p50", samples: ratios,
      target: .atMost(3), note: note)
  ]
}

// MARK: Many devices

/// Thousands of devices that come back within five seconds.
func measureFleet(_ bench: Bench) throws -> [Measurement] {
  let programs = try programs(bench)
  let devices = bench.scaled(10_000, quick: 500)
  bench.progress("  \(devices) devices at once")
  var slowest: [Double] = [], memory: [Double] = []
  var note = ""
  for _ in 0..<bench.scaled(3, quick: 1) {
    // It fails if a device is not served.
    let met = try load(bench, programs, ["--devices", "\(devices)", "--events", "50", "--within", "5"])
    slowest.append(met.slowest)
    memory.append(Double(met.peakByteCount) / 1048576)
    note = met.text
  }
  let name = "\(devices) devices with 50 events each, back within 5 s"
  return [
    Measurement(
      group: "fleet", name: "\(name): the slowest has all receipts after", unit: "s", samples: slowest, target: .atMost(60), note: note),
    Measurement(group: "fleet", name: "\(name): the server takes at most", unit: "MiB", samples: memory, target: .atMost(512)),
  ]
}

// MARK: Idle

func measureIdleDevice(_ bench: Bench) throws -> [Measurement] {
  let programs = try programs(bench)
  let seconds = bench.scaled(60, quick: 10)
  bench.progress("  an idle device for \(seconds) s")
  let server = try ServerChild(programs, at: try bench.fresh("server"))
  defer { server.stop() }
  let path = try bench.fresh("device")
  try buildLog(at: path, options: LogOptions(), events: makeEvents(100), count: 100, batch: 100, sealed: false)
  try server.enrol(path)
  // The runtime has a timer of its own, once a second in any process with tasks.
  let none = try Child(["child-sleep", "\(seconds)"])
  let count = try Child(["child-replicate", path, programs.certificate, "\(seconds)"]).finish()
  let own = try none.finish()
  let perMinute = Double(count - own) * 60 / Double(seconds)
  return [
    Measurement(
      group: "idle-device", name: "wake-ups a minute of a device with nothing to ship, above a process that only sleeps in a task",
      unit: "", samples: [perMinute], target: .atMost(3), note: "\(count) against \(own) in \(seconds) s")
  ]
}

/// `child-replicate LOG CERTIFICATE SECONDS`: ships a log, then has nothing to do. Prints how often a thread of it was woken meanwhile.
func childReplicate(_ path: String, _ certificate: String, seconds: Int) async throws {
  let log = try Log.open(at: path)
  let keys = try KeyDirectory(at: path + "/evidence/keys")
  let store = FileCredentialStore(at: path + "/replication/credentials")
  let replicator = Replicator(
    try Evidence(log, keys: keys), keys: keys, credentials: store, transport: CurlTransport(authorities: certificate))
  try replicator.start()
  for await status in replicator.statuses where status.state == .idle { break }
  try await childSleep(seconds: seconds)
  await replicator.stop()
  try log.close()
}

/// `child-sleep SECONDS`: prints how often a thread of this process was woken in that time.
func childSleep(seconds: Int) async throws {
  // What was begun is over, and idle threads are gone.
  try await Task.sleep(for: .seconds(10))
  let before = try switchCount()
  try await Task.sleep(for: .seconds(seconds))
  write("\(try switchCount() - before)\n", to: 1)
}

/// How often threads of this process gave the processor up so far, each time to be woken again.
private func switchCount() throws -> Int {
  var total = 0
  guard let directory = opendir("/proc/self/task") else { throw BenchmarkFailure(description: "the kernel tells nothing of threads") }
  defer { closedir(directory) }
  while let entry = readdir(directory) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    guard let status = try? readFile("/proc/self/task/\(name)/status"), Int(name) != nil else { continue }
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
    total += line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0
  }
  return total
}
