/// The last 512 bytes of a sealed segment: all that opening a log needs to know of it.
///
/// ```
///   32       48         64           80     88    96     104        112      120          136        168
///   +--------+----------+------------+------+-----+------+----------+--------+------------+----------+-- - -
///   | log id | epoch id | segment id | base | end | user | user end | frames | time range | id range |
///   +--------+----------+------------+------+-----+------+----------+--------+------------+----------+-- - -
///   168         176      192        240          248       256           272     280           288           304
///   +-----------+--------+----------+------------+---------+-------------+-------+-------------+-------------+--------------+
///   | raw bytes | digest | pin (48) | trim floor | session | id pages:   | index | file length | file digest | offsets lost |
///   |           |        |          |            | offset  | place, count|       |             |             |              |
///   +-----------+--------+----------+------------+---------+-------------+-------+-------------+-------------+--------------+
/// ```
struct Footer: Equatable, Sendable {
  static let byteCount = 512

  var logID: EventID
  var epochID: EventID
  var segmentID: EventID
  var base: Offset
  var end: Offset
  var userCount: UInt64
  var userEnd: Offset
  var frameCount: UInt64
  var times: (low: Timestamp, high: Timestamp) = (.latest, .earliest)
  var ids: (low: EventID, high: EventID) = (.highest, .zero)
  var rawByteCount: UInt64
  var digest: Digest128
  var predecessor: Pin
  var trimFloor: Offset
  var sessionOffset: UInt64
  var idPagesPosition: UInt64
  var idPageCount: UInt64
  var indexPosition: UInt64
  var fileLength: UInt64
  var fileDigest: Digest128
  var gapCount: UInt64

  var pin: Pin { Pin(segmentID: segmentID, end: end, count: end - base, digest: digest) }
  var seed: UInt64 { SegmentHeader.seed(logID: logID, epochID: epochID, segmentID: segmentID) }

  /// Whether a header is that of the segment that this ends.
  func matches(_ header: SegmentHeader) -> Bool {
    header.logID == logID && header.epochID == epochID && header.segmentID == segmentID && header.base == base
      && header.predecessor == predecessor
  }

  /// Stands in for a damaged header: what frames are read and checked by. In force at the base is what was at the end, unless the
  /// segment itself changed it.
  var standIn: SegmentHeader {
    SegmentHeader(
      logID: logID, epochID: epochID, segmentID: segmentID, base: base, created: Timestamp(nanoseconds: 0), incarnation: 1,
      trimFloor: trimFloor, replaces: .zero, predecessor: predecessor, userEnd: userEnd, sessionOffset: sessionOffset, session: [],
      durability: .synced)
  }

  func encode() -> [UInt8] {
    var page = Page.make(.footer, byteCount: Self.byteCount)
    page.store(logID, at: 32)
    page.store(epochID, at: 48)
    page.store(segmentID, at: 64)
    page.store(base, at: 80)
    page.store(end, at: 88)
    page.store(userCount, at: 96)
    page.store(userEnd, at: 104)
    page.store(frameCount, at: 112)
    page.store(times.low.nanoseconds, at: 120)
    page.store(times.high.nanoseconds, at: 128)
    page.store(ids.low, at: 136)
    page.store(ids.high, at: 152)
    page.store(rawByteCount, at: 168)
    page.store(digest, at: 176)
    predecessor.encode(into: &page, at: 192)
    page.store(trimFloor, at: 240)
    page.store(sessionOffset, at: 248)
    page.store(idPagesPosition, at: 256)
    page.store(idPageCount, at: 264)
    page.store(indexPosition, at: 272)
    page.store(fileLength, at: 280)
    page.store(fileDigest, at: 288)
    page.store(gapCount, at: 304)
    Page.finish(&page)
    return page
  }

  /// Reads a page that ``Page/check(_:_:)`` has found sound. Nil if its numbers contradict each other or the file's length.
  init?(_ page: RawSpan, fileLength actualLength: UInt64) {
    logID = page.id(32)
    epochID = page.id(48)
    segmentID = page.id(64)
    base = page.u64(80)
    end = page.u64(88)
    userCount = page.u64(96)
    userEnd = page.u64(104)
    frameCount = page.u64(112)
    times = (Timestamp(nanoseconds: page.i64(120)), Timestamp(nanoseconds: page.i64(128)))
    ids = (page.id(136), page.id(152))
    rawByteCount = page.u64(168)
    digest = page.digest(176)
    predecessor = Pin(page, at: 192)
    trimFloor = page.u64(240)
    sessionOffset = page.u64(248)
    idPagesPosition = page.u64(256)
    idPageCount = page.u64(264)
    indexPosition = page.u64(272)
    fileLength = page.u64(280)
    fileDigest = page.digest(288)
    gapCount = page.u64(304)
    guard max(end, userEnd, trimFloor) <= Record.offsetLimit, predecessor.isPossible, SegmentHeader.isPossible(session: sessionOffset)
    else {
      return nil
    }
    guard fileLength == actualLength, base <= end, idPagesPosition >= UInt64(SegmentHeader.byteCount), indexPosition >= idPagesPosition,
      indexPosition < fileLength, idPageCount <= (indexPosition - idPagesPosition) / UInt64(IDPages.pageByteCount)
    else { return nil }
  }

  init(_ header: SegmentHeader, _ summary: SegmentSummary) {
    logID = header.logID
    epochID = header.epochID
    segmentID = header.segmentID
    base = header.base
    end = summary.end
    userCount = summary.userCount
    userEnd = summary.userEnd
    frameCount = 0
    times = summary.times
    ids = summary.ids
    rawByteCount = summary.rawByteCount
    digest = summary.digest.value
    predecessor = header.predecessor
    trimFloor = summary.trimFloor
    sessionOffset = summary.sessionOffset
    idPagesPosition = 0
    idPageCount = 0
    indexPosition = 0
    fileLength = 0
    fileDigest = .zero
    gapCount = summary.gapCount
  }

  static func == (left: Footer, right: Footer) -> Bool { left.encode() == right.encode() }
}
