internal import TidemarkLog

/// The engine, as an agent uses it.
struct TidemarkStore: Store {
  private let log: Log

  /// Returns nil if there is no log and none is to be made.
  init?(_ path: String, _ setting: OwnSetting, creates: Bool) throws {
    var options = LogOptions()
    options.program = "tidemark crashtest"
    switch setting {
    case .tidemarkWritten: options.durability = .written
    case .tidemarkBuffered: options.durability = .buffered
    case .tidemarkSmall:
      options.segmentByteCount = 32 << 10
      options.zerosAheadByteCount = 8 << 10
    default: break
    }
    // What a crash damaged must not be passed over.
    options.onCorruption = .refuse
    if creates {
      do { try Log.create(at: path, options: options) } catch LogError.Code.alreadyExists {}
    }
    do { log = try Log.open(at: path, options: options) } catch LogError.Code.notALog where !creates { return nil }
  }

  mutating func append(_ events: [[UInt8]]) throws {
    if events.count == 1 {
      try log.append(NewEvent(type: "reading", data: events[0]))
    } else {
      try log.append(events.map { NewEvent(type: "reading", data: $0) })
    }
  }

  mutating func forEach(_ body: ([UInt8]) throws -> Void) throws {
    var cursor = try log.read()
    while let event = try cursor.next() {
      try body(event.data.array())
    }
  }

  mutating func close() throws { try log.close() }
}
