import Testing

import TidemarkText

@Suite("Lines")
struct LineReaderTests {
  func lines(_ text: String, step: Int, chunk: Int) throws -> [String] {
    var reader = LineReader(source: TextSource(text, step: step), chunkByteCount: chunk)
    var lines: [String] = []
    while try reader.next() {
      lines.append(String(decoding: reader.input.bytes[reader.line], as: UTF8.self))
      #expect(reader.lineNumber == lines.count)
    }
    #expect(try !reader.next())
    return lines
  }

  static let texts: [(String, [String])] = [
    ("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("a\r\nbc\n", ["a\r", "bc"]),
    ("one\ntwo\nthree", ["one", "two", "three"]),
    ("\u{FEFF}x\n\u{FEFF}y", ["x", "\u{FEFF}y"]), ("\u{FEFF}", []),
    (String(repeating: "long", count: 50) + "\nb", [String(repeating: "long", count: 50), "b"]),
  ]

  @Test("are the same however the input is cut", arguments: texts)
  func cuts(_ text: String, _ expected: [String]) throws {
    for step in [1, 2, 3, 7, 1_000] {
      for chunk in [1, 4, 64, 4_096] {
        #expect(try lines(text, step: step, chunk: chunk) == expected, "step \(step), chunk \(chunk)")
      }
    }
  }

  @Test("count the bytes before them")
  func consumed() throws {
    var reader = LineReader(source: TextSource("ab\ncdef\n"), chunkByteCount: 4)
    _ = try reader.next()
    #expect(reader.input.consumedByteCount == 0)
    _ = try reader.next()
    #expect(reader.input.consumedByteCount == 3)
    _ = try reader.next()
    #expect(reader.input.consumedByteCount == 8)
  }

  @Test("longer than the limit are refused and not kept in memory")
  func longLine() throws {
    final class Endless: ByteSource {
      func read(into buffer: inout [UInt8], at index: Int) throws -> Int { buffer.count - index }
    }
    var reader = LineReader(source: Endless(), chunkByteCount: 1_000, recordByteLimit: 5_000)
    let error = #expect(throws: InputError.self) { try reader.next() }
    #expect(error?.line == 1 && error?.column == 5_001)
    #expect(reader.input.bytes.count <= 8_000)
  }
}
