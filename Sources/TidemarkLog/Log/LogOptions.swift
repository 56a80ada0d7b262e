/// What is promised when `append` returns.
///
/// | level | survives `kill -9` | survives a power cut | costs |
/// |---|---|---|---|
/// | ``synced`` | yes | yes | one sync of the disk |
/// | ``written`` | yes | only what was synced since | one write |
/// | ``buffered`` | only what was written since | only what was synced since | a copy in memory |
public enum Durability: UInt8, Sendable, Comparable, CaseIterable {
  /// In this process's memory; written within ``LogOptions/syncIntervalMilliseconds``.
  case buffered = 0
  /// In the kernel's hands; synced within ``LogOptions/syncIntervalMilliseconds``.
  case written = 1
  /// On the disk: `fdatasync` on Linux, `F_FULLFSYNC` on Apple systems.
  case synced = 2

  public static func < (left: Durability, right: Durability) -> Bool { left.rawValue < right.rawValue }
}

/// What opening does about damaged history. Nothing is ever deleted.
public enum CorruptionPolicy: Sendable {
  /// Throw ``LogError/Code/corrupt`` and change nothing. For tools.
  case refuse
  /// Serve everything before and after the damage, list the damaged range as a gap, and go on at the next offset. For agents: a capture
  /// must still be possible.
  case quarantine
  /// For reading what can be read: as ``quarantine``, and reads pass over damage without throwing; ``Cursor/gaps`` lists it.
  case salvage
}

/// When full segments are repacked and compressed.
public enum Sealing: Sendable {
  /// By a thread of low priority that yields to appends.
  case background
  /// Only when ``Log/seal()`` is called.
  case manual
}

/// How a log is opened. The defaults fit a small device.
///
/// ```swift
/// var options = LogOptions()
/// options.durability = .written
/// let log = try Log.open(at: "captures", options: options)
/// ```
public struct LogOptions: Sendable {
  /// The level of every append that does not ask for more. Default ``Durability/synced``: when `append` has returned, the event is there,
  /// whatever happens next.
  public var durability: Durability = .synced
  /// The size at which the open segment is closed, in bytes. Default 8 MiB: what opening after a crash reads and writes again, a few dozen
  /// milliseconds on slow flash.
  public var segmentByteCount: Int = 8 << 20
  /// How many zeros are written ahead of use at a time, in bytes. Default 128 KiB: growing a file makes every sync commit metadata too;
  /// this pays that once in some 500 events.
  public var zerosAheadByteCount: Int = 128 << 10
  /// The largest event taken, in bytes of its record. Default 1 MiB; at most 16 MiB. What was taken stays readable under any later setting.
  public var maximumEventByteCount: Int = 1 << 20
  /// The largest batch taken, in bytes of its records. Default 8 MiB; at most 64 MiB.
  public var maximumBatchByteCount: Int = 8 << 20
  /// Default ``CorruptionPolicy/quarantine``: a device in the field must be able to go on capturing.
  public var onCorruption: CorruptionPolicy = .quarantine
  /// An offset that something outside the log knows to be durable, such as the newest receipt's size: if the log ends below it, history is
  /// missing. Default 0: nothing known.
  public var durableFloor: Offset = 0
  /// Default ``Sealing/background``.
  public var sealing: Sealing = .background
  /// Default ``Compression/high``: sealing is off the append path and history is kept for long.
  public var compression: Compression = .high
  /// How long events of a `.written` or `.buffered` log may stay unsynced, in milliseconds. Default 1,000. 0: only ``Log/sync()`` syncs.
  public var syncIntervalMilliseconds: Int = 1000
  /// Default ``SystemClock``.
  public var clock: any DeviceClock = SystemClock()
  /// Name and version of the program, kept with each session. Default empty.
  public var program: String = ""
  /// Kept with each session. Default empty: identifying a device is a decision about privacy.
  public var deviceIdentifier: String = ""
  /// The digest that tells a repeated event from a conflict. Fixed when the log is made; both ends of replication use the same. Default
  /// ``ContentDigest/xxh3``.
  public var contentDigest: ContentDigest = .xxh3

  /// The defaults.
  public init() {}

  /// No batch, and no frame that batches of concurrent callers gather in, is longer.
  static let batchByteLimit = 64 << 20

  func validated() throws(LogError) -> LogOptions {
    func bound(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(LogError) {
      if !range.contains(value) {
        throw LogError(
          .invalidArgument, "option \(name) is out of range", why: "\(value) is not in \(range.lowerBound)...\(range.upperBound)",
          advice: "choose a value in that range")
      }
    }
    try bound("segmentByteCount", segmentByteCount, 8192...(1 << 30))
    try bound("zerosAheadByteCount", zerosAheadByteCount, 0...(16 << 20))
    try bound("maximumEventByteCount", maximumEventByteCount, Record.fixedLength...Record.lengthLimit)
    try bound("maximumBatchByteCount", maximumBatchByteCount, Record.fixedLength...Self.batchByteLimit)
    try bound("syncIntervalMilliseconds", syncIntervalMilliseconds, 0...86_400_000)
    try bound("durableFloor", Int(clamping: durableFloor), 0...Int(Record.offsetLimit))
    return self
  }
}

/// The digest that tells a repeated event from a conflict: over what the caller supplied only, not over clocks, session or offset.
public struct ContentDigest: Sendable {
  /// As stored in the identity: 1 XXH3-128, 2 SHA-256.
  public let kind: UInt16
  let function: @Sendable ([UInt8]) -> [UInt8]

  /// XXH3-128, from the xxHash library.
  public static let xxh3 = ContentDigest(kind: 1) { bytes in
    let value = Digest128(bytes.rawSpan)
    var digest: [UInt8] = []
    digest.add(value.high.byteSwapped)
    digest.add(value.low.byteSwapped)
    return digest
  }

  /// SHA-256, computed by a function of the host (the engine itself has no cryptography).
  public static func sha256(_ function: @escaping @Sendable ([UInt8]) -> [UInt8]) -> ContentDigest {
    ContentDigest(kind: 2, function: function)
  }

  /// The digest as hexadecimal digits.
  func text(_ content: [UInt8]) -> String {
    function(content).map { byte in
      let text = String(byte, radix: 16)
      return byte < 16 ? "0" + text : text
    }.joined()
  }

  /// What the digest is over.
  package static func content(of event: EventView) -> [UInt8] {
    var bytes: [UInt8] = []
    content(of: event, into: &bytes)
    return bytes
  }

  /// The same, in the place of what an array holds.
  package static func content(of event: EventView, into bytes: inout [UInt8]) {
    bytes.removeAll(keepingCapacity: true)
    bytes.append(UInt8(event.typeBytes.byteCount))
    bytes.add(event.typeBytes)
    bytes.add(UInt16(event.subjectBytes.byteCount))
    bytes.add(event.subjectBytes)
    bytes.append(UInt8(event.actorBytes.byteCount))
    bytes.add(event.actorBytes)
    bytes.append(UInt8(event.contentTypeBytes.byteCount))
    bytes.add(event.contentTypeBytes)
    bytes.append(event.isTimeFromCaller ? 1 : 0)
    if event.isTimeFromCaller { bytes.add(event.time.nanoseconds) }
    bytes.add(UInt16(event.extensionBytes.byteCount))
    bytes.add(event.extensionBytes)
    bytes.add(UInt32(event.data.byteCount))
    bytes.add(event.data)
  }
}

extension EventView {
  /// The same for events that say the same at the same time, whatever their ids.
  package var contentDigest: [UInt8] {
    var content = ContentDigest.content(of: self)
    content.add(time.nanoseconds)
    return ContentDigest.xxh3.function(content)
  }
}
