public import TidemarkLog

/// A file that an event of a log names, and what became of it.
public struct NamedAttachment: Sendable, Equatable {
  /// The event's place in the log.
  public let offset: Offset
  /// The event's identity.
  public let event: EventID
  /// As the event names it.
  public let attachment: EventExtension.Attachment
  /// What became of it.
  public internal(set) var state: State

  /// What became of a file.
  public enum State: String, Sendable, CaseIterable {
    /// On this device; the server has not signed for it.
    case pending
    /// The server signed for it.
    case accepted
    /// Not on this device, and the server has not signed for it: put it again, and it is sent.
    case missing
  }
}

/// How many files the events of a log name, and what became of them. One that several events name counts once for each.
public struct AttachmentCounts: Sendable, Equatable {
  /// On this device; the server has not signed for them.
  public var pending: UInt64 = 0
  /// Their bytes.
  public var pendingByteCount: UInt64 = 0
  /// The server signed for them.
  public var accepted: UInt64 = 0
  /// Neither here nor, as far as is known, at the server.
  public var missing: UInt64 = 0

  /// None.
  public init() {}
}

/// What ``AttachmentStore/verify()`` found.
public struct AttachmentReport: Sendable, Equatable {
  /// How many files were read through.
  public var checked: UInt64 = 0
  /// Files whose content is not what their name says, as paths.
  public var damaged: [String] = []
  /// Sound files that no event of the log names, as paths: those of trimmed and of sealed events among them.
  public var unnamed: [String] = []
  /// What events name and is neither here nor at the server.
  public var missing: [NamedAttachment] = []

  /// Nothing.
  public init() {}
}
