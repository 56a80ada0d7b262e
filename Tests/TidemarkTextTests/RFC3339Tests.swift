import Testing

import TidemarkText

@Suite("RFC 3339 times")
struct RFC3339Tests {
  static let times: [(String, Int64, Int, Int16)] = [
    ("1970-01-01T00:00:00Z", 0, 0, 0), ("1970-01-01T00:00:00.000000001Z", 1, 9, 0), ("1969-12-31T23:59:59.9Z", -100_000_000, 1, 0),
    ("2013-01-01T05:15:00-05:00", 1_357_035_300_000_000_000, 0, -300), ("2013-01-01t10:15:00.00z", 1_357_035_300_000_000_000, 2, 0),
    ("2000-02-29T12:00:00+14:00", 951_775_200_000_000_000, 0, 840), ("2024-02-29T00:00:00-00:00", 1_709_164_800_000_000_000, 0, 0),
    ("1985-04-12T23:20:50.52Z", 482_196_050_520_000_000, 2, 0), ("1996-12-19T16:39:57-08:00", 851_042_397_000_000_000, 0, -480),
    ("1937-01-01T12:00:27.87+00:20", -1_041_337_172_130_000_000, 2, 20), ("2038-01-19T03:14:08Z", 2_147_483_648_000_000_000, 0, 0),
    ("2262-04-11T23:47:16.854775807Z", .max, 9, 0), ("1677-09-21T00:12:43.145224192Z", .min, 9, 0),
    ("2013-11-03T01:30:00.123456789-04:00", 1_383_456_600_123_456_789, 9, -240),
  ]

  @Test("are read with fraction digits and offset", arguments: times)
  func reads(_ text: String, _ nanoseconds: Int64, _ digits: Int, _ offset: Int16) throws {
    #expect(try RFC3339(text) == RFC3339(nanoseconds: nanoseconds, fractionDigits: digits, offsetMinutes: offset))
  }

  @Test(
    "outside 64 bits of nanoseconds are told apart from malformed ones",
    arguments: [
      "2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224191Z", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z",
      "1677-09-21T00:12:43Z", "2262-04-12T00:00:00Z",
      "1600-02-29T00:00:00Z",
    ])
  func outOfRange(_ text: String) {
    #expect(throws: RFC3339.Failure.outOfRange) { try RFC3339(text) }
  }

  static let malformed: [(String, Int)] = [
    ("", 0), ("2013", 4), ("2013-1-01T00:00:00Z", 6), ("2013-13-01T00:00:00Z", 5), ("2013-00-01T00:00:00Z", 5), ("2013-02-29T00:00:00Z", 8),
    ("2100-02-29T00:00:00Z", 8),
    ("2013-04-31T00:00:00Z", 8), ("2013-01-00T00:00:00Z", 8), ("2013-01-01 00:00:00Z", 10), ("2013-01-01T24:00:00Z", 11),
    ("2013-01-01T00:60:00Z", 14),
    ("2016-12-31T23:59:60Z", 17), ("2013-01-01T00:00:00", 19), ("2013-01-01T00:00:00.Z", 20), ("2013-01-01T00:00:00.1234567890Z", 29),
    ("2013-01-01T00:00:00+5:00", 21),
    ("2013-01-01T00:00:00+0500", 22), ("2013-01-01T00:00:00+24:00", 20), ("2013-01-01T00:00:00+05:60", 23), ("2013-01-01T00:00:00ZZ", 20),
    ("2013-01-01T00:00Z", 16),
    ("20130101T000000Z", 4), ("2013-01-01", 10), ("１013-01-01T00:00:00Z", 0),
    ("2013-01-01T00:00:00,5Z", 19), (" 2013-01-01T00:00:00Z", 0),
  ]

  @Test("are refused where malformed, with the place", arguments: malformed)
  func refuses(_ text: String, _ position: Int) {
    let failure = #expect(throws: RFC3339.Failure.self) { try RFC3339(text) }
    guard case .malformed(let error)? = failure else {
      Issue.record("\(text)")
      return
    }
    #expect(error.position == position, "\(text): \(error.why)")
  }

  @Test("come back as they were, at any second and with any digits")
  func roundTrip() throws {
    var state: UInt64 = 7
    for round in 0..<20_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let digits = round % 10
      let text = RFC3339.format(nanoseconds: Int64(bitPattern: state), fractionDigits: 9)
      #expect(try RFC3339(text).nanoseconds == Int64(bitPattern: state))
      let short = RFC3339.format(nanoseconds: Int64(bitPattern: state), fractionDigits: digits)
      #expect(short == (digits == 0 ? String(text.prefix(19)) : String(text.prefix(20 + digits))) + "Z")
    }
  }

  @Test("count days as the calendar does, from 1678 to 2261")
  func calendar() throws {
    var nanoseconds = try RFC3339("1678-01-01T00:00:00Z").nanoseconds
    for year in 1678...2261 {
      let isLeap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0
      for (month, days) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
        for day in [1, days] {
          func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
          let text = "\(year)-\(two(month + 1))-\(two(day))T00:00:00Z"
          let expected = nanoseconds + Int64(day - 1) * 86_400_000_000_000
          if RFC3339.format(nanoseconds: expected, fractionDigits: 0) != text { Issue.record("\(text)") }
          if try RFC3339(text).nanoseconds != expected { Issue.record("\(text)") }
        }
        nanoseconds += Int64(days) * 86_400_000_000_000
      }
    }
  }
}
