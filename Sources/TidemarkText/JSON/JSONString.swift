/// Strings in JSON text: from bytes to text and back.
package enum JSONString {
  /// The text of the string at `range`, quotes included, in scanned JSON. Throws at an escaped surrogate without its partner, which is
  /// legal JSON but stands for no text.
  package static func decode(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(TextError) -> String {
    let inner = bytes.extracting(range.lowerBound + 1..<range.upperBound - 1)
    var plain = 0
    while plain < inner.count, inner[plain] != UInt8(ascii: "\\") { plain += 1 }
    if plain == inner.count {
      guard let text = String(utf8: inner) else { throw TextError(at: range.lowerBound, "not valid UTF-8") }
      return text
    }
    var output = [UInt8](copying: inner.extracting(0..<plain))
    var at = plain
    while at < inner.count {
      if inner[at] != UInt8(ascii: "\\") {
        output.append(inner[at])
        at += 1
        continue
      }
      switch inner[at + 1] {
      case UInt8(ascii: "b"): output.append(0x08)
      case UInt8(ascii: "f"): output.append(0x0C)
      case UInt8(ascii: "n"): output.append(0x0A)
      case UInt8(ascii: "r"): output.append(0x0D)
      case UInt8(ascii: "t"): output.append(0x09)
      case UInt8(ascii: "u"):
        let (scalar, length) = try scalar(inner, at, range.lowerBound + 1)
        output.append(String(Character(scalar)))
        at += length
        continue
      case let other: output.append(other)
      }
      at += 2
    }
    guard let text = String(utf8: output.span) else { throw TextError(at: range.lowerBound, "not valid UTF-8") }
    return text
  }

  /// The scalar of the escape at `at`, or of two that form a surrogate pair, and how many bytes that took.
  private static func scalar(_ inner: Span<UInt8>, _ at: Int, _ shift: Int) throws(TextError) -> (Unicode.Scalar, Int) {
    let first = hexadecimal(inner, at + 2) ?? 0
    if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
    if first < 0xDC00, at + 7 < inner.count, inner[at + 6] == UInt8(ascii: "\\"), inner[at + 7] == UInt8(ascii: "u"),
      let second = hexadecimal(inner, at + 8), second >= 0xDC00, second <= 0xDFFF,
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    {
      return (scalar, 12)
    }
    throw TextError(at: shift + at, "half of a surrogate pair stands for no text")
  }

  static func hexadecimal(_ bytes: Span<UInt8>, _ at: Int) -> UInt32? {
    guard at + 4 <= bytes.count || planted(.jsonLines) else { return nil }
    var value: UInt32 = 0
    for index in at..<at + 4 {
      switch bytes[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(bytes[index] - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(bytes[index] - UInt8(ascii: "a")) + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(bytes[index] - UInt8(ascii: "A")) + 10
      default: return nil
      }
    }
    return value
  }

  /// Appends valid UTF-8 as a JSON string in quotes. Only `"`, `\` and control characters are escaped.
  package static func encode(_ text: Span<UInt8>, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    var start = 0
    for index in text.indices {
      let byte = text[index]
      guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
      output.append(text.extracting(start..<index))
      start = index + 1
      output.append(UInt8(ascii: "\\"))
      switch byte {
      case 0x08: output.append(UInt8(ascii: "b"))
      case 0x09: output.append(UInt8(ascii: "t"))
      case 0x0A: output.append(UInt8(ascii: "n"))
      case 0x0C: output.append(UInt8(ascii: "f"))
      case 0x0D: output.append(UInt8(ascii: "r"))
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
      default:
        let digits = Array("0123456789abcdef".utf8)
        output.append("u00")
        output.append(digits[Int(byte >> 4)])
        output.append(digits[Int(byte & 15)])
      }
    }
    output.append(text.extracting(start..<text.count))
    output.append(UInt8(ascii: "\""))
  }
}
