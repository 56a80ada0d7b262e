import BenchmarkSupport
import CBaseline
import Glibc

/// A store to be measured: a program, and the form in which it keeps events.
struct Entry: Sendable, Hashable {
  /// What it is called in the report, such as `lmdb-outbox`.
  var name: String
  /// A program of `tools/peers --contenders`; nil for this executable.
  var program: String?
  var form: String

  static let tidemark = Entry(name: "tidemark-synced", program: nil, form: "synced")
  static let tidemarkWritten = Entry(name: "tidemark-written", program: nil, form: "written")
  static let tidemarkBuffered = Entry(name: "tidemark-buffered", program: nil, form: "buffered")
  /// As `synced`, but segments stay as they were written.
  static let tidemarkRaw = Entry(name: "tidemark-unsealed", program: nil, form: "unsealed")
  static let raw = Entry(name: "raw limit", program: "plain", form: "raw")
  static let lines = Entry(name: "json-lines", program: "plain", form: "lines")
  static let outbox = Entry(name: "sqlite-outbox-full", program: "sqlite", form: "outbox-full")
  static let outboxNormal = Entry(name: "sqlite-outbox-normal", program: "sqlite", form: "outbox-normal")
  static let lean = Entry(name: "sqlite-lean-full", program: "sqlite", form: "lean-full")
  static let leanNormal = Entry(name: "sqlite-lean-normal", program: "sqlite", form: "lean-normal")
  static let lmdb = Entry(name: "lmdb-outbox", program: "lmdb", form: "outbox")
  static let lmdbLean = Entry(name: "lmdb-lean", program: "lmdb", form: "lean")
  static let rocksDB = Entry(name: "rocksdb-outbox", program: "rocksdb", form: "outbox")
  static let rocksDBLean = Entry(name: "rocksdb-lean", program: "rocksdb", form: "lean")
  static let rocksDBDefault = Entry(name: "rocksdb-default", program: "rocksdb", form: "default")
  static let levelDB = Entry(name: "leveldb-outbox", program: "leveldb", form: "outbox")
  static let levelDBLean = Entry(name: "leveldb-lean", program: "leveldb", form: "lean")
  static let levelDBDefault = Entry(name: "leveldb-default", program: "leveldb", form: "default")

  /// All that append, those that promise less than a power cut behind those that promise it.
  static let all: [Entry] = [
    .raw, .tidemark, .outbox, .lean, .lmdb, .lmdbLean, .rocksDB, .rocksDBLean, .rocksDBDefault, .levelDB, .levelDBLean, .levelDBDefault,
    .lines,
    .tidemarkWritten, .tidemarkBuffered, .outboxNormal, .leanNormal,
  ]
}

/// What a contender says after a command.
struct Answer {
  var eventCount: UInt64
  var nanoseconds: UInt64
  /// What all threads of its process were at work.
  var processorNanoseconds: UInt64
  /// How often one of them gave up its processor to wait.
  var switchCount: UInt64
  /// What else it tells, such as the time of each commit.
  var rest: [UInt64]

  /// Events a second.
  var rate: Double { Double(eventCount) * 1e9 / Double(max(nanoseconds, 1)) }
  var nanosecondsAnEvent: Double { Double(nanoseconds) / Double(max(eventCount, 1)) }
}

/// An entry with a directory of its own, open between turns.
final class Contender {
  let entry: Entry
  let directory: String
  /// The number of the next event.
  private(set) var next: UInt64 = 0
  /// How long its program took to open the store the last time.
  private(set) var opening: UInt64 = 0
  private let bench: Bench
  private var child: (process: Int32, input: Int32, output: Int32)?
  private var unread: [UInt8] = []

  init(_ entry: Entry, _ bench: Bench, directory name: String? = nil) throws {
    self.entry = entry
    self.bench = bench
    directory = try bench.fresh(name ?? entry.name.replacing(" ", with: "-"))
    try check(mkdir(directory, 0o755), "making \(directory)")
    try open()
  }

  deinit {
    guard let child else { return }
    Glibc.close(child.input)
    _ = baseline_kill(child.process)
    Glibc.close(child.output)
  }

  /// Starts its program, which opens the store.
  func open() throws {
    var words = [entry.form, directory]
    var path = try Child.ownPath()
    if let program = entry.program {
      guard let folder = bench.contenders, access("\(folder)/\(program)", X_OK) == 0 else {
        throw Skipped(reason: "\(program) is not built: its library is missing")
      }
      path = "\(folder)/\(program)"
    } else {
      words.insert("contender", at: 0)
    }
    var pointers: [UnsafeMutablePointer<CChar>?] = ([path] + words).map { strdup($0) } + [nil]
    defer { pointers.forEach { free($0) } }
    var input: Int32 = -1, output: Int32 = -1
    let process = try check(baseline_spawn_with_input(path, &pointers, &input, &output), "starting \(path)")
    child = (process, input, output)
    unread = []
    opening = try answer(to: "open").nanoseconds
  }

  /// Ends it in good order.
  func close() throws {
    _ = try ask("close")
    try wait()
  }

  /// Ends it by `kill -9` while it carries out a command, `milliseconds` after that was sent.
  func kill(during command: String, after milliseconds: UInt32) throws {
    guard let child else { return }
    write(command + "\n", to: child.input)
    usleep(milliseconds * 1000)
    try check(baseline_kill(child.process), "killing \(entry.name)")
    Glibc.close(child.input)
    Glibc.close(child.output)
    self.child = nil
    // How far it came is not known; no number may come twice.
    next += 10_000_000
  }

  private func wait() throws {
    guard let child else { return }
    Glibc.close(child.input)
    Glibc.close(child.output)
    var status: Int32 = 0
    waitpid(child.process, &status, 0)
    self.child = nil
    if status != 0 { throw BenchmarkFailure(description: "\(entry.name) ended with status \(status)") }
  }

  /// What a command cost; nil if the store can't do it.
  func askIfAble(_ command: String) throws -> Answer? {
    guard let child else { throw BenchmarkFailure(description: "\(entry.name) is not open") }
    write(command + "\n", to: child.input)
    let numbers = try line(after: command).split(separator: " ").map { UInt64($0) }
    guard numbers.count >= 4 else { return nil }
    let known = numbers.compactMap { $0 }
    guard known.count == numbers.count else { return nil }
    return Answer(
      eventCount: known[0], nanoseconds: known[1], processorNanoseconds: known[2], switchCount: known[3], rest: Array(known[4...]))
  }

  func ask(_ command: String) throws -> Answer {
    guard let answer = try askIfAble(command) else { throw BenchmarkFailure(description: "\(entry.name) can't do: \(command)") }
    return answer
  }

  private func answer(to what: String) throws -> Answer {
    let numbers = try line(after: what).split(separator: " ").compactMap { UInt64($0) }
    guard numbers.count == 4 else { throw BenchmarkFailure(description: "\(entry.name): a malformed answer to \(what)") }
    return Answer(eventCount: numbers[0], nanoseconds: numbers[1], processorNanoseconds: numbers[2], switchCount: numbers[3], rest: [])
  }

  private func line(after command: String) throws -> String {
    guard let child else { throw BenchmarkFailure(description: "\(entry.name) is not open") }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: unread[..<end], as: UTF8.self)
        unread.removeSubrange(...end)
        return line
      }
      let count = read(child.output, &buffer, buffer.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw BenchmarkFailure(description: "\(entry.name) ended at: \(command)") }
      unread += buffer[..<count]
    }
  }

  // MARK: Commands

  /// Appends events in commits of `batch`; `rest` is the time of each.
  func append(_ count: Int, batch: Int) throws -> Answer {
    defer { next += UInt64(count) }
    return try ask("append \(next) \(count) \(batch)")
  }

  func bulk(_ count: Int) throws -> Answer {
    defer { next += UInt64(count) }
    return try ask("bulk \(next) \(count)")
  }

  /// Appends by many threads for a while, each its own commits, or by way of one thread that commits what waits.
  func threads(_ count: Int, queued: Bool, milliseconds: Int) throws -> Answer {
    let answer = try ask("\(queued ? "queued" : "threads") \(next) \(count) \(milliseconds)")
    next += answer.eventCount + UInt64(count)
    return answer
  }

  func residentByteCount() throws -> UInt64 {
    guard let child else { throw BenchmarkFailure(description: "\(entry.name) is not open") }
    return UInt64(try check(baseline_resident_byte_count(child.process), "asking for the memory of \(entry.name)"))
  }

  func allocatedByteCount() throws -> UInt64 {
    UInt64(try check(baseline_allocated_byte_count(directory), "sizing \(directory)"))
  }
}

/// Those of the entries that can run here, each with so many events that SQLite writes over its log instead of growing it. A line on
/// standard error says which can't run.
func openContenders(_ entries: [Entry], _ bench: Bench) throws -> [Contender] {
  var result: [Contender] = []
  for entry in entries {
    do {
      let contender = try Contender(entry, bench)
      _ = try contender.bulk(20_000)
      result.append(contender)
    } catch let skipped as Skipped { bench.progress("  \(entry.name): \(skipped.reason)") }
  }
  return result
}

/// Closes them and removes what they kept.
func closeContenders(_ contenders: [Contender], _ bench: Bench) throws {
  for contender in contenders {
    try contender.close()
    try bench.remove(contender.directory)
  }
}

/// One turn for each, beginning with another one each time and going back each second time.
func takeTurns(_ contenders: [Contender], turn: Int, _ body: (Contender) throws -> Void) rethrows {
  let count = contenders.count
  for index in 0..<count {
    let place = (turn &+ index) % count
    try body(contenders[turn.isMultiple(of: 2) ? place : count - 1 - place])
  }
}
