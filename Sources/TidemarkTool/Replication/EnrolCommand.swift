import TidemarkEvidence
import TidemarkLog
import TidemarkReplication
import TidemarkText

enum EnrolCommand {
  static let description = CommandDescription(
    "enrol", "make a log's directory a device of a server", arguments: [.log],
    options: [
      .init("server", "URL", "where it is, such as https://tidemark.example; without TLS on this machine only"),
      .init("code", "CODE", "from the operator: for one device, once"),
      .init("name", "NAME", "what people call the device"),
      .init("ca", "FILE", "certificates in PEM to trust in the place of the system's; a copy is kept"), .keys,
      .init("plain-text", nil, "allow http:// to another machine, over a network that is protected otherwise"),
    ],
    notes: [
      "Makes the device's key, shows it to the server, and keeps what the server gives in replication/credentials in the log's directory "
        + "(mode 0600). If the answer is lost, run it again with the same code.",
      "Run it again with a new code where `status` says waiting-for-sign-in.",
    ],
    examples: [.init("tidemark enrol captures --server https://tidemark.example --code K7QF-2M9X", "then: tidemark replicate captures")])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    guard let text = arguments.value("server") else { throw arguments.error("--server is missing", why: "a device is one of a server") }
    guard let code = arguments.value("code") else { throw arguments.error("--code is missing", why: "the operator gives one") }
    let server = try ServerAddress(text, allowsPlainText: arguments.isSet("plain-text"))
    let log = try arguments.readLog()
    defer { try? log.close() }
    let keys = try arguments.keyDirectory(log)
    let place = DevicePlace(arguments.logPath)
    try place.keepAuthorities(arguments.value("ca"))
    let transport = try place.transport
    let name = arguments.value("name")
    try Follower.untilInterrupted {
      try await Replicator.enrol(server, code: code, name: name, keys: keys, credentials: place.store, transport: transport)
    }
    guard let grant = try place.store.load()?.grant else { throw Interrupted() }
    output.line("device \(grant.device.hexadecimal) of \(grant.tenant)")
    output.line("server \(grant.serverKey)")
    return .success
  }
}

enum SignOutCommand {
  static let description = CommandDescription(
    "sign-out", "remove a log, its keys and its credentials from this device", arguments: [.log],
    options: [.init("discard-unsent", nil, "even if the server has not accepted everything, or the log can't be opened"), .keys],
    notes: [
      "Refuses while events are there that the server has not accepted. What the server has stays there. Ask the operator to revoke the "
        + "device as well if it goes into other hands."
    ],
    examples: [
      .init("tidemark sign-out captures", "only if everything is ashore"),
      .init("tidemark sign-out captures --discard-unsent", "whatever is still here is lost"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let discards = arguments.isSet("discard-unsent")
    let log: Log
    do { log = try Log.open(at: arguments.logPath, options: arguments.writingOptions()) } catch let error as LogError {
      guard discards, error.code == .corrupt || error.code == .notALog, System.isDirectory("\(arguments.logPath)/replication") else {
        throw error
      }
      try LogErasure.erase(arguments.logPath, POSIXFileSystem())
      return .success
    }
    defer { try? log.close() }
    let keys = try arguments.keyDirectory(log)
    let place = DevicePlace(arguments.logPath)
    let replicator = Replicator(try Evidence(log, keys: keys), keys: keys, credentials: place.store, transport: try place.transport)
    try Follower.untilInterrupted { try await replicator.signOut(discardsUnsent: discards) }
    return .success
  }
}
