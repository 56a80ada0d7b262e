import TidemarkLog
import TidemarkText

enum SalvageCommand {
  static let description = CommandDescription(
    "salvage", "copy what can be read of a damaged log into a new one", arguments: [.log, .init("OUT", "the directory of the new log")],
    options: [.json],
    notes: [
      "The damaged log is left as it is. Ends with exit code 1 if something could not be read; what is missing is listed.",
      "Until the new log is whole it is called OUT.unfinished- and a number; what an interrupted run leaves there may be removed.",
    ],
    examples: [.init("tidemark salvage captures rescued", "save what is there")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let progress = ProgressDisplay("salvage")
    let report = try Log.salvage(from: arguments.logPath, to: arguments.argument("OUT") ?? "") { progress.update($0) }
    progress.finish()
    try Interrupt.check()
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("events", report.eventCount)
      json.findings("gaps", report.gaps)
      json.endObject()
      output.line(json)
    } else {
      for gap in report.gaps { output.line("lost \(gap.line)") }
      output.line("saved \(report.eventCount) events")
    }
    return report.gaps.isEmpty ? .success : .negative
  }
}
