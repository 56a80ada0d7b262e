/// Well-formed records of consecutive events, copied out of a log, to be given out one by one.
struct EventBlock: Sendable {
  private(set) var records: [UInt8]
  private var position = 0
  /// Of the record at `position`.
  private var offset: Offset
  /// Behind the last record.
  private(set) var end: Offset
  private var session: SharedSession?
  /// Events below it are not asked for.
  private let from: Offset
  private let includesControlEvents: Bool

  init(records: [UInt8], offset: Offset, session: SharedSession?, from: Offset, includesControlEvents: Bool) {
    self.records = records
    self.offset = offset
    end = offset
    self.session = session
    self.from = from
    self.includesControlEvents = includesControlEvents
  }

  /// Nothing.
  init() { self.init(records: [], offset: 0, session: nil, from: 0, includesControlEvents: false) }

  mutating func add(_ more: RawSpan, end: Offset) {
    records.add(more)
    self.end = end
  }

  /// The next event. It shares the bytes of all others.
  @inline(__always) mutating func next() -> Event? {
    while let length = Record.length(at: position, in: records.rawSpan) {
      let event = Event(bytes: records, position: position, length: length, offset: offset, session: session)
      position += length
      offset += 1
      if event.isControl {
        if event.kind == .session { session = SharedSession(event.view.data) }
        if !includesControlEvents { continue }
      }
      if event.offset >= from { return event }
    }
    return nil
  }
}
