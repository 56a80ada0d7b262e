/// A store that goes through one fault after the other: what it owes, round by round.
struct Rounds {
  let subject: Subject
  /// The directory that its stores are made in.
  let folder: String
  private(set) var path: String
  private var storeNumber = 0
  private var roundCount = 0
  private(set) var expectation = Expectation()
  /// After so many rounds a new store is begun.
  private let roundLimit: Int

  init(_ subject: Subject, in folder: String, roundLimit: Int) {
    self.subject = subject
    self.folder = folder
    self.roundLimit = roundLimit
    path = folder + "/store-0"
  }

  /// How many events a new writer begins behind.
  var next: UInt64 { expectation.served }

  /// Begins another store; the old one is removed.
  mutating func beginStore() {
    Libc.remove(path)
    storeNumber += 1
    roundCount = 0
    path = "\(folder)/store-\(storeNumber)"
    expectation = Expectation()
  }

  /// As ``beginStore()``, for a file system that was made anew.
  mutating func forget() { beginStore() }

  /// Notes a writer's events: `acknowledged` is what counts, `attempted` what may be there.
  mutating func note(_ writer: Writer, acknowledged: UInt64) {
    expectation.acknowledged = max(expectation.acknowledged, acknowledged == writer.first ? 0 : acknowledged)
    expectation.attempted = max(expectation.attempted, writer.attempted)
    expectation.runs.append(Expectation.Run(first: writer.first, end: writer.attempted, batch: writer.batch))
  }

  /// Opens the store in a fresh process and judges what it finds. Returns nil if it can't be opened.
  @discardableResult
  mutating func verify(into cell: inout Cell, countsAsInjection: Bool = true, _ place: String) throws(CrashError) -> Judgement? {
    roundCount += 1
    let result = try Captured(subject.program, subject.arguments("verify", path), seconds: 60)
    guard result.code == 0, let found = Found(output: result.output) else {
      cell.addUnopenable(atRisk: expectation.acknowledged, "\(place): can't be opened\(result.remark)")
      beginStore()
      return nil
    }
    let judgement = Judgement.of(found, expectation)
    cell.recoveryMicroseconds.append(found.openingMicroseconds)
    cell.add(judgement, atRisk: expectation.acknowledged, place)
    if judgement.isWhole && roundCount < roundLimit { go(on: UInt64(found.events.count)) } else { beginStore() }
    return judgement
  }

  /// Opens the store while nothing can be written. What it does not show may come back; what it shows must be whole. Returns false if it
  /// can't be opened.
  mutating func verifyWithoutSpace(into cell: inout Cell, _ place: String) throws(CrashError) -> Bool {
    let result = try Captured(subject.program, subject.arguments("verify", path), seconds: 60)
    guard result.code == 0, let found = Found(output: result.output) else {
      cell.addUnopenable(atRisk: expectation.acknowledged, "\(place): can't be opened\(result.remark)")
      return false
    }
    var judgement = Judgement.of(found, expectation)
    cell.withheld += judgement.lost
    (judgement.lost, judgement.lostRange, judgement.retracted) = (0, nil, 0)
    cell.add(judgement, atRisk: expectation.acknowledged, place)
    return true
  }

  /// What was found is what the next round starts from.
  private mutating func go(on count: UInt64) {
    expectation.acknowledged = min(expectation.acknowledged, count)
    expectation.served = count
    expectation.attempted = count
    expectation.runs = expectation.runs.compactMap { run in
      run.first < count ? Expectation.Run(first: run.first, end: min(run.end, count), batch: run.batch) : nil
    }
  }
}

/// When a fault strikes: while the engine starts or recovers, or after some acknowledgements.
enum Instant {
  case afterNanoseconds(UInt64)
  case afterAcknowledgements(Int, thenNanoseconds: UInt64)

  static func random(_ generator: inout SplitMix64, acknowledgements: Int = 60) -> Instant {
    if generator.oneIn(4) { return .afterNanoseconds(UInt64(generator.fraction() * 20e6)) }
    return .afterAcknowledgements(generator.below(acknowledgements), thenNanoseconds: UInt64(generator.fraction() * 500_000))
  }

  /// Waits for it, and takes acknowledgements meanwhile. Ends early if the writer does.
  func wait(for writer: Writer) {
    switch self {
    case .afterNanoseconds(let nanoseconds):
      Libc.wait(until: writer.start + nanoseconds)
    case .afterAcknowledgements(let count, let nanoseconds):
      let deadline = Libc.now() + 5_000_000_000
      while writer.acknowledgementCount <= count, !writer.isAtEnd, Libc.now() < deadline {
        writer.takeAcknowledgements(waitMilliseconds: 100)
      }
      Libc.wait(until: Libc.now() + nanoseconds)
    }
  }
}
