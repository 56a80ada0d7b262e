import TidemarkLog
import TidemarkText

/// Plain lines: the data of each event is a line without its line break. Empty lines are events too.
struct PlainLinesReader: EventReader {
  private var lines: LineReader
  private let type: String

  var lineNumber: Int { lines.lineNumber }
  var consumedByteCount: UInt64 { lines.input.consumedByteCount }

  init(_ source: any ByteSource, type: String) {
    lines = LineReader(source: source)
    self.type = type
  }

  mutating func next() throws -> NewEvent? {
    guard try lines.next() else { return nil }
    var range = lines.line
    if let last = range.last, lines.input.bytes[last] == UInt8(ascii: "\r") { range = range.lowerBound..<last }
    let line = lines.input.bytes.span.extracting(range)
    if let invalid = UTF8Check.firstInvalid(line) { throw InputError(line: lines.lineNumber, column: invalid + 1, "not valid UTF-8") }
    return NewEvent(type: type, contentType: "text/plain", data: [UInt8](copying: line))
  }
}
