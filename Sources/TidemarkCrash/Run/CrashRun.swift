/// What a run is to do.
package struct CrashPlan: Sendable {
  package var faults: [Fault]
  package var subjects: [Subject]
  /// For each fault and engine.
  package var budget: Budget
  /// For each fault's control.
  package var controlBudget: Budget
  /// How long each engine's price is measured; 0: not at all.
  package var priceSeconds: Double
  package var recoverySizes: [Int]
  /// Makes the control with that setting.
  package var control: @Sendable (OwnSetting) -> Subject

  package init(
    faults: [Fault], subjects: [Subject], budget: Budget, controlBudget: Budget, priceSeconds: Double, recoverySizes: [Int],
    control: @escaping @Sendable (OwnSetting) -> Subject
  ) {
    self.faults = faults
    self.subjects = subjects
    self.budget = budget
    self.controlBudget = controlBudget
    self.priceSeconds = priceSeconds
    self.recoverySizes = recoverySizes
    self.control = control
  }
}

/// A whole run.
package enum CrashRun {
  /// Does what the plan says, as far as the system lets it, until it is stopped; then takes away what it made.
  package static func run(_ plan: CrashPlan, in lab: Lab) -> CrashReport {
    let start = Libc.now()
    var report = CrashReport(environment: EnvironmentFacts.of(lab.directory), seed: lab.seed)
    report.engines = plan.subjects.map { CrashReport.Engine(name: $0.name, claim: $0.claim, library: $0.library) }
    defer { lab.cleanUp() }
    if plan.priceSeconds > 0 {
      for subject in plan.subjects where !lab.isStopped {
        if let price = try? PriceRun.run(lab, subject, seconds: plan.priceSeconds, sizes: plan.recoverySizes) {
          report.prices.append(price)
        }
      }
    }
    for fault in plan.faults where !lab.isStopped {
      if let why = obstacle(fault, lab) {
        report.skipped.append((fault, why))
        continue
      }
      if fault == .full {
        do { try lab.prepareMounts() } catch {
          report.remarks.append("full disk: only limits on the size of files, because mounting is not possible: \(error.why)")
        }
      }
      report.cells.append(control(lab, plan, fault))
      for subject in plan.subjects where !lab.isStopped { report.cells.append(cell(lab, subject, fault, plan.budget)) }
    }
    report.isPartial = lab.isStopped
    report.seconds = Double(Libc.now() - start) / 1e9
    return report
  }

  /// Runs a fault's control, and again a few times if it has lost nothing: on a busy system few injections fit into a time.
  private static func control(_ lab: Lab, _ plan: CrashPlan, _ fault: Fault) -> Cell {
    let subject = plan.control(fault.control)
    var total = cell(lab, subject, fault, plan.controlBudget)
    for attempt in 1..<6 where total.lost == 0 && total.stopped == nil && !lab.isStopped {
      let more = cell(lab, subject, fault, plan.controlBudget, attempt: attempt)
      total.merge(more)
      total.seconds += more.seconds
    }
    return total
  }

  private static func cell(_ lab: Lab, _ subject: Subject, _ fault: Fault, _ budget: Budget, attempt: Int = 0) -> Cell {
    let series = Series(lab, subject, fault, budget, attempt: attempt)
    switch fault {
    case .killRandom: return KillFault.run(series)
    case .killCall: return KillCallFault.run(series)
    case .powerExt4: return PowerFault.run(series, kind: "ext4")
    case .powerXFS: return PowerFault.run(series, kind: "xfs")
    case .replay: return ReplayFault.run(series)
    case .sync: return SyncFault.run(series)
    case .full: return FullFault.run(series)
    case .plug: return Cell(subject, fault)
    }
  }

  /// Why a fault can't be injected here, in one line.
  private static func obstacle(_ fault: Fault, _ lab: Lab) -> String? {
    func missing(_ files: [String], _ tools: [String]) -> String? {
      if let file = files.first(where: { Libc.kind(of: $0) == nil }) { return "\(file) is not there" }
      if let tool = tools.first(where: { Libc.tool($0) == nil }) { return "\(tool) is not installed" }
      do { try lab.prepareMounts() } catch { return "mounting is not possible: \(error.why)" }
      return nil
    }
    switch fault {
    case .killRandom: return nil
    case .killCall: return KillCallProgram.obstacle
    case .powerExt4: return missing(["/dev/loop-control"], ["mkfs.ext4"])
    case .powerXFS: return missing(["/dev/loop-control"], ["mkfs.xfs"])
    case .replay, .sync: return missing(["/dev/loop-control", "/dev/fuse"], ["mkfs.ext4"])
    // Without mounts a limit on the size of files is left.
    case .full: return nil
    case .plug: return "it takes somebody who pulls the plug, and a witness"
    }
  }
}
