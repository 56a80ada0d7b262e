/// Reads comma-separated values (RFC 4180) from a stream: a header, then records with as many fields.
///
/// Fields may be quoted and then hold commas, doubled quotes and line breaks. Lines end with CRLF or LF. Blank lines are skipped.
/// Everything else that the RFC leaves out (a quote inside a bare field, text behind a closing quote, too few or too many fields) is an
/// error with its place.
package struct CSVReader {
  struct Field {
    /// Counted from the start of the record, without quotes.
    var range: Range<Int>
    var hasDoubledQuotes: Bool
  }

  package private(set) var input: InputBuffer
  /// The names of the columns.
  package private(set) var header: [String] = []
  /// The line on which the present record starts, from 1.
  package private(set) var lineNumber = 1
  private var fields: [Field] = []
  private var recordLength = 0
  private var recordLineCount = 0

  /// Reads the header. Throws at a name that stands there twice; an empty input has no columns.
  package init(
    source: any ByteSource, chunkByteCount: Int = 256 << 10, recordByteLimit: Int = InputBuffer.defaultRecordByteLimit
  ) throws {
    input = InputBuffer(source: source, chunkByteCount: chunkByteCount, recordByteLimit: recordByteLimit)
    try input.skipByteOrderMark()
    guard try parse() else { return }
    var names: Set<String> = []
    for index in fields.indices {
      let name = text(index)
      guard names.insert(name).inserted else { throw error(fields[index].range.lowerBound, "the column \"\(name)\" is there twice") }
      header.append(name)
    }
  }

  /// Goes to the next record; false at the end.
  package mutating func next() throws -> Bool {
    guard try parse() else { return false }
    if fields.count < header.count && !planted(.csv) {
      throw error(recordEnd, "the row has \(fields.count) of \(header.count) fields")
    }
    if fields.count > header.count {
      throw error(fields[header.count].range.lowerBound, "the row has \(fields.count) fields, the header \(header.count)")
    }
    return true
  }

  /// Whether a field is empty.
  package func isEmpty(_ field: Int) -> Bool { fields[field].range.isEmpty }

  /// Appends the bytes of a field, which are valid UTF-8.
  package func copy(_ field: Int, to output: inout [UInt8]) {
    let range = fields[field].range
    guard fields[field].hasDoubledQuotes else {
      output.append(input.bytes.span.extracting(input.start + range.lowerBound..<input.start + range.upperBound))
      return
    }
    var index = input.start + range.lowerBound
    while index < input.start + range.upperBound {
      output.append(input.bytes[index])
      index += input.bytes[index] == UInt8(ascii: "\"") ? 2 : 1
    }
  }

  package func text(_ field: Int) -> String {
    var output: [UInt8] = []
    copy(field, to: &output)
    return String(utf8: output.span) ?? ""
  }

  /// An error at the start of a field of the present record.
  package func error(inField field: Int, _ why: String) -> InputError { error(fields[field].range.lowerBound, why) }

  // MARK: Records

  private var recordEnd: Int { fields.last?.range.upperBound ?? 0 }

  private mutating func parse() throws -> Bool {
    input.advance(recordLength)
    lineNumber += recordLineCount
    recordLength = 0
    recordLineCount = 0
    while let length = try lineBreak(0) {
      input.advance(length)
      lineNumber += 1
    }
    guard try input.byte(0) != nil else { return false }
    fields.removeAll(keepingCapacity: true)
    var at = 0
    while true {
      at = try input.byte(at) == UInt8(ascii: "\"") ? quotedField(at) : bareField(at)
      if try input.byte(at) == UInt8(ascii: ",") {
        at += 1
        continue
      }
      recordLength = at
      if let length = try lineBreak(at) {
        recordLength += length
        recordLineCount += 1
      }
      break
    }
    let record = input.bytes.span.extracting(input.start..<input.start + recordLength)
    if let invalid = UTF8Check.firstInvalid(record) { throw error(invalid, "not valid UTF-8") }
    return true
  }

  private mutating func bareField(_ start: Int) throws -> Int {
    var at = start
    while let byte = try input.byte(at), byte != UInt8(ascii: ","), byte != UInt8(ascii: "\n") {
      if byte == UInt8(ascii: "\r") {
        if try lineBreak(at) != nil { break }
        throw error(at, "a carriage return without a line feed stands outside quotes")
      }
      if byte == UInt8(ascii: "\"") { throw error(at, "a quote stands inside a field that is not quoted") }
      at += 1
      try limit(at, 0)
    }
    fields.append(Field(range: start..<at, hasDoubledQuotes: false))
    return at
  }

  /// - Returns: where the field ends, behind its closing quote.
  private mutating func quotedField(_ opening: Int) throws -> Int {
    var at = opening + 1
    var hasDoubledQuotes = false
    while let byte = try input.byte(at) {
      if byte == UInt8(ascii: "\"") {
        guard try input.byte(at + 1) == UInt8(ascii: "\"") else { break }
        hasDoubledQuotes = true
        at += 1
      }
      if byte == UInt8(ascii: "\n") { recordLineCount += 1 }
      at += 1
      try limit(at, opening)
    }
    guard try input.byte(at) != nil else { throw error(opening, "this quote is never closed") }
    fields.append(Field(range: opening + 1..<at, hasDoubledQuotes: hasDoubledQuotes))
    let next = try input.byte(at + 1)
    guard try next == nil || next == UInt8(ascii: ",") || lineBreak(at + 1) != nil else {
      throw error(at + 1, "a comma or the end of the line is due after a closing quote")
    }
    return at + 1
  }

  /// The length of the line break at `at`, or nil if there is none.
  private mutating func lineBreak(_ at: Int) throws -> Int? {
    switch try input.byte(at) {
    case UInt8(ascii: "\n"): return 1
    case UInt8(ascii: "\r"):
      let next = try input.byte(at + 1)
      return next == UInt8(ascii: "\n") ? 2 : next == nil ? 1 : nil
    default: return nil
    }
  }

  private func limit(_ at: Int, _ start: Int) throws {
    if at > input.recordByteLimit { throw error(start, "the record that goes on from here is longer than \(input.recordByteLimit) bytes") }
  }

  /// An error at a place in the present record, which may have several lines.
  private func error(_ at: Int, _ why: String) -> InputError {
    var line = lineNumber
    var column = 1
    for index in input.start..<input.start + at {
      if input.bytes[index] == UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else {
        column += 1
      }
    }
    return InputError(line: line, column: column, why)
  }
}
