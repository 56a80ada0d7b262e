/// Collects what a segment's index says, event by event: when sealing, and when checking a sealed segment.
struct IndexBuilder {
  private let base: Offset
  private var index = SegmentIndex()
  private var types: [[UInt8]: UInt32] = [:]
  private var subjects: [[UInt8]: UInt32]? = [:]
  private var frameTimes: (low: Timestamp, high: Timestamp) = (.latest, .earliest)
  /// Entries of the id pages, unsorted.
  private(set) var entries: [UInt64] = []

  init(base: Offset) { self.base = base }

  var frameCount: UInt64 { UInt64(index.frames.count) }

  mutating func add(_ event: borrowing EventView) {
    entries.append(IDPages.entry(event.id, UInt32(truncatingIfNeeded: event.offset - base)))
    if event.isControl {
      if event.kind == .session {
        let data = event.data.slice(0, min(event.data.byteCount, Session.byteCountLimit)).array()
        index.sessions.append(.init(offset: event.offset, data: data))
      }
      return
    }
    if event.time < frameTimes.low { frameTimes.low = event.time }
    if event.time > frameTimes.high { frameTimes.high = event.time }
    types[event.typeBytes.array(), default: 0] += 1
    if subjects != nil && event.subjectBytes.byteCount > 0 {
      subjects?[event.subjectBytes.array(), default: 0] += 1
      if let count = subjects?.count, count > SegmentIndex.subjectLimit { subjects = nil }
    }
  }

  /// Adds all records of a frame, which have been checked, and ends it.
  mutating func addFrame(_ records: RawSpan, base: Offset, position: UInt64) {
    var at = 0
    var offset = base
    while at < records.byteCount, let length = Record.length(at: at, in: records) {
      add(EventView(record: records.slice(at, length), offset: offset))
      at += length
      offset += 1
    }
    endFrame(base: base, position: position)
  }

  /// The events added since the last call are a frame.
  mutating func endFrame(base: Offset, position: UInt64) {
    index.frames.append(.init(base: base, position: position, times: frameTimes))
    frameTimes = (.latest, .earliest)
  }

  func finish() -> SegmentIndex {
    var finished = index
    finished.types = Self.sorted(types)
    finished.subjects = subjects.map(Self.sorted)
    return finished
  }

  private static func sorted(_ counts: [[UInt8]: UInt32]) -> [(name: [UInt8], count: UInt32)] {
    counts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { (name: $0.key, count: $0.value) }
  }
}
