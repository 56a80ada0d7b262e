import TidemarkEvidence
import TidemarkLog
import TidemarkText

enum EraseCommand {
  static let description = CommandDescription(
    "erase", "destroy the key that a subject's events are encrypted under",
    arguments: [.log, .init("SUBJECT", "whose data it is, as it was named at sealing", isOptional: true)],
    options: [
      .init("subject-keys", "DIR", "the directory with the keys of subjects"),
      .init("confirm", "SUBJECT", "do it: the subject's name once more. Without it, only what would be done is printed"),
      .init(repeatable: "sink", "FILE", "a SQLite database of rows, which is removed; may be repeated"),
      .init(repeatable: "attachments", "DIR", "a directory of which the subject's attachments are removed; may be repeated"),
      .init(
        "snapshots", choices: ["remove", "remove-where-trimmed", "keep"],
        "what to do with saved values of projections (default remove, which refuses where only they know what was trimmed)"),
      .init("again", nil, "without SUBJECT: destroy the keys in DIR that the log says are erased"), .onCorruption, .json,
    ],
    notes: [
      "No byte of the log changes, and all proofs stand: the events remain, as ciphertext that nobody can read without the key. Their "
        + "times, types and lengths, and that they are of one subject, remain readable. An event in the log says that the key is gone.",
      "Stop programs that keep rows or values of the log first: what they have in memory is out of reach. So are backups, and copies of "
        + "the key at other holders, which are listed. What that means for a duty to erase is for you to judge.",
      "If it was interrupted, run it again with the same arguments. Once all is done, a subject is unknown and the exit code is 1: "
        + "whose key it was is destroyed along with it.",
      "--again is for other holders of a key, and for keys that were put back from a backup.",
    ],
    examples: [
      .init("tidemark erase captures person-17 --subject-keys keys", "show what would be destroyed, and what would remain"),
      .init("tidemark erase captures person-17 --subject-keys keys --sink rows.sqlite --confirm person-17", "do it"),
      .init("tidemark erase captures --subject-keys keys --again", "destroy copies of keys that the log says are erased"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard let directory = arguments.value("subject-keys") else {
      throw arguments.error("--subject-keys is missing", why: "`erase` needs the keys that it is to destroy")
    }
    let events = ErasableEvents(keys: FileKeyStore(directory: directory))
    guard let subject = arguments.argument("SUBJECT") else { return try follow(events, arguments, output) }
    if arguments.isSet("again") { throw arguments.error("--again", why: "it goes by the log alone, and takes no SUBJECT") }
    let copies = copies(arguments)
    guard let confirmed = arguments.value("confirm") else {
      let log = try Log.openForReading(at: arguments.logPath, options: arguments.writingOptions())
      defer { try? log.close() }
      let plan = try events.planErasure(of: subject, from: log, removing: copies)
      ErasurePrinter(subject: subject, isDone: false, json: arguments.isSet("json")).print(plan, to: output)
      return .success
    }
    guard confirmed == subject else {
      throw arguments.error("--confirm \(confirmed)", why: "it is not \(subject)")
    }
    let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions())
    let report: ErasureReport
    do { report = try events.erase(subject, from: log, removing: copies) } catch {
      try? log.close()
      throw error
    }
    ErasurePrinter(subject: subject, isDone: true, json: arguments.isSet("json")).print(report, to: output)
    try log.close()
    return .success
  }

  private static func copies(_ arguments: ParsedArguments) -> DerivedCopies {
    var copies = DerivedCopies()
    copies.databases = arguments.values("sink")
    copies.attachmentDirectories = arguments.values("attachments")
    switch arguments.value("snapshots") {
    case "keep": copies.snapshots = .keep
    case "remove-where-trimmed": copies.snapshots = .removeWhereTrimmed
    default: copies.snapshots = .remove
    }
    return copies
  }

  private static func follow(_ events: ErasableEvents, _ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard arguments.isSet("again") else { throw arguments.error("SUBJECT is missing", why: "`erase` needs to know whom, or --again") }
    for name in ["confirm", "sink", "attachments", "snapshots"] where arguments.value(name) != nil {
      throw arguments.error("--\(name)", why: "--again destroys keys alone")
    }
    let log = try Log.openForReading(at: arguments.logPath, options: arguments.writingOptions())
    defer { try? log.close() }
    let destroyed = try events.destroyKeysErased(in: log)
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      json.name("destroyed")
      json.beginArray()
      for id in destroyed { json.string("\(id)") }
      json.endArray()
      json.endObject()
      output.line(json)
    } else {
      for id in destroyed { output.line("destroyed: key \(id)") }
      output.line("\(destroyed.count) keys were destroyed")
    }
    return .success
  }
}

/// Prints what is destroyed and what remains.
struct ErasurePrinter {
  let subject: String
  /// False: it is only a plan.
  let isDone: Bool
  let json: Bool

  func print(_ report: ErasureReport, to output: Output) {
    if json { return output.line(object(report)) }
    for line in destroyed(report) + remaining(report) { output.line(line) }
    if !isDone { output.line("nothing was changed; --confirm \(subject) does it") }
  }

  private func destroyed(_ report: ErasureReport) -> [String] {
    let would = isDone ? "" : "would be "
    var lines = report.keys.map { "\(would)destroyed: key \($0.id)" }
    for offset in report.erasureOffsets { lines.append("recorded: event \(offset) of the log says so") }
    for file in report.removed {
      lines.append("\(would)removed: \(file.path)\(file.isOverwritten ? "" : " (not overwritten: it is read-only)")")
    }
    return lines
  }

  private func remaining(_ report: ErasureReport) -> [String] {
    var lines: [String] = []
    for key in report.keys {
      let place = key.offsets.map { " at offsets \($0.lowerBound) to \($0.upperBound)" } ?? ""
      let pseudonym = key.pseudonym.map { ", pseudonym \($0.text)" } ?? ""
      lines.append("remains: \(key.eventCount) sealed events\(place): ciphertext, lengths, times, types\(pseudonym)")
      for holder in key.holders { lines.append("remains: the copy of key \(key.id) at \(holder), who must destroy it") }
    }
    if report.plainEventCount > 0 {
      lines.append("remains: \(report.plainEventCount) events that name \(subject) in the clear, which were never sealed")
    }
    if report.unreadableEventCount > 0 {
      lines.append("remains: attachments, if there are any, of \(report.unreadableEventCount) sealed events that can't be opened")
    }
    if report.damagedOffsetCount > 0 {
      lines.append("remains: what stands at \(report.damagedOffsetCount) offsets that damage hides")
    }
    for path in report.keptSnapshots { lines.append("remains: \(path), as you asked") }
    for path in report.missingDatabases { lines.append("not found: \(path)") }
    for name in report.missingAttachments { lines.append("not found: attachment \(name)") }
    return lines + ["out of reach: backups, other copies of the log in the clear, and what programs have in memory"]
  }

  private func object(_ report: ErasureReport) -> JSONWriter {
    var json = JSONWriter()
    json.beginObject()
    json.member("done", isDone)
    json.name("keys")
    json.beginArray()
    for key in report.keys {
      json.beginObject()
      json.member("id", "\(key.id)")
      if let pseudonym = key.pseudonym { json.member("pseudonym", pseudonym.text) }
      json.member("sealed_events", key.eventCount)
      if let offsets = key.offsets {
        json.member("first", offsets.lowerBound)
        json.member("last", offsets.upperBound)
      }
      json.texts("holders", key.holders)
      json.endObject()
    }
    json.endArray()
    json.name("erasure_offsets")
    json.beginArray()
    for offset in report.erasureOffsets { json.number(offset) }
    json.endArray()
    json.texts("removed", report.removed.map(\.path))
    json.texts("removed_not_overwritten", report.removed.filter { !$0.isOverwritten }.map(\.path))
    json.texts("kept_snapshots", report.keptSnapshots)
    json.texts("missing_sinks", report.missingDatabases)
    json.texts("missing_attachments", report.missingAttachments)
    json.member("plain_events", report.plainEventCount)
    json.member("unreadable_events", report.unreadableEventCount)
    json.member("damaged_offsets", report.damagedOffsetCount)
    json.endObject()
    return json
  }
}

extension EventID {
  /// As pseudonyms stand in events: 32 hexadecimal digits.
  fileprivate var text: String { description.filter { $0 != "-" } }
}

extension JSONWriter {
  fileprivate mutating func texts(_ name: String, _ texts: [String]) {
    self.name(name)
    beginArray()
    for text in texts { string(text) }
    endArray()
  }
}
