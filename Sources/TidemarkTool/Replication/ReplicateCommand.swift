import TidemarkEvidence
import TidemarkLog
import TidemarkReplication
import TidemarkText

enum ReplicateCommand {
  static let description = CommandDescription(
    "replicate", "ship a log and the files that it names to its server, and fetch what the server has", arguments: [.log],
    options: [
      .init("once", nil, "end at the first failure, in place of trying again"),
      .init("follow", nil, "when everything is accepted, wait for more events"),
      .init("remove-files", nil, "remove files from this device once the server has signed for them"), .keys, .onCorruption, .json,
    ],
    notes: [
      "Ends when the server has accepted everything, files that events name included, and has no more for the device (see `tidemark "
        + "items`), or when a person has to do something: see `tidemark status`. Prints each change. The directory must have been "
        + "enrolled: see `tidemark enrol`.",
      "It takes the log's lock while it ships, and gives it up while it waits for events, so that others can append. A program that keeps "
        + "the log open ships it itself, with the library.",
    ],
    examples: [
      .init("tidemark replicate captures", "until all is accepted, over whatever network there is"),
      .init("tidemark replicate captures --follow", "for as long as it runs"),
      .init("tidemark replicate captures --once || echo later", "for a timer"),
    ])

  static func run(_ arguments: ParsedArguments, _ output: Output) throws -> ExitCode {
    let follows = arguments.isSet("follow")
    if follows && arguments.isSet("once") { throw arguments.error("--follow, --once", why: "they contradict each other") }
    let work = ReplicateWork(arguments)
    try Follower.untilInterrupted {
      repeat {
        try await work.ship()
        guard follows, work.code == .success else { return }
      } while try await work.waitForEvents()
    }
    return work.code
  }
}

/// Unchecked, because one task works with it, and the command looks at the outcome after that.
private final class ReplicateWork: @unchecked Sendable {
  private let arguments: ParsedArguments
  private let output = Output()
  private var lastLine = ""
  private(set) var code = ExitCode.success

  init(_ arguments: ParsedArguments) { self.arguments = arguments }

  /// Ships until everything is accepted, or it can't go on by itself.
  func ship() async throws {
    guard let log = try await open() else { return }
    defer { try? log.close() }
    let keys = try arguments.keyDirectory(log)
    let evidence = try Evidence(log, keys: keys)
    let place = DevicePlace(arguments.logPath)
    let received = try place.openReceived(arguments.writingOptions())
    defer { try? received?.close() }
    let replicator = Replicator(evidence, received: received, keys: keys, credentials: place.store, transport: try place.transport)
    try replicator.start()
    for await status in replicator.statuses {
      try tell(status)
      if isOver(status, replicator.reception) { break }
    }
    await replicator.stop()
    if arguments.isSet("remove-files") { try AttachmentStore(log).removeAccepted() }
    try evidence.save()
  }

  private func isOver(_ status: Status, _ reception: Reception?) -> Bool {
    switch status.state {
    case .idle: return isOver(status.attachments ?? AttachmentStatus()) && isOver(reception)
    case .waiting, .storageTrouble: if arguments.isSet("once") { code = .environment }
    case .waitingForSignIn, .removed, .needsNewEpoch, .refused: code = .negative
    default: break
    }
    return code != .success
  }

  private func isOver(_ reception: Reception?) -> Bool {
    guard let reception, let trouble = reception.trouble else { return reception?.isCurrent ?? true }
    Output.complain("nothing more was fetched: \(trouble.detail)")
    if trouble.category == .permanent { code = .negative } else if arguments.isSet("once") { code = .environment }
    return code != .success
  }

  private func isOver(_ attachments: AttachmentStatus) -> Bool {
    switch attachments.state {
    case .idle:
      // Files that can't be sent: see `tidemark status`.
      if attachments.setAside > 0 { code = .negative }
      return true
    case .stopped: return true
    case .waiting, .storageTrouble: if arguments.isSet("once") { code = .environment }
    case .waitingForSignIn, .removed, .needsNewEpoch, .refused: code = .negative
    default: break
    }
    return code != .success
  }

  /// The log; with `--follow`, once nobody else writes to it. Nil if that was waited for in vain.
  private func open() async throws -> Log? {
    while !Task.isCancelled {
      do { return try Log.open(at: arguments.logPath, options: arguments.writingOptions()) } catch let error as LogError {
        guard error.code == .locked, arguments.isSet("follow") else { throw error }
        try? await Task.sleep(for: .seconds(1))
      }
    }
    return nil
  }

  /// Waits until there is something to ship, and fetches meanwhile. False if it was cancelled.
  func waitForEvents() async throws -> Bool {
    let log = try arguments.readLog()
    defer { try? log.close() }
    let place = DevicePlace(arguments.logPath)
    let received = try place.openReceived(arguments.writingOptions())
    defer { try? received?.close() }
    let fetching = Replicator(
      [], received: received, keys: try arguments.keyDirectory(log), credentials: place.store, transport: try place.transport)
    try fetching.start()
    do { try await log.waitForEvents(from: log.size) } catch {
      await fetching.stop()
      throw error
    }
    await fetching.stop()
    return !Task.isCancelled
  }

  private func tell(_ status: Status) throws {
    var line = status.line
    if arguments.isSet("json") {
      var json = JSONWriter()
      json.beginObject()
      status.write(to: &json)
      json.endObject()
      line = String(decoding: json.bytes, as: UTF8.self)
    }
    guard line != lastLine, status.state != .stopped else { return }
    lastLine = line
    output.line(line)
    try output.flush()
  }
}
