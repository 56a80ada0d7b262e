import Testing

import TidemarkText

@Suite("JSON strings and output")
struct JSONStringTests {
  func decode(_ text: String) throws -> String {
    let bytes = Array(text.utf8)
    return try JSONString.decode(bytes.span, 0..<bytes.count)
  }

  static let texts: [(String, String)] = [
    (#""""#, ""), (#""plain é€😀""#, "plain é€😀"), (#""a\"b\\c\/d""#, "a\"b\\c/d"), (#""\b\f\n\r\t""#, "\u{8}\u{C}\n\r\t"),
    (#""\u0041\u00e9\u20AC""#, "Aé€"),
    (#""x\uD83D\uDE00y""#, "x😀y"), (#""\u0000""#, "\u{0}"), (#""\uffff""#, "\u{FFFF}"),
  ]

  @Test("are decoded", arguments: texts)
  func decodes(_ json: String, _ text: String) throws {
    #expect(try decode(json) == text)
  }

  @Test(
    "with half a surrogate pair stand for no text",
    arguments: [#""\uD800""#, #""\uDC00""#, #""\uD800x""#, #""\uD800\uD800""#, #""\uDC00\uD800""#, #""ab\uD83D\n""#])
  func loneSurrogates(_ json: String) {
    let error = #expect(throws: TextError.self) { try decode(json) }
    #expect(error?.position == (json.contains("ab") ? 3 : 1))
  }

  @Test("escape quotes, backslashes and control characters only")
  func encodes() {
    var output: [UInt8] = []
    JSONString.encode("a\"b\\c/d\u{8}\u{C}\n\r\t\u{1}\u{1F}\u{7F}é😀\u{2028}".utf8Span.span, to: &output)
    #expect(String(decoding: output, as: UTF8.self) == #""a\"b\\c/d\b\f\n\r\t\u0001\u001f"# + "\u{7F}é😀\u{2028}\"")
  }

  @Test("come back as they were, for every scalar")
  func roundTrip() throws {
    for start in stride(from: UInt32(0), to: 0x110000, by: 0x400) {
      let text = String(String.UnicodeScalarView((start..<start + 0x400).compactMap { Unicode.Scalar($0) }))
      var output: [UInt8] = []
      JSONString.encode(text.utf8Span.span, to: &output)
      guard isJSON(output) else {
        Issue.record("\(start)")
        return
      }
      if try JSONString.decode(output.span, 0..<output.count) != text { Issue.record("\(start)") }
    }
  }

  @Test("the writer sets commas, and makes one line of any value")
  func writer() throws {
    var json = JSONWriter()
    json.beginObject()
    json.member("a", 1)
    json.name("list")
    json.beginArray()
    json.beginObject()
    json.endObject()
    json.beginObject()
    json.member("x", UInt64.max)
    json.endObject()
    json.bool(false)
    json.string("y")
    json.endArray()
    json.name("raw")
    json.value(Array("{\r\n \"k\": [1,\n2]}".utf8).span)
    json.name("bytes")
    json.base64([0, 255].span)
    json.member("\"", true)
    json.endObject()
    let text = String(decoding: json.bytes, as: UTF8.self)
    #expect(text == #"{"a":1,"list":[{},{"x":18446744073709551615},false,"y"],"raw":{   "k": [1, 2]},"bytes":"AP8=","\"":true}"#)
    #expect(isJSON(json.bytes))
    json.removeAll()
    json.beginArray()
    json.endArray()
    #expect(json.bytes == Array("[]".utf8))
  }

  @Test("members are visited in order with their ranges")
  func members() throws {
    let text = Array(" { \"a\" : 1 , \"b\":{\"c\":[1,2]},\"d\":\"\" } ".utf8)
    var scanner = JSONScanner()
    let object = try scanner.scan(text.span)
    var seen: [String] = []
    try JSONScanner.forEachMember(of: object, in: text.span) { name, value throws(TextError) in
      seen.append(String(decoding: text[name], as: UTF8.self) + "=" + String(decoding: text[value], as: UTF8.self))
    }
    #expect(seen == ["\"a\"=1", "\"b\"={\"c\":[1,2]}", "\"d\"=\"\""])
    let empty = Array("{ }".utf8)
    try JSONScanner.forEachMember(of: 0..<3, in: empty.span) { _, _ throws(TextError) in Issue.record("a member of nothing") }
  }
}
