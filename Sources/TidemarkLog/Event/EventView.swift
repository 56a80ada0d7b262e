/// An event where it lies in a reader's buffer: no copy, valid until the reader moves on.
///
/// ```swift
/// var cursor = try log.read()
/// while let event = try cursor.next() {
///   total += event.data.byteCount
/// }
/// ```
public struct EventView: ~Escapable {
  /// The record's bytes as stored.
  @usableFromInline package let record: RawSpan
  /// Its position in the log.
  public let offset: Offset

  /// `record` must be exactly one record that ``Record/length(at:in:)`` has accepted.
  @inline(__always) @_lifetime(copy record)
  package init(record: RawSpan, offset: Offset) {
    self.record = record
    self.offset = offset
  }

  /// A caller's event, or which kind of control event.
  @inlinable public var kind: EventKind { EventKind(rawValue: record.u8(4)) }
  /// Whether the engine or a module wrote it.
  @inlinable public var isControl: Bool { record.u8(4) != 1 }
  /// Its identity: the caller's, or one that the engine made.
  public var id: EventID { record.id(8) }
  /// The wall clock, as the device or the caller had it.
  @inlinable public var time: Timestamp { Timestamp(nanoseconds: record.i64(24)) }
  /// Whether the caller stated the time.
  public var isTimeFromCaller: Bool { record.u8(5) & Record.timeFromCaller != 0 }
  /// How many digits of the second's fraction were stated.
  public var timeFractionDigits: Int { Int(record.u8(5) >> 4) }
  /// Nanoseconds since boot at appending, time asleep included.
  @inlinable public var elapsed: UInt64 { record.u64(32) }
  /// Local time's offset from UTC, in minutes.
  public var utcOffsetMinutes: Int16 { record.i16(40) }
  /// Whether the system believed that its wall clock was synchronised.
  public var isClockSynchronized: Bool { record.u8(6) & Record.clockIsSynchronized != 0 }
  /// Whether the wall clock was set between the previous event and this one.
  public var isClockStepped: Bool { record.u8(6) & Record.clockWasStepped != 0 }
  /// Where its time came from.
  public var clockSource: ClockSource { ClockSource(rawValue: record.u8(6) >> 4) ?? .unknown }
  /// Whether the next event belongs to the same batch.
  public var continuesBatch: Bool { record.u8(5) & Record.batchContinues != 0 }

  /// What kind of fact it is; empty for control events.
  public var type: String { typeBytes.text() }
  /// What it is about, if that was stated.
  public var subject: String? { subjectBytes.byteCount == 0 ? nil : subjectBytes.text() }
  /// Who did it, if that was stated.
  public var actor: String? { actorBytes.byteCount == 0 ? nil : actorBytes.text() }
  /// The media type of the data.
  public var contentType: String? { contentTypeBytes.byteCount == 0 ? nil : contentTypeBytes.text() }
  /// Throws ``LogError/Code/corrupt`` if they can't be taken apart.
  public var extensions: [EventExtension] {
    get throws {
      let bytes = extensionBytes
      return bytes.byteCount == 0 ? [] : try EventExtension.decode(bytes)
    }
  }

  @inlinable @inline(__always) package var typeLength: Int { Int(record.u8(7)) }
  @inlinable @inline(__always) package var subjectLength: Int { Int(record.u16(44)) }
  @inlinable @inline(__always) package var actorLength: Int { Int(record.u8(42)) }
  @inlinable @inline(__always) package var contentTypeLength: Int { Int(record.u8(43)) }
  @inlinable @inline(__always) package var extensionsStart: Int {
    Record.fixedLength &+ typeLength &+ subjectLength &+ actorLength &+ contentTypeLength
  }

  /// UTF-8.
  @inlinable @inline(__always) public var typeBytes: RawSpan { @_lifetime(copy self) get { record.slice(Record.fixedLength, typeLength) } }
  /// UTF-8; empty if there is no subject.
  @inlinable @inline(__always) public var subjectBytes: RawSpan {
    @_lifetime(copy self) get { record.slice(Record.fixedLength + typeLength, subjectLength) }
  }
  /// UTF-8; empty if there is no actor.
  @inlinable @inline(__always) public var actorBytes: RawSpan {
    @_lifetime(copy self) get { record.slice(Record.fixedLength + typeLength + subjectLength, actorLength) }
  }
  /// UTF-8; empty if there is no content type.
  @inlinable @inline(__always) public var contentTypeBytes: RawSpan {
    @_lifetime(copy self) get { record.slice(Record.fixedLength + typeLength + subjectLength + actorLength, contentTypeLength) }
  }
  package var extensionBytes: RawSpan { @_lifetime(copy self) get { record.slice(extensionsStart, Int(record.u16(46))) } }
  /// Opaque to the engine.
  @inlinable @inline(__always) public var data: RawSpan {
    @_lifetime(copy self) get {
      let start = extensionsStart &+ Int(record.u16(46))
      return record.slice(start, record.byteCount &- start)
    }
  }

  /// A copy that can be kept.
  public func copy(session: Session? = nil) -> Event {
    Event(bytes: record.array(), position: 0, length: record.byteCount, offset: offset, session: session.map { SharedSession($0) })
  }
}
