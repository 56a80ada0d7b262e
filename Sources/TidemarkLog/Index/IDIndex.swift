/// The ids of many sealed segments in a few sorted runs, so that a look-up does not slow down with the number of segments.
///
/// Derived: a run that is missing, damaged or does not match the segments is made again. Eight units of one size are merged into one of the
/// next, as log-structured merge trees do
/// (P. O'Neil and others, 1996), so N segments need at most about 8 log8 N look-ups.
struct IDIndex {
  static let fanOut = 8

  /// One file.
  final class Run: Sendable {
    let first: Offset
    let end: Offset
    let segments: Int
    let pages: IDPageRun
    let low: EventID
    let high: EventID
    let path: String

    init(first: Offset, end: Offset, segments: Int, pages: IDPageRun, low: EventID, high: EventID, path: String) {
      self.first = first
      self.end = end
      self.segments = segments
      self.pages = pages
      self.low = low
      self.high = high
      self.path = path
    }
  }

  /// By offset, without overlap.
  private(set) var runs: [Run] = []

  /// Whether segments below ``end`` exist that no run covers.
  var hasHoles = false

  /// Everything sealed below it is covered, but for holes that ``covers(_:)`` tells.
  var end: Offset { runs.last?.end ?? 0 }

  func covers(_ offset: Offset) -> Bool { runs.contains { $0.first <= offset && offset < $0.end } }

  mutating func replace(_ merged: [Run], by run: Run) {
    runs.removeAll { old in merged.contains { $0 === old } }
    runs.append(run)
    runs.sort { $0.first < $1.first }
  }

  mutating func remove(_ run: Run) { runs.removeAll { $0 === run } }

  mutating func add(_ run: Run) {
    runs.append(run)
    runs.sort { $0.first < $1.first }
  }

  static func name(_ first: Offset, _ end: Offset) -> String { "\(SegmentName.digits(first))-\(SegmentName.digits(end)).ids" }

  /// What a run covers: the ids of the segments, in order.
  static func coverage(_ segments: some Sequence<EventID>) -> Digest128 {
    var bytes: [UInt8] = []
    for id in segments { bytes.add(id) }
    return Digest128(bytes.rawSpan)
  }

  static func seed(_ logID: EventID, _ coverage: Digest128) -> UInt64 {
    var bytes: [UInt8] = []
    bytes.add(logID)
    bytes.add(coverage.low)
    bytes.add(coverage.high)
    return xxh3(bytes.rawSpan)
  }
}

/// The first page of a run.
///
/// ```
///   32       48      56    64      72          104
///   +--------+-------+-----+-------+-----------+----------+
///   | log id | first | end | pages | id range  | coverage |
///   +--------+-------+-----+-------+-----------+----------+
/// ```
struct IDIndexHeader: Equatable {
  static let byteCount = 4096

  var logID: EventID
  var first: Offset
  var end: Offset
  var pageCount: UInt64
  var low: EventID
  var high: EventID
  var coverage: Digest128

  func encode() -> [UInt8] {
    var page = Page.make(.idIndex, byteCount: Self.byteCount)
    page.store(logID, at: 32)
    page.store(first, at: 48)
    page.store(end, at: 56)
    page.store(pageCount, at: 64)
    page.store(low, at: 72)
    page.store(high, at: 88)
    page.store(coverage, at: 104)
    Page.finish(&page)
    return page
  }

  /// Nil unless the page is sound, of this version, and its numbers are possible.
  init?(_ page: RawSpan) {
    guard Page.check(page, .idIndex) == .sound else { return nil }
    logID = page.id(32)
    first = page.u64(48)
    end = page.u64(56)
    pageCount = page.u64(64)
    low = page.id(72)
    high = page.id(88)
    coverage = page.digest(104)
    // At most one entry for each offset.
    guard first <= end, end <= Record.offsetLimit, pageCount <= UInt64(IDPages.pageCount(entries: Int(end - first))) else { return nil }
  }

  init(logID: EventID, first: Offset, end: Offset, pageCount: UInt64, low: EventID, high: EventID, coverage: Digest128) {
    self.logID = logID
    self.first = first
    self.end = end
    self.pageCount = pageCount
    self.low = low
    self.high = high
    self.coverage = coverage
  }
}
