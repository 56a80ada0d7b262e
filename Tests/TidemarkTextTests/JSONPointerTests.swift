import Testing

import TidemarkText

@Suite("JSON pointers")
struct JSONPointerTests {
  func find(_ pointer: String, in text: String) throws -> String? {
    let bytes = Array(text.utf8)
    var scanner = JSONScanner(pointers: [try JSONPointer(pointer)])
    _ = try scanner.scan(bytes.span)
    return scanner.found[0].map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  /// The document of RFC 6901, section 5.
  static let document = #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#

  static let examples: [(String, String)] = [
    ("", document), ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
    ("/g|h", "4"),
    (#"/i\j"#, "5"), (#"/k"l"#, "6"), ("/ ", "7"), ("/m~0n", "8"),
  ]

  @Test("follow the examples of RFC 6901", arguments: examples)
  func rfcExamples(_ pointer: String, _ value: String) throws {
    #expect(try find(pointer, in: Self.document) == value)
  }

  @Test(
    "lead nowhere where there is nothing",
    arguments: [
      "/bar", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/-1", "/foo/0/x", "/foo/bar", "//", "/a/b", "/foo/99999999999999999999",
    ])
  func missing(_ pointer: String) throws {
    #expect(try find(pointer, in: Self.document) == nil)
  }

  @Test("are refused where malformed", arguments: ["a", "a/b", "/~", "/~2", "/a~"])
  func malformed(_ pointer: String) {
    #expect(throws: TextError.self) { try JSONPointer(pointer) }
  }

  @Test("go into nested objects and arrays, with white space anywhere")
  func nested() throws {
    let text = " { \"x\" : { \"y\" : [ 1 , { \"z\" : [ true ] } ] } , \"w\" : -0.5 } "
    #expect(try find("/x/y/1/z/0", in: text) == "true")
    #expect(try find("/x/y/1", in: text) == "{ \"z\" : [ true ] }")
    #expect(try find("/w", in: text) == "-0.5")
    #expect(try find("", in: text) == String(text.dropFirst().dropLast()))
  }

  @Test("match names that are written with escapes")
  func escapedNames() throws {
    #expect(try find("/é", in: #"{"\u00e9":1}"#) == "1")
    #expect(try find("/a~1b", in: #"{"a\/b":2}"#) == "2")
    #expect(try find("/a", in: #"{"\ud800":1,"a":2}"#) == "2")
    #expect(try find("/😀", in: #"{"\uD83D\ude00":3}"#) == "3")
  }

  @Test("lead to the last of members with one name")
  func repeatedNames() throws {
    #expect(try find("/a", in: #"{"a":1,"a":2}"#) == "2")
    #expect(try find("/a/b", in: #"{"a":{"b":1},"a":{"c":2}}"#) == nil)
    #expect(try find("/a/b", in: #"{"a":{"b":1},"a":3}"#) == nil)
  }

  @Test("are found together in one scan, and forgotten by the next")
  func several() throws {
    var scanner = JSONScanner(pointers: [try JSONPointer("/b"), try JSONPointer("/a/c"), try JSONPointer("/a"), try JSONPointer("/x")])
    _ = try scanner.scan(Array(#"{"a":{"c":5},"b":6}"#.utf8).span)
    #expect(scanner.found == [17..<18, 10..<11, 5..<12, nil])
    _ = try scanner.scan(Array("[]".utf8).span)
    #expect(scanner.found == [nil, nil, nil, nil])
  }

  @Test("64 of them work in one scan")
  func sixtyFour() throws {
    let names = (0..<64).map { "n\($0)" }
    let text = Array(("{" + names.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}").utf8)
    var scanner = JSONScanner(pointers: try names.map { try JSONPointer("/" + $0) })
    _ = try scanner.scan(text.span)
    let values = try scanner.found.map { try JSONString.decode(text.span, #require($0)) }
    #expect(values == names)
  }
}
