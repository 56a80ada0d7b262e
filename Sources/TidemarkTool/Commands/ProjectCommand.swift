import TidemarkLog
import TidemarkProjections
import TidemarkSQLite
import TidemarkText

enum ProjectCommand {
  static let description = CommandDescription(
    "project", "fold events into values, as a definition says",
    arguments: [.log, .init("DEFINITION", "a JSON file; Specs/projections.md says what it means")],
    options: [
      .init("as-of", "OFFSET|TIME", "as the value was when the log had that many events, or by what had happened at that time (RFC 3339)"),
      .init("format", choices: ["table", "jsonl", "csv"], "how the values are printed (default table)"),
      .init("sqlite", "FILE", "keep the rows in a SQLite database instead of printing them: those that changed, and the offset, at once"),
      .init("batch", "N", "with --sqlite: apply at most N events in a transaction (default 65536)"),
      .init(
        "on-unreadable", choices: ["fail", "skip"], "what to do about events that lack what the definition reads (default fail)"),
    ],
    notes: [
      "One row for each key, in the order of keys. Values are kept in the log's directory and taken up again the next time, so that "
        + "only new events are read. Events that correct others (supersedes) take their place.",
      "With --on-unreadable skip, what was passed over is counted on standard error.",
      "With --sqlite, the table has the definition's name, and tidemark_applied says up to which offset it is the log's value: both "
        + "change in one transaction, so that any interruption leaves them in step. Prints that offset and the number of rows.",
    ],
    examples: [
      .init("tidemark project captures delays.json", "the value now"),
      .init("tidemark project captures delays.json --as-of 2013-03-10T12:00:00Z --format csv", "by what had happened at noon"),
      .init("tidemark project captures delays.json --sqlite captures.sqlite", "rows for an app that queries with SQL"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let path = arguments.argument("DEFINITION") ?? ""
    let definition = try ProjectionDefinition(json: System.readFile(path, upTo: 1 << 20), file: path)
    let log = try Log.openForReading(at: arguments.logPath)
    defer { try? log.close() }
    if let file = arguments.value("sqlite") { return try keep(definition, of: log, in: file, arguments, output) }
    var options = ProjectionOptions()
    options.onUnreadable = arguments.value("on-unreadable") == "skip" ? .skip : .fail
    let projection = definition.projection
    let runner = try ProjectionRunner(projection, of: log, options: options)
    let progress: (FoldProgress) -> Bool = { _ in !Interrupt.isRequested }
    let projected: Projected<DefinedProjection.State>
    switch try moment(arguments) {
    case .now:
      try runner.catchUp(progress: progress)
      projected = try runner.current()
      // It is a cache: who may not write there folds again the next time.
      _ = try? runner.save()
    case .offset(let offset): projected = try runner.state(asOf: offset, progress: progress)
    case .time(let time): projected = try runner.state(asOf: time, progress: progress)
    }
    let rows = projection.rows(of: projected.state)
    if rows.isEmpty, projected.position > log.first {
      Output.complain("no event gave a value: if that surprises you, check the definition's types, key and value")
    }
    try print(rows, arguments.value("format") ?? "table", output)
    complain(projected.report)
    return .success
  }

  private static func complain(_ report: ProjectionReport) {
    if report.unreadableCount > 0 { Output.complain("\(report.unreadableCount) events could not be read and were passed over") }
  }

  private static func keep(
    _ definition: ProjectionDefinition, of log: Log, in file: String, _ arguments: ParsedArguments, _ output: Output
  ) throws -> ExitCode {
    for other in ["as-of", "format"] where arguments.value(other) != nil {
      throw arguments.error("--\(other) with --sqlite", why: "a database holds the rows as of now, and nothing is printed")
    }
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
    complain(sink.report)
    output.line("offset \(position), \(sink.rowCount) rows")
    return .success
  }

  private enum Moment {
    case now
    case offset(Offset)
    case time(Timestamp)
  }

  private static func moment(_ arguments: ParsedArguments) throws -> Moment {
    guard let text = arguments.value("as-of") else { return .now }
    if let offset = Offset(text) { return .offset(offset) }
    do { return .time(Timestamp(nanoseconds: try RFC3339(text).nanoseconds)) } catch {
      throw arguments.error("--as-of \(text)", why: "it is neither an offset nor a time such as 2013-03-10T12:00:00Z")
    }
  }

  private static func print(_ rows: [DefinedProjection.Row], _ format: String, _ output: Output) throws {
    let width = rows.reduce(0) { max($0, $1.key.count) }
    var csv: [UInt8] = []
    if format == "csv" { output.line("key,value,count") }
    for row in rows {
      switch format {
      case "jsonl":
        var json = JSONWriter()
        json.beginObject()
        json.member("key", row.key)
        json.member("value", row.value)
        if let count = row.count { json.member("count", count) }
        json.endObject()
        output.line(json)
      case "csv":
        csv.removeAll(keepingCapacity: true)
        CSVWriter.field(row.key.utf8Span.span, to: &csv)
        csv.append(UInt8(ascii: ","))
        CSVWriter.field(row.value.utf8Span.span, to: &csv)
        csv.append(UInt8(ascii: ","))
        if let count = row.count { csv.append(contentsOf: String(count).utf8) }
        output.line(String(decoding: csv, as: UTF8.self))
      default:
        let space = String(repeating: " ", count: width - row.key.count + 2)
        output.line(row.key + space + row.value)
      }
      try output.flushIfFull()
    }
  }
}
