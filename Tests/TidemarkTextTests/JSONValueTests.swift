import Testing
import TidemarkText

@Suite("Small JSON texts")
struct JSONValueTests {
  static let whole: [(String, UInt64?)] = [
    ("0", 0), ("300", 300), ("300.0", 300), ("3e2", 300), ("3E+2", 300), ("30.00e1", 300), ("3000e-1", 300), ("0.0", 0), ("0e20", 0),
    ("18446744073709551615", .max), ("18446744073709551615.0", .max), ("18446744073709551616", nil), ("0.5", nil), ("3e-1", nil),
    ("-1", nil), ("-1.0", nil), ("1e20", nil), ("1e99", nil), ("1e99999999999999999999", nil), ("\"1\"", nil), ("null", nil),
  ]

  @Test("a whole number is one however it is written", arguments: whole)
  func wholeNumbers(_ text: String, _ number: UInt64?) throws {
    let object = try JSONValue(Array("{\"n\":\(text)}".utf8)).object("it")
    #expect((try? object.number("n", in: 0...UInt64.max)) == number)
  }
}
