import TidemarkLog
import TidemarkText

/// One command of the tool.
struct Command: Sendable {
  let description: CommandDescription
  let run: @Sendable (ParsedArguments, Output) throws -> ExitCode

  init(_ description: CommandDescription, _ run: @escaping @Sendable (ParsedArguments, Output) throws -> ExitCode) {
    self.description = description
    self.run = run
  }
}

/// Arguments and options that several commands share.
extension CommandDescription.Argument {
  static let log = Self("LOG", "the log's directory")
}

extension CommandDescription.Option {
  static let json = Self("json", nil, "print JSON for programs")
  static let onCorruption = Self(
    "on-corruption", choices: ["refuse", "quarantine", "salvage"],
    "what to do about damaged history when the log is opened (default refuse)")
}

extension ParsedArguments {
  /// The directory of the log.
  var logPath: String { argument("LOG") ?? "" }

  /// How a tool opens a log for writing.
  func writingOptions(_ policyName: String = "on-corruption") -> LogOptions {
    var options = LogOptions()
    options.program = Tidemark.programAndVersion
    switch value(policyName) {
    case "quarantine": options.onCorruption = .quarantine
    case "salvage": options.onCorruption = .salvage
    default: options.onCorruption = .refuse
    }
    return options
  }
}

extension Finding {
  /// One line for people.
  var line: String {
    var text = kind.rawValue
    if let file { text += " \(file)" }
    if let position { text += ", byte \(position)" }
    if let offsets { text += ", offsets \(offsets.lowerBound) to \(offsets.upperBound)" }
    return text + ": \(message)"
  }
}

extension JSONWriter {
  mutating func findings(_ name: String, _ findings: [Finding]) {
    self.name(name)
    beginArray()
    for finding in findings {
      beginObject()
      member("kind", finding.kind.rawValue)
      if let file = finding.file { member("file", file) }
      if let position = finding.position { member("position", position) }
      if let offsets = finding.offsets {
        member("first", offsets.lowerBound)
        member("last", offsets.upperBound)
      }
      member("message", finding.message)
      endObject()
    }
    endArray()
  }
}
