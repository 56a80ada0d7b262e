import TestSupport
import TidemarkLog

/// One process that uses a log: it runs operations on the engine and keeps the model beside it.
///
/// A broken invariant is thrown as a `Violation`; an error of the engine is returned, because in some layers it is what must happen.
final class Driver {
  static let path = "/log"

  let disk: SimulatedDisk
  let environment: Environment
  var options: LogOptions
  private(set) var log: Log?
  var history: History
  /// What was done, if it is to be told.
  var trace: [String]?
  /// What an opening must not do away with.
  private var random: SeededRandom

  init(_ disk: SimulatedDisk, _ history: History, _ options: LogOptions, seed: UInt64) {
    self.disk = disk
    self.history = history
    self.options = options
    environment = .simulated(disk, seed: seed)
    random = SeededRandom(seed: seed)
  }

  /// Options under which the engine runs on one thread, with segments so small that short workloads fill them.
  static func options(_ durability: Durability = .synced, segmentByteCount: Int = 8192) -> LogOptions {
    var options = LogOptions()
    options.durability = durability
    options.segmentByteCount = segmentByteCount
    options.zerosAheadByteCount = 4096
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    options.compression = .fast
    options.onCorruption = .refuse
    options.program = "simulate"
    return options
  }

  // MARK: Opening

  /// Opens the log for writing, and makes it first if it never was.
  func open() throws {
    do {
      log = try Log.open(at: Self.path, options: options, environment: environment)
    } catch let error as LogError where !history.exists && error.isAbsence {
      note("not there yet: \(error)")
      try Log.create(at: Self.path, options: options, environment: environment)
      log = try Log.open(at: Self.path, options: options, environment: environment)
    }
  }

  func close() throws {
    let open = log
    log = nil
    try open?.close()
  }

  /// The process ends without closing anything.
  func abandon() { log = nil }

  func openForReading() throws -> Log { try Log.openForReading(at: Self.path, options: options, environment: environment) }

  func verify() throws -> VerificationReport { try Log.verify(at: Self.path, options: options, environment: environment) }

  /// Reads everything back through the log that is open.
  func readBack() throws -> ReadBack {
    guard let log else { throw Violation(.operation, "the log is not open") }
    return try ReadBack(log)
  }

  /// Reads everything back, and compares it with the model.
  @discardableResult func check(after crash: Crash) throws -> ReadBack {
    let read = try readBack()
    var excused = read
    if tolerance == .reportedLoss, crash != .none, let log {
      excused.gaps += log.recoveryReport.findings.compactMap(\.possibleLoss)
    }
    if let violation = history.check(excused, after: crash, gapsAllowed: tolerance == .reportedLoss) { throw violation }
    return read
  }

  /// The same, and takes what was read for final.
  @discardableResult func checkAndSettle(after crash: Crash) throws -> ReadBack {
    let read = try check(after: crash)
    history.settle(read)
    return read
  }

  /// A log that had no space to finish its recovery serves some of it: all that is recorded as durable, and nothing wrong.
  func checkDegraded(after crash: Crash) throws {
    let read = try readBack()
    var trial = history
    trial.model.doubt(from: read.size, first: 0)
    trial.recorded = 0
    if let violation = trial.check(read, after: crash) { throw violation }
    if read.size < history.recorded {
      throw Violation(.i7, "offset \(history.recorded) was recorded, and a log without space ends at \(read.size)")
    }
  }

  /// What the log may answer instead of what it was given.
  enum Tolerance {
    case nothing
    /// A gap, or a tail that is reported as cut away.
    case reportedLoss
  }

  var tolerance = Tolerance.nothing

  // MARK: Operations

  /// Runs one operation. Returns the error that the engine answered with, if it was not one that the operation asks for.
  func perform(_ operation: Operation) throws -> LogError? {
    do {
      if log == nil { try open() }
      guard let log else { return nil }
      try carryOut(operation, log)
      note("\(operation)")
      return nil
    } catch let error as LogError {
      note("\(operation): \(error)")
      return error
    }
  }

  private func carryOut(_ operation: Operation, _ log: Log) throws {
    switch operation {
    case .append(let byteCount): try append(submit([byteCount]), log)
    case .appendSynced(let byteCount): try append(submit([byteCount]), log, durability: .synced)
    case .batch(let count, let byteCount): try append(submit([Int](repeating: byteCount, count: count)), log)
    case .duplicate(let back): try duplicate(back, log)
    case .conflict(let back): try conflict(back, log)
    case .expectingSize(let isRight, let byteCount): try appendExpecting(isRight, byteCount, log)
    case .retry: try retry(log)
    case .stage(let byteCount):
      let kind = EventKind(rawValue: UInt8(16 + byteCount % 200))
      try log.stage(control: kind, data: [UInt8](repeating: UInt8(truncatingIfNeeded: byteCount), count: byteCount))
    case .sync:
      try log.sync()
      history.model.markSynced()
    case .recordDurable: try recordDurable(log)
    case .roll:
      try log.roll()
      history.model.markSynced()
    case .seal:
      try log.seal()
      history.model.markSynced()
    case .trim(let percent): try trim(percent, log)
    case .suspend:
      try log.suspend()
      history.model.markSynced()
    case .reopen: try reopen(log)
    case .writeBack: disk.image.writeBack(using: &random)
    }
  }

  private func submit(_ byteCounts: [Int]) -> ModelLog.BatchID { history.model.submit(byteCounts) }

  private func append(
    _ batch: ModelLog.BatchID, _ log: Log, expecting size: UInt64? = nil, durability: Durability? = nil
  ) throws {
    let events = history.model.events(of: batch).map { $0.newEvent() }
    let answers: [Appended]
    do {
      answers = try log.append(events, expecting: size, durability: durability)
    } catch let error as LogError {
      if error.isRefusal { history.model.refuse(batch) } else { history.model.leaveUnknown(batch) }
      throw error
    }
    let first = answers.first?.offset ?? 0
    for (index, answer) in answers.enumerated() where answer.isDuplicate || answer.offset != first + UInt64(index) {
      throw Violation(.i2, "event \(index) of a new batch was answered with offset \(answer.offset), duplicate: \(answer.isDuplicate)")
    }
    if answers.count != events.count { throw Violation(.i2, "\(events.count) events were answered with \(answers.count) offsets") }
    try history.model.acknowledge(batch, at: first, max(options.durability, durability ?? .buffered))
    history.userEnd = first + UInt64(events.count)
  }

  private func appendExpecting(_ isRight: Bool, _ byteCount: Int, _ log: Log) throws {
    if isRight { return try append(submit([byteCount]), log, expecting: max(log.size, history.model.size)) }
    guard history.userEnd > 0 else { return }
    let end = history.userEnd
    do { try append(submit([byteCount]), log, expecting: end - 1) } catch LogError.Code.unexpectedSize { return }
    throw Violation(.operation, "an append that expected size \(end - 1) was taken though the last user event ends at \(end)")
  }

  private func duplicate(_ back: Int, _ log: Log) throws {
    guard let event = history.model.acknowledgedEvent(back: back) else { return }
    let answer = try log.append(event.newEvent())
    try history.model.acknowledgeDuplicate(event, at: answer.offset, isDuplicate: answer.isDuplicate)
  }

  private func conflict(_ back: Int, _ log: Log) throws {
    guard let event = history.model.acknowledgedEvent(back: back) else { return }
    do { _ = try log.append(event.newEvent(isConflicting: true)) } catch LogError.Code.conflict { return }
    throw Violation(.operation, "another event with the id of number \(event.number) was taken")
  }

  private func retry(_ log: Log) throws {
    guard let batch = history.model.retryableBatch() else { return }
    guard history.model.isAcknowledged(batch) else { return try append(history.model.resubmit(batch), log) }
    let events = history.model.events(of: batch)
    let answers = try log.append(events.map { $0.newEvent() })
    for (event, answer) in zip(events, answers) {
      try history.model.acknowledgeDuplicate(event, at: answer.offset, isDuplicate: answer.isDuplicate)
    }
  }

  private func recordDurable(_ log: Log) throws {
    let offset = try log.recordDurable()
    history.model.markSynced()
    history.recorded = max(history.recorded, offset)
    if offset < history.model.size { throw Violation(.i7, "recordDurable returned \(offset), but \(history.model.size) was acknowledged") }
  }

  private func trim(_ percent: Int, _ log: Log) throws {
    let floor = log.size * UInt64(percent) / 100
    history.model.willTrim(below: floor)
    try history.model.didTrim(first: log.trim(below: floor))
  }

  private func reopen(_ old: Log) throws {
    defer { if log === old { log = nil } }
    try old.close()
    history.model.markSynced()
    log = nil
    try open()
    if tolerance == .nothing, let log,
      !log.recoveryReport.wasClean || !log.recoveryReport.findings.allSatisfy({ $0.kind == .gap || mayStay($0) })
    {
      throw Violation(.operation, "a log that was closed is not clean: \(log.recoveryReport)")
    }
    try checkAndSettle(after: .close)
  }

  /// A file that a fault kept from being removed.
  private func mayStay(_ finding: Finding) -> Bool { finding.kind == .leftover && disk.faultCount > 0 }

  func note(_ text: @autoclosure () -> String) {
    if trace != nil { trace?.append(text()) }
  }
}

extension LogError {
  /// The log took nothing, and says that it never will.
  var isRefusal: Bool { [.conflict, .unexpectedSize, .tooLarge, .invalidEvent, .stringTooLong].contains(code) }
  /// No log is there, or one that was never finished.
  var isAbsence: Bool { code == .notALog || code == .corrupt }
}

extension Finding {
  /// What may be lost with a tail that was cut away, and is said to have been acknowledged perhaps; or with a newest segment without a
  /// header.
  fileprivate var possibleLoss: Range<UInt64>? {
    if kind == .tornTail { return offsets.map { $0.lowerBound..<UInt64.max } }
    guard kind == .leftover, message.hasPrefix("a crash while rolling"), let name = file?.split(separator: "/").last else { return nil }
    return UInt64(name.prefix(20)).map { $0..<UInt64.max }
  }
}
