/// What is known of a segment's records, kept up to date frame by frame: by the writer as it appends, by recovery as it scans, by sealing
/// as it repacks.
struct SegmentSummary {
  let base: Offset
  private(set) var end: Offset
  private(set) var userCount: UInt64 = 0
  private(set) var userEnd: Offset
  private(set) var times: (low: Timestamp, high: Timestamp) = (.latest, .earliest)
  private(set) var ids: (low: EventID, high: EventID) = (.highest, .zero)
  private(set) var rawByteCount: UInt64 = 0
  private(set) var trimFloor: Offset
  private(set) var sessionOffset: UInt64
  private(set) var session: [UInt8]
  /// The session records in this segment.
  private(set) var sessions: [SegmentIndex.SessionEntry] = []
  private(set) var gapCount: UInt64 = 0
  /// Over the record stream so far.
  private(set) var digest = StreamDigest()

  init(_ header: SegmentHeader) {
    base = header.base
    end = header.base
    userEnd = header.userEnd
    trimFloor = header.trimFloor
    sessionOffset = header.sessionOffset
    session = header.session
  }

  /// A copy with a digest of its own.
  func copy() -> SegmentSummary {
    var copy = self
    copy.digest = digest.copy()
    return copy
  }

  /// Takes in the records of one frame. Returns why not, if they are not exactly `count` well-formed records.
  mutating func add(_ records: RawSpan, count: UInt32) -> String? {
    var position = 0
    var offset = end
    let newEnd = end + UInt64(count)
    while position < records.byteCount {
      guard let length = Record.length(at: position, in: records) else { return "a record is malformed" }
      guard offset < newEnd else { return "the frame holds more records than it says" }
      let event = EventView(record: records.slice(position, length), offset: offset)
      add(event)
      offset += 1
      position += length
    }
    guard offset == newEnd else { return "the frame holds fewer records than it says" }
    digest.update(records)
    rawByteCount += UInt64(records.byteCount)
    end = newEnd
    return nil
  }

  @inline(__always) private mutating func add(_ event: borrowing EventView) {
    let id = event.id
    if id < ids.low { ids.low = id }
    if id > ids.high { ids.high = id }
    if event.isControl {
      addControl(event)
    } else {
      let time = event.time
      if time < times.low { times.low = time }
      if time > times.high { times.high = time }
      userCount += 1
      userEnd = event.offset + 1
    }
  }

  private mutating func addControl(_ event: borrowing EventView) {
    switch event.kind {
    case .session:
      sessionOffset = event.offset
      session = event.data.slice(0, min(event.data.byteCount, Session.byteCountLimit)).array()
      sessions.append(.init(offset: event.offset, data: session))
    case .trim:
      if let floor = TrimRecord.floor(event.data) { trimFloor = max(trimFloor, floor) }
    default: break
    }
  }

  /// Takes in a range of offsets that are lost. A caller's event may have been among them, so whoever expects the log to end before it has
  /// not seen all.
  mutating func addGap(count: UInt32) {
    var marker: [UInt8] = []
    marker.add(UInt32.max)
    marker.add(count)
    marker.add(end)
    digest.update(marker.rawSpan)
    end += UInt64(count)
    userEnd = end
    gapCount += UInt64(count)
  }

  func pin(_ header: SegmentHeader) -> Pin { Pin(segmentID: header.segmentID, end: end, count: end - base, digest: digest.value) }
}
