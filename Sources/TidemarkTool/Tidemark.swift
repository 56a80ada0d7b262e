import TidemarkCrash
import TidemarkLog
import TidemarkText

/// The tool `tidemark`: an event log from the command line.
@main
enum Tidemark {
  static let version = "0.1.0"
  static let programAndVersion = "tidemark \(version)"

  static let commands =
    [
      Command(InitCommand.description, InitCommand.run),
      Command(AppendCommand.description, AppendCommand.run),
      Command(AttachCommand.description, AttachCommand.run),
      Command(CatCommand.description, CatCommand.run),
      Command(InfoCommand.description, InfoCommand.run),
      Command(ProjectCommand.description, ProjectCommand.run),
      Command(AsOfCommand.description, AsOfCommand.run),
      Command(DiffCommand.description, DiffCommand.run),
      Command(ProjectionsCommand.description, ProjectionsCommand.run),
      Command(LookAlikesCommand.description, LookAlikesCommand.run),
      Command(ClocksCommand.description, ClocksCommand.run),
      Command(VerifyCommand.description, VerifyCommand.run),
      Command(DumpCommand.description, DumpCommand.run),
      Command(RecoverCommand.description, RecoverCommand.run),
      Command(SalvageCommand.description, SalvageCommand.run),
      Command(SealCommand.description, SealCommand.run),
      Command(TrimCommand.description, TrimCommand.run),
      Command(EraseCommand.description, EraseCommand.run),
      Command(CheckpointCommand.description, CheckpointCommand.run),
      Command(CountersignerCommand.description, CountersignerCommand.run),
      Command(KeysCommand.description, KeysCommand.run),
      Command(AuditCommand.description, AuditCommand.run),
      Command(ProofCommand.description, ProofCommand.run),
      Command(BundleCommand.description, BundleCommand.run),
      Command(TilesCommand.description, TilesCommand.run),
      Command(EnrolCommand.description, EnrolCommand.run),
      Command(ReplicateCommand.description, ReplicateCommand.run),
      Command(StatusCommand.description, StatusCommand.run),
      Command(ItemsCommand.description, ItemsCommand.run),
      Command(AcknowledgeCommand.description, AcknowledgeCommand.run),
      Command(TransitionCommand.description, TransitionCommand.run),
      Command(SignOutCommand.description, SignOutCommand.run),
      Command(ServeCommand.description, ServeCommand.run),
    ] + AdminCommands.all + [
      Command(BenchCommand.description, BenchCommand.run),
      Command(CrashTestCommand.description, CrashTestCommand.run),
      Command(WitnessCommand.description, WitnessCommand.run),
    ]

  static func main() {
    System.occupyStandardDescriptors()
    Interrupt.install()
    if let code = hiddenCommand(Array(CommandLine.arguments.dropFirst())) { System.end(code: code) }
    let output = Output()
    do {
      let code = try run(System.arguments(), output)
      try output.flush()
      System.end(code)
    } catch {
      try? output.flush()
      if let error = error as? LogError {
        Output.complain(error.description)
        System.end(ExitCode(error.code))
      }
      let error = ToolError(error)
      Output.complain(error.description)
      System.end(error.exitCode)
    }
  }

  /// What `crashtest` starts as programs of their own; not for people.
  private static func hiddenCommand(_ words: [String]) -> Int32? {
    let rest = Array(words.dropFirst())
    switch words.first {
    case SubjectProgram.word: return SubjectProgram.run(rest, version: version)
    case LimitProgram.word: return LimitProgram.run(rest)
    case KillCallProgram.word: return KillCallProgram.run(rest)
    case DiskProgram.word: return DiskProgram.run(rest)
    default: return nil
    }
  }

  private static func run(_ words: [String], _ output: Output) throws -> ExitCode {
    guard let name = words.first else {
      try System.writeAll(System.standardError, Array(overview.utf8))
      return .usage
    }
    switch name {
    case "--version":
      try refuse(words.dropFirst(), after: name)
      output.line(programAndVersion)
    case "help", "--help", "-h":
      guard words.count > 1 else {
        output.bytes.append(overview)
        break
      }
      let (command, rest) = try command(words.dropFirst())
      try refuse(rest, after: name)
      output.bytes.append(HelpText.of(command.description))
    default:
      let (command, rest) = try command(words[...])
      let arguments = try ParsedArguments(Array(rest), for: command.description)
      if !arguments.isSet("help") { return try command.run(arguments, output) }
      output.bytes.append(HelpText.of(command.description))
    }
    return .success
  }

  private static func refuse(_ extra: ArraySlice<String>, after name: String) throws {
    guard let word = extra.first else { return }
    throw UsageError("unexpected argument \(word)", why: "`\(name)` takes no more of them", advice: "see `tidemark help`")
  }

  /// The command whose name the words begin with, and the words behind it. A name may be of two words.
  private static func command(_ words: ArraySlice<String>) throws -> (Command, ArraySlice<String>) {
    for count in [2, 1] {
      let name = words.prefix(count).joined(separator: " ")
      if let command = commands.first(where: { $0.description.name == name }) { return (command, words.dropFirst(count)) }
    }
    let name = words.first ?? ""
    let nearest = Suggestion.nearest(to: name, among: commands.map(\.description.name) + ["help"])
    throw UsageError(
      "unknown command \(name)", why: "there is no such command", advice: nearest.map { "did you mean \($0)?" } ?? "see `tidemark help`")
  }

  private static var overview: String {
    let commandRows = commands.map { ($0.description.name, $0.description.summary) }
    let sections = [
      ["usage: tidemark COMMAND [arguments]", "", "An append-only event log that survives what happens to devices.", "", "commands:"],
      HelpText.table(commandRows + [("help COMMAND", "explain a command, with examples"), ("--version", "print the version")]),
      ["", "exit codes:"], HelpText.table(ExitCode.list),
      [
        "", "examples:", "  tidemark init captures", "  tidemark append captures scans.jsonl --type scan --id-from /scan_id",
        "  tidemark cat captures --format table",
      ],
    ]
    return sections.joined().joined(separator: "\n") + "\n"
  }
}
