package import TidemarkLog
package import TidemarkProtocol
package import TidemarkText

/// Keeps what came down from the server, in a log of its own beside the captures: each change one event, as it came, and behind those that
/// came together one that says how far it goes. A batch is there whole or not at all, so the last event tells where to go on.
///
/// | type | data |
/// |---|---|
/// | `tidemark.change` | a change; its id is derived from generation and number, so that the same one again is no event more |
/// | `tidemark.snapshot` | a ``ReceivedCursor``: what was before no longer counts; the items follow as changes |
/// | `tidemark.cursor` | a ``ReceivedCursor`` |
package struct ReceivedLog {
  package let log: Log
  package private(set) var cursor: ReceivedCursor?

  package static let changeType = "tidemark.change"
  package static let snapshotType = "tidemark.snapshot"
  package static let cursorType = "tidemark.cursor"
  /// So many numbers may pass by that are not for this device before they are noted.
  private static let numbersBetween: UInt64 = 1_000

  /// Takes up a log that is open for writing. Throws as a cursor does.
  package init(_ log: Log) throws {
    self.log = log
    cursor = try Self.lastCursor(log)
    kept = cursor
  }

  /// Opens the log at a path, or makes it.
  package static func open(at path: String, options: LogOptions = LogOptions()) throws -> Log {
    let environment = Environment(fileSystem: POSIXFileSystem(), clock: options.clock, random: SystemRandom())
    return try open(at: path, options: options, environment: environment)
  }

  package static func open(at path: String, options: LogOptions, environment: Environment) throws -> Log {
    var options = options
    // A snapshot is one batch.
    options.maximumBatchByteCount = 64 << 20
    do { return try Log.open(at: path, options: options, environment: environment) } catch LogError.Code.notALog {
      try Log.create(at: path, options: options, environment: environment)
      return try Log.open(at: path, options: options, environment: environment)
    }
  }

  private static func lastCursor(_ log: Log) throws -> ReceivedCursor? {
    var end = log.size
    var count: Offset = 16
    while end > log.first {
      let start = max(log.first, end - min(end, count))
      var found: ReceivedCursor?
      var cursor = try log.read(Query(offsets: start..<end, onDamage: .skip))
      while let event = try cursor.next() {
        if event.type == cursorType, let known = try? ReceivedCursor(json: event.data.array()) { found = known }
      }
      if let found { return found }
      end = start
      count *= 4
    }
    return nil
  }

  /// Keeps a page of changes.
  ///
  /// - Parameter accepted: what of this device's logs the server had accepted before it was asked; counts only if the page is complete.
  ///
  /// Throws `LogError.Code.conflict` if the server gives a number of this generation another change than before, and errors of the file
  /// system. Then nothing is kept.
  package mutating func take(_ page: ChangesAnswer, accepted: [EventID: Offset]) throws {
    let known = cursor?.accepted ?? [:]
    let accepted = page.isComplete ? known.merging(accepted) { $1 } : known
    let new = ReceivedCursor(
      generation: page.generation, through: page.through, place: page.place, person: page.person, accepted: accepted)
    let isWorthNoting = kept.map { new.through >= $0.through + Self.numbersBetween || new.accepted != $0.accepted } ?? true
    guard !page.entries.isEmpty || isWorthNoting else {
      cursor?.through = new.through
      return
    }
    var batch = try page.entries.map { bytes in
      var event = Self.change(bytes)
      event.id = EventID(derivedFrom: "change \(page.generation.hexadecimal) \(try Self.number(bytes))")
      return event
    }
    batch.append(NewEvent(type: Self.cursorType, contentType: MediaType.json, data: new.json))
    try log.append(batch)
    (cursor, kept) = (new, new)
  }

  /// As it stands in the log.
  private var kept: ReceivedCursor?

  /// Keeps all items as they are, in the place of what was there before. Throws errors of the file system.
  package mutating func take(snapshot: ChangesAnswer, accepted: [EventID: Offset]) throws {
    let isSame = cursor?.generation == snapshot.generation
    let accepted = isSame ? (cursor?.accepted ?? [:]).merging(accepted) { $1 } : accepted
    let new = ReceivedCursor(
      generation: snapshot.generation, through: snapshot.through, place: snapshot.place, person: snapshot.person, accepted: accepted)
    let marks = [Self.snapshotType, Self.cursorType].map { NewEvent(type: $0, contentType: MediaType.json, data: new.json) }
    try log.append([marks[0]] + snapshot.entries.map(Self.change) + [marks[1]])
    (cursor, kept) = (new, new)
  }

  private static func change(_ bytes: [UInt8]) -> NewEvent {
    NewEvent(type: changeType, contentType: MediaType.json, data: bytes)
  }

  private static func number(_ bytes: [UInt8]) throws -> UInt64 {
    try JSONValue(bytes).object("a change").number("number", in: 1...UInt64.max)
  }
}

/// How far what came down goes.
package struct ReceivedCursor: Message {
  package static let what = "the cursor"
  package var generation: EventID
  /// All changes up to this number that were for this device are there.
  package var through: UInt64
  /// For which place they were.
  package var place: String
  /// For which person.
  package var person: String
  /// By log, below which offset the server's decisions about this device's own events are contained in what came.
  package var accepted: [EventID: Offset]

  package init(generation: EventID, through: UInt64, place: String, person: String, accepted: [EventID: Offset]) {
    self.generation = generation
    self.through = through
    self.place = place
    self.person = person
    self.accepted = accepted
  }

  package init(_ object: JSONObject) throws(TextError) {
    generation = try object.id("generation")
    through = try object.number("through", in: 0...UInt64.max)
    place = try object.optionalString("place") ?? ""
    person = try object.optionalString("person") ?? ""
    accepted = [:]
    for value in try object.array("accepted") {
      let entry = try value.object("an entry")
      accepted[try entry.id("log")] = try entry.offset("size")
    }
  }

  package func write(to json: inout JSONWriter) {
    json.member("generation", generation)
    json.member("through", through)
    if !place.isEmpty { json.member("place", place) }
    if !person.isEmpty { json.member("person", person) }
    json.name("accepted")
    json.beginArray()
    for (log, size) in accepted.sorted(by: { $0.key < $1.key }) {
      json.beginObject()
      json.member("log", log)
      json.member("size", size)
      json.endObject()
    }
    json.endArray()
  }
}
