/// An event read from a log, to keep as long as you like.
///
/// Events that were read together share the bytes of the frame they came in; fields are decoded when they are asked for.
///
/// ```swift
/// let event = try log.event(at: 41)
/// print(event.type, event.subject ?? "-", event.time)
/// ```
public struct Event: Sendable {
  let bytes: [UInt8]
  private let position: UInt32
  private let length: UInt32
  /// Its position in the log.
  public let offset: Offset
  private let sharedSession: SharedSession?

  /// `bytes` hold a record of `length` bytes at `position`, one that ``Record/length(at:in:)`` has accepted.
  @inline(__always) init(bytes: [UInt8], position: Int, length: Int, offset: Offset, session: SharedSession?) {
    self.bytes = bytes
    self.position = UInt32(truncatingIfNeeded: position)
    self.length = UInt32(truncatingIfNeeded: length)
    self.offset = offset
    sharedSession = session
  }

  /// The opening of the log in which it was appended; nil if that is no longer known.
  public var session: Session? { sharedSession?.session }

  /// The same event without a copy, for code that works on both forms.
  public var view: EventView {
    @_lifetime(borrow self) get {
      EventView(record: bytes.rawSpan.slice(Int(position), Int(length)), offset: offset)
    }
  }

  /// A caller's event, or which kind of control event.
  public var kind: EventKind { view.kind }
  /// Whether the engine or a module wrote it.
  public var isControl: Bool { view.isControl }
  /// Its identity: the caller's, or one that the engine made.
  public var id: EventID { view.id }
  /// What kind of fact it is; empty for control events.
  public var type: String { view.type }
  /// What it is about, if that was stated.
  public var subject: String? { view.subject }
  /// Who did it, if that was stated.
  public var actor: String? { view.actor }
  /// The media type of the data.
  public var contentType: String? { view.contentType }
  /// The wall clock, as the device or the caller had it.
  public var time: Timestamp { view.time }
  /// Whether the caller stated the time.
  public var isTimeFromCaller: Bool { view.isTimeFromCaller }
  /// How many digits of the second's fraction were stated.
  public var timeFractionDigits: Int { view.timeFractionDigits }
  /// Nanoseconds since boot at appending, time asleep included.
  public var elapsed: UInt64 { view.elapsed }
  /// Local time's offset from UTC, in minutes.
  public var utcOffsetMinutes: Int16 { view.utcOffsetMinutes }
  /// Whether the system believed that its wall clock was synchronised.
  public var isClockSynchronized: Bool { view.isClockSynchronized }
  /// Whether the wall clock was set between the previous event and this one.
  public var isClockStepped: Bool { view.isClockStepped }
  /// Where its time came from.
  public var clockSource: ClockSource { view.clockSource }
  /// Whether the next event belongs to the same batch.
  public var continuesBatch: Bool { view.continuesBatch }
  /// Throws ``LogError/Code/corrupt`` if they can't be taken apart.
  public var extensions: [EventExtension] { get throws { try view.extensions } }
  /// Opaque to the engine.
  public var data: [UInt8] { view.data.array() }
}
