import TidemarkEvidence
import TidemarkLog
import TidemarkReplication
import TidemarkText

enum StatusCommand {
  static let description = CommandDescription(
    "status", "show what the server has of a log", arguments: [.log], options: [.json],
    notes: [
      "saved is what survives a power cut on this device, accepted what the server has synced and signed for, settled what is safe "
        + "beyond that one server. All three are counted from what was acknowledged. It reads the log, and asks no server: the state is "
        + "the one in which replication last was.",
      "Files that events name and the server has not signed for are listed: to send, or missing on this device. trimmable, in JSON, waits "
        + "for them.",
      "Events that the server set apart are listed with its reason. Answer one by appending an event that supersedes it.",
    ],
    examples: [
      .init("tidemark status captures", "show it to people"),
      .init("tidemark status captures --json | jq .events.saved", "how many events are on this device alone"),
    ])

  private static let listLimit = 1_000

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try arguments.readLog()
    defer { try? log.close() }
    let delivery = try Delivery(of: log)
    let counts = try delivery.counts()
    let quarantined = try delivery.quarantined(limit: listLimit)
    let store = AttachmentStore(log)
    let files = Files(counts: try store.counts(), unaccepted: Array(try store.unaccepted().prefix(listLimit)))
    let credentials = try DevicePlace(arguments.logPath).store.load()
    if arguments.isSet("json") {
      output.line(json(delivery.status, counts, files, quarantined, credentials))
    } else {
      print(delivery.status, counts, files, quarantined, credentials, output)
    }
    return .success
  }

  /// What events name.
  private struct Files {
    let counts: AttachmentCounts
    let unaccepted: [NamedAttachment]
  }

  private static func print(
    _ status: Status, _ counts: Delivery.Counts, _ files: Files, _ quarantined: [Delivery.Quarantined], _ credentials: Credentials?,
    _ output: Output
  ) {
    let state = status.state.wayOut.map { "\(status.state.rawValue): \($0)" } ?? status.state.rawValue
    var rows = [("log", status.log.hexadecimal)]
    if let credentials {
      rows.append(("server", credentials.server.description))
      let device = credentials.grant.map { "\($0.device.hexadecimal) of \($0.tenant)" }
      rows.append(("device", device ?? "not enrolled yet: run tidemark enrol again"))
    } else {
      rows.append(("server", "none: run tidemark enrol"))
    }
    rows += [
      ("state", state),
      ("saved", "\(counts.all) events on this device, \(counts.saved) of them only here"),
      (
        "accepted",
        "\(counts.all - counts.saved) events by the server: \(counts.accepted) new there, \(counts.duplicate) there before, "
          + "\(counts.quarantined) set apart"
      ),
      ("settled", "below offset \(status.settled)" + (status.isRewound ? "; the server lost events: nothing may be trimmed now" : "")),
    ]
    if files.counts != AttachmentCounts() {
      let missing = files.counts.missing == 0 ? "" : ", \(files.counts.missing) missing here"
      rows.append(
        (
          "files",
          "\(files.counts.accepted) at the server, \(files.counts.pending) to send (\(files.counts.pendingByteCount) bytes)\(missing)"
        ))
    }
    for named in files.unaccepted {
      let file = "\(named.attachment.name), \(named.attachment.byteCount) bytes, \(named.attachment.digest.hexadecimal)"
      rows.append((named.state == .missing ? "missing" : "to send", "offset \(named.offset): \(file)"))
    }
    if let trouble = status.trouble { rows.append(("trouble", "\(trouble.category.rawValue): \(trouble.detail)")) }
    if status.attempts > 0 {
      let next = status.nextAttempt.map { "; next at \(RFC3339.format(nanoseconds: $0.nanoseconds, fractionDigits: 0))" }
      rows.append(("attempts", "\(status.attempts) since the last success\(next ?? "")"))
    }
    for event in quarantined {
      let answer = event.answer.map { "; answered by \($0)" } ?? ""
      let name = "\(event.id.map(\.description) ?? "trimmed"), \(event.type ?? "-")"
      rows.append(("set apart", "offset \(event.offset), \(name): \(event.reason): \(event.detail)\(answer)"))
    }
    for (name, value) in rows { output.line(name + String(repeating: " ", count: 11 - name.count) + value) }
  }

  private static func json(
    _ status: Status, _ counts: Delivery.Counts, _ files: Files, _ quarantined: [Delivery.Quarantined], _ credentials: Credentials?
  ) -> JSONWriter {
    var json = JSONWriter()
    json.beginObject()
    status.write(to: &json)
    if let credentials { json.member("server", credentials.server.description) }
    if let grant = credentials?.grant {
      json.member("device", grant.device.hexadecimal)
      json.member("tenant", grant.tenant)
    }
    json.name("events")
    json.beginObject()
    json.member("all", counts.all)
    json.member("saved", counts.saved)
    json.member("accepted", counts.accepted)
    json.member("duplicate", counts.duplicate)
    json.member("quarantined", counts.quarantined)
    json.endObject()
    json.name("files")
    json.beginObject()
    json.member("accepted", files.counts.accepted)
    json.member("pending", files.counts.pending)
    json.member("pending_bytes", files.counts.pendingByteCount)
    json.member("missing", files.counts.missing)
    json.endObject()
    json.name("incomplete")
    json.beginArray()
    for named in files.unaccepted {
      json.beginObject()
      json.member("offset", named.offset)
      json.member("id", named.event.description)
      json.member("name", named.attachment.name)
      json.member("length", named.attachment.byteCount)
      json.member("sha256", named.attachment.digest.hexadecimal)
      json.member("state", named.state.rawValue)
      json.endObject()
    }
    json.endArray()
    json.name("set_apart")
    json.beginArray()
    for event in quarantined {
      json.beginObject()
      json.member("offset", event.offset)
      if let id = event.id { json.member("id", id.description) }
      if let type = event.type { json.member("type", type) }
      json.member("reason", event.reason)
      json.member("detail", event.detail)
      if let answer = event.answer { json.member("answered_by", answer.description) }
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json
  }
}
