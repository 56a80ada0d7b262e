/// The segment that the writer appends to.
///
/// Unchecked: it belongs to whoever holds the writer's turn (see ``LogCore``), one thread at a time.
final class ActiveSegment: @unchecked Sendable {
  let header: SegmentHeader
  let name: SegmentName
  let file: any File
  let seed: UInt64
  private(set) var summary: SegmentSummary
  private(set) var checkpoints: Checkpoints
  /// Where the next frame goes.
  private(set) var position: UInt64
  /// Up to here the file holds frames and zeros that are allocated already.
  private var zeroedEnd: UInt64
  /// Everything below is synced.
  private(set) var durableEnd: Offset
  /// Where the first frame behind ``durableEnd`` begins.
  private(set) var durablePosition: UInt64
  /// What ``summary`` was at the last sync; nil while it is the same.
  private var durableSummary: SegmentSummary?
  /// The highest durable offset that a synced frame names.
  private(set) var recordedDurable: Offset
  /// A write or a sync failed, or a successor may be there that pins its end: never to be written again.
  private(set) var hasFailed = false
  /// The close frame that ends what this process found, until it is written once more. If its sync failed it may be in the page cache
  /// alone; lost later, it would be a hole before frames that were acknowledged.
  private var foundClose: [UInt8]?
  private let zerosAhead: Int
  private let byteLimit: Int

  init(
    header: SegmentHeader, file: any File, summary: SegmentSummary, checkpoints: Checkpoints, position: UInt64, fileLength: UInt64,
    recordedDurable: Offset, foundClose: [UInt8]? = nil, options: LogOptions
  ) {
    self.foundClose = foundClose
    self.header = header
    name = SegmentName(base: header.base, segmentID: header.segmentID, form: .open)
    self.file = file
    seed = header.seed
    self.summary = summary
    self.checkpoints = checkpoints
    self.position = position
    zeroedEnd = max(position, fileLength)
    durableEnd = summary.end
    durablePosition = position
    self.recordedDurable = recordedDurable
    zerosAhead = options.zerosAheadByteCount
    byteLimit = options.segmentByteCount
  }

  var end: Offset { summary.end }
  var isEmpty: Bool { summary.end == header.base }
  /// Whether it ends in a close frame of an earlier process, and this one has added nothing.
  var isClosedAsFound: Bool { foundClose != nil }
  /// What is known of the records up to ``durableEnd``.
  var durable: SegmentSummary { durableSummary ?? summary }

  /// Whether a frame of that length still belongs here.
  func hasRoom(_ length: Int) -> Bool { isEmpty || position + UInt64(length) <= UInt64(byteLimit) }

  /// Writes a finished frame of events at the end. The caller has filled its header from ``end`` and ``durableEnd``.
  ///
  /// Unless the next call syncs, the events count as written: a copy of what was known at the last sync is kept for the case that they must
  /// be written again.
  func write(_ frame: borrowing FrameBuffer, length: Int, count: UInt32, willSync: Bool) throws(LogError) {
    try write(frame.bytes.slice(0, length), zerosAhead: willSync)
    if !willSync && durableSummary == nil { durableSummary = summary.copy() }
    pending = (count, length)
    if !willSync { takeIn(frame) }
  }

  private var pending: (count: UInt32, length: Int) = (0, 0)

  /// Counts the frame just written as part of the segment.
  private func takeIn(_ frame: borrowing FrameBuffer) {
    checkpoints.add(base: summary.end, position: position)
    let why = summary.add(frame.records, count: pending.count)
    assert(why == nil, "the engine wrote a malformed record")
    position += UInt64(pending.length)
  }

  /// Syncs after `write(willSync: true)`; only then does the frame count.
  func syncFrame(_ frame: borrowing FrameBuffer) throws(LogError) {
    let named = durableEnd
    if seeded(.failedAppendStays) { takeIn(frame) }
    try syncFile()
    if !seeded(.failedAppendStays) { takeIn(frame) }
    didSync()
    recordedDurable = max(recordedDurable, named)
  }

  /// Syncs what was written before.
  func sync() throws(LogError) {
    guard durableEnd < summary.end else { return }
    try syncFile()
    didSync()
  }

  private func didSync() {
    durableSummary = nil
    durableEnd = summary.end
    durablePosition = position
  }

  private func syncFile() throws(LogError) {
    // What is synced into a deleted file is gone when the file is closed.
    if file.isDeleted() {
      hasFailed = true
      throw LogError(
        .directoryMoved, "the segment that is written to was deleted", file: file.path, why: "no name leads to the file any more",
        advice: "get the log back from a copy; nothing that is appended here would be kept")
    }
    if seeded(.noSync) { return }
    do throws(LogError) { try file.sync() } catch {
      if seeded(.failedSyncRetried), (try? file.sync()) != nil { return }
      hasFailed = true
      throw error
    }
  }

  /// Nothing that is appended from here on would count, because of a successor.
  func giveUp() { hasFailed = true }

  /// Writes and syncs a frame without events that names the durable offset.
  func mark(_ kind: FrameHeader.Kind, incarnation: UInt64) throws(LogError) {
    try sync()
    var frame = [UInt8](repeating: 0, count: FrameHeader.byteCount)
    FrameHeader(kind, base: summary.end, durable: durableEnd, incarnation: incarnation).encode(into: &frame, seed: seed)
    try write(frame.rawSpan, zerosAhead: false)
    if !seeded(.markNotSynced) { try syncFile() }
    position += UInt64(frame.count)
    recordedDurable = durableEnd
  }

  private func write(_ bytes: RawSpan, zerosAhead: Bool) throws(LogError) {
    let end = position + UInt64(bytes.byteCount)
    do throws(LogError) {
      if let close = foundClose {
        if !seeded(.foundCloseTrusted) { try file.write(close.rawSpan, at: position - UInt64(close.count)) }
        foundClose = nil
      }
      try file.write(bytes, at: position)
      if end > zeroedEnd && zerosAhead && bytes.byteCount <= self.zerosAhead { try writeZeros(from: end, frame: bytes.byteCount) }
    } catch {
      hasFailed = true
      throw error
    }
  }

  /// Zeros written ahead make later syncs cheap: they change neither the file's size nor its extents.
  ///
  /// Larger frames take more zeros at a time, so that many of them share one growth of the file.
  private func writeZeros(from end: UInt64, frame: Int) throws(LogError) {
    zeroedEnd = try Self.writeZeros(file, from: end, ahead: min(max(zerosAhead, 32 * frame), 8 * zerosAhead), limit: byteLimit)
  }

  private static let zeros = [UInt8](repeating: 0, count: 128 << 10)

  /// Returns where the zeros end. Without space for them, none are needed: appending goes on as long as frames fit.
  static func writeZeros(_ file: any File, from end: UInt64, ahead: Int, limit: Int) throws(LogError) -> UInt64 {
    let count = min(ahead, max(0, limit - Int(clamping: end)))
    guard count > 0 else { return end }
    do throws(LogError) {
      var done = 0
      while done < count {
        let part = min(count - done, zeros.count)
        try file.write(zeros.rawSpan.slice(0, part), at: end + UInt64(done))
        done += part
      }
      return end + UInt64(count)
    } catch {
      guard error.code == .diskFull else { throw error }
      return end
    }
  }
}
