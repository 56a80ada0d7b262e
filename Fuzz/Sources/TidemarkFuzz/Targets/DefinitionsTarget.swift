@testable import TidemarkLog
@testable import TidemarkProjections

/// The definition of a projection, events to fold by it, and what was saved of a fold.
///
/// Parts of an input are divided by zeros. The first is the definition. Of the others the first byte says what they are: with bit 7 a saved
/// state, which is all the rest; otherwise an event, with bits 0 and 1 its type, bit 2 whether it has a subject, bits 3 to 5 which of the
/// events before it it supersedes, if that is not 0, and bit 6 whether it supersedes itself; then its data.
enum DefinitionsTarget {
  static func run(_ bytes: [UInt8]) {
    let end = bytes.firstIndex(of: 0) ?? bytes.count
    guard let definition = definition(Array(bytes[..<end])) else { return }
    let projection = definition.projection
    var events: [NewEvent] = []
    var rest = bytes[end...].dropFirst()
    while let flags = rest.popFirst(), events.count < 12 {
      if flags & 0x80 != 0 {
        state(Array(rest), projection)
        break
      }
      let data = rest.prefix { $0 != 0 }
      events.append(event(flags, Array(data), number: events.count))
      rest = rest[data.endIndex...].dropFirst()
    }
    explain("\(events.count) events")
    do { try fold(events, projection) } catch { violated("events can't be folded: \(error)") }
  }

  private static func definition(_ text: [UInt8]) -> ProjectionDefinition? {
    // Without a database, so that nothing depends on the system's.
    let zones = TimeZoneDatabase(directory: "/nowhere")
    do { return try ProjectionDefinition(json: text, file: "definition.json", zones: zones) } catch let error as LogError {
      explain("\(error)")
      if error.code == .unknownTimeZone { return nil }
      require(error.code == .invalidArgument && error.file != nil && !error.why.isEmpty, "a definition is refused with \(error)")
      require(error.position.map { $0 <= UInt64(text.count) } ?? false, "a definition is refused at \(String(describing: error.position))")
    } catch { violated("a definition is refused with \(error)") }
    return nil
  }

  private static func event(_ flags: UInt8, _ data: [UInt8], number: Int) -> NewEvent {
    func id(_ number: Int) -> EventID { EventID(high: 7, low: UInt64(max(0, number) + 1)) }
    var extensions: [EventExtension] = []
    let back = Int(flags >> 3 & 7)
    if back > 0 { extensions.append(.supersedes(id(number - back))) }
    if flags & 0x40 != 0 { extensions.append(.supersedes(id(number))) }
    return NewEvent(
      type: ["scan", "reading", "a", "b"][Int(flags & 3)], subject: flags & 4 != 0 ? "s\(flags & 3)" : nil, id: id(number),
      extensions: extensions, data: data)
  }

  // MARK: A saved state

  /// Bytes that are no state are refused; those that are one are written again.
  private static func state(_ bytes: [UInt8], _ projection: DefinedProjection) {
    guard let state = try? projection.decode(bytes) else { return }
    _ = projection.rows(of: state)
    same(state, projection)
  }

  private static func same(_ state: DefinedProjection.State, _ projection: DefinedProjection) {
    do {
      require(try projection.decode(projection.encode(state)) == state, "a state comes back changed")
    } catch { violated("a state that was written can't be read: \(error)") }
  }

  // MARK: A fold

  private static func fold(_ events: [NewEvent], _ projection: DefinedProjection) throws {
    guard !events.isEmpty else { return }
    let log = try EmptyLog.open()
    var skipping = ProjectionOptions()
    skipping.onUnreadable = .skip
    // One follows event by event and is saved on the way, the other comes at the end.
    let following = try ProjectionRunner(projection, of: log, options: skipping)
    var halfway: (size: Offset, state: DefinedProjection.State)?
    for (index, event) in events.enumerated() {
      try log.append(event)
      try following.catchUp()
      if index == events.count / 2 {
        halfway = (log.size, try following.state())
        try following.save()
      }
    }
    let at = try following.current()
    explain("\(projection.rows(of: at.state))")
    skipping.directory = "/elsewhere"
    let late = try ProjectionRunner(projection, of: log, options: skipping)
    let whole = try late.current()
    require(whole.state == at.state, "a fold in one go has another value")
    require(whole.report.unreadableCount == at.report.unreadableCount, "a fold in one go counts other unreadable events")
    let resumed = try ProjectionRunner(projection, of: log, options: withoutDirectory(skipping)).current()
    require(resumed.state == at.state, "a fold from a snapshot has another value")
    if let halfway {
      require(try late.state(asOf: halfway.size).state == halfway.state, "the state as of an offset is not what it was then")
    }
    check(projection.rows(of: at.state), events.count)
    same(at.state, projection)
  }

  private static func withoutDirectory(_ options: ProjectionOptions) -> ProjectionOptions {
    var options = options
    options.directory = nil
    return options
  }

  private static func check(_ rows: [DefinedProjection.Row], _ count: Int) {
    require(
      zip(rows, rows.dropFirst()).allSatisfy { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) },
      "rows are out of order, or a key is there twice")
    require(rows.reduce(0) { $0 + ($1.count ?? 1) } <= count, "there are more values than events")
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    let count = #"{"name":"n","types":["scan"],"key":["/a","@subject"],"fold":"count"}"#
    let sum = #"{"name":"s","key":["@type"],"value":"/v","fold":"sum","absent":"skip"}"#
    let average = #"{"name":"s.1","key":["/k/0"],"value":"/v","fold":"average","digits":2}"#
    let latest = #"{"name":"l","key":["/a~1b"],"time":"/t","fold":"latest"}"#
    let maximum = #"{"name":"m","key":["@actor","@subject"],"value":"","fold":"maximum"}"#
    let presence = #"{"name":"p","key":["/w"],"place":"/p","fold":"presence","roles":{"scan":"enter","reading":"leave"},"per":"place"}"#
    let versions =
      #"{"name":"a","key":["/i","@subject"],"version":"/v","material":"/m","fold":"acknowledgements","#
      + #""roles":{"scan":"publish","reading":"acknowledge","a":"ask","b":"withdraw"}}"#
    let hours = #"{"name":"h","fold":"count","window":{"unit":"hour","zone":"@offset","time":"/t"}}"#
    let counts: [UInt8] = [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 97, 3, 0, 0, 0, 0, 0, 0, 0]
    let sums: [UInt8] = [1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 97, 3, 0, 0, 0, 49, 46, 53, 2, 0, 0, 0, 0, 0, 0, 0]
    return [
      ("count", input(count, (4, #"{"a":1}"#), (5, #"{"a":"x"}"#), (12, #"{"a":[2]}"#))),
      ("sum", input(sum, (0, #"{"v":0.1}"#), (1, #"{"v":-1e3}"#), (8, #"{"v":12345678901234567890}"#), (3, "{}"))),
      ("average", input(average, (1, #"{"k":["x"],"v":1}"#), (64, #"{"k":["x"],"v":2}"#))),
      ("latest", input(latest, (1, #"{"a/b":1,"t":"2020-01-01T00:00:00Z"}"#), (16, #"{"a/b":1,"t":"2019-01-01T00:00:00Z"}"#))),
      ("maximum", input(maximum, (4, "1.5"), (5, "2"), (12, "0"))),
      ("presence", input(presence, (0, #"{"w":"x","p":"y"}"#), (1, #"{"w":"x"}"#), (8, #"{"w":"z","p":"y"}"#))),
      ("versions", input(versions, (0, #"{"i":"n","v":3,"m":false}"#), (5, #"{"i":"n","v":3}"#), (8, #"{"i":"n","v":4}"#))),
      ("hours", input(hours, (1, #"{"t":"2013-11-03T01:30:00-04:00"}"#), (2, #"{"t":"2013-11-03T01:30:00-05:00"}"#))),
      ("state-counts", Array(count.utf8) + [0, 0x80] + counts), ("state-sums", Array(sum.utf8) + [0, 0x80] + sums),
    ]
  }

  private static func input(_ definition: String, _ events: (flags: UInt8, data: String)...) -> [UInt8] {
    var bytes = Array(definition.utf8)
    for event in events { bytes += [0, event.flags] + Array(event.data.utf8) }
    return bytes
  }
}
