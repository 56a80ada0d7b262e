import TidemarkLog
import TidemarkText

enum VerifyCommand {
  static let description = CommandDescription(
    "verify", "check every byte of a log", arguments: [.log], options: [.json],
    notes: [
      "Reads all frames, the chain of segments, indexes and footers, and changes nothing. Ends with exit code 0 if the log is "
        + "whole, 1 if damage was found."
    ],
    examples: [
      .init("tidemark verify captures", "print a line for each finding, then a summary"),
      .init("tidemark verify captures --json | jq '.findings[].kind'", "list the kinds of damage"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let progress = ProgressDisplay("verify")
    let report = try Log.verify(at: arguments.logPath) { progress.update($0) }
    progress.finish()
    try Interrupt.check()
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("ok", report.isOK)
      json.member("events", report.eventCount)
      json.member("control_events", report.controlEventCount)
      json.member("frames", report.frameCount)
      json.member("segments", report.segmentCount)
      json.findings("findings", report.findings)
      json.endObject()
      output.line(json)
    } else {
      for finding in report.findings { output.line(finding.line) }
      let events = "\(report.eventCount) events and \(report.controlEventCount) control events"
      let verdict = report.isOK ? "ok" : "damaged"
      output.line("\(verdict): \(events) in \(report.frameCount) frames of \(report.segmentCount) segments")
    }
    return report.isOK ? .success : .negative
  }
}

extension ProgressDisplay {
  /// For the engine's long work, which goes on while this is true.
  func update(_ progress: Progress) -> Bool {
    update(done: progress.done, of: progress.total, "\(progress.done) of \(progress.total) bytes")
    return !Interrupt.isRequested
  }
}
