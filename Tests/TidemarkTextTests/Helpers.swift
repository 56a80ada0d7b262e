import TidemarkText

// Spans can't be arguments of calls inside `#expect`, arrays can.

func isJSON(_ bytes: [UInt8]) -> Bool { JSONScanner.isValid(bytes.span) }

func firstInvalidUTF8(_ bytes: [UInt8]) -> Int? { UTF8Check.firstInvalid(bytes.span) }

func decodeBase64(_ text: String) throws -> [UInt8] { try Base64.decode(text.utf8Span.span) }

/// Input from memory that comes a few bytes at a time.
final class TextSource: ByteSource {
  private let bytes: [UInt8]
  private let step: Int
  private var at = 0

  init(_ bytes: [UInt8], step: Int = .max) {
    self.bytes = bytes
    self.step = step
  }

  convenience init(_ text: String, step: Int = .max) { self.init(Array(text.utf8), step: step) }

  func read(into buffer: inout [UInt8], at index: Int) throws -> Int {
    let count = min(step, buffer.count - index, bytes.count - at)
    for offset in 0..<count { buffer[index + offset] = bytes[at + offset] }
    at += count
    return count
  }
}
