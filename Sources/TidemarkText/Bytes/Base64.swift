/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func encode(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
    let padding = UInt8(ascii: "=")
    output.reserveCapacity(output.count + (bytes.count + 2) / 3 * 4)
    var at = 0
    while at < bytes.count {
      let left = bytes.count - at
      let word = UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[at + 2]) : 0)
      output.append(alphabet[Int(word >> 18)])
      output.append(alphabet[Int(word >> 12 & 63)])
      output.append(left > 1 ? alphabet[Int(word >> 6 & 63)] : padding)
      output.append(left > 2 ? alphabet[Int(word & 63)] : padding)
      at += 3
    }
  }

  /// Decodes; throws at the first character that does not belong, at a missing padding, and at bits that would be dropped.
  package static func decode(_ text: Span<UInt8>) throws(TextError) -> [UInt8] {
    guard text.count % 4 == 0 || planted(.cloudEvents) || planted(.notes) else {
      throw TextError(at: text.count, "base64 text is not a multiple of four characters")
    }
    var output: [UInt8] = []
    output.reserveCapacity(text.count / 4 * 3)
    var at = 0
    while at < text.count {
      let isLast = at + 4 == text.count
      let padding = isLast && text[at + 3] == UInt8(ascii: "=") ? (text[at + 2] == UInt8(ascii: "=") ? 2 : 1) : 0
      var word: UInt32 = 0
      for index in at..<at + 4 {
        word <<= 6
        if index >= at + 4 - padding { continue }
        word |= try digit(text[index], index)
      }
      guard word & (padding == 0 ? 0 : padding == 1 ? 0xFF : 0xFFFF) == 0 else {
        throw TextError(at: at + 3 - padding, "base64 text ends in bits that belong to no byte")
      }
      output.append(UInt8(truncatingIfNeeded: word >> 16))
      if padding < 2 { output.append(UInt8(truncatingIfNeeded: word >> 8)) }
      if padding < 1 { output.append(UInt8(truncatingIfNeeded: word)) }
      at += 4
    }
    return output
  }

  private static func digit(_ byte: UInt8, _ position: Int) throws(TextError) -> UInt32 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: throw TextError(at: position, "not a base64 character")
    }
  }
}
