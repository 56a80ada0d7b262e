import TidemarkEvidence
import TidemarkLog
import TidemarkProjections
import TidemarkText

enum SealCommand {
  static let description = CommandDescription(
    "seal", "compress and index everything that was appended so far", arguments: [.log], options: [.onCorruption, .json],
    notes: ["Full segments are sealed in the background anyway; this does it now, the open one included."],
    examples: [.init("tidemark seal captures", "seal a log before it is copied or archived")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions())
    try log.seal()
    let statistics = try log.statistics()
    try log.close()
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("sealed_segments", statistics.sealedSegmentCount)
      json.member("bytes_on_disk", statistics.bytesOnDisk)
      json.member("bytes_of_events", statistics.bytesOfEvents)
      json.endObject()
      output.line(json)
    } else {
      let space = "\(statistics.bytesOnDisk) bytes on disk for \(statistics.bytesOfEvents) bytes of events"
      output.line("\(statistics.sealedSegmentCount) sealed segments, \(space)")
    }
    return .success
  }
}

enum TrimCommand {
  static let description = CommandDescription(
    "trim", "remove the oldest segments", arguments: [.log],
    options: [.init("below", "OFFSET", "only segments whose events all lie below this offset are removed"), .onCorruption, .json],
    notes: [
      "Whole segments go, oldest first; the log then starts at the first event of the oldest segment that is left. This can't be undone.",
      "Of each projection with saved values (`tidemark projections`), two of them stay at or above the new start, so that its values go "
        + "on from there: `tidemark project` saves one.",
    ],
    examples: [.init("tidemark trim captures --below 500000", "give up what lies below offset 500000, as far as whole segments go")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard let floor = try arguments.number("below") else {
      throw arguments.error("--below is missing", why: "`trim` needs to know what may go")
    }
    let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions())
    let before = log.first
    let evidence = try Evidence.isKept(of: log) ? Evidence(log) : nil
    let first = try log.trimKeepingProjections(below: floor, by: evidence.map { evidence in { try evidence.trim(below: $0) } })
    try log.close()
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("first", first)
      json.member("removed", first - before)
      json.endObject()
      output.line(json)
    } else {
      output.line("the log starts at offset \(first); \(first - before) offsets were removed")
    }
    return .success
  }
}
