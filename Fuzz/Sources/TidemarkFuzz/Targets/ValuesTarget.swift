@testable import TidemarkLog
@testable import TidemarkText

/// Single values as text: times, ids, base64, JSON and its pointers, UTF-8.
enum ValuesTarget {
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let choice = input.u8()
    let text = input.rest()
    switch choice % 5 {
    case 0: time(text)
    case 1: base64(text)
    case 2: json(text)
    case 3: id(text)
    default: utf8(text)
    }
  }

  private static func time(_ text: [UInt8]) {
    guard let time = try? RFC3339(text.span) else { return }
    require((0...9).contains(time.fractionDigits), "a time has \(time.fractionDigits) digits")
    let written = RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: time.fractionDigits)
    guard let again = try? RFC3339(written) else { violated("a time that was written can't be read: \(written)") }
    require(again.nanoseconds == time.nanoseconds && again.fractionDigits == time.fractionDigits, "a time changes to \(written)")
  }

  private static func base64(_ text: [UInt8]) {
    var encoded: [UInt8] = []
    Base64.encode(text.span, to: &encoded)
    guard let back = try? Base64.decode(encoded.span) else { violated("base64 that was written can't be read") }
    require(back == text, "base64 comes back changed")
    guard let decoded = try? Base64.decode(text.span) else { return }
    var again: [UInt8] = []
    Base64.encode(decoded.span, to: &again)
    require(again == text, "two texts of base64 stand for the same bytes")
  }

  private static func json(_ text: [UInt8]) {
    let parts = text.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    var pointers: [JSONPointer] = []
    if parts.count > 1, let first = Self.text(parts[0]), let pointer = try? JSONPointer(first) { pointers.append(pointer) }
    let json = Array(parts[parts.count - 1])
    var scanner = JSONScanner(pointers: pointers)
    guard let value = try? scanner.scan(json.span) else { return }
    require(UTF8Check.firstInvalid(json.span) == nil, "JSON that is no UTF-8 is taken")
    for found in scanner.found.compactMap({ $0 }) {
      require(found.lowerBound >= value.lowerBound && found.upperBound <= value.upperBound, "a pointer leads out of its value")
      require(isJSON(json[found]), "a pointer leads to something that is no JSON")
    }
    let first = json[value.lowerBound]
    if first == UInt8(ascii: "\""), let string = try? JSONString.decode(json.span, value) {
      var written: [UInt8] = []
      JSONString.encode(string.utf8Span.span, to: &written)
      let again = try? JSONString.decode(written.span, 0..<written.count)
      require(again == string, "a string changes when it is written again")
    }
    guard first == UInt8(ascii: "{") else { return }
    guard let parts = try? members(of: value, in: json.span) else { violated("members of a JSON object can't be walked") }
    for part in parts { require(isJSON(json[part]), "a member is no JSON") }
  }

  private static func members(of object: Range<Int>, in json: Span<UInt8>) throws(TextError) -> [Range<Int>] {
    var parts: [Range<Int>] = []
    try JSONScanner.forEachMember(of: object, in: json) { (name, value) throws(TextError) in parts += [name, value] }
    return parts
  }

  private static func isJSON(_ bytes: ArraySlice<UInt8>) -> Bool {
    let copy = Array(bytes)
    return JSONScanner.isValid(copy.span)
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
    let copy = Array(bytes)
    return String(utf8: copy.span)
  }

  private static func id(_ text: [UInt8]) {
    guard let text = String(utf8: text.span) else { return }
    if let id = EventID(text) { require(EventID(id.description) == id, "an id changes when it is written again") }
    if let name = SegmentName(text) { require(name.text == text, "a segment's name changes when it is written again") }
    _ = EventID(derivedFrom: text)
  }

  /// Our check against the standard library's.
  private static func utf8(_ text: [UInt8]) {
    let isValid = (try? UTF8Span(validating: text.span)) != nil
    require((UTF8Check.firstInvalid(text.span) == nil) == isValid, "our check of UTF-8 and the standard library's differ")
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    let texts: [(String, UInt8, String)] = [
      ("time", 0, "2013-11-03T01:30:00.250-04:00"), ("time-early", 0, "1677-09-21T00:12:43.145224192Z"), ("base64", 1, "AQIDBA=="),
      ("json", 2, "/a/0\u{0}{\"a\":[1,{\"b\":\"\\u00e9\\ud83d\\ude00\"}]}"), ("id", 3, "01234567-89ab-7def-8123-456789abcdef"),
      ("name", 3, "00000000000000000012-0123456789abcdef0123456789abcdef.sealed"), ("utf8", 4, "aé€😀"),
    ]
    return texts.map { ($0.0, [$0.1] + Array($0.2.utf8)) }
  }
}
