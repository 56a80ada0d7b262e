/// Where the fields of a record stand.
///
/// ```
///   0        4    5     6      7    8        24       32        40    42   43   44      46      48
///   +--------+----+-----+------+----+--------+--------+---------+-----+----+----+-------+-------+-- - -
///   | length |kind|flags|clock |type| id     | time   | elapsed | utc |act.|ct  |subject| ext.  |
///   +--------+----+-----+------+----+--------+--------+---------+-----+----+----+-------+-------+-- - -
///   48
///   +------+---------+-------+--------------+------------+------+
///   | type | subject | actor | content type | extensions | data |
///   +------+---------+-------+--------------+------------+------+
/// ```
@usableFromInline package enum Record {
  @inlinable package static var fixedLength: Int { 48 }
  package static let lengthLimit = 16 << 20
  /// No offset is higher: a number above it is damage, whatever checksum it has. It bounds what recovery may have to write about a gap, and
  /// keeps sums of offsets far from overflowing.
  package static let offsetLimit: Offset = 1 << 44
  static let subjectLimit = 1024

  static let batchContinues: UInt8 = 1
  static let timeFromCaller: UInt8 = 2
  static let clockIsSynchronized: UInt8 = 1
  static let clockWasStepped: UInt8 = 2

  /// The length of the record at `position`, or nil if what stands there is none: one look at the fixed part bounds every field.
  @inline(__always) package static func length(at position: Int, in bytes: RawSpan) -> Int? {
    guard position >= 0, bytes.byteCount &- position >= fixedLength else { return nil }
    let length = Int(bytes.u32(position))
    let variable =
      Int(bytes.u8(position &+ 7)) &+ Int(bytes.u8(position &+ 42)) &+ Int(bytes.u8(position &+ 43)) &+ Int(bytes.u16(position &+ 44))
      &+ Int(bytes.u16(position &+ 46))
    guard length >= fixedLength &+ (planted(.frame) ? 0 : variable), length <= bytes.byteCount &- position else { return nil }
    return length
  }
}

/// What a record is. Kinds other than ``event`` are control events.
public struct EventKind: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// What a caller appended.
  public static let event = EventKind(rawValue: 1)
  /// Boot, clocks and program at an opening.
  public static let session = EventKind(rawValue: 2)
  /// Everything below the floor in it may be gone.
  public static let trim = EventKind(rawValue: 3)
  /// A server's countersigned checkpoint.
  public static let receipt = EventKind(rawValue: 4)
  /// A change of the device's signing key.
  public static let keyRotation = EventKind(rawValue: 5)
  /// The destruction of a subject's key.
  public static let erasure = EventKind(rawValue: 6)
  /// All events before it were salvaged from the log that it names.
  public static let salvage = EventKind(rawValue: 7)

  /// Whether ``Log/stage(control:data:)`` takes it: 4 to 6, and 16 and up.
  var canBeStaged: Bool { (4...6).contains(rawValue) || rawValue >= 16 }
}

/// What the engine adds to a record: identity, clocks, place in the batch.
struct RecordStamp {
  var kind: EventKind
  var id: EventID
  var reading: ClockReading
  var wasStepped: Bool
  var continuesBatch: Bool
}
