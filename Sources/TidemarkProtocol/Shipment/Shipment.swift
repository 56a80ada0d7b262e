package import TidemarkEvidence
package import TidemarkLog
internal import TidemarkText

/// A contiguous run of a log's events on its way between a device and a server, with the signed checkpoint at its end.
///
/// ```
///   0          8      10     12        16          24          32              40
///   +----------+------+------+---------+-----------+-----------+---------------+---------+------+--------+---------------+
///   | TMSHIP01 | sess.| range| note    | from      | to        | XXH3-64 of    | session | range| note   | frames        |
///   |          | bytes| count| bytes   |           |           | all that foll.| data    |      |        |               |
///   +----------+------+------+---------+-----------+-----------+---------------+---------+------+--------+---------------+
/// ```
///
/// Its bytes are checked when it is made: length, checksum, frames, and that these hold all offsets in order. Records are checked when they
/// are read; see ``read(_:)``.
package struct Shipment: Sendable {
  /// As it is sent.
  package let bytes: [UInt8]
  /// Which log's.
  package let logID: EventID
  /// Which history of it.
  package let epochID: EventID
  /// The offsets that it holds.
  package let offsets: Range<Offset>
  /// The tree at its beginning; nil where the receiver knows it.
  package let compactRange: CompactRange?
  /// What its frames take when they are decompressed, in bytes.
  package let rawByteCount: Int
  private let sessionLength: Int
  private let noteRange: Range<Int>

  static let headerByteCount = 40
  private static let magic: UInt64 = 0x3130_5049_4853_4D54  // "TMSHIP01"
  package static let noteByteLimit = 60_000
  /// How many times the longest body the decompressed frames may take: what is sent must not be little work for the sender alone.
  package static let expansionLimit = 8
  /// Of the records in a frame, before compression.
  static let frameByteLimit = 16 << 20

  /// Of the frames of a log's shipments.
  static func seed(_ logID: EventID, _ epochID: EventID) -> UInt64 {
    SegmentHeader.seed(logID: logID, epochID: epochID, segmentID: .zero)
  }

  /// The data of the session in force at its beginning; empty if there is none.
  package var session: [UInt8] { Array(bytes[Self.headerByteCount..<Self.headerByteCount + sessionLength]) }
  /// The checkpoint at its end, or on the way down the receipt there.
  package var note: [UInt8] { Array(bytes[noteRange]) }
  /// As they came.
  package var frames: ArraySlice<UInt8> { bytes[noteRange.upperBound...] }

  /// Checks what was received for a log. Throws `LogError.Code.corrupt` with the position of what is wrong.
  package init(_ bytes: [UInt8], logID: EventID, epochID: EventID) throws(LogError) {
    func wrong(_ position: Int, _ why: String) -> LogError {
      LogError(
        .corrupt, "a shipment can't be read", position: UInt64(position), why: why,
        advice: "check what was sent against the log's files, and send it again")
    }
    let span = bytes.rawSpan
    guard span.byteCount >= Self.headerByteCount, span.u64(0) == Self.magic else { throw wrong(0, "it does not begin as one") }
    let (sessionLength, digestCount, noteLength) = (Int(span.u16(8)), Int(span.u16(10)), Int(span.u32(12)))
    let (from, to) = (span.u64(16), span.u64(24))
    guard sessionLength <= 2_048, digestCount <= 64, noteLength <= Self.noteByteLimit else { throw wrong(8, "its lengths are impossible") }
    guard from < to, to <= Record.offsetLimit else { throw wrong(16, "its offsets are impossible") }
    let noteStart = Self.headerByteCount + sessionLength + 32 * digestCount
    guard noteStart + noteLength <= span.byteCount else { throw wrong(span.byteCount, "it ends too early") }
    let body = span.slice(Self.headerByteCount, span.byteCount - Self.headerByteCount)
    guard span.u64(32) == xxh3(body) else { throw wrong(32, "its checksum does not match") }
    if digestCount > 0 {
      let encoded = Array(bytes[Self.headerByteCount + sessionLength..<noteStart])
      guard let range = CompactRange(size: from, encoded: encoded) else {
        throw wrong(10, "its compact range has another number of digests")
      }
      compactRange = range
    } else {
      compactRange = nil
    }
    self.bytes = bytes
    self.logID = logID
    self.epochID = epochID
    offsets = from..<to
    self.sessionLength = sessionLength
    noteRange = noteStart..<noteStart + noteLength
    var raw = 0
    let end = try Self.walk(bytes, from: noteRange.upperBound, offsets, Self.seed(logID, epochID)) { (frame, _) throws(LogError) in
      raw += frame.rawLength
    }
    rawByteCount = raw
    guard end == to else { throw wrong(bytes.count, "its frames end at offset \(end), not at \(to)") }
  }

  /// Calls `body` with each frame and where its stored bytes begin; returns the offset behind the last.
  private static func walk(
    _ bytes: [UInt8], from start: Int, _ offsets: Range<Offset>, _ seed: UInt64, _ body: (FrameHeader, Int) throws(LogError) -> Void
  ) throws(LogError) -> Offset {
    func wrong(_ position: Int, _ why: String) -> LogError {
      LogError(.corrupt, "a shipment's frame can't be read", position: UInt64(position), why: why, advice: "send it again")
    }
    var position = start
    var offset = offsets.lowerBound
    while position < bytes.count {
      switch FrameHeader.check(bytes.rawSpan, at: position, remaining: UInt64(bytes.count - position), seed: seed) {
      case .frame(let frame):
        guard frame.kind == FrameHeader.Kind.events.rawValue || frame.kind == FrameHeader.Kind.gap.rawValue else {
          throw wrong(position, "frames of type \(frame.kind) are not shipped")
        }
        guard frame.base == offset, frame.count > 0, frame.end <= offsets.upperBound else {
          throw wrong(position, "it holds \(frame.base)..<\(frame.end), where \(offset) is due")
        }
        guard frame.rawLength <= frameByteLimit + 1 << 20 else { throw wrong(position, "it is larger than \(frameByteLimit) bytes") }
        try body(frame, position + FrameHeader.byteCount)
        offset = frame.end
        position += frame.frameLength
      case .incomplete: throw wrong(position, "it ends too early")
      case .bad(let why), .unsupported(let why): throw wrong(position, why)
      }
    }
    return offset
  }

  /// What stands at an offset or more.
  package enum Item: ~Escapable {
    /// An event.
    case event(EventView)
    /// Offsets whose events were lost, and the data of the session in force behind them.
    case lost(Range<Offset>, session: [UInt8], why: String)
  }

  /// Gives all events and lost offsets, in order. Throws `LogError.Code.corrupt` for a record that is malformed, and what `body` throws.
  package func read(_ body: (borrowing Item) throws(LogError) -> Void) throws(LogError) {
    func wrong(_ position: Int, _ why: String) -> LogError {
      LogError(.corrupt, "a shipment's record can't be read", position: UInt64(position), why: why, advice: "send it again")
    }
    var raw: [UInt8] = []
    _ = try Self.walk(bytes, from: noteRange.upperBound, offsets, Self.seed(logID, epochID)) { (frame, start) throws(LogError) in
      let stored = bytes.rawSpan.slice(start, frame.storedLength)
      if frame.kind == FrameHeader.Kind.gap.rawValue {
        guard stored.byteCount >= 2, Int(stored.u16(0)) <= min(2_048, stored.byteCount - 2) || planted(.shipments) else {
          throw wrong(start, "what it says of lost events is malformed")
        }
        let count = Int(stored.u16(0))
        try body(
          .lost(
            frame.base..<frame.end, session: stored.slice(2, count).array(),
            why: stored.slice(2 + count, stored.byteCount - 2 - count).text()))
        return
      }
      if frame.isCompressed {
        guard decompressLZ4(stored, into: &raw, rawLength: frame.rawLength) else { throw wrong(start, "it can't be decompressed") }
        try Self.records(raw.rawSpan.slice(0, frame.rawLength), frame, start, body)
      } else {
        try Self.records(stored, frame, start, body)
      }
    }
  }

  private static func records(
    _ records: RawSpan, _ frame: FrameHeader, _ start: Int, _ body: (borrowing Item) throws(LogError) -> Void
  ) throws(LogError) {
    var position = 0
    var offset = frame.base
    while position < records.byteCount {
      guard offset < frame.end, let length = Record.length(at: position, in: records) else {
        throw LogError(
          .corrupt, "a shipment's record can't be read", position: UInt64(start), offsets: offset..<frame.end, why: "it is malformed",
          advice: "send it again")
      }
      try body(.event(EventView(record: records.slice(position, length), offset: offset)))
      position += length
      offset += 1
    }
    guard offset == frame.end else {
      throw LogError(
        .corrupt, "a shipment's frame can't be read", position: UInt64(start), offsets: offset..<frame.end,
        why: "it holds fewer records than it says", advice: "send it again")
    }
  }
}
