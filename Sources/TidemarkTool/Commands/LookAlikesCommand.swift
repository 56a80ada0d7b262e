import TidemarkLog
import TidemarkSQLite
import TidemarkText

enum LookAlikesCommand {
  static let description = CommandDescription(
    "look-alikes", "list events that say the same at the same time under different ids",
    arguments: [.log, .init("DATABASE", "a SQLite file that keeps what was seen, so that only new events are read the next time")],
    options: [.json],
    notes: [
      "One line for each group: the offset of its first event, then those of the others. Alike are events with equal type, subject, "
        + "actor, content type, extensions, data and time: captured twice, or sent again under another id. Nothing is done to them."
    ],
    examples: [.init("tidemark look-alikes captures look-alikes.sqlite", "what was captured twice")])

  private static let page = 1000

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try Log.openForReading(at: arguments.logPath)
    defer { try? log.close() }
    let alike = try LookAlikes(of: log, file: arguments.argument("DATABASE") ?? "")
    try alike.catchUp { _ in !Interrupt.isRequested }
    var groups = try alike.groups(limit: page)
    while let last = groups.last {
      for group in groups { output.line(line(group, isJSON: arguments.isSet("json"))) }
      try output.flushIfFull()
      groups = try alike.groups(from: last.first + 1, limit: page)
    }
    if alike.damagedOffsetCount > 0 { Output.complain("\(alike.damagedOffsetCount) offsets are damaged and were passed over") }
    return .success
  }

  private static func line(_ group: LookAlikes.Group, isJSON: Bool) -> String {
    if !isJSON { return ([group.first] + group.others).map { "\($0)" }.joined(separator: "  ") }
    var json = JSONWriter()
    json.beginObject()
    json.member("first", group.first)
    json.name("others")
    json.beginArray()
    for offset in group.others { json.number(offset) }
    json.endArray()
    json.endObject()
    return String(decoding: json.bytes, as: UTF8.self)
  }
}
