import TidemarkLog
import TidemarkText

enum RecoverCommand {
  static let description = CommandDescription(
    "recover", "bring a log in order after a crash and say what was found", arguments: [.log],
    options: [.init("policy", choices: ["refuse", "quarantine"], "what to do about damaged history (default refuse)"), .json],
    notes: [
      "Opening a log for writing does the same by itself. A torn tail is cut off and kept under torn/. Damage below the "
        + "durable offset is refused (exit code 4), or, with quarantine, listed as a gap; everything before and after it stays "
        + "readable and new events go on at the next offset. Nothing is ever deleted."
    ],
    examples: [
      .init("tidemark recover captures", "recover after a power cut"),
      .init("tidemark recover captures --policy quarantine", "go on although a file is damaged"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions("policy"))
    let report = log.recoveryReport
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("clean", report.wasClean)
      json.member("degraded", report.isDegraded)
      json.member("first", log.first)
      json.member("size", log.size)
      json.member("durable", log.durable)
      json.member("rewritten_events", report.rewrittenEvents)
      json.member("preserved_bytes", report.preservedBytes)
      json.member("duration_ns", report.nanoseconds)
      json.findings("findings", report.findings)
      json.endObject()
      output.line(json)
    } else {
      for finding in report.findings { output.line(finding.line) }
      for file in report.preservedFiles { output.line("kept \(file)") }
      if report.isDegraded { output.line("there is no space to finish; the next append takes it up again") }
      let state = report.wasClean ? "was closed cleanly" : "recovered in \(report.nanoseconds / 1_000_000) ms"
      output.line("\(state): offsets \(log.first) to \(log.size), durable \(log.durable)")
    }
    try log.close()
    return .success
  }
}
