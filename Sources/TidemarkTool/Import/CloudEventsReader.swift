import TidemarkLog
import TidemarkText

/// CloudEvents 1.0 in JSON, structured mode, one event a line (JSON event format 1.0.2). Blank lines are skipped.
///
/// An id that is no UUID gives the same event id each time, together with its source; the text is kept as an attribute. `source` is kept
/// as an attribute unless it is this log; `offset`, which an export adds, belongs to the log it came from and is not kept.
struct CloudEventsReader: EventReader {
  private var lines: LineReader
  /// What an export of this log has as source.
  private let ownSource: String

  var lineNumber: Int { lines.lineNumber }
  var consumedByteCount: UInt64 { lines.input.consumedByteCount }

  init(_ source: any ByteSource, logID: EventID) {
    lines = LineReader(source: source)
    ownSource = "urn:uuid:\(logID)"
  }

  mutating func next() throws -> NewEvent? {
    while try lines.next() {
      let line = lines.input.bytes.span.extracting(lines.line)
      if JSONLine.isBlank(line) { continue }
      do {
        return try Self.event(line, ownSource: ownSource)
      } catch {
        throw InputError(line: lines.lineNumber, column: error.position + 1, error.why)
      }
    }
    return nil
  }

  /// The members that need each other.
  private struct Members {
    var id: (text: String, position: Int)?
    var source: String?
    var hasVersion = false
    var hasType = false
    /// Names of attributes that CloudEvents itself does not have.
    var attributes: Set<String> = []
    var data: Range<Int>?
    var base64: Range<Int>?
  }

  private static func event(_ line: Span<UInt8>, ownSource: String) throws(TextError) -> NewEvent {
    var scanner = JSONScanner()
    let object = try scanner.scan(line)
    guard line[object.lowerBound] == UInt8(ascii: "{") else { throw TextError(at: object.lowerBound, "an event is a JSON object") }
    var event = NewEvent(type: "")
    var members = Members()
    try JSONScanner.forEachMember(of: object, in: line) { nameRange, value throws(TextError) in
      let name = try JSONString.decode(line, nameRange)
      if name == "data" {
        members.data = value
      } else if line[value.lowerBound] != UInt8(ascii: "n") {
        try set(name, line, value, &event, &members)
      }
    }
    guard members.hasVersion else { throw TextError(at: object.lowerBound, "the event has no specversion") }
    guard let id = members.id else { throw TextError(at: object.lowerBound, "the event has no id") }
    guard let source = members.source else { throw TextError(at: object.lowerBound, "the event has no source") }
    guard members.hasType else { throw TextError(at: object.lowerBound, "the event has no type") }
    if let own = EventID(id.text) {
      event.id = own
      if own.description != id.text { event.extensions.append(.attribute(name: "id", value: id.text)) }
    } else {
      // A source is a URI reference, so it has no blanks.
      event.id = EventID(derivedFrom: "\(source) \(id.text)")
      event.extensions.append(.attribute(name: "id", value: id.text))
    }
    if source != ownSource { event.extensions.append(.attribute(name: "source", value: source)) }
    try setData(line, members, &event)
    return event
  }

  private static func set(
    _ name: String, _ line: Span<UInt8>, _ value: Range<Int>, _ event: inout NewEvent, _ members: inout Members
  ) throws(TextError) {
    let at = value.lowerBound
    switch name {
    case "specversion":
      guard try string(name, line, value) == "1.0" else { throw TextError(at: at, "only specversion \"1.0\" is known") }
      members.hasVersion = true
    case "id": members.id = (try required(name, line, value, limit: .max), at)
    case "source": members.source = try required(name, line, value, limit: .max)
    case "type":
      event.type = try required(name, line, value, limit: 255)
      members.hasType = true
    case "subject": event.subject = try required(name, line, value, limit: 1_024)
    case "datacontenttype": event.contentType = try required(name, line, value, limit: 255)
    case "time":
      let text = try string(name, line, value)
      event.set(try AttributeRules.time(text.utf8Span.span, at: at + 1))
    case "data_base64": members.base64 = value
    case "actor" where line[at] == UInt8(ascii: "\""):
      event.actor = try AttributeRules.check(name, try string(name, line, value), limit: 255, at: at)
    case "offset" where line[at] != UInt8(ascii: "\""): break
    default:
      guard members.attributes.insert(name).inserted else { throw TextError(at: at, "the attribute \(name) is there twice") }
      event.extensions.append(try attribute(name, line, value))
    }
  }

  private static func attribute(_ name: String, _ line: Span<UInt8>, _ value: Range<Int>) throws(TextError) -> EventExtension {
    let at = value.lowerBound
    let isName = name.utf8.allSatisfy {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
    }
    guard !name.isEmpty, name.utf8.count <= 255, isName else {
      throw TextError(at: at, "\"\(name)\" is no name of an attribute, which has 1 to 255 lower-case letters and digits")
    }
    switch line[at] {
    case UInt8(ascii: "\""):
      let text = try string(name, line, value)
      guard let id = EventID(text), id.description == text else { return .attribute(name: name, value: text) }
      switch name {
      case "correlationid": return .correlation(id)
      case "causationid": return .causation(id)
      case "supersedes": return .supersedes(id)
      default: return .attribute(name: name, value: text)
      }
    case UInt8(ascii: "{"), UInt8(ascii: "["): throw TextError(at: at, "the attribute \(name) is neither text, number nor truth value")
    default: return .attribute(name: name, value: String(utf8: line.extracting(value)) ?? "")
    }
  }

  private static func setData(_ line: Span<UInt8>, _ members: Members, _ event: inout NewEvent) throws(TextError) {
    if let base64 = members.base64 {
      if let data = members.data { throw TextError(at: data.lowerBound, "an event has either data or data_base64") }
      let text = try string("data_base64", line, base64)
      do { event.data = try Base64.decode(text.utf8Span.span) } catch {
        throw TextError(at: base64.lowerBound + 1 + error.position, error.why)
      }
      return
    }
    guard let data = members.data else { return }
    // The JSON format's rule: data without a content type is JSON.
    if event.contentType == nil { event.contentType = "application/json" }
    if ContentType.isJSON((event.contentType ?? "").utf8Span.span) {
      event.data = [UInt8](copying: line.extracting(data))
    } else {
      event.data = Array(try string("data", line, data).utf8)
    }
  }

  private static func string(_ name: String, _ line: Span<UInt8>, _ value: Range<Int>) throws(TextError) -> String {
    guard line[value.lowerBound] == UInt8(ascii: "\"") else { throw TextError(at: value.lowerBound, "\(name) is a string") }
    return try JSONString.decode(line, value)
  }

  private static func required(_ name: String, _ line: Span<UInt8>, _ value: Range<Int>, limit: Int) throws(TextError) -> String {
    guard let text = try AttributeRules.check(name, try string(name, line, value), limit: limit, at: value.lowerBound) else {
      throw TextError(at: value.lowerBound, "\(name) is empty")
    }
    return text
  }
}
