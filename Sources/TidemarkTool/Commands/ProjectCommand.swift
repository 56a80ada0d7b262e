import TidemarkLog
import TidemarkProjections
import TidemarkSQLite
import TidemarkText

enum ProjectCommand {
  static let description = CommandDescription(
    "project", "fold events into values, as a definition says",
    arguments: DefinedValues.arguments,
    options: [
      RowPrinter.option,
      DefinedValues.onUnreadable,
      DefinedValues.restart,
      .init("follow", nil, "go on with the values as they change, until Ctrl-C: a terminal is redrawn, elsewhere changed rows are added"),
      .init("sqlite", "FILE", "keep the rows in a SQLite database instead of printing them: those that changed, and the offset, at once"),
      .init("batch", "N", "with --sqlite: apply at most N events in a transaction (default 65536)"),
    ],
    notes: [
      "One row for each key, in the order of keys. Values are kept in the log's directory and taken up again the next time, so that "
        + "only new events are read. Events that correct others (supersedes) take their place.",
      "A definition's window makes each hour or day in a time zone a key of its own. Rules of zones are read from /usr/share/zoneinfo, or "
        + "from the directory that TZDIR names; their release is told on standard error.",
      "With --on-unreadable skip, what was passed over is counted on standard error. A key that --follow finds gone is printed with "
        + "nothing behind it.",
      "With --sqlite, the table has the definition's name, and tidemark_applied says up to which offset it is the log's value: both "
        + "change in one transaction, so that any interruption leaves them in step. Prints that offset and the number of rows.",
    ],
    examples: [
      .init("tidemark project captures delays.json", "the value now"),
      .init("tidemark project captures inside.json --follow", "who is inside, as people come and go"),
      .init("tidemark project captures delays.json --sqlite captures.sqlite", "rows for an app that queries with SQL"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    if let file = arguments.value("sqlite") { return try keep(in: file, arguments, output) }
    let values = try DefinedValues(arguments)
    defer { try? values.log.close() }
    if arguments.isSet("follow") {
      let projection = values.projection, runner = values.runner, printer = RowPrinter(arguments)
      try Follower.untilInterrupted { try await follow(projection, runner, printer) }
      _ = try? runner.save()
      return .success
    }
    let projected = try values.state(at: .now)
    let rows = values.projection.rows(of: projected.state)
    if rows.isEmpty, projected.position > values.log.first {
      Output.complain("no event gave a value: if that surprises you, check the definition's types, key and value")
    }
    values.tellRules(projected.state)
    try RowPrinter(arguments).print(rows, to: output)
    return .success
  }

  private static func keep(in file: String, _ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    if let other = ["format", "follow", "restart"].first(where: { arguments.value($0) != nil || arguments.isSet($0) }) {
      throw arguments.error("--\(other) with --sqlite", why: "a database holds the rows as of now, and nothing is printed")
    }
    let definition = try DefinedValues.definition(arguments)
    let log = try Log.openForReading(at: arguments.logPath)
    defer { try? log.close() }
    var options = SQLiteSinkOptions()
    options.onUnreadable = arguments.value("on-unreadable") == "skip" ? .skip : .fail
    options.eventsPerTransaction = Int(try arguments.number("batch", in: 1...10_000_000) ?? 65_536)
    let sink = try SQLiteSink(definition, of: log, file: file, options: options)
    if let why = sink.whyAnew { Output.complain("the rows in \(file) are made anew: \(why)") }
    let position = try sink.catchUp { _ in !Interrupt.isRequested }
    let size = log.size
    if log.durable < size {
      Output.complain("offsets \(position) to \(size - 1) are left for later: they are not durable yet")
    }
    DefinedValues.tell(sink.report)
    output.line("offset \(position), \(sink.rowCount) rows")
    return .success
  }

  private static func follow(
    _ projection: DefinedProjection, _ runner: ProjectionRunner<DefinedProjection>, _ printer: RowPrinter
  ) async throws {
    let output = Output()
    let redraws = System.isTerminal(System.standardOutput)
    var last: DefinedProjection.State?
    for try await state in runner.states() {
      if redraws {
        // To the first place, then clear what is below.
        output.bytes.append("\u{1B}[H\u{1B}[J")
        try printer.print(projection.rows(of: state), to: output)
      } else if let last {
        try printer.add(projection.differences(from: last, to: state), to: output)
      } else {
        try printer.print(projection.rows(of: state), to: output)
      }
      last = state
      try output.flush()
    }
  }
}
