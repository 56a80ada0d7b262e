import TidemarkLog

/// Measures appends to logs in one directory.
struct AppendBench {
  static let eventByteCount = 200
  private static let writerCount = 16
  /// The raw limit and one writer, which are compared, take so many turns each: what else goes on meets both.
  private static let turnCount: UInt64 = 4
  /// No part fills more than this, whatever it has time for.
  private static let largestByteCount: UInt64 = 512 << 20
  /// The file of the raw limit. It is written in full before, then from its start to its end again and again.
  private static let rawByteCount = 4 << 20

  private let directory: String
  private let seconds: UInt64
  private let eventLimit: Int
  /// Different ones, so that sealing has to work at them as it does at real ones.
  private let events: [NewEvent]
  private let progress = SharedProgress(ProgressDisplay("bench", barOnly: true))

  /// - Parameter freeByteCount: of the file system. All parts together take at most half of it.
  init(directory: String, seconds: UInt64, freeByteCount: UInt64) {
    self.directory = directory
    self.seconds = seconds
    let logCount = UInt64(BenchPart.allCases.count - 1)
    eventLimit = Int(clamping: min(Self.largestByteCount, freeByteCount / 2 / logCount)) / (2 * Self.eventByteCount)
    var random = SystemRandomNumberGenerator()
    events = (0..<1000).map { _ in
      let digits = (0..<Self.eventByteCount).map { _ in Array("0123456789abcdef".utf8)[Int(random.next() & 15)] }
      return NewEvent(type: "bench", data: digits)
    }
  }

  func run(into report: inout BenchReport) throws {
    defer { progress.finish() }
    try rawLimitAndOneWriter(&report)
    report.figures[.writers] = try inLog(.writers) { log in try writers(log) }
    report.figures[.batches] = try inLog(.batches) { log in try batches(of: 100, log, .synced, .batches) }
    report.figures[.written] = try inLog(.written) { log in try batches(of: 1000, log, .written, .written) }
  }

  /// Times what is done with a log of its own.
  private func inLog(_ part: BenchPart, _ body: (Log) throws -> BenchFigures) throws -> BenchFigures {
    progress.report(part.title, 0, nil)
    let path = "\(directory)/\(part.rawValue)"
    var options = LogOptions()
    options.durability = part == .written ? .written : .synced
    options.program = Tidemark.programAndVersion
    try Log.create(at: path, options: options)
    let log = try Log.open(at: path, options: options)
    do {
      // The first one has to write the session too.
      try log.append(events[0])
      let figures = try body(log)
      try log.close()
      return figures
    } catch {
      try? log.close()
      throw error
    }
  }

  private func rawLimitAndOneWriter(_ report: inout BenchReport) throws {
    let file = try POSIXFileSystem().open("\(directory)/raw", .create)
    defer { file.close() }
    try file.write([UInt8](repeating: 0, count: Self.rawByteCount).rawSpan, at: 0)
    try file.sync()
    var (raw, single, syncs) = (BenchSamples(), BenchSamples(), BenchSamples())
    var rawCommit: [UInt8] = []
    var position = 0
    report.figures[.oneWriter] = try inLog(.oneWriter) { log in
      rawCommit = try bytesOfOneCommit(to: log)
      for _ in 0..<Self.turnCount {
        try turn(&raw) { samples, deadline in
          try samples.take(eventsPerCommit: 1, eventLimit: eventLimit, until: deadline) { _ in
            if position + rawCommit.count > Self.rawByteCount { position = 0 }
            try file.write(rawCommit.rawSpan, at: UInt64(position))
            position += rawCommit.count
            try syncs.take(eventsPerCommit: 1, eventLimit: syncs.eventCount + 1, until: .max) { _ in try file.sync() }
          }
        }
        try turn(&single) { samples, deadline in
          try samples.take(eventsPerCommit: 1, eventLimit: eventLimit, until: deadline) { try log.append(events[$0 % events.count]) }
        }
      }
      return single.figures
    }
    report.figures[.rawLimit] = raw.figures
    report.medianSyncNanoseconds = syncs.figures.p50
  }

  /// One part of the time, on the clock.
  private func turn(_ samples: inout BenchSamples, _ body: (inout BenchSamples, UInt64) throws -> Void) throws {
    let start = System.monotonicNanoseconds()
    try body(&samples, start + seconds * 1_000_000_000 / Self.turnCount)
    samples.duration += System.monotonicNanoseconds() - start
  }

  /// As many bytes as the engine writes for one event: the record and its frame.
  private func bytesOfOneCommit(to log: Log) throws -> [UInt8] {
    let before = try log.statistics().appendedByteCount
    try log.append(events[0])
    let recordByteCount = Int(clamping: try log.statistics().appendedByteCount - before)
    let header = FrameHeader(.events, storedLength: recordByteCount, base: 0, durable: 0, incarnation: 0)
    return [UInt8](repeating: 0x5A, count: header.frameLength)
  }

  private func batches(of count: Int, _ log: Log, _ durability: Durability, _ part: BenchPart) throws -> BenchFigures {
    let batches = stride(from: 0, to: events.count, by: count).map { Array(events[$0..<$0 + count]) }
    var samples = BenchSamples()
    let start = System.monotonicNanoseconds()
    try samples.take(eventsPerCommit: count, eventLimit: eventLimit, until: start + seconds * 1_000_000_000) { number in
      try log.append(batches[number % batches.count], durability: durability)
    }
    samples.duration = System.monotonicNanoseconds() - start
    return samples.figures
  }

  private func writers(_ log: Log) throws -> BenchFigures {
    let outcome = Locked<(samples: BenchSamples, failure: (any Error)?)>((BenchSamples(), nil))
    let ended = WaitWord()
    var started: UInt32 = 0
    let start = System.monotonicNanoseconds()
    let deadline = start + seconds * 1_000_000_000
    for _ in 0..<Self.writerCount {
      do {
        try runThread(name: "bench", lowPriority: false) {
          defer { ended.increment() }
          var samples = BenchSamples()
          do {
            try samples.take(eventsPerCommit: 1, eventLimit: eventLimit / Self.writerCount, until: deadline) {
              try log.append(events[$0 % events.count])
            }
          } catch {
            outcome.withLock { $0.failure = error }
          }
          outcome.withLock { $0.samples.add(samples) }
        }
        started += 1
      } catch {
        outcome.withLock { $0.failure = error }
      }
    }
    // None of them may write while the log is closed and removed.
    while true {
      let count = ended.value
      if count >= started { break }
      ended.wait(while: count)
    }
    let duration = System.monotonicNanoseconds() - start
    var (samples, failure) = outcome.withLock { $0 }
    if let failure { throw failure }
    samples.duration = duration
    return samples.figures
  }
}
