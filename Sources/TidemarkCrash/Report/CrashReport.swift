/// All that a run found, as plain values.
package struct CrashReport: Sendable {
  package var environment: EnvironmentFacts
  package var seed: UInt64
  /// Whether the run was stopped before its end.
  package var isPartial = false
  package var seconds = 0.0
  /// Faults that were left out, and why.
  package var skipped: [(fault: Fault, why: String)] = []
  /// What was done only in part, and why.
  package var remarks: [String] = []
  /// One for each engine and fault, controls included.
  package var cells: [Cell] = []
  /// One for each engine.
  package var prices: [Price] = []
  package var engines: [Engine] = []

  package struct Engine: Sendable {
    package var name: String
    package var claim: Claim
    package var library: String

    package init(name: String, claim: Claim, library: String) {
      self.name = name
      self.claim = claim
      self.library = library
    }
  }

  package init(environment: EnvironmentFacts, seed: UInt64) {
    self.environment = environment
    self.seed = seed
  }

  /// Whether the setting that must lose events under this fault has lost some.
  package func controlLost(_ fault: Fault) -> Bool {
    cells.contains { $0.isControl && $0.fault == fault && $0.engine == fault.control.rawValue && $0.lost > 0 }
  }

  package func cell(_ engine: String, _ fault: Fault) -> Cell? { cells.first { $0.engine == engine && $0.fault == fault && !$0.isControl } }

  /// What can be said of one engine under one fault.
  package enum Answer: Sendable, Equatable {
    case clean
    /// Nothing acknowledged was lost, but what was found was not always whole.
    case notWhole
    case loses
    /// The control lost nothing, so that a clean result would mean nothing.
    case noVerdict
    case notTested
  }

  package func answer(_ engine: String, _ fault: Fault) -> Answer {
    guard let cell = cell(engine, fault), cell.injections > 0 else { return .notTested }
    if cell.lost > 0 || cell.unopenable > 0 { return .loses }
    if !cell.isClean { return .notWhole }
    // Some calls of a workload are not each call.
    if fault == .killCall && cell.wholeWorkloads == 0 { return .notTested }
    return controlLost(fault) ? .clean : .noVerdict
  }

  /// What may be said of an engine. `durable` is said only of one that was clean under every power cut.
  package func verdicts(_ engine: String) -> [String] {
    var lines = [processVerdict(engine)]
    let faults: [Fault] = [.powerExt4, .powerXFS, .replay]
    let answers = faults.map { answer(engine, $0) }
    let power = Array(answers.prefix(2))
    if answers.contains(.loses) || answers.contains(.notWhole) {
      lines.append("not OS-crash safe")
    } else if answers.contains(.noVerdict) {
      lines.append("OS crashes: no verdict, a control lost nothing")
    } else if power.contains(.clean) && answers[2] == .clean {
      lines.append("OS-crash safe")
      lines.append("durable up to the drive's own cache")
    } else if answers.contains(.clean) {
      lines.append(
        "OS-crash safe as far as tested (\(power.contains(.clean) ? "without reordered and torn writes" : "only replayed writes"))")
    } else {
      lines.append("OS crashes: not tested")
    }
    for (fault, good, bad) in [
      (Fault.sync, "honest about failed syncs", "loses events after a failed sync"),
      (.full, "keeps its word on a full disk", "loses events on a full disk"),
    ] {
      guard let cell = cell(engine, fault) else { continue }
      let answer = answer(engine, fault)
      // Of one that claims nothing there, only what it loses is worth a word.
      if cell.isClaimed {
        lines.append(Self.words(answer, good, bad, fault.title))
      } else if answer == .loses {
        lines.append("\(bad), as it says")
      }
    }
    if let line = plugVerdict(engine) { lines.append(line) }
    lines.append("drive cache: \(driveCache(engine))")
    return lines
  }

  /// What plug pulls have shown of an engine that does not sync, which says nothing of the drive.
  private func plugVerdict(_ engine: String) -> String? {
    guard let cell = cell(engine, .plug), !cell.isClaimed, cell.lost > 0 else { return nil }
    return "loses events when the plug is pulled, as it says"
  }

  /// What may be said of the drive's own cache: only by plug pulls in which the control lost something, of an engine that syncs.
  package func driveCache(_ engine: String) -> String {
    guard let cell = cell(engine, .plug), cell.injections > 0, cell.isClaimed else { return "not tested" }
    guard controlLost(.plug) else { return "no verdict, the control lost nothing" }
    if cell.lost > 0 || cell.unopenable > 0 { return "loses acknowledged events" }
    if !cell.isClean { return "what was there was not whole" }
    let pulls = "\(cell.injections) plug \(cell.injections == 1 ? "pull" : "pulls")"
    guard let bound = cell.bound, bound < 1 else { return "nothing lost in \(pulls), too few for a bound" }
    return "nothing lost in \(pulls) (below \(Decimal.text(bound * 100, digits: 1)) % with 95 % confidence)"
  }

  private func processVerdict(_ engine: String) -> String {
    let (random, call) = (answer(engine, .killRandom), answer(engine, .killCall))
    // The worse of both decides.
    for worst in [Answer.loses, .notWhole, .noVerdict] where random == worst || call == worst {
      return Self.words(worst, "", "not process-crash safe", "process crashes")
    }
    switch (random, call) {
    case (.clean, .clean): return "process-crash safe"
    case (.clean, _): return "process-crash safe as far as tested (only random kills)"
    case (_, .clean): return "process-crash safe as far as tested (no random kills)"
    default: return "process crashes: not tested"
    }
  }

  private static func words(_ answer: Answer, _ good: String, _ bad: String, _ subject: String) -> String {
    switch answer {
    case .clean: good
    case .loses: bad
    case .notWhole: "\(bad): what was there was not whole"
    case .noVerdict: "\(subject): no verdict, the control lost nothing"
    case .notTested: "\(subject): not tested"
    }
  }

  /// Whether every engine kept what it claims, and every fault that ran can be believed.
  package var isGood: Bool {
    let broken = cells.contains { !$0.isControl && $0.violations > 0 }
    let faults = Set(cells.map(\.fault))
    return !broken && faults.allSatisfy(controlLost) && !cells.contains { $0.stopped != nil }
  }
}

/// What an engine costs on the file system that the run was given.
package struct Price: Sendable {
  package var engine: String
  package var acknowledgementsPerSecond = 0.0
  /// Between one acknowledgement and the next, in microseconds.
  package var p50 = 0.0
  package var p99 = 0.0
  package var p999 = 0.0
  package var recoveries: [Recovery] = []

  /// How long opening took after a kill, at some size of the store.
  package struct Recovery: Sendable {
    package var events: Int
    package var bytes: UInt64
    package var microseconds: UInt64

    package init(events: Int, bytes: UInt64, microseconds: UInt64) {
      self.events = events
      self.bytes = bytes
      self.microseconds = microseconds
    }
  }

  package init(engine: String) { self.engine = engine }
}

extension [UInt64] {
  /// The value below which that part of them lies.
  func percentile(_ part: Double) -> UInt64? {
    guard !isEmpty else { return nil }
    let sorted = sorted()
    return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * part))]
  }
}
