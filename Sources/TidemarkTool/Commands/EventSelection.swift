import TidemarkLog
import TidemarkText

/// Which events `cat` prints.
struct EventSelection {
  let from: Offset?
  let to: Offset?
  let times: ClosedRange<Timestamp>?
  let type: [UInt8]?
  let subject: [UInt8]?
  let follow: Bool
  let control: Bool
  let salvage: Bool
  private var left: UInt64

  init(_ arguments: ParsedArguments) throws {
    from = try arguments.number("from", in: 0...UInt64.max - 1)
    to = try arguments.number("to")
    if let from, let to, from > to { throw arguments.error("--from \(from) --to \(to)", why: "the range is upside down") }
    let since = try Self.time("since", arguments)
    let until = try Self.time("until", arguments)
    if let since, let until, since > until { throw arguments.error("--since, --until", why: "the range is upside down") }
    times = since == nil && until == nil ? nil : (since ?? .earliest)...(until ?? .latest)
    type = arguments.value("type").map { Array($0.utf8) }
    subject = arguments.value("subject").map { Array($0.utf8) }
    follow = arguments.isSet("follow")
    control = arguments.isSet("control")
    salvage = arguments.isSet("salvage")
    left = try arguments.number("limit") ?? .max
  }

  private static func time(_ name: String, _ arguments: ParsedArguments) throws -> Timestamp? {
    guard let text = arguments.value(name) else { return nil }
    do {
      return Timestamp(nanoseconds: try RFC3339(text).nanoseconds)
    } catch .malformed(let error) {
      throw arguments.error("--\(name) \(text)", why: "\(error.why), at character \(error.position + 1)")
    } catch .outOfRange {
      throw arguments.error("--\(name) \(text)", why: "the time is out of range: years 1677 to 2262 can be kept")
    }
  }

  /// Whether the limit is reached.
  var isDone: Bool { left == 0 }

  func query(_ log: Log) -> Query {
    var query = Query()
    if from != nil || to != nil || follow {
      let first = from ?? log.first
      query.offsets = first..<max(first, min(to ?? .max, log.size))
    }
    query.times = times
    query.includesControlEvents = control
    query.onDamage = salvage ? .skip : .fail
    return query
  }

  /// Whether an event of the query is wanted. Counts it.
  mutating func takes(_ event: borrowing EventView) -> Bool {
    if let type, !event.typeBytes.bytes.equals(type.span) { return false }
    if let subject, !event.subjectBytes.bytes.equals(subject.span) { return false }
    left -= 1
    return true
  }

  /// The same for an event that no query has chosen.
  mutating func takesLive(_ event: borrowing EventView) -> Bool {
    if let times, !times.contains(event.time) { return false }
    return takes(event)
  }
}
