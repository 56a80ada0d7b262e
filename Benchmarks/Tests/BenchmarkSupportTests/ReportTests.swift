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
    #expect(report.markdown.contains("## Targets: 0 of 1 met"))
    #expect(report.markdown.contains("| append: rate | 1.00 | 0.95 to 1.10 | at least 0.96 | **no** |"))
    #expect(report.markdown.contains("| append: time | 1234 ms | 1234 to 1234 |\n"))
    #expect(report.markdown.contains("- append: time: by itself"))
    #expect(report.markdown.contains("- device: no counters"))
    #expect(report.json.contains("\"disk\": \"a \\\"loop\\\"\""))
    #expect(report.json.contains("\"at_least\": 0.96, \"met\": false"))
    #expect(!report.isAllMet)
  }

  @Test("what was not measured says why, meets no target and has no numbers")
  func notMeasured() {
    var report = Report()
    report.measurements.append(Measurement(group: "peers", name: "rate", samples: [], target: .atLeast(2), note: "it is not installed"))
    report.measurements.append(Measurement(group: "peers", name: "time", samples: [], note: "no clock"))
    #expect(report.markdown.contains("## Targets: 0 of 1 met"))
    #expect(report.markdown.contains("| peers: rate | not measured | it is not installed | at least 2.0 | not measured |"))
    #expect(report.markdown.contains("| peers: time | not measured | no clock |\n"))
    #expect(report.json.contains("\"at_least\": 2.0, \"met\": false"))
    #expect(!report.json.contains("median"))
    #expect(!report.isAllMet)
  }

  @Test("only an interval that lies wholly on the wrong side is a sure miss")
  func sureMisses() {
    let interval = Interval(of: ratios)
    #expect(Target.atLeast(1.11).isSurelyMissed(by: interval))
    #expect(!Target.atLeast(1.1).isSurelyMissed(by: interval))
    #expect(Target.atMost(0.94).isSurelyMissed(by: interval))
    #expect(!Target.atMost(0.95).isSurelyMissed(by: interval))
  }

  @Test("figures with a place are drawn and stand in the chart's table, once for each of those compared")
  func chartTables() {
    let bars = Chart("rates", title: "Rates", unit: "events/s"), lines = Chart("growth", title: "Growth", unit: "ms")
    var report = Report()
    let places: [(Chart, String, ChartPlace.Position, Double)] = [
      (bars, "tidemark", .bars("one"), 6100), (bars, "other", .bars("one"), 5100), (bars, "tidemark", .bars("two"), 12_345),
      (lines, "tidemark", .point(1000), 4.26), (lines, "tidemark", .point(10), 0.5),
    ]
    for (chart, series, position, value) in places {
      report.measurements.append(
        Measurement(
          group: "g", name: series, unit: chart.unit, samples: [value], place: ChartPlace(chart, series: series, at: position)))
    }
    #expect(report.charts.map(\.name) == ["rates.svg", "growth.svg"])
    #expect(report.markdown.contains("![Rates](rates.svg)\n\n| events/s | one | two |\n|---|---:|---:|\n| tidemark | 6.1k | 12.3k |\n"))
    #expect(report.markdown.contains("| other | 5.1k |  |\n"))
    #expect(report.markdown.contains("| ms | 10 events | 1k events |\n|---|---:|---:|\n| tidemark | 0.5 | 4.26 |\n"))
    #expect(!report.markdown.contains("## Other figures"))
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
