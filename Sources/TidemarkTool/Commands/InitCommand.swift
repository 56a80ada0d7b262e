import TidemarkLog
import TidemarkText

enum InitCommand {
  static let description = CommandDescription(
    "init", "make a log and print its identity", arguments: [.init("LOG", "a directory that does not exist, or holds no log")],
    options: [.json],
    examples: [
      .init("tidemark init captures", "make a log in the directory captures"),
      .init("tidemark init captures --json", "print {\"log_id\":..,\"epoch\":..,\"created\":..}"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let identity = try Log.create(at: arguments.logPath, options: arguments.writingOptions())
    let created = RFC3339.format(nanoseconds: identity.created.nanoseconds, fractionDigits: 9)
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.member("log_id", identity.logID.hexadecimal)
      json.member("epoch", identity.epochID.hexadecimal)
      json.member("created", created)
      json.endObject()
      output.line(json)
    } else {
      output.line("log      \(identity.logID.hexadecimal)")
      output.line("epoch    \(identity.epochID.hexadecimal)")
      output.line("created  \(created)")
    }
    return .success
  }
}
