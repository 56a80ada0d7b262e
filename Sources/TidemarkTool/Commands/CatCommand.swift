import TidemarkEvidence
import TidemarkLog
import TidemarkText

enum CatCommand {
  static let description = CommandDescription(
    "cat", "replay events", arguments: [.log],
    options: [
      .init("format", choices: ["jsonl", "cloudevents", "csv", "table", "raw"], "the form of the output (default jsonl)"),
      .init("from", "OFFSET", "the first offset (default: the oldest)"),
      .init("to", "OFFSET", "the offset before which to stop"),
      .init("since", "TIME", "only events of this time (RFC 3339) or later"),
      .init("until", "TIME", "only events of this time or earlier"),
      .init("type", "TYPE", "only events of this type"),
      .init("subject", "SUBJECT", "only events with this subject"),
      .init("subject-keys", "DIR", "open encrypted events with the keys in DIR; --subject goes by what is stored all the same"),
      .init("limit", "N", "at most N events"),
      .init("follow", nil, "go on with events as they are appended, until Ctrl-C"),
      .init("control", nil, "include control events (jsonl gives their kind; not cloudevents)"),
      .init("salvage", nil, "pass over damage, list it on standard error and end with exit code 1"),
      .init("json", nil, "the same as --format jsonl"),
    ],
    notes: [
      "jsonl prints one object a line, with these keys as far as the event has them: offset, kind (control events only), id, "
        + "type, subject, actor, time, boot_id, elapsed_ns, correlation, causation, supersedes, datacontenttype, and data (JSON "
        + "as JSON, text as text) or data_base64.",
      "At damage, what stands before it is printed, then the error, and the exit code is 4.",
    ],
    examples: [
      .init("tidemark cat captures --type scan --limit 10 --format table", "show the first ten scans"),
      .init("tidemark cat captures --from 5000 --follow", "follow the log from offset 5000 on"),
      .init("tidemark cat captures --since 2013-11-03T00:00:00-04:00 --format csv", "write everything since a moment as CSV"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let selection = try EventSelection(arguments)
    let format = arguments.value("format") ?? "jsonl"
    if format == "cloudevents", selection.control {
      throw arguments.error("--control", why: "a control event has no type, which a CloudEvent must have")
    }
    if arguments.isSet("json"), format != "jsonl" { throw arguments.error("--json", why: "it contradicts --format \(format)") }
    var options = LogOptions()
    options.program = Tidemark.programAndVersion
    let log = try Log.openForReading(at: arguments.logPath, options: options)
    defer { try? log.close() }
    let keys = arguments.value("subject-keys")
    switch format {
    case "cloudevents": return try replay(log, selection, CloudEventsFormatter(logID: log.identity.logID), keys, output)
    case "csv": return try replay(log, selection, CSVFormatter(), keys, output)
    case "table": return try replay(log, selection, TableFormatter(), keys, output)
    case "raw": return try replay(log, selection, RawFormatter(), keys, output)
    default: return try replay(log, selection, JSONLinesFormatter(), keys, output)
    }
  }

  private static func replay(_ log: Log, _ selection: EventSelection, _ formatter: some EventFormatter, _ keys: String?, _ output: Output)
    throws -> ExitCode
  {
    guard let keys else { return try replay(log, selection, formatter, output) }
    let events = ErasableEvents(keys: FileKeyStore(directory: keys))
    return try replay(log, selection, OpeningFormatter(events: events, formatter: formatter), output)
  }

  /// The next event that is wanted. A copy, because a view would bar the way to the cursor's session.
  private static func next(_ cursor: inout Cursor, _ selection: inout EventSelection) throws -> Event? {
    while let view = try cursor.next() {
      if selection.takes(view) { return view.copy() }
      if Interrupt.isRequested { return nil }
    }
    return nil
  }

  private static func replay(_ log: Log, _ selection: EventSelection, _ formatter: some EventFormatter, _ output: Output) throws -> ExitCode
  {
    var selection = selection
    var formatter = formatter
    formatter.header(to: &output.bytes)
    if selection.follow, let from = selection.from, from > log.size {
      try output.flush()
      if !selection.isDone { try Follower.run(log, from: from, selection, formatter) }
      return .success
    }
    var cursor = try log.read(selection.query(log))
    let progress = selection.follow || System.isTerminal(System.standardOutput) ? nil : ProgressDisplay("cat", barOnly: true)
    defer { progress?.finish() }
    let start = cursor.position
    let end = max(start, min(selection.to ?? .max, log.size))
    while !selection.isDone, !Interrupt.isRequested, let event = try self.next(&cursor, &selection) {
      try formatter.append(event.view, cursor.session, to: &output.bytes)
      try output.flushIfFull()
      progress?.update(done: cursor.position - start, of: end - start, "\(cursor.position - start) events")
    }
    try output.flush()
    for gap in cursor.gaps { Output.complain("passed over \(gap.line)") }
    let isComplete = selection.isDone || selection.to.map { $0 <= cursor.position } ?? false
    if selection.follow, !isComplete, !Interrupt.isRequested { try Follower.run(log, from: cursor.position, selection, formatter) }
    if Interrupt.isRequested, !selection.follow { throw Interrupted() }
    if !isComplete && !selection.follow {
      for finding in log.recoveryReport.findings where finding.kind == .tornTail {
        Output.complain("not shown: \(finding.line); `tidemark recover` decides")
      }
    }
    return cursor.gaps.isEmpty ? .success : .negative
  }
}
