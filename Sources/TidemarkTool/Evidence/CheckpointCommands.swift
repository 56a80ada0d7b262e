import TidemarkEvidence
import TidemarkLog
import TidemarkText

/// A stand-in for a server.
enum CountersignerCommand {
  static let description = CommandDescription(
    "countersigner", "make a stand-in for a server that countersigns checkpoints",
    arguments: [.init("DIR", "a new directory for its key and its memory")],
    options: [.init("name", "NAME", "what it signs as, such as server.example/1")],
    notes: [
      "Prints its verifier key and, as a comment to copy, a policy that accepts it. It signs a history's checkpoint only if the history "
        + "grew, and remembers what it signed: keep the directory apart from the device."
    ],
    examples: [.init("tidemark countersigner server --name server.example/1", "then: tidemark checkpoint captures --countersign server")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard let name = arguments.value("name") else { throw arguments.error("--name is missing", why: "signatures carry a name") }
    let key = try CountersignerDirectory.create(arguments.argument("DIR") ?? "", name: name).countersigner.key
    output.line("witness server \(key)")
    output.line("quorum server")
    return .success
  }
}

enum CheckpointCommand {
  static let description = CommandDescription(
    "checkpoint", "sign how a log's history stands", arguments: [.log],
    options: [
      .keys, .init("countersign", "DIR", "have it countersigned by a stand-in (tidemark countersigner), and keep the receipt in the log"),
      .onCorruption,
    ],
    notes: [
      "Makes everything durable, reads what is new from the disk again, hashes it, signs size and root, keeps the note, and prints it. The "
        + "first one makes the device's key. Without anything new the last note is printed again."
    ],
    examples: [
      .init("tidemark checkpoint captures", "a note that anybody can check with the device's key"),
      .init("tidemark checkpoint captures --countersign server", "a receipt: what it covers can't be changed any more by one alone"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let countersigner = try arguments.value("countersign").map { try CountersignerDirectory($0).countersigner }
    let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions())
    defer { try? log.close() }
    let evidence = try Evidence(log, keys: arguments.keyDirectory(log))
    var note = try evidence.checkpoint()
    if let countersigner, let key = try evidence.key {
      let size = try Checkpoint(note.text).head.size
      // For a history that went back there is no proof; the countersigner tells what is wrong with it.
      let old = try min(countersigner.size(of: evidence.origin), size)
      let proof = try evidence.consistencyProof(from: old, to: size)
      note = try countersigner.countersign(note, proof, signedBy: key, at: SystemClock().now().time)
      try evidence.accept(note, Policy(server: countersigner.key), commits: true)
    }
    try evidence.save()
    try log.close()
    output.bytes += note.bytes
    return .success
  }
}

enum KeysCommand {
  static let description = CommandDescription(
    "keys", "list the keys that sign a log's history", arguments: [.log],
    options: [.init("rotate", nil, "sign with a new key from here on"), .keys, .onCorruption, .json],
    notes: [
      "Each line: the offset of the event that brought the key, and the verifier key, as a line for a policy. Checkpoints of larger sizes "
        + "are signed by it, up to the next."
    ],
    examples: [
      .init("tidemark keys captures", "the chain of keys"),
      .init("tidemark keys captures --rotate", "a new key; the event that says so is signed by both"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    if arguments.isSet("rotate") {
      let log = try Log.open(at: arguments.logPath, options: arguments.writingOptions())
      defer { try? log.close() }
      let evidence = try Evidence(log, keys: arguments.keyDirectory(log))
      try evidence.rotateKey()
      try log.close()
    }
    let log = try arguments.readLog()
    defer { try? log.close() }
    let chain = try KeyChain(of: log)
    let origin = Checkpoint.origin(of: log.identity)
    for entry in chain.entries {
      let key = try VerifierKey(name: origin, kind: .note, publicKey: entry.publicKey)
      if arguments.isSet("json") {
        var json = JSONWriter()
        json.beginObject()
        json.member("offset", entry.offset)
        json.member("key", key.description)
        json.endObject()
        output.line(json)
      } else {
        output.line("\(entry.offset)  log \(key)")
      }
    }
    for offset in chain.refused {
      Output.complain("the key event at offset \(offset) does not follow from those before it, or is not signed")
    }
    return chain.refused.isEmpty ? .success : .negative
  }
}
