import Foundation
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct ClockPolicyTests {
  private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Specs/clock-policy.json")
  private static let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""

  private func error(_ text: String, file: String? = "p.json") -> LogError? {
    do {
      _ = try ClockPolicy(json: Array(text.utf8), file: file)
      return nil
    } catch { return error }
  }

  @Test func `the built-in policy is the one in Specs`() throws {
    #expect(try ClockPolicy(json: Array(Self.text.utf8)) == .standard)
  }

  /// A member, another value for it, and what must be different then.
  private static let members: [(String, String, @Sendable (inout ClockPolicy) -> Void)] = [
    ("version", "2", { $0.version = 2 }),
    ("build_date", "\"2027-03-04T05:06:07.008Z\"", { $0.buildDate = time(1_804_136_767_008 * millisecond) }),
    ("latest_date", "\"2050-01-01T01:00:00+01:00\"", { $0.latestDate = time(2_524_608_000 * second) }),
    ("wall_went_back_ms", "3", { $0.wallWentBackNanoseconds = 3_000_000 }),
    ("wall_jumped_forward_ms", "4", { $0.wallJumpedForwardNanoseconds = 4_000_000 }),
    ("wall_step_ms", "5", { $0.wallStepNanoseconds = 5_000_000 }), ("slew_ppm", "6", { $0.slewPartsPerMillion = 6 }),
    ("fix_difference_ms", "7", { $0.fixDifferenceNanoseconds = 7_000_000 }),
    ("receipt_went_back_ms", "8", { $0.receiptWentBackNanoseconds = 8_000_000 }),
    ("receipt_difference_ms", "9", { $0.receiptDifferenceNanoseconds = 9_000_000 }),
    ("elapsed_went_back_ms", "10", { $0.elapsedWentBackNanoseconds = 10_000_000 }),
    ("claim_difference_ms", "9223372036854", { $0.claimDifferenceNanoseconds = 9_223_372_036_854_000_000 }),
  ]

  /// The file's lines with one member's value replaced, or with the member left out.
  private func text(_ name: String, _ value: String?) -> String {
    let lines = Self.text.split(separator: "\n").dropFirst().dropLast().map { $0.trimmingCharacters(in: [" ", ","]) }
    let changed = lines.compactMap { line in
      line.hasPrefix("\"\(name)\":") ? value.map { "\"\(name)\": \($0)" } : line
    }
    return "{\(changed.joined(separator: ", "))}"
  }

  @Test func `each member is read as what it is, and must be there`() throws {
    for (name, value, change) in Self.members {
      #expect(try ClockPolicy(json: Array(text(name, value).utf8)) == policy(change), "\(name)")
      let missing = error(text(name, nil))
      #expect(missing?.code == .invalidArgument && missing?.why == "the member \"\(name)\" is missing", "\(name)")
      for wrong in name.hasSuffix("_date")
        ? ["1", "null", "\"soon\"", "\"1600-01-01T00:00:00Z\""] : ["-1", "1.5", "1e3", "\"1\"", "null", "[1]"]
      {
        let found = error(text(name, wrong))
        #expect(found?.why.hasPrefix("the member \"\(name)\" is a ") ?? false, "\(name) \(wrong)")
        let at = text(name, wrong).range(of: "\"\(name)\": ").map { $0.upperBound.utf16Offset(in: text(name, wrong)) }
        #expect(found?.position == at.map(UInt64.init))
      }
    }
    #expect(Set(Self.members.map(\.0)).count == Self.text.split(separator: "\n").count - 2)
  }

  @Test func `numbers have bounds`() {
    for (name, value) in [
      ("version", "0"), ("version", "4294967296"), ("slew_ppm", "1000001"), ("wall_step_ms", "9223372036855"),
      ("wall_step_ms", "99999999999999999999"),
    ] {
      #expect(error(text(name, value))?.why.contains("is a whole number from") ?? false, "\(name) \(value)")
    }
    #expect(error(text("slew_ppm", "1000000")) == nil && error(text("version", "4294967295")) == nil)
  }

  @Test func `what is no policy is refused with file, position and advice`() {
    let cases = [
      ("", "ends where a value is due"), ("[]", "no JSON object"), ("{", "ends inside"), ("{} x", "follows"),
      ("\u{FEFF}{}", "no JSON value"),
      (text("slew_ppm", "500, \"slew_pp\": 1"), "there is no member \"slew_pp\""), (text("slew_ppm", "500, \"slew_ppm\": 1"), "twice"),
      (text("build_date", "\"2100-01-01T00:00:00.000000001Z\""), "is after \"latest_date\""),
      (String(repeating: " ", count: 65_537), "65536 are the most"),
    ]
    for (text, why) in cases {
      let found = error(text)
      #expect(found?.code == .invalidArgument && found?.why.contains(why) ?? false, "\(text.prefix(80)): \(String(describing: found))")
      #expect(found?.file == "p.json" && found?.position != nil && found?.advice.contains("Specs/clocks.md") ?? false)
    }
    #expect(error("{}", file: nil)?.file == nil)
    #expect(error(text("build_date", "\"2100-01-01T00:00:00Z\"")) == nil)
  }
}
