/// Reads lines from a stream. The last one may lack its line break.
///
/// ```swift
/// var lines = LineReader(source: file)
/// while try lines.next() {
///   use(lines.input.bytes.span.extracting(lines.line), lines.lineNumber)
/// }
/// ```
package struct LineReader {
  package private(set) var input: InputBuffer
  /// Where the line stands in `input.bytes`, without its line feed. Valid until the next call.
  package private(set) var line = 0..<0
  /// From 1.
  package private(set) var lineNumber = 0
  private var lengthWithBreak = 0

  package init(
    source: any ByteSource, chunkByteCount: Int = 256 << 10, recordByteLimit: Int = InputBuffer.defaultRecordByteLimit
  ) {
    input = InputBuffer(source: source, chunkByteCount: chunkByteCount, recordByteLimit: recordByteLimit)
  }

  /// Goes to the next line; false at the end.
  package mutating func next() throws -> Bool {
    if lineNumber == 0 { try input.skipByteOrderMark() }
    input.advance(lengthWithBreak)
    lengthWithBreak = 0
    var length = 0
    while true {
      if let index = Self.lineFeed(input.bytes.span, input.start + length, input.end) {
        length = index - input.start
        lengthWithBreak = length + 1
        break
      }
      length = input.end - input.start
      if length > input.recordByteLimit {
        throw InputError(line: lineNumber + 1, column: input.recordByteLimit + 1, "the line is longer than \(input.recordByteLimit) bytes")
      }
      guard try input.fill() else {
        if length == 0 { return false }
        lengthWithBreak = length
        break
      }
    }
    lineNumber += 1
    line = input.start..<input.start + length
    return true
  }

  private static func lineFeed(_ bytes: Span<UInt8>, _ from: Int, _ end: Int) -> Int? {
    var index = from
    while index < end {
      if bytes[index] == UInt8(ascii: "\n") { return index }
      index += 1
    }
    return nil
  }
}
