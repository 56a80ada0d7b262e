package import TidemarkEvidence
package import TidemarkLog

/// Puts a shipment together, event by event.
///
/// ```swift
/// var writer = ShipmentWriter(logID: log.identity.logID, epochID: log.identity.epochID, from: accepted, session: session)
/// while let event = try cursor.next() { writer.add(event) }
/// let shipment = writer.finish(note: checkpoint.bytes)
/// ```
package struct ShipmentWriter: ~Copyable {
  private let logID: EventID
  private let epochID: EventID
  private let from: Offset
  private let session: [UInt8]
  private let compactRange: CompactRange?
  private let seed: UInt64
  private let compressor: LZ4Compressor?
  private var frames: [UInt8] = []
  private var records: [UInt8] = []
  /// Of the frames, decompressed.
  private var rawByteCount = 0
  private var base: Offset
  /// Behind the last one added.
  package private(set) var end: Offset

  private static let frameByteCount = 64 << 10

  /// - Parameters:
  ///   - session: the data of the session in force at `from`; empty if there is none.
  ///   - compactRange: the tree at `from`, where the receiver does not know it.
  ///   - compresses: whether frames are LZ4 blocks where that is smaller.
  package init(
    logID: EventID, epochID: EventID, from: Offset, session: [UInt8], compactRange: CompactRange? = nil, compresses: Bool = true
  ) {
    self.logID = logID
    self.epochID = epochID
    self.from = from
    self.session = session
    self.compactRange = compactRange
    seed = Shipment.seed(logID, epochID)
    compressor = compresses ? LZ4Compressor(.fast) : nil
    base = from
    end = from
  }

  /// How many bytes it takes so far, at most; more, if it would be too much when it is decompressed.
  package var byteCount: Int {
    let content = max(frames.count + records.count, (rawByteCount + records.count) / Shipment.expansionLimit)
    return Shipment.headerByteCount + session.count + Shipment.noteByteLimit + 2_048 + content + FrameHeader.byteCount + 8
  }

  /// Adds the event at ``end``.
  package mutating func add(_ event: EventView) {
    precondition(event.offset == end)
    records.add(event.record)
    end += 1
    if records.count >= Self.frameByteCount { flush() }
  }

  /// Adds offsets whose events can't be read.
  ///
  /// - Parameters:
  ///   - session: the data of the session in force behind them.
  ///   - why: the reason, for people.
  package mutating func addLost(upTo bound: Offset, session: [UInt8], why: String) {
    flush()
    while end < bound {
      let count = UInt32(min(bound - end, UInt64(UInt32.max)))
      var stored: [UInt8] = []
      stored.add(UInt16(session.count))
      stored += session
      stored += why.utf8Prefix(255).utf8
      write(.gap, stored, rawLength: stored.count, isCompressed: false, count: count)
      end += UInt64(count)
      base = end
    }
  }

  private mutating func flush() {
    guard end > base else { return }
    let count = UInt32(end - base)
    var block: [UInt8] = []
    if let length = compressor?.compress(records.rawSpan, into: &block) {
      write(.events, Array(block[..<length]), rawLength: records.count, isCompressed: true, count: count)
    } else {
      write(.events, records, rawLength: records.count, isCompressed: false, count: count)
    }
    base = end
    records.removeAll(keepingCapacity: true)
  }

  private mutating func write(_ kind: FrameHeader.Kind, _ stored: [UInt8], rawLength: Int, isCompressed: Bool, count: UInt32) {
    let header = FrameHeader(
      kind, isCompressed: isCompressed, storedLength: stored.count, rawLength: rawLength, base: base, count: count, durable: 0,
      incarnation: 0)
    let start = frames.count
    rawByteCount += rawLength
    frames += [UInt8](repeating: 0, count: FrameHeader.byteCount)
    frames += stored
    frames += [UInt8](repeating: 0, count: header.frameLength - FrameHeader.byteCount - stored.count)
    header.encode(into: &frames, at: start, seed: seed)
  }

  /// The whole, with a note whose size is ``end``. At least one offset must have been added.
  package consuming func finish(note: [UInt8]) -> [UInt8] {
    flush()
    precondition(end > from && note.count <= Shipment.noteByteLimit)
    var bytes = Array("TMSHIP01".utf8)
    bytes.reserveCapacity(Shipment.headerByteCount + session.count + note.count + frames.count + 2_048)
    bytes.add(UInt16(session.count))
    bytes.add(UInt16(compactRange?.subtrees.count ?? 0))
    bytes.add(UInt32(note.count))
    bytes.add(from)
    bytes.add(end)
    bytes.add(UInt64(0))
    bytes += session
    bytes += compactRange?.encoded ?? []
    bytes += note
    bytes += frames
    bytes.store(xxh3(bytes.rawSpan.slice(Shipment.headerByteCount, bytes.count - Shipment.headerByteCount)), at: 32)
    return bytes
  }
}
