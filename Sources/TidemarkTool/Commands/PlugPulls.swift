import TidemarkCrash
import TidemarkText

/// `crashtest --witness`: the machine whose plug is pulled.
enum PlugPulls {
  /// What a run without a witness takes, and one with a witness can't make use of.
  private static let others = ["faults", "seconds", "count", "seed", "quick", "lines"]

  static func run(_ arguments: ParsedArguments, witness: String, subjects: [Subject], control: Subject, _ output: Output) throws -> ExitCode
  {
    guard let address = WitnessAddress(witness) else {
      throw arguments.error("--witness \(witness)", why: "it is not HOST, HOST:PORT or [ADDRESS]:PORT")
    }
    if let name = others.first(where: { arguments.isSet($0) || arguments.value($0) != nil }) {
      throw arguments.error("--\(name) and --witness", why: "the only fault is the plug, and you decide when")
    }
    guard let boot = Libc.bootID() else {
      throw ToolError(
        .environment, "no boot id", place: "/proc/sys/kernel/random/boot_id", why: "this system does not tell one boot from another",
        advice: "use Linux")
    }
    let say = { (line: String) in
      output.line(line)
      try? output.flush()
    }
    let plan = PlugPlan(address: address, subjects: subjects, control: control, boot: boot, tool: System.executablePath)
    let run = try PlugRun(plan, directory: arguments.argument("DIR") ?? "", say: say)
    let report = try run.judge()
    if report.cells.isEmpty {
      output.line("no plug pull is recorded so far")
    } else {
      for line in TextReport.lines(of: report) { output.line(line) }
    }
    try output.flush()
    try CrashTestCommand.writeFiles(report, arguments)
    let display = ProgressDisplay("crashtest", barOnly: true)
    defer { display.finish() }
    try run.write {
      Interrupt.isRequested
    } progress: { heard in
      display.update(done: heard, of: nil, "\(heard) acknowledgements witnessed")
    }
    return report.isGood ? .success : .negative
  }
}
