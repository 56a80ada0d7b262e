import TidemarkLog
import TidemarkReplication
import TidemarkText

enum InfoCommand {
  static let description = CommandDescription(
    "info", "show identity, sizes, segments and space", arguments: [.log], options: [.json],
    notes: [
      "size is the next offset; durable the offset below which all events survive a power cut; accepted and settled are what "
        + "servers have taken (see status); gaps the number of offsets whose events are lost. Sizes are bytes."
    ],
    examples: [
      .init("tidemark info captures", "show it to people"),
      .init("tidemark info captures --json | jq .durable", "take one number out of it"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try Log.openForReading(at: arguments.logPath)
    defer { try? log.close() }
    let identity = log.identity
    let statistics = try log.statistics()
    let status = try Delivery(of: log).status
    let created = RFC3339.format(nanoseconds: identity.created.nanoseconds, fractionDigits: 9)
    let lost = statistics.gaps.reduce(0) { $0 + UInt64($1.count) }
    let segments = statistics.sealedSegmentCount + statistics.openSegmentCount
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("log_id", identity.logID.hexadecimal)
      json.member("epoch", identity.epochID.hexadecimal)
      json.member("first", statistics.first)
      json.member("size", statistics.size)
      json.member("durable", statistics.durable)
      json.member("accepted", status.accepted)
      json.member("settled", status.settled)
      json.member("segments", segments)
      json.member("bytes_on_disk", statistics.bytesOnDisk)
      json.member("bytes_of_events", statistics.bytesOfEvents)
      json.member("gaps", lost)
      json.member("events", statistics.userEventCount)
      json.member("control_events", statistics.controlEventCount)
      json.member("created", created)
      json.endObject()
      output.line(json)
      return .success
    }
    let rows = [
      ("log", identity.logID.hexadecimal), ("epoch", identity.epochID.hexadecimal), ("created", created),
      ("events", "\(statistics.userEventCount), and \(statistics.controlEventCount) control events"),
      ("offsets", "\(statistics.first) to \(statistics.size)"), ("durable", "\(statistics.durable)"),
      ("accepted", "\(status.accepted)"), ("settled", "\(status.settled)"),
      ("segments", "\(statistics.sealedSegmentCount) sealed, \(statistics.openSegmentCount) open"),
      ("space", space(UInt64(statistics.bytesOnDisk), UInt64(statistics.bytesOfEvents))), ("gaps", "\(lost) offsets lost"),
    ]
    for (name, value) in rows { output.line(name + String(repeating: " ", count: 10 - name.count) + value) }
    for finding in log.recoveryReport.findings { output.line("finding   \(finding.line)") }
    return .success
  }

  private static func space(_ disk: UInt64, _ events: UInt64) -> String {
    let text = "\(disk) bytes on disk for \(events) bytes of events"
    guard events > 0 else { return text }
    let hundredths = (Double(disk) / Double(events) * 100).rounded()
    guard let whole = UInt64(exactly: hundredths) else { return text }
    return text + " (\(whole / 100).\(whole / 10 % 10)\(whole % 10))"
  }
}
