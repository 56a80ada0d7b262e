import TidemarkLog
import TidemarkText

/// JSON lines: the data of each event is a line's value, byte for byte. Blank lines are skipped.
struct JSONLinesReader: EventReader {
  private var lines: LineReader
  private var line: JSONLine

  var lineNumber: Int { lines.lineNumber }
  var consumedByteCount: UInt64 { lines.input.consumedByteCount }

  init(_ source: any ByteSource, _ sources: AttributeSources) {
    lines = LineReader(source: source)
    line = JSONLine(sources)
  }

  mutating func next() throws -> NewEvent? {
    while try lines.next() {
      let buffer = lines.input.bytes
      let bytes = buffer.span.extracting(lines.line)
      if JSONLine.isBlank(bytes) { continue }
      do {
        return try line.event(bytes)
      } catch {
        throw InputError(line: lines.lineNumber, column: error.position + 1, error.why)
      }
    }
    return nil
  }
}

/// Makes an event of a line of JSON.
struct JSONLine {
  private var scanner: JSONScanner
  private let type: String
  // Places in `scanner.found`.
  private let typeIndex: Int?
  private let idIndex: Int?
  private let subjectIndex: Int?
  private let actorIndex: Int?
  private let timeIndex: Int?

  init(_ sources: AttributeSources) {
    var pointers: [JSONPointer] = []
    func index(_ pointer: JSONPointer?) -> Int? {
      guard let pointer else { return nil }
      pointers.append(pointer)
      return pointers.count - 1
    }
    typeIndex = index(sources.typeFrom)
    idIndex = index(sources.idFrom)
    subjectIndex = index(sources.subjectFrom)
    actorIndex = index(sources.actorFrom)
    timeIndex = index(sources.timeFrom)
    type = sources.type
    scanner = JSONScanner(pointers: pointers)
  }

  mutating func event(_ line: Span<UInt8>) throws(TextError) -> NewEvent {
    let value = try scanner.scan(line)
    var event = NewEvent(type: type, contentType: "application/json", data: [UInt8](copying: line.extracting(value)))
    if let typeIndex, let found = try text(line, typeIndex, "type", limit: 255) { event.type = found }
    if let subjectIndex { event.subject = try text(line, subjectIndex, "subject", limit: 1_024) }
    if let actorIndex { event.actor = try text(line, actorIndex, "actor", limit: 255) }
    if let idIndex {
      guard let range = scanner.found[idIndex], let text = try text(line, idIndex, "id", limit: .max) else {
        let position = scanner.found[idIndex]?.lowerBound ?? value.lowerBound
        throw TextError(at: position, "there is no id at \(scanner.pointers[idIndex].text)")
      }
      event.id = try AttributeRules.id(text, at: range.lowerBound)
    }
    if let timeIndex, let range = scanner.found[timeIndex], line[range.lowerBound] != UInt8(ascii: "n") {
      guard line[range.lowerBound] == UInt8(ascii: "\"") else { throw TextError(at: range.lowerBound, "a time is a string (RFC 3339)") }
      event.set(try AttributeRules.time(line.extracting(range.lowerBound + 1..<range.upperBound - 1), at: range.lowerBound + 1))
    }
    return event
  }

  /// The text of a string or the digits of a number; nil where there is nothing, null or an empty string.
  private func text(_ line: Span<UInt8>, _ index: Int, _ name: String, limit: Int) throws(TextError) -> String? {
    guard let range = scanner.found[index] else { return nil }
    switch line[range.lowerBound] {
    case UInt8(ascii: "n"): return nil
    case UInt8(ascii: "\""):
      return try AttributeRules.check(name, try JSONString.decode(line, range), limit: limit, at: range.lowerBound)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      return try AttributeRules.check(name, String(utf8: line.extracting(range)) ?? "", limit: limit, at: range.lowerBound)
    default: throw TextError(at: range.lowerBound, "the \(name) at \(scanner.pointers[index].text) is neither a string nor a number")
    }
  }

  static func isBlank(_ line: Span<UInt8>) -> Bool {
    for index in line.indices
    where line[index] != UInt8(ascii: " ") && line[index] != UInt8(ascii: "\t") && line[index] != UInt8(ascii: "\r") {
      return false
    }
    return true
  }
}
