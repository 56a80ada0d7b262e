import TidemarkEvidence
import TidemarkLog
import TidemarkText

enum ProofCommand {
  static let description = CommandDescription(
    "proof", "show that an event is in the history that was signed", arguments: [.log, .init("OFFSET", "of the event", isOptional: true)],
    options: [
      .init("size", "SIZE", "in the history of this size, without a signature: one hash a line"),
      .init("from", "SIZE", "show instead that the history of this size"), .init("to", "SIZE", "is the beginning of that of this size"),
    ],
    notes: [
      "Prints a C2SP tlog-proof against the first receipt that covers the event; its `extra` line is the event's descriptor "
        + "(Specs/evidence.md). With --from and --to a consistency proof as JSON."
    ],
    examples: [
      .init("tidemark proof captures 41 > 41.tlog-proof", "a file that stands for itself"),
      .init("tidemark proof captures --from 1000 --to 2000", "that nothing below 1000 was changed since"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let from = try arguments.number("from")
    let to = try arguments.number("to")
    let offset = try arguments.argument("OFFSET").map { text in
      guard let offset = Offset(text) else { throw arguments.error("OFFSET \(text)", why: "it is no number") }
      return offset
    }
    guard (offset != nil) != (from != nil && to != nil), (from == nil) == (to == nil) else {
      throw arguments.error("what to prove is not clear", why: "it takes an offset, or both --from and --to")
    }
    let log = try arguments.readLog()
    defer { try? log.close() }
    let evidence = try Evidence(log)
    try evidence.update()
    if let offset {
      if let size = try arguments.number("size") {
        for hash in try evidence.inclusionProof(of: offset, in: size).hashes { output.line(hash.hexadecimal) }
      } else {
        output.bytes.append(try evidence.proof(of: offset).description)
      }
    } else if let from, let to {
      var json = JSONWriter()
      json.value(try evidence.consistencyProof(from: from, to: to))
      output.line(json)
    }
    return .success
  }
}

enum BundleCommand {
  static let description = CommandDescription(
    "bundle", "put chosen events and their proofs into a directory that checks itself",
    arguments: [.log, .init("DIR", "a new directory")],
    options: [
      .policy, .init("offset", "OFFSET", "this event"), .init("from", "OFFSET", "all events from this offset on"),
      .init("to", "OFFSET", "and below this one"), .init("type", "TYPE", "of those only the ones of this type"),
      .init("subject", "SUBJECT", "and about this subject"),
    ],
    notes: [
      "The directory holds the events with their data, a proof of each, the receipts, the policy, a page for people and verify.py, which "
        + "needs Python's standard library only. Whoever checks it gives an own policy: python3 verify.py --policy FILE DIR."
    ],
    examples: [
      .init("tidemark bundle captures case-7 --policy policy --offset 41", "one event"),
      .init("tidemark bundle captures case-8 --policy policy --from 0 --to 5000 --subject gate-7", "what was captured at one gate"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard let policy = try arguments.policyText else { throw arguments.error("--policy is missing", why: "receipts count by a policy") }
    let log = try arguments.readLog()
    defer { try? log.close() }
    let evidence = try Evidence(log)
    try evidence.update()
    let bundle = try BundleExport(evidence, policy: policy)
    let chosen = try chosen(arguments, log)
    try bundle.write(chosen, to: arguments.argument("DIR") ?? "")
    output.line("\(chosen.count) events")
    return .success
  }

  private static func chosen(_ arguments: ParsedArguments, _ log: Log) throws -> [Offset] {
    if let offset = try arguments.number("offset") { return [offset] }
    guard let from = try arguments.number("from") else {
      throw arguments.error("no event is chosen", why: "it takes --offset, or --from and --to")
    }
    let to = try arguments.number("to") ?? log.size
    if from > to { throw arguments.error("--from \(from) --to \(to)", why: "the range is upside down") }
    let type = arguments.value("type").map { Array($0.utf8) }
    let subject = arguments.value("subject").map { Array($0.utf8) }
    var cursor = try log.read(Query(offsets: from..<min(to, log.size)))
    var chosen: [Offset] = []
    while let event = try cursor.next() {
      if let type, !event.typeBytes.bytes.equals(type.span) { continue }
      if let subject, !event.subjectBytes.bytes.equals(subject.span) { continue }
      chosen.append(event.offset)
    }
    if chosen.isEmpty { throw ToolError(.negative, "no event is chosen", why: "none is like that", advice: "choose others") }
    return chosen
  }
}

enum TilesCommand {
  static let description = CommandDescription(
    "tiles", "write a log's history as a C2SP tlog-tiles directory", arguments: [.log, .init("DIR", "a new directory")],
    notes: ["For tools for transparency logs: checkpoint, tile/<level>/<index>, and tile/entries/<index> with the descriptors."],
    examples: [.init("tidemark tiles captures captures-tiles", "of the newest note's size")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let log = try arguments.readLog()
    defer { try? log.close() }
    let evidence = try Evidence(log)
    guard let note = evidence.notes.last else {
      throw ToolError(.negative, "there is no checkpoint", why: "nothing was signed yet", advice: "run tidemark checkpoint")
    }
    let head = try Checkpoint(note.text).head
    try TileExport(log).write(to: arguments.argument("DIR") ?? "", checkpoint: note)
    output.line("size \(head.size), root \(head.root.hexadecimal)")
    return .success
  }
}
