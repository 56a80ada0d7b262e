import TidemarkLog
import TidemarkProjections
import TidemarkReplication
import TidemarkText

enum ItemsCommand {
  static let description = CommandDescription(
    "items", "show what the office published for this device, and what was said about it here", arguments: [.log],
    options: [.init("all", nil, "also those that were withdrawn"), .json],
    notes: [
      "Shows what `tidemark replicate` fetched last, and asks no server. \"own\" marks what the server has not decided yet: this device's "
        + "guess, from its own acknowledgements and changes of state.",
      "A person who acknowledged an item here stands at acknowledged, at re-acknowledge if a later version is material, or at pending if "
        + "the version is not known.",
    ],
    examples: [
      .init("tidemark items captures", "show it to people"),
      .init("tidemark items captures --json | jq '.items[] | select(.persons.kim != \"acknowledged\").item'", "what Kim has to read"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try arguments.readLog()
    defer { try? log.close() }
    let received = try DevicePlace(arguments.logPath).readReceived()
    defer { try? received?.close() }
    let all = try DeviceItems(received: received, captures: log).current()
    let items = arguments.isSet("all") ? all : all.filter { !$0.item.isWithdrawn }
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.name("items")
      json.beginArray()
      for item in items { item.write(to: &json) }
      json.endArray()
      json.endObject()
      output.line(json)
    } else {
      for item in items { for line in item.lines { output.line(line) } }
      if items.isEmpty { Output.complain("there are no items here: fetch them with tidemark replicate") }
    }
    return .success
  }
}

enum AcknowledgeCommand {
  static let description = CommandDescription(
    "acknowledge", "say that a person has seen a version of an item",
    arguments: [.log, .init("ITEM", "its name"), .init("VERSION", "the version that was seen")],
    options: [.init("actor", "NAME", "who has seen it"), .onCorruption],
    notes: ["It counts for the version that it names, for good. `tidemark replicate` ships it."],
    examples: [.init("tidemark acknowledge captures notice-4 3 --actor kim", "Kim has read version 3")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let text = arguments.argument("VERSION") ?? ""
    guard let version = UInt64(text), version > 0, version <= UInt64(Int64.max) else {
      throw arguments.error("VERSION \(text)", why: "a version is a whole number from 1 on")
    }
    guard let actor = arguments.value("actor"), !actor.isEmpty else {
      throw arguments.error("--actor is missing", why: "an acknowledgement is a person's")
    }
    return try arguments.appendFact(DeviceItems.acknowledgement(of: arguments.argument("ITEM") ?? "", version: version, by: actor), output)
  }
}

enum TransitionCommand {
  static let description = CommandDescription(
    "transition", "propose another state of an item",
    arguments: [.log, .init("ITEM", "its name"), .init("FROM", "the state that was seen"), .init("TO", "the new one")],
    options: [.init("actor", "NAME", "who decided it"), .onCorruption],
    notes: [
      "The server decides: it refuses if the item is in another state by then. The event stays as what happened, and `tidemark items` "
        + "shows the refusal with the state in force."
    ],
    examples: [.init("tidemark transition captures incident-7 open closed --actor kim", "Kim closed it")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let (from, to) = (arguments.argument("FROM") ?? "", arguments.argument("TO") ?? "")
    guard max(from.utf8.count, to.utf8.count) <= 64 else { throw arguments.error("a state is too long", why: "64 bytes are the most") }
    let event = DeviceItems.transition(of: arguments.argument("ITEM") ?? "", from: from, to: to, by: arguments.value("actor"))
    return try arguments.appendFact(event, output)
  }
}

extension ParsedArguments {
  fileprivate func appendFact(_ event: NewEvent, _ output: Output) throws -> ExitCode {
    let log = try Log.open(at: logPath, options: writingOptions())
    defer { try? log.close() }
    let appended = try log.append(event)
    output.line("\(appended.offset)  \(appended.id)")
    return .success
  }
}

extension DeviceItem {
  /// For people: the item, then what is to be said about it.
  fileprivate var lines: [String] {
    var parts = ["\(item.name)  version \(item.version)"]
    if item.isWithdrawn { parts.append("withdrawn") }
    if !state.isEmpty { parts.append("state \(state)" + (isStateOwn ? " (own; the server's: \(item.state))" : "")) }
    if let status {
      let count = item.required > 0 ? ", \(acknowledged) of \(item.required)" : ""
      parts.append("\(status.rawValue)\(count)" + (isStatusOwn ? " (own; the server's: \(item.status?.rawValue ?? "none"))" : ""))
    }
    if let due = item.due { parts.append("due \(RFC3339.format(nanoseconds: due.nanoseconds, fractionDigits: 0))") }
    var lines = [parts.joined(separator: "  ")]
    for (person, standing) in persons.sorted(by: { $0.key < $1.key }) { lines.append("  \(person): \(standing.text)") }
    if let refusal { lines.append("  refused: \(refusal.reason); \(refusal.wayOut)") }
    return lines.map { String(String.UnicodeScalarView($0.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 })) }
  }

  fileprivate func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("item", item.name)
    json.member("version", item.version)
    json.member("material_version", item.materialVersion)
    json.name("content")
    json.value(item.content.span)
    if !item.place.isEmpty { json.member("place", item.place) }
    if !item.person.isEmpty { json.member("person", item.person) }
    json.member("withdrawn", item.isWithdrawn)
    json.member("published", RFC3339.format(nanoseconds: item.published.nanoseconds, fractionDigits: 0))
    if let due = item.due { json.member("due", RFC3339.format(nanoseconds: due.nanoseconds, fractionDigits: 0)) }
    if item.required > 0 { json.member("required", item.required) }
    json.member("state", state)
    json.member("state_is_own", isStateOwn)
    json.member("acknowledged", acknowledged)
    if let status { json.member("status", status.rawValue) }
    if let status = item.status { json.member("server_status", status.rawValue) }
    json.member("status_is_own", isStatusOwn)
    json.name("persons")
    json.beginObject()
    for (person, standing) in persons.sorted(by: { $0.key < $1.key }) { json.member(person, standing.word) }
    json.endObject()
    if let refusal {
      json.name("refused")
      json.beginObject()
      json.member("event", refusal.event.description)
      json.member("reason", refusal.reason)
      json.member("state", refusal.state)
      json.member("way_out", refusal.wayOut)
      json.endObject()
    }
    json.endObject()
  }
}

extension AcknowledgementState.Status {
  fileprivate var word: String {
    switch self {
    case .pending: "pending"
    case .acknowledged: "acknowledged"
    case .reacknowledge: "re-acknowledge"
    case .withdrawn: "withdrawn"
    }
  }

  fileprivate var text: String {
    switch self {
    case .acknowledged(let version): "acknowledged \(version)"
    case .reacknowledge(let acknowledged, let current): "re-acknowledge \(current), acknowledged \(acknowledged)"
    case .pending, .withdrawn: word
    }
  }
}
