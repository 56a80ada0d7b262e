import Foundation
import TestSupport
import Testing
import TidemarkText

@Suite("Rules of time zones")
struct ZoneRulesTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Zones")

  private func bytes(_ zone: String) throws -> [UInt8] {
    try Array(Data(contentsOf: Self.folder.appendingPathComponent("\(zone).tzif")))
  }

  private func lines(_ name: String) throws -> [[String]] {
    try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8).split(separator: "\n").map { line in
      line.split(separator: " ").map(String.init)
    }
  }

  // MARK: Against Python

  @Test("give the offsets that Python's zoneinfo gives, from 1677 to 2262")
  func expected() throws {
    var zones: [String: ZoneRules] = [:]
    var count = 0
    for line in try lines("expected.txt") {
      let rules = try zones[line[0]] ?? ZoneRules(bytes(line[0]))
      zones[line[0]] = rules
      let seconds = try #require(Int64(line[1]))
      #expect(rules.stretch(at: seconds).offsetSeconds == Int(line[2]), "\(line)")
      count += 1
    }
    #expect(count > 500 && zones.count == 12)
  }

  @Test("for years ahead give what Python's zoneinfo and the C library give")
  func expectedRules() throws {
    var count = 0
    for line in try lines("rules.txt") {
      let rules = try ZoneRules(ZoneFile.ofRule(line[0]))
      let seconds = try #require(Int64(line[1]))
      #expect(rules.stretch(at: seconds).offsetSeconds == Int(line[2]), "\(line)")
      count += 1
    }
    #expect(count > 200)
  }

  @Test(
    "hold over new year, where others err",
    arguments: [
      // It ends at 07:30 UTC on 31 December, and begins with the first second of the next year of standard time, at 21:00.
      ("ABC-3DEF-4:30,J1/0,J365/12", 1_704_007_799, 16_200), ("ABC-3DEF-4:30,J1/0,J365/12", 1_704_007_800, 10_800),
      ("ABC-3DEF-4:30,J1/0,J365/12", 1_704_056_399, 10_800), ("ABC-3DEF-4:30,J1/0,J365/12", 1_704_056_400, 16_200),
      // Daylight saving time all the year, as RFC 9636 writes it.
      ("EST5EDT4,0/0,J365/25", 1_704_085_199, -14_400), ("EST5EDT4,0/0,J365/25", 1_704_085_200, -14_400),
      ("XXX3EDT4,0/0,J365/23", 1_704_078_000, -14_400), ("EST5EDT4,0/0,J365/25", 1_720_000_000, -14_400),
      // Six days and 23 hours behind the last Saturday of December, which is the 30th; as far before the first Sunday of March, the 3rd.
      ("ABC3DEF,M12.5.6/167,M3.1.0/-167", 1_704_506_399, -10_800), ("ABC3DEF,M12.5.6/167,M3.1.0/-167", 1_704_506_400, -7_200),
      ("ABC3DEF,M12.5.6/167,M3.1.0/-167", 1_708_829_999, -7_200), ("ABC3DEF,M12.5.6/167,M3.1.0/-167", 1_708_830_000, -10_800),
    ] as [(String, Int64, Int)])
  func newYear(_ rule: String, _ seconds: Int64, _ offset: Int) throws {
    #expect(try ZoneRules(ZoneFile.ofRule(rule)).stretch(at: seconds).offsetSeconds == offset)
  }

  // MARK: Stretches

  @Test(
    "follow each other without gaps",
    arguments: ["America-New_York", "Europe-Dublin", "Africa-Casablanca", "Antarctica-Troll", "Asia-Kathmandu"])
  func stretches(_ zone: String) throws {
    let rules = try ZoneRules(bytes(zone))
    var seconds = Int64.min
    var count = 0
    while true {
      let stretch = rules.stretch(at: seconds)
      #expect(stretch.contains(max(seconds, -9_223_372_036)) && rules.stretch(at: stretch.until - 1) == stretch)
      guard stretch.until < 9_223_372_036 else { break }
      #expect(rules.stretch(at: stretch.until).from == stretch.until)
      seconds = stretch.until
      count += 1
    }
    #expect(count > (zone == "Asia-Kathmandu" ? 1 : 100) && count < 1_000)
    #expect(rules.stretch(at: .max) == rules.stretch(at: 9_223_372_036))
  }

  private func offsets(_ file: ZoneFile, _ seconds: [Int64]) throws -> [Int] {
    let rules = try ZoneRules(file.bytes)
    return seconds.map { rules.stretch(at: $0).offsetSeconds }
  }

  @Test("of each version are read; before the first time the first kind holds, behind the last its own or the rule")
  func versions() throws {
    var file = ZoneFile()
    file.kinds = [-300, 3_600, 7_200]
    file.times = [(-100, 2), (100, 1)]
    for version in [0, UInt8(ascii: "2"), UInt8(ascii: "3"), UInt8(ascii: "4")] {
      file.version = version
      #expect(try offsets(file, [.min, -101, -100, 99, 100, .max]) == [-300, -300, 7_200, 7_200, 3_600, 3_600])
    }
    file.rule = "<+01>-1"
    #expect(try offsets(file, [99, 100, .max]) == [7_200, 3_600, 3_600])
    file.rule = "XYZ-2:30:15"
    #expect(try offsets(file, [99, 100, .max]) == [7_200, 9_015, 9_015])
    #expect(try ZoneRules(file.bytes).stretch(at: 500).from == 100)
    file.times = []
    #expect(try offsets(file, [.min, 0]) == [9_015, 9_015])
  }

  // MARK: Damage

  private func failure(_ bytes: [UInt8]) -> TextError? {
    do throws(TextError) {
      _ = try ZoneRules(bytes)
      return nil
    } catch { return error }
  }

  /// What is stored where in a file of two kinds and two times of version 1, and which position is refused.
  @Test(
    "are refused for what breaks the format, and where",
    arguments: [
      (0, [0x58], 0, "TZif"), (4, [0x31], 4, "version"), (4, [0x35], 4, "version"), (20, [0, 0, 0, 1], 20, "more than it holds"),
      (28, [0, 0, 0, 1], 20, "more than it holds"), (32, [0xFF, 0xFF, 0xFF, 0xFF], 20, "more than it holds"),
      (36, [0xFF, 0xFF, 0xFF, 0xFF], 20, "more than it holds"), (36, [0, 0, 0, 0], 36, "kinds"), (40, [0, 0, 0, 0], 59, "name"),
      (48, [0xFF, 0, 0, 0], 48, "rise"), (53, [2], 53, "kind"), (54, [0x7F, 0xFF, 0xFF, 0xFF], 54, "offset"),
      (58, [2], 58, "daylight"), (59, [4], 59, "name"),
    ] as [(Int, [UInt8], Int, String)])
  func offences(_ position: Int, _ stored: [UInt8], _ expected: Int, _ why: String) {
    var file = ZoneFile()
    file.version = 0
    file.kinds = [0, 60]
    file.times = [(-1, 0), (1, 1)]
    var bytes = file.bytes
    #expect(failure(bytes) == nil)
    bytes.replaceSubrange(position..<position + stored.count, with: stored)
    let found = failure(bytes)
    #expect(found?.position == expected && found?.why.contains(why) ?? false, "\(String(describing: found))")
  }

  @Test("are refused for leap seconds, marks that do not fit, and two versions in one file")
  func moreOffences() {
    var file = ZoneFile()
    file.version = 0
    var bytes = file.bytes + [UInt8](repeating: 0, count: 8)
    bytes[31] = 1
    #expect(failure(bytes)?.why.contains("leap") == true)
    bytes = file.bytes + [0, 0]
    bytes[23] = 2
    #expect(failure(bytes)?.why.contains("marks of UTC") == true)
    file.version = UInt8(ascii: "2")
    bytes = file.bytes
    bytes[58] = UInt8(ascii: "3")
    #expect(failure(bytes)?.position == 58)
    #expect(failure([]) != nil)
  }

  @Test("cut off anywhere are refused")
  func cut() throws {
    for whole in [try bytes("America-New_York"), try bytes("Asia-Kathmandu")] {
      for count in 0..<whole.count { #expect(failure(Array(whole[..<count])) != nil, "\(count)") }
    }
    var file = ZoneFile()
    file.version = 0
    file.times = [(-1, 0), (1, 0)]
    for count in file.bytes.indices { #expect(failure(Array(file.bytes[..<count])) != nil, "\(count)") }
  }

  @Test("with any byte changed are refused, or still answer in bounds")
  func changed() throws {
    let start = ContinuousClock.now
    for (name, masks) in [("Asia-Kathmandu", (0..<8).map { 1 << $0 } + [0xFF]), ("America-New_York", [0x80])] as [(String, [UInt8])] {
      let whole = try bytes(name)
      for index in whole.indices {
        for mask in masks {
          var bytes = whole
          bytes[index] ^= mask
          guard let rules = try? ZoneRules(bytes) else { continue }
          for seconds in [.min, -5_000_000_000, 0, 1_383_456_600, 9_000_000_000, .max] as [Int64] {
            let stretch = rules.stretch(at: seconds)
            #expect(stretch.from < stretch.until && abs(stretch.offsetSeconds) < 94_000)
          }
        }
      }
    }
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test(
    "can't be read from what is no rule",
    arguments: [
      ("AB3", 2), ("ABC", 3), ("<A>3", nil), ("<>3", 1), ("<A3", 3), ("ABC3DE", 6), ("ABC25", 3), ("ABC3:60", 5), ("ABC3:0:60", 7),
      ("ABC3DEF", 7),
      ("ABC3DEF,1", 9), ("ABC3DEF,J0,1", 9), ("ABC3DEF,J366,1", 9), ("ABC3DEF,366,1", 8), ("ABC3DEF,1,2", nil), ("ABC3DEF,M0.1.0,2", 9),
      ("ABC3DEF,M13.1.0,2", 9), ("ABC3DEF,M1.0.0,2", 11), ("ABC3DEF,M1.6.0,2", 11), ("ABC3DEF,M1.1.7,2", 13), ("ABC3DEF,M1,2", 10),
      ("ABC3DEF,1/168,2", 10), ("ABC3DEF,1/-167:59:59,2/167", nil), ("ABC3DEF,1,2,3", 11), ("ABC3 ", 4), ("ABC3DEF4,1,2", nil),
      ("ABC3\u{FF},", 4),
      ("ABC-24:59:59DEF,0/0,J365/23", nil), ("ABC99999999999999999999", 3), ("ABC3DEF,1/", 10), ("3", 0),
    ] as [(String, Int?)])
  func malformed(_ rule: String, _ position: Int?) {
    let found = failure(ZoneFile.ofRule(rule))
    // The rule begins behind two blocks of 54 bytes and a line break.
    #expect(found?.position == position.map { $0 + 109 }, "\(String(describing: found))")
  }

  // MARK: Text

  @Test(
    "are written as days and hours",
    arguments: [
      (0, 0, "1970-01-01T00+00:00"), (-1, 0, "1969-12-31T23+00:00"), (3_599, 20_700, "1970-01-01T00+05:45"),
      (1_383_440_400, -14_400, "2013-11-03T01-04:00"), (-2_500_000_000, -17_762, "1890-10-11T19-04:56:02"),
      (9_223_372_036 + 86_400, 0, "2262-04-12T23+00:00"), (-9_223_372_036 - 86_400, 0, "1677-09-20T00+00:00"),
    ] as [(Int64, Int, String)])
  func text(_ local: Int64, _ offset: Int, _ expected: String) {
    var hour: [UInt8] = []
    var day: [UInt8] = []
    RFC3339.formatHour(localSeconds: local, offsetSeconds: offset, to: &hour)
    RFC3339.formatDay(localSeconds: local, to: &day)
    #expect(String(decoding: hour, as: UTF8.self) == expected && String(decoding: day, as: UTF8.self) == expected.prefix(10))
  }
}
