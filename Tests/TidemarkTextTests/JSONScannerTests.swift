import Testing

import TidemarkText

@Suite("JSON scanner")
struct JSONScannerTests {
  static let accepted = [
    "{}", "[]", "null", "true", "false", "0", "-0", "1", "-12.5", "1e5", "1E+05", "0.1e-9", "\"\"", "\"a\"", " \t\r\n{ } \n",
    #"{"a":1,"b":[true,false,null],"c":{"d":"e"}}"#, #"{"":0}"#, #"{"a":1,"a":2}"#, #"[1,[2,[3]]]"#, #"[ 1 , 2 ]"#,
    #""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00""#, #""\uD800""#, #""é€😀""#, "\"\u{7F}\"", "\"\u{2028}\"", "123456789012345678901234567890",
    "1.7976931348623157e999", #"[{"a":{"b":[{}]}}]"#,
  ]

  @Test("accepts every form that RFC 8259 has", arguments: accepted)
  func accepts(_ text: String) throws {
    var scanner = JSONScanner()
    let range = try scanner.scan(Array(text.utf8).span)
    let value = String(decoding: Array(text.utf8)[range], as: UTF8.self)
    let space: Set<Character> = [" ", "\t", "\n", "\r", "\r\n"]
    #expect(value == String(text.drop { space.contains($0) }.reversed().drop { space.contains($0) }.reversed()))
  }

  static let refused: [(String, Int)] = [
    ("", 0), ("  ", 2), ("{", 1), ("[", 1), ("\"", 1), ("\"abc", 4), ("nul", 0), ("nulL", 0), ("True", 0), ("NaN", 0), ("Infinity", 0),
    ("+1", 0), ("01", 0), ("-01", 1), ("-", 1), ("1.", 2), (".5", 0), ("1e", 2), ("1e+", 3), ("0x10", 1), ("1 2", 2), ("{} {}", 3),
    ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3), ("[1", 2), ("{\"a\"}", 4), ("{\"a\":}", 5), ("{\"a\":1,}", 7), ("{a:1}", 1), ("{'a':1}", 1),
    ("{\"a\" 1}", 5), ("{\"a\":1 \"b\":2}", 7), ("{1:1}", 1), ("\"a\nb\"", 2), ("\"\t\"", 1), ("\"\u{0}\"", 1), ("\"\u{1F}\"", 1),
    (#""\x""#, 1), (#""\u12""#, 1),
    (#""\u12G4""#, 1), ("\"\\", 1), (#""\""#, 3), ("[\"a\"", 4), ("// comment\n1", 0), ("1/**/", 1), ("{\"a\":1}}", 7), ("]", 0),
    ("\u{FEFF}1", 0),
    ("\u{A0}1", 0), ("[1}", 2), ("{\"a\":1]", 6), ("tru e", 0),
  ]

  @Test("refuses everything else at the byte where it goes wrong", arguments: refused)
  func refuses(_ text: String, _ position: Int) {
    var scanner = JSONScanner()
    let error = #expect(throws: TextError.self) { _ = try scanner.scan(Array(text.utf8).span) }
    #expect(error?.position == position, "\(text): \(error?.why ?? "")")
  }

  static let invalidUTF8: [([UInt8], Int)] = [
    ([0x80], 0), ([0xC0, 0x80], 0), ([0xC1, 0xBF], 0), ([0xC3], 0), ([0xE0, 0x80, 0x80], 0), ([0xED, 0xA0, 0x80], 0),
    ([0xF0, 0x80, 0x80, 0x80], 0),
    ([0xF4, 0x90, 0x80, 0x80], 0), ([0xF5, 0x80, 0x80, 0x80], 0), ([0xFF], 0), ([0x61, 0xC3, 0xA9, 0xE2, 0x82], 3),
    ([0xE2, 0x28, 0xA1], 0),
  ]

  @Test("sees every byte at every place of a string, whatever stands around it")
  func everyByteInAString() {
    for length in 1...20 {
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max {
          var text = [UInt8](repeating: UInt8(ascii: "a"), count: length)
          text[place] = byte
          // What follows must not hide it.
          if place + 1 < length { text[place + 1] = 0x21 }
          let quoted = [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
          var scanner = JSONScanner()
          var found: TextError?
          do throws(TextError) { _ = try scanner.scan(quoted.span) } catch { found = error }
          switch byte {
          case UInt8(ascii: "\""): #expect(found?.position == place + 2, "\(length) \(place)")
          // It escapes the quote that was to end the string.
          case UInt8(ascii: "\\") where place + 1 == length: #expect(found?.position == length + 2, "\(length)")
          case 0..<0x20, UInt8(ascii: "\\"), 0x80...: #expect(found?.position == place + 1, "\(length) \(place) \(byte)")
          default: #expect(found == nil, "\(length) \(place) \(byte)")
          }
        }
      }
    }
  }

  @Test("tells long names apart that begin alike")
  func longNames() throws {
    for length in 1...20 {
      let name = String(repeating: "n", count: length)
      let pointer = try JSONPointer("/" + name)
      for other in [name + "n", String(name.dropLast()) + "m", "m" + name.dropFirst(), String(name.dropLast())] {
        var scanner = JSONScanner(pointers: [pointer])
        _ = try scanner.scan(Array("{\"\(other)\":1}".utf8).span)
        #expect(scanner.found[0] == nil, "\(name) \(other)")
        _ = try scanner.scan(Array("{\"\(other)\":1,\"\(name)\":2}".utf8).span)
        #expect(scanner.found[0] != nil, "\(name) \(other)")
      }
    }
  }

  @Test("refuses invalid UTF-8 in strings", arguments: invalidUTF8)
  func refusesInvalidUTF8(_ bytes: [UInt8], _ position: Int) {
    let text = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
    var scanner = JSONScanner()
    let error = #expect(throws: TextError.self) { _ = try scanner.scan(text.span) }
    #expect(error == TextError(at: position + 1, "not valid UTF-8"))
    #expect(firstInvalidUTF8(bytes) == position)
  }

  @Test("agrees with the standard library on all sequences of two and many of three and four bytes")
  func agreesOnUTF8() {
    func check(_ bytes: [UInt8]) {
      let isValid = String(validating: bytes, as: UTF8.self) != nil
      if (UTF8Check.firstInvalid(bytes.span) == nil) != isValid { Issue.record("\(bytes)") }
    }
    let edges: [UInt8] = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4]
    for first in UInt8.min...UInt8.max {
      for second in UInt8.min...UInt8.max { check([first, second]) }
    }
    for first in edges {
      for second in edges {
        for third in edges {
          check([first, second, third])
          for fourth in edges { check([first, second, third, fourth]) }
        }
      }
    }
  }

  @Test("nests 512 levels and no more")
  func nestingLimit() throws {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
      func nested(_ depth: Int) -> [UInt8] {
        Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
      }
      var scanner = JSONScanner()
      #expect(throws: Never.self) { _ = try scanner.scan(nested(512).span) }
      let error = #expect(throws: TextError.self) { _ = try scanner.scan(nested(513).span) }
      #expect(error?.position == 512 * open.utf8.count)
      #expect(throws: TextError.self) { _ = try scanner.scan(Array(String(repeating: open, count: 1_000_000).utf8).span) }
    }
  }

  @Test("refuses a document cut at any byte")
  func truncation() {
    let text = Array(#"{"a":[1.5e3,true,null,"\u00e9é"],"b":{"c":false}}"#.utf8)
    for length in 0..<text.count { #expect(!isJSON(Array(text[..<length])), "\(length)") }
    #expect(isJSON(text))
  }

  @Test("ends, without trapping, on any single changed byte")
  func mutations() {
    let text = Array(#"{"a":[1.5e3,true,null,"\uD83D\uDE00é"],"b":{"c":false}}"#.utf8)
    for index in text.indices {
      for value in UInt8.min...UInt8.max {
        var changed = text
        changed[index] = value
        var scanner = JSONScanner(pointers: [])
        guard let range = try? scanner.scan(changed.span) else { continue }
        try? JSONScanner.forEachMember(of: range, in: changed.span) { name, value throws(TextError) in
          _ = try JSONString.decode(changed.span, name)
          if changed[value.lowerBound] == UInt8(ascii: "\"") { _ = try JSONString.decode(changed.span, value) }
        }
      }
    }
  }
}
