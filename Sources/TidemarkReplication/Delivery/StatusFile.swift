internal import TidemarkEvidence
package import TidemarkLog
internal import TidemarkText

/// The last ``Status`` of a log, for whoever looks at it from elsewhere: `replication/<epoch>/status` in the log's directory, as JSON.
///
/// Receipts and outcomes are the truth; of what stands here only the settled size, and whether the server lost events, are not known
/// otherwise until the next handshake.
package struct StatusFile {
  /// Where what belongs to the present epoch is kept.
  package let directory: String
  private let parent: String
  private let files: any FileSystem
  private var kept: Status?

  static let folder = "replication"
  private var path: String { "\(directory)/status" }

  package init(_ log: Log) {
    parent = "\(log.path)/\(Self.folder)"
    directory = "\(parent)/\(log.identity.epochID.hexadecimal)"
    files = log.environment.fileSystem
  }

  /// Makes the directory if it is not there. Throws errors of the file system.
  package func makeDirectory() throws {
    for (path, above) in [(parent, files.directory(of: parent)), (directory, parent)] where try files.status(path) == nil {
      try files.makeDirectory(path)
      try files.syncDirectory(above)
    }
  }

  /// What was kept last; nil if there is nothing that can be read.
  package func load(_ log: EventID) throws -> Status? {
    guard let bytes = try files.contents(path), let object = try? JSONValue(bytes).object("the status") else { return nil }
    return try? Self.status(object, log)
  }

  /// Keeps a status, if it says something else than the last one.
  package mutating func save(_ status: Status) throws {
    var status = status
    // That is the log's to say.
    status.saved = 0
    guard status != kept else { return }
    let syncs = status.settled != kept?.settled || status.isRewound != kept?.isRewound
    try files.replace(path, with: Self.json(status), syncs: syncs)
    kept = status
  }

  private static func json(_ status: Status) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("state", status.state.rawValue)
    json.member("accepted", status.accepted)
    json.member("settled", status.settled)
    json.member("rewound", status.isRewound)
    json.member("duplicates", status.duplicateCount)
    json.member("quarantined", status.quarantinedCount)
    json.member("attempts", status.attempts)
    if let trouble = status.trouble {
      json.member("trouble", trouble.category.rawValue)
      json.member("detail", trouble.detail)
    }
    if let time = status.nextAttempt { json.member("next_attempt", RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 9)) }
    if let generation = status.generation { json.member("generation", generation.hexadecimal) }
    json.endObject()
    return json.bytes
  }

  private static func status(_ object: JSONObject, _ log: EventID) throws -> Status {
    var status = Status(log: log)
    let any: ClosedRange<UInt64> = 0...UInt64.max
    status.state = ReplicationState(rawValue: try object.string("state")) ?? .stopped
    status.accepted = try object.number("accepted", in: 0...Record.offsetLimit)
    status.settled = try object.number("settled", in: 0...Record.offsetLimit)
    status.isRewound = try object.bool("rewound")
    status.duplicateCount = try object.number("duplicates", in: any)
    status.quarantinedCount = try object.number("quarantined", in: any)
    status.attempts = try object.number("attempts", in: any)
    if let name = try object.optionalString("trouble"), let category = Trouble.Category(rawValue: name) {
      status.trouble = Trouble(category, try object.optionalString("detail", upTo: 1 << 16) ?? "")
    }
    if let text = try object.optionalString("next_attempt") { status.nextAttempt = Timestamp(nanoseconds: try RFC3339(text).nanoseconds) }
    if let text = try object.optionalString("generation") { status.generation = EventID(text) }
    return status
  }
}
