import Testing

import TidemarkText

@Suite("CSV")
struct CSVTests {
  func rows(_ text: String, step: Int = .max, chunk: Int = 4_096) throws -> [[String]] {
    var reader = try CSVReader(source: TextSource(text, step: step), chunkByteCount: chunk)
    var rows = [reader.header]
    while try reader.next() { rows.append(reader.header.indices.map { reader.text($0) }) }
    #expect(try !reader.next())
    return rows
  }

  static let files: [(String, [[String]])] = [
    ("", [[]]), ("a,b\n", [["a", "b"]]), ("a,b", [["a", "b"]]), ("a,b\n1,2\n", [["a", "b"], ["1", "2"]]),
    ("a,b\r\n1,2\r\n3,4", [["a", "b"], ["1", "2"], ["3", "4"]]),
    ("a,b\n,\n", [["a", "b"], ["", ""]]), ("a\n\"\"\n", [["a"], [""]]), ("a,b\n\n\r\n1,2\n\n", [["a", "b"], ["1", "2"]]),
    ("\n\na\n1\n", [["a"], ["1"]]),
    ("a,b\n\"x,y\",\"he said \"\"no\"\"\"\n", [["a", "b"], ["x,y", "he said \"no\""]]),
    ("a,b\n\"two\nlines\",\"three\r\nmore\n\"\n", [["a", "b"], ["two\nlines", "three\r\nmore\n"]]),
    ("\u{FEFF}\"a\",b\n1,2", [["a", "b"], ["1", "2"]]), ("a;b\n1;2\n", [["a;b"], ["1;2"]]),
    ("a,b\n 1 ,\t2\n", [["a", "b"], [" 1 ", "\t2"]]), ("a\n\"\"\"\"\n", [["a"], ["\""]]),
    ("å,ø\næ,😀\n", [["å", "ø"], ["æ", "😀"]]), ("a,\n1,2\n", [["a", ""], ["1", "2"]]), ("a,b\n1,2\r", [["a", "b"], ["1", "2"]]),
  ]

  @Test("is read the same however the input is cut", arguments: files)
  func cuts(_ text: String, _ expected: [[String]]) throws {
    for step in [1, 2, 3, 1_000] {
      for chunk in [1, 5, 4_096] { #expect(try rows(text, step: step, chunk: chunk) == expected, "step \(step), chunk \(chunk)") }
    }
  }

  static let mistakes: [(String, Int, Int)] = [
    ("a,b\n1\n", 2, 2), ("a,b\n1,2,3\n", 2, 5), ("a,b\n1,2\n3,\"x\ny\",5\n", 4, 4), ("a,a\n", 1, 3), ("a,b\n1,x\"y\n", 2, 4),
    ("a,b\n\"x\"y,2\n", 2, 4), ("a,b\n\"x,2\n\n", 2, 1),
    ("a,b\n1,2\n3,\"\n\nx", 3, 3), ("a,b\n1\r2,3\n", 2, 2), ("\"a", 1, 1), ("a,b\n\n\n1\n", 4, 2), ("a\n\"x\" \n", 2, 4),
    ("a,b\n\"l1\nl2\",x\"\n", 3, 6), ("a\n\"x\"\ry\n", 2, 4), ("a\n\"x\ny\"\n1,2\n", 4, 3),
  ]

  @Test("is refused where malformed, with line and column", arguments: mistakes)
  func refuses(_ text: String, _ line: Int, _ column: Int) {
    for chunk in [1, 4_096] {
      let error = #expect(throws: InputError.self) { try rows(text, step: chunk, chunk: chunk) }
      #expect(error?.line == line && error?.column == column, "\(text): \(error.map { "\($0)" } ?? "")")
    }
  }

  @Test("with invalid UTF-8 is refused, with line and column")
  func invalidUTF8() throws {
    let bytes = Array("a,b\n1,\"ø\nx".utf8) + [0xFF] + Array("\"\n".utf8)
    var reader = try CSVReader(source: TextSource(bytes))
    let error = #expect(throws: InputError.self) { try reader.next() }
    #expect(error == InputError(line: 3, column: 2, "not valid UTF-8"))
  }

  @Test("that is written is read again as it was")
  func roundTrip() throws {
    let values = ["", "plain", "comma,", "\"", "\"\"", "line\nbreak", "cr\r", "crlf\r\n", " blank ", "ø😀", "a\"b,c\nd"]
    var output = Array("x,y\n".utf8)
    for value in values {
      CSVWriter.field(value, to: &output)
      output.append(UInt8(ascii: ","))
      CSVWriter.field(value, to: &output)
      output.append(UInt8(ascii: "\n"))
    }
    let read = try rows(String(decoding: output, as: UTF8.self))
    #expect(Array(read.dropFirst()) == values.map { [$0, $0] })
    var bare: [UInt8] = []
    CSVWriter.field("no need", to: &bare)
    #expect(bare == Array("no need".utf8))
  }

  @Test("a quote that is never closed ends at the limit, and the quote is named")
  func endlessQuote() throws {
    final class Endless: ByteSource {
      var isFirst = true
      func read(into buffer: inout [UInt8], at index: Int) throws -> Int {
        for place in index..<buffer.count { buffer[place] = UInt8(ascii: "x") }
        if isFirst {
          for (place, byte) in "a,b\n1,\"".utf8.enumerated() { buffer[index + place] = byte }
          isFirst = false
        }
        return buffer.count - index
      }
    }
    var reader = try CSVReader(source: Endless(), chunkByteCount: 1_000, recordByteLimit: 5_000)
    let error = #expect(throws: InputError.self) { try reader.next() }
    #expect(error?.line == 2 && error?.column == 3)
    #expect(reader.input.bytes.count <= 8_000)
  }
}
