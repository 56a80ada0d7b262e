public import TidemarkLog

/// How shipping one log stands. *Saved on this device*, *accepted by the server* and *settled* are three facts, each counted from what was
/// acknowledged, never from what was tried.
///
/// ```swift
/// for await status in replicator.statuses {
///   show(saved: status.saved, accepted: status.accepted, trouble: status.trouble?.detail ?? status.state.rawValue)
/// }
/// ```
public struct Status: Sendable, Equatable {
  /// Which log's.
  public var log: EventID
  /// What is being done.
  public var state: ReplicationState = .stopped
  /// Events below this offset survive a power cut here.
  public var saved: Offset = 0
  /// Events below this offset are synced at the server, which signed for them.
  public var accepted: Offset = 0
  /// Events below this offset are safe beyond that one server.
  public var settled: Offset = 0
  /// The server lost events that it had accepted, and not all of them are there again.
  public var isRewound = false
  /// How many accepted events the server had already.
  public var duplicateCount: UInt64 = 0
  /// How many accepted events the server set apart: see ``Delivery``.
  public var quarantinedCount: UInt64 = 0
  /// How often it was tried since the last success.
  public var attempts: UInt64 = 0
  /// What went wrong last; nil once something succeeded.
  public var trouble: Trouble?
  /// When it is tried again, by this device's wall clock; nil if something is under way, or nothing is armed.
  public var nextAttempt: Timestamp?
  /// The files that its events name; nil while none are sent.
  public var attachments: AttachmentStatus?
  /// The server's state of mind: another one means that it may have lost events.
  public var generation: EventID?

  /// Of a log of which nothing was shipped.
  public init(log: EventID) { self.log = log }

  /// A log may be trimmed below this offset: it is settled, the server holds all that it signed for, and has all files that the events
  /// name.
  public var trimmable: Offset { isRewound ? 0 : min(settled, accepted, attachments?.complete ?? .max) }
}

/// How the files stand that a log's events name.
public struct AttachmentStatus: Sendable, Equatable {
  /// What is being done.
  public var state: ReplicationState = .stopped
  /// The server signed for all files that events below this offset name.
  public var complete: Offset = 0
  /// How many the server has not signed for; one that several events name counts once for each.
  public var pending: UInt64 = 0
  /// How many files among them can't be sent: see ``AttachmentStore/unaccepted(below:)`` and ``trouble``.
  public var setAside: UInt64 = 0
  /// How often it was tried since the last success.
  public var attempts: UInt64 = 0
  /// What went wrong last; nil once something succeeded.
  public var trouble: Trouble?

  /// Of a log whose files nobody sends.
  public init() {}
}
