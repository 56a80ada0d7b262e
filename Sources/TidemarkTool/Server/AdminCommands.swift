import TidemarkLog
import TidemarkProtocol
import TidemarkText

/// What a server's operator does: a command each, over HTTP.
enum AdminCommands {
  static let all: [Command] = [
    Command(overview, explain), Command(tenant, makeTenant), Command(code, makeCode), Command(officeToken, makeOfficeToken),
    Command(devices, listDevices), Command(revoke, revokeDevice), Command(suspend, suspendDevice), Command(resume, resumeDevice),
    Command(assign, assignDevice),
    Command(publish, publishItem), Command(withdraw, withdrawItem), Command(waive, waiveItem),
    Command(changes, listChanges), Command(quarantine, handleQuarantine), Command(archive, archiveAll),
  ]

  private static let names = [
    "tenant", "code", "office-token", "devices", "revoke", "suspend", "resume", "assign", "publish", "withdraw", "waive", "changes",
    "quarantine", "archive",
  ]

  private static let overview = CommandDescription(
    "admin", "run a server: tenants, devices, items, quarantine", arguments: [.init("ACTION", "one of \(names.joined(separator: ", "))")],
    notes: [
      "Each action is a command of its own: see `tidemark help admin tenant` and so on. They talk to a running server over HTTP with the "
        + "operator's token, which `tidemark serve` has put into its directory; on the same machine, --data DIR is all that they need."
    ],
    examples: [
      .init("tidemark admin tenant acme --data server", "the first tenant"),
      .init("tidemark admin code acme --data server", "a code that enrols one device"),
    ])

  private static func explain(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let action = arguments.argument("ACTION") ?? ""
    let nearest = Suggestion.nearest(to: action, among: names).map { "did you mean `admin \($0)`?" }
    throw UsageError("unknown action \(action)", why: "`admin` does not have it", advice: nearest ?? "see `tidemark help admin`")
  }

  // MARK: Tenants and devices

  private static let tenant = CommandDescription(
    "admin tenant", "make a tenant", arguments: [.init("NAME", "1 to 64 letters, digits, dashes, dots and underscores")],
    options: AdminClient.options,
    notes: ["A tenant's devices and office see nothing of another's. One that is there already is no error."],
    examples: [.init("tidemark admin tenant acme --data server", "the server runs on this machine")])

  private static func makeTenant(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let name = arguments.argument("NAME") ?? ""
    let answer = try AdminClient(arguments).call("POST", "tenants") { $0.member("tenant", name) }
    return show(answer, arguments, output) { _ in output.line("tenant \(name)") }
  }

  private static let code = CommandDescription(
    "admin code", "make a code that enrols one device", arguments: [.init("TENANT", "whose device it will be")],
    options: [
      .init("name", "TEXT", "what to call the device, unless it says so itself"),
      .init("place", "P", "where it is: it gets this place's items, besides those without a place"),
      .init("person", "P", "whose it is: likewise"), .init("hours", "N", "how long the code is valid (default 24)"),
    ] + AdminClient.options,
    notes: ["The code is for one device, once. It is printed now and never again: the server keeps a digest only."],
    examples: [.init("tidemark admin code acme --place gate-7 --hours 2 --data server", "for the scanner at gate 7, within two hours")])

  private static func makeCode(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let hours = try arguments.number("hours", in: 1...720)
    let answer = try AdminClient(arguments).call("POST", "codes") { json in
      json.member("tenant", arguments.argument("TENANT") ?? "")
      for name in ["name", "place", "person"] { if let value = arguments.value(name) { json.member(name, value) } }
      if let hours { json.member("expires_in", hours * 3_600) }
    }
    return show(answer, arguments, output) { object in
      output.line(text(object, "code"))
      Output.complain("valid until \(text(object, "expires"))")
    }
  }

  private static let officeToken = CommandDescription(
    "admin office-token", "make a credential with which a tenant's office reads its changes and publishes",
    arguments: [.init("TENANT", "whose office")],
    options: [.init("name", "TEXT", "what it is for")] + AdminClient.options,
    notes: ["The token is printed now and never again: the server keeps a digest only."],
    examples: [.init("tidemark admin office-token acme --data server > acme-token", "for a program of the office")])

  private static func makeOfficeToken(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let answer = try AdminClient(arguments).call("POST", "tokens") { json in
      json.member("tenant", arguments.argument("TENANT") ?? "")
      if let name = arguments.value("name") { json.member("name", name) }
    }
    return show(answer, arguments, output) { output.line(text($0, "token")) }
  }

  private static let devices = CommandDescription(
    "admin devices", "list devices", options: [.init("tenant", "NAME", "only this one's")] + AdminClient.options,
    examples: [
      .init("tidemark admin devices --data server", "of all tenants"), .init("tidemark admin devices --data server --json", "for programs"),
    ])

  private static func listDevices(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let answer = try AdminClient(arguments).call("GET", "devices" + query([("tenant", arguments.value("tenant"))]))
    return show(answer, arguments, output) { object in
      for device in rows(object, "devices") {
        let scope = ["place", "person"].compactMap { name in device[name].map { _ in "\(name) \(text(device, name))" } }
        let parts = [text(device, "device"), text(device, "tenant"), text(device, "state"), text(device, "name")] + scope
        output.line(parts.joined(separator: "  "))
      }
    }
  }

  private static func deviceCommand(_ name: String, _ summary: String, _ note: String) -> CommandDescription {
    CommandDescription(
      "admin \(name)", summary, arguments: [.init("DEVICE", "its id, 32 hexadecimal digits (`tidemark admin devices`)")],
      options: AdminClient.options, notes: [note],
      examples: [.init("tidemark admin \(name) 0197a3c2b1f07d22a4c55de06a9be071 --data server", "within a second, also on open streams")])
  }

  private static let revoke = deviceCommand(
    "revoke", "remove a device for good", "It keeps what it has and sends nothing any more. A new code can enrol it again as a new device.")
  private static let suspend = deviceCommand(
    "suspend", "refuse a device for a while", "It keeps what it has, and tries again from time to time until `tidemark admin resume`.")
  private static let resume = deviceCommand("resume", "end a suspension", "The device goes on where it was.")

  private static func revokeDevice(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    try set("revoke", arguments, output)
  }
  private static func suspendDevice(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    try set("suspend", arguments, output)
  }
  private static func resumeDevice(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    try set("resume", arguments, output)
  }

  private static func set(_ action: String, _ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let device = try segment(arguments, "DEVICE")
    let answer = try AdminClient(arguments).call("POST", "devices/\(device)/\(action)") { _ in }
    return show(answer, arguments, output) { output.line("\(text($0, "device"))  \(text($0, "state"))") }
  }

  private static let assign = CommandDescription(
    "admin assign", "say where a device is and whose",
    arguments: [.init("DEVICE", "its id, 32 hexadecimal digits (`tidemark admin devices`)")],
    options: [
      .init("place", "P", "it gets this place's items, besides those without a place; without it, only those"),
      .init("person", "P", "likewise"),
    ] + AdminClient.options,
    notes: ["The device begins anew with the items that are for it now; those of its old place go."],
    examples: [.init("tidemark admin assign 0197a3c2b1f07d22a4c55de06a9be071 --place gate-8 --data server", "it moved")])

  private static func assignDevice(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let device = try segment(arguments, "DEVICE")
    let answer = try AdminClient(arguments).call("POST", "devices/\(device)/assign") { json in
      for name in ["place", "person"] { if let value = arguments.value(name) { json.member(name, value) } }
    }
    return show(answer, arguments, output) {
      output.line("\(text($0, "device"))  place \(text($0, "place"))  person \(text($0, "person"))")
    }
  }

  // MARK: Items

  private static let publish = CommandDescription(
    "admin publish", "publish an item, or its next version",
    arguments: [.init("TENANT", "whose"), .init("ITEM", "its name, of letters, digits, dashes, dots and underscores")],
    options: [
      .init("file", "CONTENT.json", "what it says, as JSON"),
      .init("material", nil, "the change matters: who acknowledged an earlier version is asked again"),
      .init("place", "P", "only for devices of this place"), .init("person", "P", "only for this person's devices"),
      .init("due", "TIME", "until when it has to be acknowledged, such as 2026-11-30T22:00:00Z"),
      .init("required", "N", "by how many persons"), .init("state", "S", "its state; without it, the one that it has"),
      .init("version", "N", "the version that it is to be; the same again is no other then"),
    ] + AdminClient.options,
    notes: [
      "The version rises by one each time, also behind a withdrawal. Devices get it with their next changes, and never edit it."
    ],
    examples: [
      .init("tidemark admin publish acme notice-4 --file notice.json --data server", "to all devices"),
      .init(
        "tidemark admin publish acme closing --file c.json --due 2026-12-01T18:00:00Z --required 3",
        "three persons have to have read it by six (with --data as well)"),
    ])

  private static func publishItem(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard let file = arguments.value("file") else { throw arguments.error("--file is missing", why: "an item has content") }
    let content = try System.readFile(file, upTo: contentLimit + 1)
    guard content.count <= contentLimit else {
      throw ToolError(.usage, "the content is too long", place: file, why: "\(contentLimit) bytes are the most", advice: "shorten it")
    }
    do { _ = try JSONValue(content) } catch {
      throw ToolError(.usage, "the content is no JSON", place: "\(file), byte \(error.position)", why: error.why, advice: "correct it")
    }
    let due = try arguments.value("due").map { text in
      guard (try? RFC3339(text)) != nil else { throw arguments.error("--due \(text)", why: "that is no time such as 2026-11-30T22:00:00Z") }
      return text
    }
    let required = try arguments.number("required", in: 1...1_000_000)
    let (tenant, item) = (try segment(arguments, "TENANT"), try segment(arguments, "ITEM"))
    let version = try arguments.number("version", in: 1...UInt64(Int64.max))
    let answer = try AdminClient(arguments).call("POST", "items") { json in
      json.member("tenant", tenant)
      json.member("item", item)
      if let version { json.member("version", version) }
      json.member("material", arguments.isSet("material"))
      json.name("content")
      json.value(content.span)
      for name in ["place", "person", "state"] { if let value = arguments.value(name) { json.member(name, value) } }
      if let due { json.member("due", due) }
      if let required { json.member("required", required) }
    }
    return show(answer, arguments, output) { output.line("\(text($0, "item"))  version \(text($0, "version"))") }
  }

  private static let contentLimit = 48 << 10

  private static let withdraw = CommandDescription(
    "admin withdraw", "withdraw an item", arguments: [.init("TENANT", "whose"), .init("ITEM", "its name")], options: AdminClient.options,
    notes: ["Devices remove it with their next changes. What was acknowledged stays in the log."],
    examples: [.init("tidemark admin withdraw acme notice-4 --data server", "it is over")])

  private static func withdrawItem(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let item = try segment(arguments, "ITEM")
    let answer = try AdminClient(arguments).call("DELETE", "items/\(item)" + query([("tenant", arguments.argument("TENANT"))]))
    return show(answer, arguments, output) { _ in output.line("\(item)  withdrawn") }
  }

  private static let waive = CommandDescription(
    "admin waive", "say that an item need not be acknowledged any more", arguments: [.init("TENANT", "whose"), .init("ITEM", "its name")],
    options: AdminClient.options, notes: ["Its status is waived until the next version is published."],
    examples: [.init("tidemark admin waive acme notice-4 --data server", "nobody waits for it")])

  private static func waiveItem(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let item = try segment(arguments, "ITEM")
    let answer = try AdminClient(arguments).call("POST", "items/\(item)/waive" + query([("tenant", arguments.argument("TENANT"))])) { _ in }
    return show(answer, arguments, output) { _ in output.line("\(item)  waived") }
  }

  private static let changes = CommandDescription(
    "admin changes", "list what changed for a tenant: events of its devices, items, what was decided about them",
    arguments: [.init("TENANT", "whose")],
    options: [.init("since", "N", "only changes with a higher number (default 0)")] + AdminClient.options,
    notes: ["Up to a thousand at once; the last line of standard error says from which number to go on."],
    examples: [.init("tidemark admin changes acme --since 51240 --data server", "what is new")])

  private static func listChanges(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let since = try arguments.number("since", in: 0...UInt64(Int64.max)) ?? 0
    let answer = try AdminClient(arguments).call(
      "GET", "changes" + query([("tenant", arguments.argument("TENANT")), ("since", "\(since)")]))
    return show(answer, arguments, output) { object in
      for change in rows(object, "changes") {
        let names = ["type", "subject", "actor", "item", "version", "state", "status", "acknowledged", "event", "reason"]
        let parts = names.compactMap { name in change[name].map { _ in "\(name) \(text(change, name))" } }
        output.line(([text(change, "number"), text(change, "kind")] + parts).joined(separator: "  "))
      }
      Output.complain("go on from \(text(object, "through"))")
    }
  }

  // MARK: Quarantine and archive

  private static let quarantine = CommandDescription(
    "admin quarantine", "list quarantined events, release one or dismiss it",
    arguments: [
      .init("ACTION", "release (it takes a change number then) or dismiss; nothing to list", isOptional: true),
      .init("TENANT", "whose event", isOptional: true), .init("NUMBER", "its number in the list", isOptional: true),
    ],
    options: [.init("tenant", "NAME", "list only this one's")] + AdminClient.options,
    notes: ["Nothing that a device sent is ever discarded: a dismissed event stays in the device's history and in the archive."],
    examples: [
      .init("tidemark admin quarantine --data server", "list them, with reasons"),
      .init("tidemark admin quarantine release acme 3 --data server", "it was right after all"),
    ])

  private static func handleQuarantine(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    if let action = arguments.argument("ACTION") {
      guard action == "release" || action == "dismiss" else {
        throw arguments.error("unknown action \(action)", why: "a quarantined event can be released or dismissed")
      }
      guard arguments.argument("TENANT") != nil, let number = arguments.argument("NUMBER"), UInt64(number) != nil else {
        throw arguments.error("TENANT or NUMBER is missing", why: "they tell which event")
      }
      let tenant = try segment(arguments, "TENANT")
      let answer = try AdminClient(arguments).call("POST", "quarantine/\(tenant)/\(number)/\(action)") { _ in }
      return show(answer, arguments, output) { _ in output.line("\(tenant) \(number)  \(action == "release" ? "released" : "dismissed")") }
    }
    let answer = try AdminClient(arguments).call("GET", "quarantine" + query([("tenant", arguments.value("tenant"))]))
    return show(answer, arguments, output) { object in
      for event in rows(object, "quarantined") {
        let place = "device \(text(event, "device"))  log \(text(event, "log")) offset \(text(event, "offset"))"
        output.line("\(text(event, "tenant")) \(text(event, "number"))  \(place)  \(text(event, "reason")): \(text(event, "detail"))")
      }
    }
  }

  private static let archive = CommandDescription(
    "admin archive", "copy what devices sent to another directory, verify the copy, and settle it",
    arguments: [.init("DEST", "a directory on the server's machine, on another disk; the server writes there")],
    options: AdminClient.options,
    notes: [
      "Only what is in a verified copy is settled, and only what is settled may a device trim. A second archive to the same directory adds "
        + "what is new."
    ],
    examples: [.init("tidemark admin archive /backup/tidemark --data server", "each night")])

  private static func archiveAll(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let answer = try AdminClient(arguments).call("POST", "archive") { $0.member("directory", arguments.argument("DEST") ?? "") }
    return show(answer, arguments, output) { object in
      for log in rows(object, "logs") {
        output.line("log \(text(log, "log"))  epoch \(text(log, "epoch"))  settled \(text(log, "settled"))")
      }
    }
  }

  // MARK: Parts

  private static func show(
    _ answer: AdminClient.Answer, _ arguments: ParsedArguments, _ output: Output, _ forPeople: (JSONObject) -> Void
  ) -> ExitCode {
    if arguments.isSet("json") {
      output.bytes += answer.json
      output.line("")
    } else {
      forPeople(answer.object)
    }
    return .success
  }

  private static func rows(_ object: JSONObject, _ name: String) -> [JSONObject] {
    ((try? object.array(name)) ?? []).compactMap { try? $0.object("a row") }
  }

  /// A member as people read it, without what would move a terminal's cursor.
  private static func text(_ object: JSONObject, _ name: String) -> String {
    switch object[name] {
    case .string(let text): String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 }))
    case .number(let text): text
    case .bool(let value): "\(value)"
    default: "-"
    }
  }

  /// An argument as a part of a path, where nothing is percent-encoded.
  private static func segment(_ arguments: ParsedArguments, _ name: String) throws -> String {
    let text = arguments.argument(name) ?? ""
    guard isName(text) else { throw arguments.error("\(name) \(text)", why: "it has letters, digits, dashes, dots and underscores only") }
    return text
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".."
      && text.unicodeScalars.allSatisfy {
        $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_.".unicodeScalars.contains($0))
      }
  }

  private static func query(_ pairs: [(String, String?)]) -> String {
    let given = pairs.compactMap { name, value in value.flatMap { isName($0) ? "\(name)=\($0)" : nil } }
    return given.isEmpty ? "" : "?" + given.joined(separator: "&")
  }
}
