/// A small JSON text, taken apart: for messages and settings. Data of events is never read so; see ``JSONScanner``.
///
/// ```swift
/// let message = try JSONValue(bytes).object("the answer")
/// let size = try message.number("size", in: 0...100)
/// ```
package indirect enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// As it was written.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object(JSONObject)

  /// Reads JSON text (RFC 8259) that nests at most 16 deep, in which no object has a name twice.
  package init(_ bytes: [UInt8]) throws(TextError) {
    var scanner = JSONScanner()
    let range = try scanner.scan(bytes.span)
    self = try Self.read(bytes.span, range, depth: 0)
  }

  private static let depthLimit = 16

  private static func read(_ bytes: Span<UInt8>, _ range: Range<Int>, depth: Int) throws(TextError) -> JSONValue {
    guard depth < depthLimit else { throw TextError(at: range.lowerBound, "it nests more than \(depthLimit) deep") }
    switch bytes[range.lowerBound] {
    case UInt8(ascii: "{"):
      var members: [String: JSONValue] = [:]
      try JSONScanner.forEachMember(of: range, in: bytes) { (name, value) throws(TextError) in
        let text = try JSONString.decode(bytes, name)
        let known = members.updateValue(try read(bytes, value, depth: depth + 1), forKey: text)
        if known != nil { throw TextError(at: name.lowerBound, "the member \"\(text)\" is there twice") }
      }
      return .object(JSONObject(members, at: range.lowerBound))
    case UInt8(ascii: "["):
      var elements: [JSONValue] = []
      try JSONScanner.forEachElement(of: range, in: bytes) { (element) throws(TextError) in
        elements.append(try read(bytes, element, depth: depth + 1))
      }
      return .array(elements)
    case UInt8(ascii: "\""): return .string(try JSONString.decode(bytes, range))
    case UInt8(ascii: "t"): return .bool(true)
    case UInt8(ascii: "f"): return .bool(false)
    case UInt8(ascii: "n"): return .null
    default: return .number(String(decoding: range.map { bytes[$0] }, as: UTF8.self))
    }
  }

  /// As JSON text: numbers as they were written, members in the order of their names.
  package var text: String {
    var json = JSONWriter()
    write(to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.value("null".utf8Span.span)
    case .bool(let value): json.bool(value)
    case .number(let text): json.value(text.utf8Span.span)
    case .string(let text): json.string(text)
    case .array(let elements):
      json.beginArray()
      for element in elements { element.write(to: &json) }
      json.endArray()
    case .object(let object):
      json.beginObject()
      for name in object.names {
        json.name(name)
        object.member(name).write(to: &json)
      }
      json.endObject()
    }
  }

  /// The members; throws if it is no object.
  package func object(_ what: String) throws(TextError) -> JSONObject {
    guard case .object(let object) = self else { throw TextError(at: 0, "\(what) is no JSON object") }
    return object
  }
}

/// The members of an object, each read as what it must be. What a reader does not ask for is ignored, as later versions may add members.
package struct JSONObject: Equatable, Sendable {
  private let members: [String: JSONValue]
  /// Where it begins in the text.
  private let position: Int

  fileprivate init(_ members: [String: JSONValue], at position: Int) {
    self.members = members
    self.position = position
  }

  /// Nil if it is not there or null.
  package subscript(_ name: String) -> JSONValue? {
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  fileprivate func member(_ name: String) -> JSONValue { members[name] ?? .null }

  /// The names, in order.
  package var names: [String] { members.keys.sorted() }

  package func wrong(_ name: String, _ what: String) -> TextError { TextError(at: position, "the member \"\(name)\" \(what)") }

  private func value(_ name: String) throws(TextError) -> JSONValue {
    guard let value = self[name] else { throw wrong(name, "is missing") }
    return value
  }

  package func string(_ name: String, upTo limit: Int = 1_024) throws(TextError) -> String {
    guard case .string(let text) = try value(name) else { throw wrong(name, "is no text") }
    guard text.utf8.count <= limit else { throw wrong(name, "has \(text.utf8.count) bytes, and \(limit) are the most") }
    return text
  }

  package func optionalString(_ name: String, upTo limit: Int = 1_024) throws(TextError) -> String? {
    self[name] == nil ? nil : try string(name, upTo: limit)
  }

  package func number(_ name: String, in range: ClosedRange<UInt64>) throws(TextError) -> UInt64 {
    guard case .number(let text) = try value(name), let number = Self.whole(text), range.contains(number) else {
      throw wrong(name, "is no whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// The whole number that JSON text stands for, however it is written: `300`, `300.0`, `3e2`.
  private static func whole(_ text: String) -> UInt64? {
    if let number = UInt64(text) { return number }
    let sides = text.split(whereSeparator: { $0 == "e" || $0 == "E" })
    let parts = sides[0].split(separator: ".")
    guard let exponent = sides.count > 1 ? Int(sides[1]) : 0, abs(exponent) <= 20 else { return nil }
    var digits = parts.joined()
    let shift = exponent - (parts.count > 1 ? parts[1].count : 0)
    if shift >= 0 { return UInt64(digits + String(repeating: "0", count: shift)) }
    guard digits.suffix(-shift).allSatisfy({ $0 == "0" }) else { return nil }
    digits.removeLast(min(-shift, digits.count))
    return digits.isEmpty ? 0 : UInt64(digits)
  }

  package func optionalNumber(_ name: String, in range: ClosedRange<UInt64>) throws(TextError) -> UInt64? {
    self[name] == nil ? nil : try number(name, in: range)
  }

  package func bool(_ name: String) throws(TextError) -> Bool {
    guard case .bool(let value) = try value(name) else { throw wrong(name, "is neither true nor false") }
    return value
  }

  package func object(_ name: String) throws(TextError) -> JSONObject {
    guard case .object(let object) = try value(name) else { throw wrong(name, "is no object") }
    return object
  }

  package func array(_ name: String) throws(TextError) -> [JSONValue] {
    guard case .array(let elements) = try value(name) else { throw wrong(name, "is no array") }
    return elements
  }

  package func base64(_ name: String, byteCount: Int? = nil, upTo limit: Int = 1 << 16) throws(TextError) -> [UInt8] {
    let text = try string(name, upTo: limit)
    guard let bytes = try? Base64.decode(text.utf8Span.span) else { throw wrong(name, "is no base64") }
    if let byteCount, bytes.count != byteCount { throw wrong(name, "has \(bytes.count) bytes, not \(byteCount)") }
    return bytes
  }
}
