import TidemarkCrash
import TidemarkLog
import TidemarkText

enum CrashTestCommand {
  static let description = CommandDescription(
    "crashtest", "find out which acknowledged events this engine, and others, lose in crashes here",
    arguments: [.init("DIR", "an empty or new directory on the disk in question; with --witness also one of an earlier round")],
    options: [
      .init("faults", "LIST", "of kill (kill-random, kill-call), power (power-ext4, power-xfs), replay, sync, full (default all)"),
      .init("engines", "LIST", "names of engines and settings, with commas between (default ours, and all peers)"),
      .init("peers", "FOLDER", "programs of other engines that keep to the contract of a subject"),
      .init("seconds", "N", "inject each fault into each engine for N seconds (default 10)"),
      .init("count", "N", "inject each fault into each engine N times"),
      .init("seed", "N", "repeat the random choices of another run (default 1)"),
      .init("witness", "HOST[:PORT]", "wait for the plug to be pulled, with another machine as the witness"),
      .init("json", "FILE", "write the report as JSON"),
      .init("html", "FILE", "write the report as one page with plots"),
      .init("quick", nil, "a few seconds for each fault, to see what it does"),
      .init("lines", nil, "print one line for machines on each fault, and measure no prices"),
    ],
    notes: [
      "A child appends numbered events and reports each acknowledgement; a fault strikes; a fresh process opens the store and "
        + "says what is there. kill-random: kill -9 at any moment. kill-call: kill -9 at each system call that changes files, one after "
        + "the other, of small workloads and of recovery. power: the file system is shut down without writing what is in memory, then "
        + "mounted again. replay: all writes up to a flush, and any part of the later ones, some torn. sync: the disk refuses writes or "
        + "flushes for a moment. full: no space, or a limit on the size of files.",
      "Each fault has a control that is wrong on purpose and must lose events; where it loses none, the fault gives no verdict. "
        + "All faults but kill need root, loop devices and FUSE; what can't be done is left out, with a line that says why. Images lie "
        + "in memory below DIR, mounted where no other process sees them. The cache of the drive itself is not tested: only pulling "
        + "the plug does that.",
      "With --witness, somebody pulls it. Start `tidemark crashtest witness FOLDER` on another machine and this command here: all "
        + "engines write side by side, with a control that never syncs, and each acknowledgement goes to the witness. Pull the plug "
        + "(not the reset button) after some seconds, boot, and give the same command again: it verifies each store, has the witness "
        + "keep the results, prints what all pulls so far have shown, and writes until the next one. Ten pulls bound what the drive "
        + "loses to 30 %, a hundred to 3 %. A round in which not even the control lost anything counts as nothing, and so does one "
        + "that ends without a plug.",
      "Exit code 1: an engine lost what it claims to keep, or a control lost nothing. Ctrl-C ends the run with a partial report; "
        + "with --witness it ends the round.",
    ],
    examples: [
      .init("tidemark crashtest scratch", "our settings under all faults that this system allows"),
      .init("tidemark crashtest scratch --quick --faults kill,power --json report.json", "a first impression, and JSON"),
      .init("tidemark crashtest scratch --peers peers --engines tidemark-synced,sqlite-wal-full", "two engines side by side"),
      .init("tidemark crashtest pulls --witness 192.168.1.20", "before and after each pull of the plug"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let isQuick = arguments.isSet("quick")
    let areLines = arguments.isSet("lines")
    let count = try arguments.number("count", in: 1...1_000_000_000)
    let seconds = try arguments.number("seconds", in: 1...1_000_000)
    if count != nil && seconds != nil { throw arguments.error("--count and --seconds", why: "only one of them can end a fault") }
    let budget: Budget = count.map { .count(Int($0)) } ?? .seconds(Double(seconds ?? (isQuick ? 2 : 10)))
    let faults = try faults(arguments)
    let seed = try arguments.number("seed") ?? 1
    do {
      let subjects = try subjects(arguments)
      if let witness = arguments.value("witness") {
        return try PlugPulls.run(arguments, witness: witness, subjects: subjects, control: own(Fault.plug.control), output)
      }
      let progress = SharedProgress(ProgressDisplay("crashtest", barOnly: areLines))
      let lab = try Lab(
        directory: arguments.argument("DIR") ?? "", seed: seed, isStopRequested: { Interrupt.isRequested },
        progress: progress.report)
      let plan = CrashPlan(
        faults: faults, subjects: subjects, budget: budget, controlBudget: controlBudget(budget),
        priceSeconds: areLines ? 0 : isQuick ? 0.5 : 2,
        recoverySizes: isQuick ? [1_000, 10_000] : [1_000, 10_000, 100_000], control: Self.own)
      let report = CrashRun.run(plan, in: lab)
      progress.finish()
      for line in areLines ? TextReport.layerLines(of: report) : TextReport.lines(of: report) { output.line(line) }
      try writeFiles(report, arguments)
      if report.isPartial { throw Interrupted() }
      return report.isGood ? .success : .negative
    } catch let error as CrashError {
      throw ToolError(error)
    }
  }

  /// Writes the report as the options say.
  static func writeFiles(_ report: CrashReport, _ arguments: ParsedArguments) throws {
    if let path = arguments.value("json") { try System.writeFile(path, JSONReport.bytes(of: report)) }
    if let path = arguments.value("html") { try System.writeFile(path, HTMLReport.bytes(of: report)) }
  }

  /// Controls lose soon or never.
  private static func controlBudget(_ budget: Budget) -> Budget {
    switch budget {
    case .count(let count): .count(max(60, min(count / 20, 200)))
    case .seconds(let seconds): .seconds(max(2, seconds / 4))
    }
  }

  private static func faults(_ arguments: ParsedArguments) throws -> [Fault] {
    guard let list = arguments.value("faults") else { return Fault.injected }
    var faults: [Fault] = []
    for name in list.split(separator: ",", omittingEmptySubsequences: false) {
      guard let named = Fault.named(String(name)) else {
        let names = ["kill", "power"] + Fault.injected.map(\.rawValue)
        throw arguments.error("--faults \(list)", why: "there is no fault `\(name)`; there are \(names.joined(separator: ", "))")
      }
      for fault in named where !faults.contains(fault) { faults.append(fault) }
    }
    return faults
  }

  @Sendable private static func own(_ setting: OwnSetting) -> Subject {
    setting.subject(program: System.executablePath, version: Tidemark.version)
  }

  private static func subjects(_ arguments: ParsedArguments) throws -> [Subject] {
    let peers = try arguments.value("peers").map { try Subject.peers(in: $0) } ?? []
    let usual = OwnSetting.usual.map(own) + peers
    guard let list = arguments.value("engines") else { return usual }
    let known = OwnSetting.allCases.map(own) + peers
    return try list.split(separator: ",", omittingEmptySubsequences: false).map { name in
      if let subject = known.first(where: { $0.name == name }) { return subject }
      let nearest = Suggestion.nearest(to: String(name), among: known.map(\.name)).map { "; did you mean \($0)?" } ?? ""
      throw arguments.error("--engines \(list)", why: "there is no engine `\(name)`\(nearest)")
    }
  }
}

extension ToolError {
  init(_ error: CrashError) {
    let advice = error.kind == .usage ? "see `tidemark help crashtest`" : "see `tidemark help crashtest` for what it needs"
    self.init(error.kind == .usage ? .usage : .environment, error.what, place: error.place, why: error.why, advice: advice)
  }
}
