import CBaseline
import Glibc
import Synchronization
import TidemarkLog

/// Events as all contenders have them. The texts of their data are made once.
private struct EventSource: Sendable {
  private let texts: [[UInt8]]
  private let subjects: [String]
  private static let textCount = 4096

  init() {
    var texts: [[UInt8]] = [], subjects: [String] = []
    for number in 0..<Self.textCount {
      var event = benchmark_event()
      benchmark_event_make(UInt64(number), &event)
      texts.append(Array(UnsafeRawBufferPointer(start: event.data, count: dataByteCount)))
      subjects.append(withUnsafeBytes(of: event.subject) { String(decoding: $0, as: UTF8.self) })
    }
    self.texts = texts
    self.subjects = subjects
  }

  func event(_ number: UInt64) -> NewEvent {
    var event = benchmark_event()
    benchmark_event_make(number, &event)
    let place = Int(number % UInt64(Self.textCount))
    return NewEvent(
      type: "scan", subject: subjects[place], time: Timestamp(nanoseconds: event.occurredAt), id: id(event), data: texts[place])
  }

  func id(_ event: benchmark_event) -> EventID {
    withUnsafeBytes(of: event.id) { bytes in
      EventID(
        high: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
        low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
  }

  func id(of number: UInt64) -> EventID {
    var event = benchmark_event()
    benchmark_event_make(number, &event)
    return id(event)
  }

  func text(_ number: UInt64) -> [UInt8] { texts[Int(number % UInt64(Self.textCount))] }
}

/// What a command has cost so far.
private struct Meter {
  private let start = baseline_now()
  private var processor: UInt64 = 0
  private var switches: UInt64 = 0

  init() { baseline_usage(&processor, &switches) }

  /// The beginning of an answer; the time since the meter was made, unless another is told.
  func answer(_ eventCount: Int, nanoseconds: UInt64? = nil) -> String {
    let taken = nanoseconds ?? (baseline_now() - start)
    var processorNow: UInt64 = 0, switchesNow: UInt64 = 0
    baseline_usage(&processorNow, &switchesNow)
    return "\(eventCount) \(taken) \(processorNow - processor) \(switchesNow - switches)"
  }
}

/// Threads of one command.
private final class Crowd: Sendable {
  let log: Log
  let source: EventSource
  let next: Atomic<UInt64>
  let count = Atomic<Int>(0)
  let end: UInt64
  let failure = Mutex<String?>(nil)

  init(_ log: Log, _ source: EventSource, first: UInt64, end: UInt64) {
    self.log = log
    self.source = source
    next = Atomic(first)
    self.end = end
  }

  func run() {
    var done = 0
    do {
      while baseline_now() < end {
        try log.append(source.event(next.add(1, ordering: .relaxed).oldValue))
        // What ends late does not count, for any contender.
        if baseline_now() <= end { done += 1 }
      }
    } catch {
      failure.withLock { $0 = "\(error)" }
    }
    count.add(done, ordering: .relaxed)
  }
}

/// `contender FORM DIR`: this engine as a contender, by the commands of `Benchmarks/Contenders/contender.c`.
private struct OwnContender {
  private let log: Log
  private let source = EventSource()
  private let bulkBatch = 10_000

  init(form: String, directory: String) throws {
    var options = LogOptions()
    switch form {
    case "synced": break
    case "unsealed": options.sealing = .manual
    case "written": options.durability = .written
    case "buffered": options.durability = .buffered
    default: throw BenchmarkFailure(description: "there is no form \(form)")
    }
    do { try Log.create(at: directory, options: options) } catch LogError.Code.alreadyExists {}
    log = try Log.open(at: directory, options: options)
  }

  /// The answer to a command; nil if there is none such.
  func answer(_ words: [Substring]) throws -> String? {
    let numbers = words.dropFirst().compactMap { UInt64($0) }
    switch (words.first, numbers.count) {
    case ("append", 3): return try append(numbers[0], count: Int(numbers[1]), batch: Int(numbers[2]))
    case ("bulk", 2): return try bulk(numbers[0], count: Int(numbers[1]))
    case ("threads", 3): return try threads(numbers[0], count: Int(numbers[1]), milliseconds: numbers[2])
    case ("settle", 0):
      let meter = Meter()
      try log.seal()
      return meter.answer(0)
    case ("replay", 0): return try walk(Query())
    case ("range", 2): return try walk(Query(times: time(numbers[0])...time(numbers[0] + numbers[1] - 1)))
    case ("ids", 3): return try findIDs(Int(numbers[0]), below: numbers[1], seed: numbers[2])
    case ("numbers", 3): return try findOffsets(Int(numbers[0]), seed: numbers[2])
    case ("close", 0):
      let meter = Meter()
      try log.close()
      return meter.answer(0)
    default: return nil
    }
  }

  private func time(_ number: UInt64) -> Timestamp {
    var event = benchmark_event()
    benchmark_event_make(number, &event)
    return Timestamp(nanoseconds: event.occurredAt)
  }

  private func append(_ first: UInt64, count: Int, batch: Int) throws -> String {
    var taken: [UInt64] = []
    let meter = Meter()
    for start in stride(from: 0, to: count, by: batch) {
      let size = min(batch, count - start)
      let events = (0..<size).map { source.event(first + UInt64(start + $0)) }
      if size == 1 {
        let event = events[0]
        taken.append(try nanoseconds { try log.append(event) })
      } else {
        taken.append(try nanoseconds { try log.append(events) })
      }
    }
    return ([meter.answer(count, nanoseconds: taken.reduce(0, +))] + taken.map { "\($0)" }).joined(separator: " ")
  }

  /// Each batch is as durable as the log says: there is no lesser promise for an import.
  private func bulk(_ first: UInt64, count: Int) throws -> String {
    let meter = Meter()
    for start in stride(from: 0, to: count, by: bulkBatch) {
      let size = min(bulkBatch, count - start)
      try log.append((0..<size).map { source.event(first + UInt64(start + $0)) })
    }
    try log.sync()
    return meter.answer(count)
  }

  private func threads(_ first: UInt64, count: Int, milliseconds: UInt64) throws -> String {
    let meter = Meter()
    let crowd = Crowd(log, source, first: first, end: baseline_now() + milliseconds * 1_000_000)
    try withExtendedLifetime(crowd) {
      let body: @convention(c) (UnsafeMutableRawPointer?, Int) -> Void = { context, _ in
        guard let context else { return }
        Unmanaged<Crowd>.fromOpaque(context).takeUnretainedValue().run()
      }
      try check(baseline_run_threads(count, body, Unmanaged.passUnretained(crowd).toOpaque()), "starting threads")
    }
    if let failure = crowd.failure.withLock({ $0 }) { throw BenchmarkFailure(description: failure) }
    return meter.answer(crowd.count.load(ordering: .relaxed), nanoseconds: milliseconds * 1_000_000)
  }

  private func walk(_ query: Query) throws -> String {
    let meter = Meter()
    var totals = Totals()
    var cursor = try log.read(query)
    while let event = try cursor.next() {
      totals.eventCount += 1
      totals.dataByteCount += UInt64(event.data.byteCount)
      totals.timeSum &+= UInt64(bitPattern: event.time.nanoseconds)
    }
    return "\(meter.answer(Int(totals.eventCount))) \(totals.dataByteCount) \(totals.timeSum)"
  }

  private func findIDs(_ count: Int, below limit: UInt64, seed: UInt64) throws -> String {
    var seed = seed
    var sum: UInt64 = 0
    let meter = Meter()
    for _ in 0..<count {
      let number = benchmark_random(&seed) % limit
      let id = source.id(of: number)
      var data: [UInt8]?
      sum += try nanoseconds { data = try log.event(id: id)?.data }
      guard data == source.text(number) else { throw BenchmarkFailure(description: "event \(number) is not what it was: \(id)") }
    }
    return meter.answer(count, nanoseconds: sum)
  }

  /// Any offset: a few are of the engine's own events.
  private func findOffsets(_ count: Int, seed: UInt64) throws -> String {
    var seed = seed
    var sum: UInt64 = 0
    let meter = Meter()
    let size = log.size
    for _ in 0..<count {
      let offset = benchmark_random(&seed) % size
      var byteCount = 0
      sum += try nanoseconds { byteCount = try log.event(at: offset).data.count }
      guard byteCount > 0 else { throw BenchmarkFailure(description: "there is nothing in the event at offset \(offset)") }
    }
    return meter.answer(count, nanoseconds: sum)
  }
}

/// Opens a store of this engine and answers commands until it is closed.
func runOwnContender(form: String, directory: String) throws {
  let meter = Meter()
  let contender = try OwnContender(form: form, directory: directory)
  write(meter.answer(0) + "\n", to: 1)
  while let line = readLine() {
    let words = line.split(separator: " ")
    write((try contender.answer(words) ?? "not known") + "\n", to: 1)
    if words.first == "close" { return }
  }
}
