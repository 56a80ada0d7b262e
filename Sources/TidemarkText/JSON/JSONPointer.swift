/// A JSON pointer (RFC 6901), such as `/flight/tail` or `/a~1b/0`. The empty pointer is the whole value.
package struct JSONPointer: Equatable, Sendable {
  /// The reference tokens, unescaped, as UTF-8.
  package let tokens: [[UInt8]]
  package let text: String

  package init(_ text: String) throws(TextError) {
    self.text = text
    let bytes = Array(text.utf8)
    var tokens: [[UInt8]] = []
    if let first = bytes.first, first != UInt8(ascii: "/") { throw TextError(at: 0, "a JSON pointer starts with \"/\"") }
    var at = 0
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "/") {
        tokens.append([])
      } else if bytes[at] == UInt8(ascii: "~") {
        guard at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "0") || bytes[at + 1] == UInt8(ascii: "1") else {
          throw TextError(at: at, "\"~\" in a JSON pointer is written \"~0\"")
        }
        tokens[tokens.count - 1].append(bytes[at + 1] == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
        at += 1
      } else {
        tokens[tokens.count - 1].append(bytes[at])
      }
      at += 1
    }
    self.tokens = tokens
  }

  /// The array index that a token names: digits without a leading zero.
  static func index(_ token: [UInt8]) -> Int? {
    guard !token.isEmpty, token.count <= 18, token.count == 1 || token[0] != UInt8(ascii: "0") else { return nil }
    var value = 0
    for byte in token {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return value
  }
}
