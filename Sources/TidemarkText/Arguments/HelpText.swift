/// Help, laid out from descriptions.
package enum HelpText {
  static let width = 100

  /// The help of one command.
  package static func of(_ command: CommandDescription) -> String {
    var usage = "usage: tidemark \(command.name)"
    for argument in command.arguments {
      usage += (argument.isOptional ? " [\(argument.name)]" : " \(argument.name)") + (argument.isRepeatable ? "..." : "")
    }
    if !command.options.isEmpty { usage += " [options]" }
    var lines = [usage, "", command.summary + "."]
    if !command.arguments.isEmpty { lines += [""] + table(command.arguments.map { ($0.name, $0.summary) }) }
    let options = command.options.map { option in ("--\(option.name)" + (option.value.map { " \($0)" } ?? ""), option.summary) }
    lines += ["", "options:"] + table(options + [("--help", "print this")])
    for note in command.notes { lines += [""] + wrap(note, width) }
    lines += ["", "examples:"]
    for example in command.examples { lines += wrap("# " + example.summary, width - 2).map { "  " + $0 } + ["  " + example.command] }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Two columns; the right one is wrapped.
  package static func table(_ rows: [(String, String)]) -> [String] {
    let left = min(30, rows.map { $0.0.count }.max() ?? 0)
    var lines: [String] = []
    for (name, summary) in rows {
      var first = "  " + name
      if name.count > left {
        lines.append(first)
        first = "  "
      }
      for line in wrap(summary, width - left - 4) {
        lines.append(first + String(repeating: " ", count: left + 4 - first.count) + line)
        first = ""
      }
    }
    return lines
  }

  package static func wrap(_ text: String, _ width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + (line.isEmpty ? [] : [line])
  }
}
