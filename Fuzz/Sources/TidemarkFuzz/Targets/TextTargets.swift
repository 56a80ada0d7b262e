import TestSupport
@testable import TidemarkLog
@testable import TidemarkText
@testable import TidemarkTool

/// Text as the tool reads it: JSON lines, CSV and CloudEvents become events, go into a log, come out in every format, and are read again.
enum TextTargets {
  /// The first byte of an input: bits 0 to 2 which attributes come from the text, bits 3 to 5 how few bytes a read brings, bit 6 plain
  /// lines in the place of JSON.
  static func jsonLines(_ bytes: [UInt8]) {
    if let first = bytes.first, first & 0x40 != 0 { return read(bytes) { source, _ in PlainLinesReader(source, type: "line") } }
    read(bytes) { source, flags in JSONLinesReader(source, sources(flags)) }
  }

  static func csv(_ bytes: [UInt8]) {
    read(bytes) { source, flags in try CSVRowsReader(source, sources(flags)) }
  }

  static func cloudEvents(_ bytes: [UInt8]) {
    read(bytes) { source, _ in CloudEventsReader(source, logID: logID) }
  }

  private static let logID = EventID(high: 0x1111, low: 0x2222)

  private static func sources(_ flags: UInt8) -> AttributeSources {
    let command = CommandDescription(
      "fuzz", "fuzz", options: AttributeSources.optionNames.map { CommandDescription.Option($0, "X", "x") }, examples: [])
    var words: [String] = []
    if flags & 1 != 0 { words += ["--id-from", "/id"] }
    if flags & 2 != 0 { words += ["--type-from", "/type", "--subject-from", "/a~1b", "--actor-from", "/0"] }
    if flags & 4 != 0 { words += ["--time-from", "/time"] }
    guard let arguments = try? ParsedArguments(words, for: command), let sources = try? AttributeSources(arguments) else {
      violated("the options of the fuzzer itself are wrong")
    }
    return sources
  }

  // MARK: Reading

  private struct Reading {
    var events: [NewEvent] = []
    var failure: InputError?
  }

  private static func read<Reader: EventReader>(_ bytes: [UInt8], _ make: (any ByteSource, UInt8) throws -> Reader) {
    var input = Input(bytes)
    let flags = input.u8()
    let text = input.rest()
    let whole = drain { try make(BytesSource(text, step: .max), flags) }
    let step = [1, 2, 3, 5, 7, 16, 64, 1000][Int(flags >> 3 & 7)]
    let pieces = drain { try make(BytesSource(text, step: step), flags) }
    guard let whole, let pieces else { return require((whole == nil) == (pieces == nil), "a text is refused only in one piece") }
    require(whole.events == pieces.events && whole.failure == pieces.failure, "a text reads otherwise in pieces of \(step) bytes")
    RoundTrip.run(whole.events, logID: logID)
  }

  /// Nil where the options do not fit the input.
  private static func drain(_ make: () throws -> some EventReader) -> Reading? {
    var reading = Reading()
    do {
      var reader = try make()
      var line = 0
      while let event = try reader.next() {
        require(reader.lineNumber > line || line == 0, "line numbers go back to \(reader.lineNumber)")
        line = reader.lineNumber
        reading.events.append(event)
      }
    } catch let error as InputError {
      require(error.line > 0 && error.column > 0, "an error at line \(error.line), column \(error.column)")
      reading.failure = error
    } catch is UsageError { return nil } catch { violated("reading text throws \(error)") }
    return reading
  }

  static func corpus(_ target: FuzzTarget) -> [(name: String, bytes: [UInt8])] {
    var texts: [String] = []
    switch target {
    case .jsonLines:
      texts = [
        "{\"id\":\"a\",\"type\":\"scan\",\"time\":\"2013-11-03T01:30:00.25-04:00\",\"a/b\":\"s\",\"0\":7}\n{\"id\":2}\n",
        "[1,2.5e-3,\"\\ud83d\\ude00\"]\n\n",
        "{\"\\u0069d\":\"x\\\\\\n\",\"n\":{\"m\":[true,false,null]}}", "\u{FEFF}{\"id\":\"00000000-0000-4000-8000-000000000001\"}\r\n",
      ]
    case .csv:
      texts = [
        "id,type,time,a/b,0\r\n1,scan,1970-01-01T00:00:00Z,s,me\r\n", "id\n\"a\"\"b,\nc\"\n", "\u{FEFF}a,b\n1,2\n\n3,\"4\"\n",
        "id,time\nx,\n",
      ]
    case .cloudEvents:
      texts = [
        #"{"specversion":"1.0","id":"1","source":"/s","type":"t","time":"2020-02-29T23:59:59.123456789Z","subject":"x","data":{"a":1}}"#,
        #"{"specversion":"1.0","id":"00000000-0000-4000-8000-000000000001","source":"urn:uuid:\#(logID)","type":"t","data_base64":"AQID"}"#,
        #"{"specversion":"1.0","id":"1","source":"/s","type":"t","datacontenttype":"text/plain","data":"é","x":true,"actor":"me"}"#,
        #"{"specversion":"1.0","id":"1","source":"/s","type":"t","correlationid":"00000000-0000-4000-8000-000000000001","offset":9}"#,
      ]
    default: break
    }
    return texts.enumerated().flatMap { index, text in
      [0, 0x2F].map { (name: "\(index)-\($0)", bytes: [UInt8($0)] + Array(text.utf8)) }
    }
  }
}

/// Brings bytes in pieces.
final class BytesSource: ByteSource {
  private var bytes: ArraySlice<UInt8>
  private let step: Int

  init(_ bytes: [UInt8], step: Int) {
    self.bytes = bytes[...]
    self.step = step
  }

  func read(into buffer: inout [UInt8], at index: Int) -> Int {
    let piece = bytes.prefix(min(step, buffer.count - index))
    for (at, byte) in piece.enumerated() { buffer[index + at] = byte }
    bytes = bytes.dropFirst(piece.count)
    return piece.count
  }
}

/// Events into a log and out again.
enum RoundTrip {
  /// What the engine may say to an event that text made.
  private static let refusals: Set<LogError.Code> = [.conflict, .stringTooLong, .tooLarge]

  static func run(_ events: [NewEvent], logID: EventID) {
    guard !events.isEmpty else { return }
    do {
      let log = try EmptyLog.open()
      var kept: [NewEvent] = []
      for event in events.prefix(16) {
        do {
          if try !log.append(event).isDuplicate { kept.append(event) }
        } catch let error as LogError where refusals.contains(error.code) { continue }
      }
      try readBack(log, kept, logID)
    } catch { violated("events of a text do not go through a log: \(error)") }
  }

  private static func readBack(_ log: Log, _ kept: [NewEvent], _ logID: EventID) throws {
    var json = JSONLinesFormatter()
    var cloudEvents = CloudEventsFormatter(logID: logID)
    let csv = CSVFormatter()
    let table = TableFormatter()
    var rows: [UInt8] = []
    csv.header(to: &rows)
    table.header(to: &rows)
    rows.removeAll()
    csv.header(to: &rows)
    var index = 0
    var cursor = try log.read()
    while let event = try cursor.next() {
      require(index < kept.count, "a log has more events than were appended")
      let expected = kept[index]
      index += 1
      require(event.type == expected.type && event.subject == expected.subject, "an event has another type or subject than its text")
      require(event.data.array() == expected.data, "an event has other data than its text")
      if let time = expected.time { require(event.time == time, "an event has another time than its text") }
      if let id = expected.id { require(event.id == id, "an event has another id than its text") }
      var line: [UInt8] = []
      try json.append(event, nil, to: &line)
      require(line.last == UInt8(ascii: "\n") && JSONScanner.isValid(line.span), "a line of JSON is no JSON")
      line.removeAll()
      table.append(event, nil, to: &line)
      csv.append(event, nil, to: &rows)
      line.removeAll()
      try cloudEvents.append(event, nil, to: &line)
      try again(line, expected, event.id, logID)
    }
    require(index == kept.count, "a log has \(index) of \(kept.count) events")
    try count(rows, index)
  }

  private static func again(_ line: [UInt8], _ expected: NewEvent, _ id: EventID, _ logID: EventID) throws {
    require(JSONScanner.isValid(line.span), "a CloudEvent is no JSON")
    var reader = CloudEventsReader(BytesSource(line, step: .max), logID: logID)
    let again: NewEvent?
    do { again = try reader.next() } catch {
      violated("a CloudEvent that was written can't be read: \(error): \(String(decoding: line, as: UTF8.self))")
    }
    guard let again else { violated("a CloudEvent that was written is nothing") }
    require(again.id == id, "a CloudEvent comes back with another id")
    require(
      again.type == expected.type && again.subject == expected.subject && again.actor == expected.actor, "a CloudEvent comes back changed")
    if let time = expected.time { require(again.time == time, "a CloudEvent comes back with another time") }
    // A line break between values of JSON comes out as a blank.
    let isBreak = { (byte: UInt8) in byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") }
    let same = zip(again.data, expected.data).allSatisfy { $0 == $1 || isBreak($1) && $0 == UInt8(ascii: " ") }
    require(again.data.count == expected.data.count && same, "a CloudEvent comes back with other data: \(expected) \(again)")
  }

  private static func count(_ rows: [UInt8], _ expected: Int) throws {
    var reader = try CSVReader(source: BytesSource(rows, step: .max))
    var count = 0
    while try reader.next() { count += 1 }
    require(count == expected, "a table of \(expected) events has \(count) rows")
  }
}
