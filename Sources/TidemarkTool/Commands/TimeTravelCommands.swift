import TidemarkLog
import TidemarkProjections
import TidemarkText

enum AsOfCommand {
  static let description = CommandDescription(
    "as-of", "fold events into values, as they were at a point of the log's history",
    arguments: DefinedValues.arguments + [.init("MOMENT", DefinedValues.Moment.summary)],
    options: [RowPrinter.option, DefinedValues.onUnreadable, DefinedValues.restart, DefinedValues.axis, .policy],
    notes: [
      "As of an offset: all events below it, and none after. As of a time: all events whose own time is not later. Clocks jump, so "
        + "these need not be the first ones. Corrections that came later do not count: what was known then is what was wrong then.",
      "With --axis receipt a time is one of the server's clock: all events that it had accepted by then, as the receipts tell that count "
        + "by --policy.",
    ],
    examples: [
      .init("tidemark as-of captures inside.json 2013-03-10T22:00:00-04:00", "who was inside at ten in the evening"),
      .init("tidemark as-of captures delays.json 120000 --format csv", "when the log had 120,000 events"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let values = try DefinedValues(arguments)
    defer { try? values.log.close() }
    let moment = try values.moment("MOMENT", arguments)
    let state = try values.state(at: moment).state
    values.tellRules(state)
    try RowPrinter(arguments).print(values.projection.rows(of: state), to: output)
    return .success
  }
}

enum DiffCommand {
  static let description = CommandDescription(
    "diff", "show which values differ between two points of the log's history",
    arguments: DefinedValues.arguments + [.init("A", DefinedValues.Moment.summary), .init("B", "likewise")],
    options: [RowPrinter.option, DefinedValues.onUnreadable, DefinedValues.restart, DefinedValues.axis, .policy],
    notes: ["One row for each key whose value or count differs: the key, its value at A, its value at B. The exit code is 1 if any does."],
    examples: [
      .init("tidemark diff captures inside.json 2013-03-10T22:00:00-04:00 2013-03-11T07:00:00-04:00", "what changed overnight"),
      .init("tidemark diff captures stock.json 120000 now", "what changed since the log had 120,000 events"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let values = try DefinedValues(arguments)
    defer { try? values.log.close() }
    let first = try values.moment("A", arguments)
    let second = try values.moment("B", arguments)
    let before = try values.state(at: first).state
    let differences = values.projection.differences(from: before, to: try values.state(at: second).state)
    try RowPrinter(arguments).print(differences, to: output)
    return differences.isEmpty ? .success : .negative
  }
}
