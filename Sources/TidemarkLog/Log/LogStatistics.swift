/// Figures of a log.
public struct LogStatistics: Sendable, Equatable {
  /// The first offset that is kept.
  public internal(set) var first: Offset
  /// The offset of the next event.
  public internal(set) var size: Offset
  /// All events below it survive a power cut.
  public internal(set) var durable: Offset
  /// Events that callers appended and that are kept.
  public internal(set) var userEventCount: UInt64 = 0
  /// Events that the engine and modules wrote.
  public internal(set) var controlEventCount: UInt64 = 0
  /// Segments that are repacked and indexed.
  public internal(set) var sealedSegmentCount = 0
  /// Segments that are not sealed: the newest, and those that wait for it.
  public internal(set) var openSegmentCount = 0
  /// All segment files, in bytes. The open one is written ahead with zeros.
  public internal(set) var bytesOnDisk: UInt64 = 0
  /// All records, uncompressed, in bytes.
  public internal(set) var bytesOfEvents: UInt64 = 0
  /// Offsets lost to damage that an earlier recovery gave up.
  public internal(set) var lostOffsetCount: UInt64 = 0
  /// Ranges that can't be served.
  public internal(set) var gaps: [Range<Offset>] = []
  /// Frames committed since opening.
  public internal(set) var commitCount: UInt64 = 0
  /// Syncs since opening.
  public internal(set) var syncCount: UInt64 = 0
  /// Bytes of records appended since opening.
  public internal(set) var appendedByteCount: UInt64 = 0
}
