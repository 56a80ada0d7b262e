import TestSupport
import TidemarkLog

/// Seeded workloads of every operation; the power cut, or the process killed, at any call, in recovery too, several rounds deep.
struct CutLayer: Layer {
  static let name = "cut"
  let seed: UInt64

  func run(_ number: Int, into piece: inout Piece) throws {
    let run = CutRun(seed: splitMix(seed &+ UInt64(number) &* splitMixStep), tracing: piece.trace != nil)
    defer {
      piece.states += run.states
      piece.trace? += run.trace ?? []
    }
    try run.run()
  }
}

/// One workload with all its cuts.
private final class CutRun {
  private(set) var states = 0
  private(set) var trace: [String]?
  private var random: SeededRandom
  private var isDescribed = false

  init(seed: UInt64, tracing: Bool) {
    random = SeededRandom(seed: seed)
    trace = tracing ? [] : nil
  }

  /// The disk as a crash at some call finds it.
  private struct Moment {
    var image: DiskImage
    var history: History
    /// The call that did not happen any more; none at the end of the work.
    var call: Calls = []
    /// What a reader without a lock saw at this moment (I10).
    var seen: ReadBack?
  }

  /// A disk after a crash, and what is known of it.
  private struct Wreck {
    var image: DiskImage
    var history: History
    var crash: Crash
    var options: LogOptions
    /// Rounds of work that may follow.
    var rounds: Int
    var seen: ReadBack?
    /// What recovery made of the same disk when it was not interrupted (I4).
    var expected: ReadBack?
  }

  func run() throws {
    let durability: [Durability] = [.synced, .synced, .synced, .written, .buffered]
    let options = Driver.options(
      durability[random.number(below: 5)], segmentByteCount: [8192, 8192, 12288, 24576][random.number(below: 4)])
    let driver = makeDriver(SimulatedDisk(), History(), options)
    try work(driver, operations: random.number(in: 4...16), rounds: 3, opens: true)
  }

  private func makeDriver(_ disk: SimulatedDisk, _ history: History, _ options: LogOptions) -> Driver {
    Driver(disk, history, options, seed: random.next())
  }

  // MARK: Working

  /// Runs operations, and follows up crashes at their calls.
  private func work(_ driver: Driver, operations: Int, rounds: Int, opens: Bool = false) throws {
    let moments = Moments()
    driver.disk.beforeChange = { [unowned driver] disk, call in
      let seen = moments.look(driver)
      moments.all.append(Moment(image: disk.image, history: driver.history, call: call, seen: seen))
    }
    defer { driver.disk.beforeChange = nil }
    let mix = OperationMix.everything
    for step in 0..<operations + (opens ? 1 : 0) {
      if opens && step == 0 {
        note("create and open")
        try driver.open()
        try driver.checkAndSettle(after: .none)
      } else {
        let operation = mix.operation(using: &random)
        if operation == .reopen, random.isOneIn(4) {
          driver.options.durability = [.buffered, .written, .synced][random.number(below: 3)]
          note("\(driver.options.durability)")
        }
        note("\(operation)")
        moments.mayLook = driver.options.durability == .synced && operation != .reopen
        if let error = try driver.perform(operation) {
          throw Violation(.operation, "\(operation) failed though nothing was wrong: \(error)")
        }
      }
      if let failure = moments.failure { throw Violation(.i10, "a reader beside the writer fails: \(failure)") }
      try followUp(moments, driver, rounds)
    }
    driver.disk.beforeChange = nil
    let read = try driver.readBack()
    if let violation = driver.history.check(read, after: .none) { throw violation }
    let seen = driver.options.durability == .synced ? try ReadBack(driver.openForReading()) : nil
    moments.all.append(Moment(image: driver.disk.image, history: driver.history, seen: seen))
    try followUp(moments, driver, rounds)
  }

  private final class Moments {
    var all: [Moment] = []
    /// Whether what a reader sees is durable, because the log is a synced one.
    var mayLook = false
    private(set) var failure: (any Error)?
    private var count = 0

    /// What a reader sees beside the writer, in the middle of whatever that does. Not every time, because it costs as much as a recovery.
    func look(_ driver: Driver) -> ReadBack? {
      count += 1
      guard mayLook, count % 8 == 0 else { return nil }
      do { return try ReadBack(driver.openForReading()) } catch {
        failure = failure ?? error
        return nil
      }
    }
  }

  private func followUp(_ moments: Moments, _ driver: Driver, _ rounds: Int) throws {
    let all = moments.all
    moments.all.removeAll()
    for (index, moment) in all.enumerated() {
      for _ in 0..<(rounds == 3 ? 2 : 1) {
        note("  crash before change \(index + 1) of \(all.count), \(moment.call.text)")
        try crash(moment, .none, driver.options, rounds)
        note("  back")
      }
    }
  }

  /// Crashes at a moment, and recovers.
  private func crash(_ moment: Moment, _ before: Crash, _ options: LogOptions, _ rounds: Int, expected: ReadBack? = nil) throws {
    var image = moment.image
    let isKill = random.isOneIn(5)
    if isKill {
      note("  kill")
      image.processKill()
    } else {
      let seed = random.next()
      note("  power cut, seed \(seed)")
      image.powerCut(.seeded(seed, garbage: .inFreshSectors))
    }
    let crash: Crash = isKill ? .kill : .powerCut
    // Interrupted recovery must end as uninterrupted recovery does, unless the second crash took more than the first.
    let comparable = before == .powerCut || crash == .kill
    try recover(
      Wreck(
        image: image, history: moment.history, crash: crash.and(before), options: options, rounds: rounds - 1, seen: moment.seen,
        expected: comparable ? expected : nil))
  }

  // MARK: Recovering

  private func recover(_ wreck: Wreck) throws {
    states += 1
    do { try recoverAndCheck(wreck) } catch let violation as Violation {
      // Only what is nearest to the violation.
      if !isDescribed { trace? += ["the disk before the last recovery:"] + wreck.image.description() }
      isDescribed = true
      throw violation
    }
  }

  private func recoverAndCheck(_ wreck: Wreck) throws {
    let disk = SimulatedDisk(wreck.image)
    let driver = makeDriver(disk, wreck.history, wreck.options)
    var seen = wreck.seen
    if random.isOneIn(4) {
      seen = try look(driver, wreck) ?? seen
      note("  a reader sees \(seen.map { "\($0.first)..<\($0.size)" } ?? "nothing")")
    }
    let interrupts = wreck.rounds > 0 && random.isOneIn(3)
    let images = Images()
    if interrupts { disk.beforeChange = { disk, _ in images.all.append(disk.image) } }
    do { try driver.open() } catch { throw Violation(.operation, "the log does not open after a crash: \(error)") }
    disk.beforeChange = nil
    try checkPreserved(driver, wreck)
    let read = try driver.checkAndSettle(after: wreck.crash)
    note("  recovered to \(read.first)..<\(read.size), events \(read.entries.filter { !$0.isControl }.map(\.offset))")
    if let seen, let lost = read.firstLost(of: seen) { throw Violation(.i10, "a reader saw event \(lost), which recovery did not keep") }
    if let expected = wreck.expected, expected != read {
      throw Violation(.i4, "recovery, interrupted and run again, serves \(read), and \(expected) when it is not interrupted")
    }
    for image in images.all where random.isOneIn(3) {
      note("  recovery interrupted")
      try crash(Moment(image: image, history: wreck.history, seen: seen), wreck.crash, wreck.options, wreck.rounds, expected: read)
      note("  back")
    }
    if random.isOneIn(4) { try again(driver, read) }
    if wreck.rounds > 0, random.isOneIn(6) { try work(driver, operations: random.number(in: 1...5), rounds: wreck.rounds) }
  }

  /// What recovery cuts away, it first keeps.
  private func checkPreserved(_ driver: Driver, _ wreck: Wreck) throws {
    guard let report = driver.log?.recoveryReport, let tail = report.findings.first(where: { $0.kind == .tornTail }),
      let file = tail.file, let position = tail.position, let bytes = wreck.image.contents(of: "\(Driver.path)/\(file)"),
      let last = bytes.lastIndex(where: { $0 != 0 }), last >= position
    else { return }
    let kept = report.preservedFiles.compactMap { driver.disk.image.contents(of: "\(Driver.path)/\($0)") }
    if !kept.contains(where: { $0.elementsEqual(bytes[Int(position)...last]) }) {
      throw Violation(.operation, "a torn tail of \(last + 1 - Int(position)) bytes was cut away and not kept: \(report)")
    }
  }

  private final class Images {
    var all: [DiskImage] = []
  }

  /// What everybody but a writer makes of the crash: a verdict without damage (I9), and events that recovery must keep (I10).
  private func look(_ driver: Driver, _ wreck: Wreck) throws -> ReadBack? {
    do {
      let report = try driver.verify()
      if !report.isOK { throw Violation(.i9, "a crash looks like damage: \(report.findings)") }
      let read = try ReadBack(driver.openForReading())
      // Whatever left the device must be there for everybody.
      if read.size < wreck.history.recorded {
        throw Violation(.i7, "offset \(wreck.history.recorded) was recorded as durable, but a reader sees \(read.size) events")
      }
      return read
    } catch let error as LogError where !wreck.history.exists && error.isAbsence {
      return nil
    }
  }

  /// Recovering twice equals recovering once (I4), and nothing is left to complain about (I9).
  private func again(_ driver: Driver, _ read: ReadBack) throws {
    let closes = random.isOneIn(2)
    note("  \(closes ? "close" : "kill") and open again")
    if closes { try driver.close() }
    var image = driver.disk.image
    image.processKill()
    let second = makeDriver(SimulatedDisk(image), driver.history, driver.options)
    let report = try second.verify()
    if !report.findings.isEmpty { throw Violation(.i9, "after recovery verify finds \(report.findings)") }
    try second.open()
    let again = try second.readBack()
    if again != read { throw Violation(.i4, "the second recovery serves \(again), the first one served \(read)") }
    if closes, second.log?.recoveryReport.wasClean != true { throw Violation(.i4, "a log that was recovered and closed is not clean") }
    if closes { try driver.open() }
  }

  private func note(_ text: @autoclosure () -> String) {
    if trace != nil { trace?.append(text()) }
  }
}
