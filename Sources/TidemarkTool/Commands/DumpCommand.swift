import TidemarkLog
import TidemarkText

enum DumpCommand {
  static let description = CommandDescription(
    "dump", "print frames and headers with their byte positions",
    arguments: [.init("LOG|SEGMENT", "a log's directory, or one segment file in it")],
    options: [.json],
    notes: ["Shows what is there, sound or not, and changes nothing. `verify` gives the verdict."],
    examples: [
      .init("tidemark dump captures", "go through all segments"),
      .init("tidemark dump captures/segments/*.open --json", "print one object a line for the open segment"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let path = arguments.argument("LOG|SEGMENT") ?? ""
    let isJSON = arguments.isSet("json")
    guard System.isDirectory(path) else {
      try dump(path, isJSON, output)
      return .success
    }
    let names = try System.names(in: path + "/segments").filter { $0.hasSuffix(".open") || $0.hasSuffix(".sealed") }
    for name in names {
      try Interrupt.check()
      try dump("\(path)/segments/\(name)", isJSON, output)
    }
    return .success
  }

  private static func dump(_ path: String, _ isJSON: Bool, _ output: Output) throws {
    if !isJSON { output.line(path) }
    try SegmentDump.describe(path) { entry in
      try Interrupt.check()
      if isJSON {
        var json = JSONWriter()
        json.beginObject()
        json.member("file", path)
        json.member("position", entry.position)
        json.member("kind", entry.kind)
        for (name, value) in entry.fields { json.member(name, value) }
        json.endObject()
        output.line(json)
      } else {
        let position = String(entry.position)
        let fields = entry.fields.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
        output.line(
          String(repeating: " ", count: max(0, 10 - position.count)) + position + "  \(entry.kind)" + (fields.isEmpty ? "" : ": \(fields)"))
      }
      try output.flushIfFull()
    }
  }
}
