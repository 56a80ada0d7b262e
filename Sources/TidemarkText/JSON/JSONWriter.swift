/// Writes compact JSON text: commas by itself, members in the order in which they come.
///
/// ```swift
/// var json = JSONWriter()
/// json.beginObject()
/// json.member("count", 3)
/// json.endObject()                             // {"count":3}
/// ```
package struct JSONWriter: Sendable {
  package var bytes: [UInt8] = []
  private var needsComma = false

  package init() {}

  /// Starts again and keeps the memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  package mutating func beginObject() { open("{") }
  package mutating func endObject() { close("}") }
  package mutating func beginArray() { open("[") }
  package mutating func endArray() { close("]") }

  package mutating func name(_ name: String) {
    separate()
    JSONString.encode(name.utf8Span.span, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  package mutating func string(_ text: Span<UInt8>) {
    separate()
    JSONString.encode(text, to: &bytes)
    needsComma = true
  }

  package mutating func string(_ text: String) { string(text.utf8Span.span) }

  package mutating func number(_ value: UInt64) {
    separate()
    bytes.append(String(value))
    needsComma = true
  }

  package mutating func number(_ value: Int) {
    separate()
    bytes.append(String(value))
    needsComma = true
  }

  package mutating func bool(_ value: Bool) {
    separate()
    bytes.append(value ? "true" : "false")
    needsComma = true
  }

  /// Appends a value that is JSON text already. Line breaks in it can only be white space; they become blanks, so that the text stays
  /// one line.
  package mutating func value(_ text: Span<UInt8>) {
    separate()
    var start = 0
    for index in text.indices where text[index] == UInt8(ascii: "\n") || text[index] == UInt8(ascii: "\r") {
      bytes.append(text.extracting(start..<index))
      bytes.append(UInt8(ascii: " "))
      start = index + 1
    }
    bytes.append(text.extracting(start..<text.count))
    needsComma = true
  }

  /// Appends bytes as base64 in quotes.
  package mutating func base64(_ data: Span<UInt8>) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    Base64.encode(data, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  package mutating func member(_ name: String, _ text: String) {
    self.name(name)
    string(text)
  }

  package mutating func member(_ name: String, _ value: UInt64) {
    self.name(name)
    number(value)
  }

  package mutating func member(_ name: String, _ value: Int) {
    self.name(name)
    number(value)
  }

  package mutating func member(_ name: String, _ value: Bool) {
    self.name(name)
    bool(value)
  }

  private mutating func open(_ bracket: Unicode.Scalar) {
    separate()
    bytes.append(UInt8(ascii: bracket))
    needsComma = false
  }

  private mutating func close(_ bracket: Unicode.Scalar) {
    bytes.append(UInt8(ascii: bracket))
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
  }
}
