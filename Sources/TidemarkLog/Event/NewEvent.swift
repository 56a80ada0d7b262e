/// The position of an event in its log, from 0. Assigned at commit, never reused.
public typealias Offset = UInt64

/// An event that is to be appended: what the caller supplies. Attribute names are those of CloudEvents 1.0.
///
/// ```swift
/// let scan = NewEvent(type: "scan", subject: "gate-7", data: Array(#"{"badge":"1042"}"#.utf8))
/// try log.append(scan)
/// ```
public struct NewEvent: Sendable, Equatable {
  /// The event's identity. With the caller's own id, appending again is safe: the same content is a duplicate, other content a conflict.
  /// Nil: the engine makes a UUIDv7.
  public var id: EventID?
  /// What kind of fact this is, such as `scan`: 1 to 255 bytes of UTF-8.
  public var type: String
  /// What the event is about: up to 1,024 bytes.
  public var subject: String?
  /// Who did it: up to 255 bytes.
  public var actor: String?
  /// When it happened, if the caller knows better than the device's clock. Nil: the device's wall clock at appending.
  public var time: Timestamp?
  /// How many digits of the second's fraction ``time`` was stated with, 0 to 9; kept for output.
  public var timeFractionDigits: Int
  /// The offset from UTC that ``time`` was stated with, in minutes. Only used with ``time``.
  public var utcOffsetMinutes: Int16
  /// The media type of ``data``, such as `application/json` (`datacontenttype` in CloudEvents): up to 255 bytes.
  public var contentType: String?
  /// Further attributes, in any order: up to 65,535 bytes encoded.
  public var extensions: [EventExtension]
  /// Opaque to the engine.
  public var data: [UInt8]

  /// Describes an event. Nothing is checked before appending.
  public init(
    type: String, subject: String? = nil, actor: String? = nil, time: Timestamp? = nil, timeFractionDigits: Int = 9,
    utcOffsetMinutes: Int16 = 0, contentType: String? = nil, id: EventID? = nil, extensions: [EventExtension] = [],
    data: [UInt8] = []
  ) {
    self.id = id
    self.type = type
    self.subject = subject
    self.actor = actor
    self.time = time
    self.timeFractionDigits = timeFractionDigits
    self.utcOffsetMinutes = utcOffsetMinutes
    self.contentType = contentType
    self.extensions = extensions
    self.data = data
  }
}
