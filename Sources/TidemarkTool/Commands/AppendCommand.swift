import TidemarkEvidence
import TidemarkLog
import TidemarkText

enum AppendCommand {
  static let description = CommandDescription(
    "append", "import events from a file or standard input",
    arguments: [.log, .init("FILE", "the input; standard input if it is left out or -", isOptional: true)],
    options: [
      .init("format", choices: ["jsonl", "csv", "lines", "cloudevents"], "the form of the input (default jsonl)"),
      .init("type", "TYPE", "the type of the events (default event)"),
      .init("type-from", "/POINTER", "where each event's type stands; where there is none, --type counts"),
      .init("id-from", "/POINTER", "where each event's id stands: a UUID, or any text or number, which always gives the same id"),
      .init("subject-from", "/POINTER", "where the subject stands"),
      .init("actor-from", "/POINTER", "where the actor stands"),
      .init("time-from", "/POINTER", "where the time stands: RFC 3339 with an offset from UTC, such as 2013-01-01T05:15:00-05:00"),
      .init("encrypt-subjects", "DIR", "encrypt each event under a key of its subject, kept in DIR: `erase` destroys it"),
      .init("batch", "N", "append N events at a time, all or nothing (default 1)"),
      .init("durability", choices: ["synced", "written", "buffered"], "what holds when a batch is acknowledged (default synced)"),
      .init("acks", nil, "print `ack <next offset>` for each batch, at once"),
      .onCorruption, .init("json", nil, "the summary is JSON in any case"),
    ],
    notes: [
      "jsonl: each line's JSON value becomes an event's data, byte for byte; pointers (RFC 6901) lead into it. csv: RFC 4180 "
        + "with a header; each row becomes a JSON object of strings, and a pointer is / and a column's name. lines: each line is "
        + "text. cloudevents: CloudEvents 1.0 in JSON, one event a line.",
      "--encrypt-subjects leaves types, times and ids in the clear; an id that is no UUID in the input is hidden.",
      "With ids an import can be repeated: what is there already is counted as a duplicate and stays; an interrupted import "
        + "that is run again gives the same events as one that ran through. The same id with other content is a conflict: its "
        + "batch is not appended, and the import stops.",
      "Malformed input stops the import with line and column (in bytes, from 1); what came before it is in the log. The last "
        + "line on standard output is {\"first\":..,\"count\":..,\"duplicates\":..,\"conflicts\":..,\"durable\":..}: the first "
        + "offset and the number of events appended, and the offset below which all events are durable.",
    ],
    examples: [
      .init("tidemark append captures scans.jsonl --type scan --id-from /scan_id --subject-from /badge", "import JSON lines"),
      .init("tidemark append captures gates.csv --format csv --time-from /at --batch 1000", "import CSV, a thousand rows to a sync"),
      .init("journalctl -f | tidemark append captures --format lines --type journal", "record lines as they come"),
      .init("tidemark append captures export.jsonl --format cloudevents", "import what `cat --format cloudevents` printed"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let sources = try AttributeSources(arguments)
    let format = arguments.value("format") ?? "jsonl"
    try checkOptions(arguments, format)
    let batchSize = Int(try arguments.number("batch", in: 1...1_000_000) ?? 1)
    var options = arguments.writingOptions()
    switch arguments.value("durability") {
    case "written": options.durability = .written
    case "buffered": options.durability = .buffered
    default: options.durability = .synced
    }
    let source = try FileSource(arguments.argument("FILE"))
    let log = try Log.open(at: arguments.logPath, options: options)
    let acks = arguments.isSet("acks")
    let importer = Importer(log: log, batchSize: batchSize, transform: sealing(arguments)) { next in
      guard acks else { return }
      output.line("ack \(next)")
      try output.flush()
    }
    do {
      switch format {
      case "csv": try finish(importer, csvReader(source, sources), source, output)
      case "lines": try finish(importer, PlainLinesReader(source, type: sources.type), source, output)
      case "cloudevents": try finish(importer, CloudEventsReader(source, logID: log.identity.logID), source, output)
      default: try finish(importer, JSONLinesReader(source, sources), source, output)
      }
    } catch {
      try? log.close()
      throw error
    }
    try log.close()
    return .success
  }

  /// Seals events under keys of their subjects, if that was asked.
  private static func sealing(_ arguments: ParsedArguments) -> (NewEvent) throws -> NewEvent {
    guard let directory = arguments.value("encrypt-subjects") else { return { $0 } }
    let events = ErasableEvents(keys: FileKeyStore(directory: directory))
    return { event in
      guard let subject = event.subject, !subject.isEmpty else {
        throw LogError(
          .invalidEvent, "an event can't be encrypted", why: "it has no subject, whose key it would be",
          advice: "name --subject-from, or append such events without --encrypt-subjects")
      }
      // An id that was made of text is a hash of it.
      return try events.seal(event, for: subject, hidesID: event.id?.isDerived ?? false)
    }
  }

  private static func csvReader(_ source: FileSource, _ sources: AttributeSources) throws -> CSVRowsReader {
    do {
      return try CSVRowsReader(source, sources)
    } catch let error as InputError {
      throw ToolError(error, file: source.name, advice: "correct it, or name another --format; nothing was appended")
    }
  }

  /// Runs the import and prints the summary, whatever came of it.
  private static func finish(_ importer: Importer, _ reader: some EventReader, _ source: FileSource, _ output: Output) throws {
    var importer = importer
    var reader = reader
    let progress = ProgressDisplay("append")
    var failure: (any Error)?
    do { try importer.run(&reader, source, progress) } catch { failure = error }
    do { try importer.log.sync() } catch { failure = failure ?? error }
    progress.finish()
    var json = JSONWriter()
    json.beginObject()
    if let first = importer.first { json.member("first", first) }
    json.member("count", importer.count)
    json.member("duplicates", importer.duplicates)
    json.member("conflicts", importer.conflicts)
    json.member("durable", importer.log.durable)
    json.endObject()
    output.line(json)
    try output.flush()
    if let failure { throw failure }
  }

  private static func checkOptions(_ arguments: ParsedArguments, _ format: String) throws {
    let known: [String]
    switch format {
    case "lines": known = ["type"]
    case "cloudevents": known = []
    default: known = AttributeSources.optionNames
    }
    for name in AttributeSources.optionNames where arguments.value(name) != nil && !known.contains(name) {
      throw arguments.error("--\(name)", why: "--format \(format) does not take it")
    }
  }
}
