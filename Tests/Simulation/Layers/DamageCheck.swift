import TestSupport
import TidemarkLog

/// What damage may do to a log.
struct Expectation: Sendable {
  /// Offsets that may not be served any more.
  var mayLose: Range<UInt64>
  /// Whether what is not recorded as durable may go with it, as a torn tail.
  var mayLoseTail = false
  var mustBeSeen = true
  /// Whether the log may look like an earlier state of itself: then it must be seen by somebody who knows how far it went.
  var mayRollBack = false
}

/// Looks at one damaged log as everybody does.
struct DamageCheck {
  private let specimen: Specimen
  private let image: DiskImage
  private let expectation: Expectation

  init(_ specimen: Specimen, _ image: DiskImage, _ expectation: Expectation) {
    self.specimen = specimen
    self.image = image
    self.expectation = expectation
  }

  func run(quarantines: Bool, _ piece: inout Piece) throws {
    do {
      let verdict = try verify(durableFloor: 0)
      if !verdict.isSeen, expectation.mustBeSeen {
        guard expectation.mayRollBack else { throw Violation(.i11, "verify does not see it") }
        piece.counts["rollbacks", default: 0] += 1
        let knowing = try verify(durableFloor: specimen.clean.size)
        if !knowing.isSeen, try !isWhole() { throw Violation(.i11, "verify does not see it though it knows the size") }
      }
      try refuse(verdict)
      if quarantines {
        try read(verdict)
        try quarantine(verdict, &piece)
      }
    } catch {
      piece.trace? += image.description()
      throw error
    }
  }

  private func driver(_ policy: CorruptionPolicy) -> Driver {
    Driver(SimulatedDisk(image), History.ofSomeLog, Specimen.options(policy), seed: 0xDA3A6E)
  }

  // MARK: Checking

  private struct Verdict {
    /// Nil: an error was thrown instead.
    var findings: [Finding]?
    var isSeen: Bool
    /// Nothing but harmless findings.
    var isOK: Bool
  }

  private func verify(durableFloor: UInt64) throws -> Verdict {
    let driver = driver(.refuse)
    driver.options.durableFloor = durableFloor
    do {
      let report = try driver.verify()
      return Verdict(findings: report.findings, isSeen: report.findings != specimen.findings, isOK: report.isOK)
    } catch let error as LogError {
      try honest(error)
      return Verdict(findings: nil, isSeen: true, isOK: false)
    }
  }

  /// Errors that damage may lead to.
  private func honest(_ error: LogError) throws {
    if ![.corrupt, .notALog, .unsupportedVersion].contains(error.code) {
      throw Violation(.operation, "damage leads to \(error.code.rawValue): \(error)")
    }
  }

  // MARK: Opening with the refusing policy

  /// One verdict (I9): what opening refuses, checking calls damage; what checking calls sound opens, and serves everything.
  private func refuse(_ verdict: Verdict) throws {
    let driver = driver(.refuse)
    do {
      try driver.open()
    } catch let error as LogError {
      try honest(error)
      if verdict.isOK { throw Violation(.i9, "verify says that the log is sound, and opening refuses it: \(error)") }
      return
    }
    guard let log = driver.log else { return }
    let served = try Served(log)
    try compare(served, log.recoveryReport, "a log opened with the refusing policy")
    let lost = served.lost(of: specimen.clean)
    if verdict.isOK, lost.contains(where: { $0 < specimen.durable }), !expectation.mayRollBack {
      throw Violation(.i9, "verify says that the log is sound, but events \(lost) are not served")
    }
  }

  /// Whether every event is still served: then nothing but room for more is gone.
  private func isWhole() throws -> Bool {
    let driver = driver(.refuse)
    try driver.open()
    guard let log = driver.log else { return false }
    return try Served(log).lost(of: specimen.clean).isEmpty
  }

  // MARK: Reading without the lock

  private func read(_ verdict: Verdict) throws {
    let driver = driver(.quarantine)
    do {
      let log = try driver.openForReading()
      let served = try Served(log)
      if let wrong = served.firstWrong(against: specimen.clean) { throw Violation(.i11, "a reader is served another event at \(wrong)") }
      // What is not recorded as durable is no reader's business.
      for offset in served.lost(of: specimen.clean) where offset < min(served.size, specimen.durable) {
        if !served.gaps.contains(where: { $0.contains(offset) }) { throw Violation(.i11, "a reader misses event \(offset) without a word") }
      }
    } catch let error as LogError { try honest(error) }
  }

  // MARK: Going on with the quarantine policy

  private func quarantine(_ verdict: Verdict, _ piece: inout Piece) throws {
    piece.counts["quarantined", default: 0] += 1
    let driver = driver(.quarantine)
    do { try driver.open() } catch let error as LogError {
      try honest(error)
      if error.code == .unsupportedVersion { return }
      throw Violation(.operation, "a log that is damaged in one place does not open: \(error)")
    }
    guard let log = driver.log else { return }
    let served = try Served(log)
    try compare(served, log.recoveryReport, "a quarantined log")
    let appended = try log.append(TestEvent(number: 1 << 30, dataByteCount: 33).newEvent())
    if specimen.durable < .max || !expectation.mayRollBack, appended.offset < min(specimen.durable, specimen.clean.size),
      !expectation.mayRollBack
    {
      throw Violation(.i5, "offset \(appended.offset) is given again")
    }
    // And the next opening says the same.
    try driver.close()
    let second = Driver(SimulatedDisk(driver.disk.image), History.ofSomeLog, Specimen.options(.quarantine), seed: 0xA6A14)
    try second.open()
    guard let again = second.log else { return }
    let servedAgain = try Served(again)
    if let wrong = servedAgain.firstWrong(against: served) { throw Violation(.i4, "the second opening serves another event at \(wrong)") }
    let lost = servedAgain.lost(of: served)
    if !lost.isEmpty { throw Violation(.i4, "the second opening does not serve events \(lost)") }
    if servedAgain.entries.last?.offset != appended.offset { throw Violation(.i1, "the event that was appended is gone") }
  }

  /// Nothing wrong is served, nothing is missing without a word, and nothing that the damage did not touch.
  private func compare(_ served: Served, _ report: RecoveryReport, _ what: String) throws {
    if let wrong = served.firstWrong(against: specimen.clean) { throw Violation(.i11, "\(what) serves another event at \(wrong)") }
    for offset in served.lost(of: specimen.clean) {
      let mayGo = expectation.mayLose.contains(offset) || (expectation.mayLoseTail && offset >= specimen.durable)
      if !mayGo { throw Violation(.i11, "\(what) does not serve event \(offset), which was not touched") }
      let isTail = offset >= specimen.durable || expectation.mayRollBack
      let isReported =
        served.gaps.contains { $0.contains(offset) } || (isTail && offset >= served.size)
        || (offset >= served.size && isTail)
      if !isReported {
        throw Violation(.i11, "\(what) does not serve event \(offset), without a word: \(report)")
      }
    }
  }
}
