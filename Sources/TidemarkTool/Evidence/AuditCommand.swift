import TidemarkEvidence
import TidemarkLog
import TidemarkText

enum AuditCommand {
  static let description = CommandDescription(
    "audit", "check all that a log's history claims", arguments: [.log],
    options: [
      .policy, .init("below", "SIZE", "ask about the events below this offset only"),
      .init("receipted", nil, "ask about the events that receipts cover only"), .init("html", "FILE", "write a page for people, too"),
      .json,
    ],
    notes: [
      "Reads every byte; hashes all events again; checks each checkpoint, receipt and key against that and against the policy. Ends with "
        + "exit code 0 only if every event that was asked about is proven, 1 if not; says what it did not check. It changes nothing.",
      "The policy (a C2SP tlog-policy) must come from somebody you trust: without one nothing is proven.",
    ],
    examples: [
      .init("tidemark audit captures --policy policy --receipted", "is all that the server acknowledged still as it was?"),
      .init("tidemark audit captures --policy policy --html audit.html", "the same about everything, with a page"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let policy = try arguments.policy
    let below = try arguments.number("below")
    if below != nil && arguments.isSet("receipted") { throw arguments.error("--below, --receipted", why: "they ask for two things") }
    let asked: Auditor.Asked = below.map { .below($0) } ?? (arguments.isSet("receipted") ? .receipted : .all)
    let progress = ProgressDisplay("audit")
    let report = try Auditor(policy, asked: asked).audit(at: arguments.logPath) { progress.update($0) }
    progress.finish()
    try Interrupt.check()
    if arguments.isSet("json") { output.line(json(report)) } else { print(report, output) }
    if let path = arguments.value("html") { try System.writeFile(path, AuditPage(report, flags: flags(arguments, report)).bytes) }
    return report.verdict == .proven ? .success : .negative
  }

  /// What the clock rules remark, for the page.
  private static func flags(_ arguments: ParsedArguments, _ report: AuditReport) throws -> [ClockFlag] {
    let log = try arguments.readLog()
    defer { try? log.close() }
    var review = ClockReview(policy: try arguments.clockPolicy, receipts: report.receiptTimes)
    var cursor = try log.read(Query(includesControlEvents: true, onDamage: .skip))
    var flags: [ClockFlag] = []
    while let event = try cursor.next()?.copy() {
      try Interrupt.check()
      flags += review.review(event.view, session: cursor.session)
    }
    return flags
  }

  private static func print(_ report: AuditReport, _ output: Output) {
    output.line("log        \(report.identity.logID.hexadecimal), epoch \(report.identity.epochID.hexadecimal)")
    output.line(
      "offsets    \(report.first) to \(report.head.size): \(report.userEventCount) events, \(report.controlEventCount) control events")
    output.line("root       \(report.head.root.hexadecimal)")
    output.line("keys       \(report.keys.entries.count), checkpoints \(report.checkpointCount), corrections \(report.correctionCount)")
    for receipt in report.receipts {
      output.line("receipt    below \(receipt.size), \(time(receipt.time)), by \(receipt.signers.joined(separator: ", "))")
    }
    for finding in report.findings {
      let place = finding.offsets.map { " offsets \($0.lowerBound)..<\($0.upperBound)" } ?? ""
      output.line("\(finding.weight.rawValue): \(finding.kind.rawValue)\(place): \(finding.message)")
    }
    output.line(report.verdictLine)
  }

  private static func time(_ time: Timestamp) -> String { RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 0) }

  private static func json(_ report: AuditReport) -> JSONWriter {
    var json = JSONWriter()
    json.beginObject()
    json.member("verdict", report.verdict.rawValue)
    json.member("log_id", report.identity.logID.hexadecimal)
    json.member("epoch", report.identity.epochID.hexadecimal)
    json.member("first", report.first)
    json.member("size", report.head.size)
    json.member("root", report.head.root.hexadecimal)
    json.member("asked", report.asked)
    json.member("covered", report.covered)
    json.member("events", report.userEventCount)
    json.member("control_events", report.controlEventCount)
    json.name("receipts")
    json.beginArray()
    for receipt in report.receipts {
      json.beginObject()
      json.member("size", receipt.size)
      json.member("time", time(receipt.time))
      if let offset = receipt.offset { json.member("offset", offset) }
      json.endObject()
    }
    json.endArray()
    json.name("findings")
    json.beginArray()
    for finding in report.findings {
      json.beginObject()
      json.member("kind", finding.kind.rawValue)
      json.member("weight", finding.weight.rawValue)
      if let offsets = finding.offsets, !offsets.isEmpty {
        json.member("first", offsets.lowerBound)
        json.member("last", offsets.upperBound - 1)
      }
      json.member("message", finding.message)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json
  }
}
