public import TidemarkLog
internal import TidemarkProtocol

/// What became of each event of a log, from receipts and outcomes on the disk. Needs no network, and memory for a few events only, however
/// many there are.
///
/// ```swift
/// let delivery = try Delivery(of: log)
/// print(try delivery.counts().quarantined)
/// ```
public struct Delivery {
  /// Which log's.
  public let log: Log
  /// As the replicator left it.
  public let status: Status
  private let outcomes: OutcomeFile

  /// What became of one event.
  public enum Fate: Sendable, Equatable {
    /// On this device alone.
    case saved
    /// At the server, too.
    case accepted
    /// The server had the event already, from a log and an offset.
    case duplicate(log: EventID, offset: Offset)
    /// At the server, set apart.
    case quarantined(reason: String, detail: String)
  }

  /// How many events of callers had which fate.
  public struct Counts: Sendable, Equatable {
    /// All that this device keeps.
    public var all: UInt64 = 0
    /// On this device alone.
    public var saved: UInt64 = 0
    /// Plainly accepted.
    public var accepted: UInt64 = 0
    /// The server had them already.
    public var duplicate: UInt64 = 0
    /// Set apart.
    public var quarantined: UInt64 = 0

    /// None.
    public init() {}
  }

  /// An event that the server set apart.
  public struct Quarantined: Sendable, Equatable {
    /// Its place in the log.
    public let offset: Offset
    /// Its identity; nil if it was trimmed.
    public let id: EventID?
    /// Its type; nil if it was trimmed.
    public let type: String?
    /// `conflict`, `too-large`, `type-not-allowed`.
    public let reason: String
    /// For people.
    public let detail: String
    /// The event that answers it: the first that supersedes it.
    public fileprivate(set) var answer: EventID?
  }

  /// Reads what is kept beside the log, open for reading or writing. Throws errors of the file system.
  public init(of log: Log) throws {
    self.log = log
    let file = StatusFile(log)
    var status = try file.load(log.identity.logID) ?? Status(log: log.identity.logID)
    status.saved = log.durable
    var attachments = AttachmentStatus()
    attachments.complete = try AttachmentStore(log).trimmable(below: log.size)
    status.attachments = attachments
    self.status = status
    outcomes = try OutcomeFile(file.directory, log.environment.fileSystem)
  }

  /// Shows each event of a caller with its fate, in order. Throws as a cursor does, and what `body` throws.
  ///
  /// ```swift
  /// try delivery.forEach { event, fate in if fate == .saved { print(event.id) } }
  /// ```
  public func forEach(from offset: Offset = 0, _ body: (EventView, Fate) throws -> Void) throws {
    var reader = try outcomes.read()
    var next = try reader.next()
    var cursor = try log.read(Query(offsets: max(offset, log.first)..<Offset.max, onDamage: .skip))
    while let event = try cursor.next() {
      while let known = next, known.offset < event.offset { next = try reader.next() }
      try body(event, fate(event.offset, next))
    }
  }

  private func fate(_ offset: Offset, _ outcome: Outcome?) -> Fate {
    guard offset < status.accepted else { return .saved }
    guard let outcome, outcome.offset == offset else { return .accepted }
    switch outcome.kind {
    case .duplicate(let log, let offset): return .duplicate(log: log, offset: offset)
    case .quarantined(let reason, let detail, _): return .quarantined(reason: reason.rawValue, detail: detail)
    }
  }

  /// Throws as ``forEach(from:_:)`` does.
  public func counts() throws -> Counts {
    var counts = Counts()
    try forEach { _, fate in
      counts.all += 1
      switch fate {
      case .saved: counts.saved += 1
      case .accepted: counts.accepted += 1
      case .duplicate: counts.duplicate += 1
      case .quarantined: counts.quarantined += 1
      }
    }
    return counts
  }

  /// The events that the server set apart, oldest first, with what answers them: an event with the extension `supersedes`.
  ///
  /// - Parameter limit: the most that are listed.
  ///
  /// Throws as ``forEach(from:_:)`` does.
  public func quarantined(limit: Int = 1_000) throws -> [Quarantined] {
    var found: [Quarantined] = []
    var reader = try outcomes.read()
    while found.count < limit, let outcome = try reader.next(), outcome.offset < status.accepted {
      guard case .quarantined(let reason, let detail, _) = outcome.kind else { continue }
      let event = outcome.offset < log.first ? nil : try? log.event(at: outcome.offset)
      found.append(
        Quarantined(offset: outcome.offset, id: event?.id, type: event?.type, reason: reason.rawValue, detail: detail, answer: nil))
    }
    guard let first = found.first else { return [] }
    let places = Dictionary(found.enumerated().compactMap { index, event in event.id.map { ($0, index) } }, uniquingKeysWith: { $1 })
    try forEach(from: first.offset) { event, _ in
      for case .supersedes(let id) in try event.extensions {
        if let index = places[id], found[index].answer == nil { found[index].answer = event.id }
      }
    }
    return found
  }
}
