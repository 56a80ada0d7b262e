import TidemarkEvidence
import TidemarkLog
import TidemarkProjections
import TidemarkText

/// What the commands that fold a log by a definition share.
struct DefinedValues {
  static let arguments: [CommandDescription.Argument] = [.log, .init("DEFINITION", "a JSON file; Specs/projections.md says what it means")]
  static let onUnreadable = CommandDescription.Option(
    "on-unreadable", choices: ["fail", "skip"], "what to do about events that lack what the definition reads (default fail)")

  static let restart = CommandDescription.Option(
    "restart", nil, "begin again with the first event that is left, if what the values need was trimmed; they then lack what came before")

  static let axis = CommandDescription.Option(
    "axis", choices: ["device", "receipt"], "whose clock a time is of: the devices' (default) or that of the server's receipts")

  let log: Log
  let projection: DefinedProjection
  let runner: ProjectionRunner<DefinedProjection>

  init(_ arguments: ParsedArguments) throws {
    let definition = try Self.definition(arguments)
    log = try Log.openForReading(at: arguments.logPath)
    var options = ProjectionOptions()
    options.onUnreadable = arguments.value("on-unreadable") == "skip" ? .skip : .fail
    options.restartsWhereTrimmed = arguments.isSet("restart")
    projection = definition.projection
    runner = try ProjectionRunner(projection, of: log, options: options)
  }

  static func definition(_ arguments: ParsedArguments) throws -> ProjectionDefinition {
    let path = arguments.argument("DEFINITION") ?? ""
    return try ProjectionDefinition(json: System.readFile(path, upTo: 1 << 20), file: path)
  }

  /// Tells on standard error what values lack.
  static func tell(_ report: ProjectionReport) {
    if report.missingBelow > 0 {
      Output.complain("the values lack all events below offset \(report.missingBelow), which were trimmed")
    }
    if report.unreadableCount > 0 { Output.complain("\(report.unreadableCount) events could not be read and were passed over") }
  }

  /// A point of a log's history, as an argument names it.
  enum Moment {
    case now
    case offset(Offset)
    case time(Timestamp)

    static let summary = "an offset (how many events the log had), a time (RFC 3339, by the devices' clocks), or now"

    init(_ name: String, _ arguments: ParsedArguments) throws {
      let text = arguments.argument(name) ?? ""
      if text == "now" {
        self = .now
      } else if let offset = Offset(text) {
        self = .offset(offset)
      } else if let time = try? RFC3339(text) {
        self = .time(Timestamp(nanoseconds: time.nanoseconds))
      } else {
        throw arguments.error("\(name) \(text)", why: "it is neither an offset, a time such as 2013-03-10T12:00:00Z, nor now")
      }
    }
  }

  /// A moment, on the axis that was asked for.
  func moment(_ name: String, _ arguments: ParsedArguments) throws -> Moment {
    let moment = try Moment(name, arguments)
    guard arguments.value("axis") == "receipt", case .time(let time) = moment else { return moment }
    guard let policy = try arguments.policy else { throw arguments.error("--axis receipt", why: "receipts count by a --policy") }
    return .offset(try log.acceptedSize(at: time, policy))
  }

  /// Tells by which release of the time zone database windows go.
  func tellRules(_ state: DefinedProjection.State) {
    if let release = state.timeZoneDatabaseVersion { Output.complain("windows as the time zone database \(release) has them") }
  }

  /// The values as of a moment, with a remark on standard error about what was passed over.
  func state(at moment: Moment) throws -> Projected<DefinedProjection.State> {
    let progress: (FoldProgress) -> Bool = { _ in !Interrupt.isRequested }
    let projected: Projected<DefinedProjection.State>
    switch moment {
    case .now:
      try runner.catchUp(progress: progress)
      projected = try runner.current()
      // It is a cache: who may not write there folds again the next time.
      _ = try? runner.save()
    case .offset(let offset): projected = try runner.state(asOf: offset, progress: progress)
    case .time(let time): projected = try runner.state(asOf: time, progress: progress)
    }
    Self.tell(projected.report)
    return projected
  }
}
