import Testing

@testable import BenchmarkSupport

@Suite("Report")
struct ReportTests {
  let ratios: [Double] = [1.1, 0.9, 1.0, 1.05, 0.95, 1.2, 0.97, 1.01, 1.02, 0.99]

  @Test("a target is met by the interval's unfavourable bound, not by the median")
  func targets() {
    let interval = Interval(of: ratios)
    #expect(interval.lower == 0.95 && interval.upper == 1.1)
    #expect(Target.atLeast(0.95).isMet(by: interval))
    #expect(!Target.atLeast(0.96).isMet(by: interval))
    #expect(Target.atMost(1.1).isMet(by: interval))
    #expect(!Target.atMost(1.09).isMet(by: interval))
  }

  @Test("the table shows name, interval, target and verdict")
  func table() {
    var report = Report(environment: [("disk", "a \"loop\"")])
    report.measurements.append(Measurement(group: "append", name: "rate", samples: ratios, target: .atLeast(0.96)))
    report.measurements.append(Measurement(group: "append", name: "time", unit: "ms", samples: [1234.4], note: "by itself"))
    report.skipped.append(("device", "no counters"))
    #expect(report.markdown.contains("| append: rate | 1.00 | 0.95 to 1.10 | at least 0.96 | **no** |"))
    #expect(report.markdown.contains("| append: time | 1234 ms | 1234 to 1234 |  |  |"))
    #expect(report.markdown.contains("- device: no counters"))
    #expect(report.json.contains("\"disk\": \"a \\\"loop\\\"\""))
    #expect(report.json.contains("\"at_least\": 0.96, \"met\": false"))
    #expect(!report.isAllMet)
  }

  @Test(
    "numbers for people",
    arguments: [
      (0.0, "0.00"), (0.999, "1.00"), (99.994, "99.99"), (123.45, "123.5"), (4338.2, "4338"), (-0.051, "-0.05"), (-0.001, "0.00"),
    ])
  func decimals(value: Double, expected: String) {
    #expect(decimal(value) == expected)
  }

  @Test("JSON strings escape what they must")
  func escapes() {
    #expect(quoted("a\"b\\c\n\u{1}é") == "\"a\\\"b\\\\c\\n\\u0001é\"")
  }
}
