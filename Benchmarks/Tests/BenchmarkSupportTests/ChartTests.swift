import Testing

@testable import BenchmarkSupport

@Suite("Charts")
struct ChartTests {
  private func drawn(_ entries: [(series: String, position: ChartPlace.Position, samples: [Double])]) -> DrawnChart {
    let chart = Chart("chart", title: "Rates & <times>", unit: "events/s")
    return DrawnChart(
      chart: chart, entries: entries.map { (ChartPlace(chart, series: $0.series, at: $0.position), Interval(of: $0.samples)) })
  }

  /// The numbers of an attribute in all elements of a kind, in order.
  private func numbers(_ attribute: String, of element: String, in svg: String) -> [Double] {
    svg.split(separator: "\n").filter { $0.hasPrefix("<\(element) ") }.compactMap { line in
      let fields = line.split(separator: " ").filter { $0.hasPrefix("\(attribute)=\"") }
      return fields.first.flatMap { Double($0.dropFirst(attribute.count + 2).prefix { $0 != "\"" }) }
    }
  }

  @Test("a bar is as long as its median says, against the longest of its category")
  func bars() {
    let svg = drawn([
      ("tidemark", .bars("one"), [100]), ("other", .bars("one"), [25]), ("tidemark", .bars("two"), [3]), ("other", .bars("two"), [6]),
    ]).svg
    // The first rectangle is the background.
    let widths = numbers("width", of: "rect", in: svg).dropFirst()
    #expect(widths.count == 4)
    let bars = Array(widths)
    #expect(abs(bars[0] / bars[1] - 4) < 0.02 && abs(bars[3] / bars[2] - 2) < 0.02)
    #expect(abs(bars[0] - bars[3]) < 0.2)
    #expect(svg.contains(">100</text>") && svg.contains(">25</text>"))
  }

  @Test("a whisker goes from the lower to the upper bound")
  func whiskers() {
    let svg = drawn([("tidemark", .bars("one"), [50, 75, 100, 80, 60, 90])]).svg
    let left = numbers("x1", of: "line", in: svg)[0], right = numbers("x2", of: "line", in: svg)[0]
    let start = numbers("x", of: "rect", in: svg)[1]
    #expect(abs((left - start) / (right - start) - 0.5) < 0.01)
  }

  @Test("what was not measured in a category is said to be so")
  func gap() {
    let svg = drawn([("tidemark", .bars("one"), [1]), ("other", .bars("one"), [1]), ("tidemark", .bars("two"), [1])]).svg
    #expect(svg.split(separator: "\n").count { $0.contains(">not measured<") } == 1)
  }

  @Test("titles and names can't break the drawing")
  func escapes() {
    let svg = drawn([("a<b>&c", .bars("one"), [1])]).svg
    #expect(svg.contains("Rates &amp; &lt;times&gt;") && svg.contains("a&lt;b&gt;&amp;c"))
    #expect(!svg.contains("<times>"))
  }

  @Test("points of a line go up by the same for each tenfold, to the right and upwards")
  func lines() {
    let svg = drawn([
      ("tidemark", .point(100), [1]), ("tidemark", .point(1000), [10]), ("tidemark", .point(10_000), [100]),
    ]).svg
    let x = numbers("cx", of: "circle", in: svg), y = numbers("cy", of: "circle", in: svg)
    #expect(x.count == 3 && abs((x[1] - x[0]) - (x[2] - x[1])) < 0.2 && x[1] > x[0])
    #expect(abs((y[0] - y[1]) - (y[1] - y[2])) < 0.2 && y[1] < y[0])
  }

  @Test("names at the ends of lines do not lie over one another and stay in the drawing")
  func names() {
    let svg = drawn((1...8).map { ("line \($0)", ChartPlace.Position.point(100), [1 + Double($0) / 1000]) }).svg
    let names = svg.split(separator: "\n").filter { $0.contains(">line ") }
    let places = names.flatMap { numbers("y", of: "text", in: String($0)) }.sorted()
    #expect(places.count == 8)
    #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 >= 14.9 })
    #expect(places.last ?? 0 <= 400 && places.first ?? 0 >= 15)
  }

  @Test("an axis of whole decades has one at least; another one goes from the lowest value to the highest")
  func scale() {
    let scale = LogarithmicScale([20, 3000], from: 0, to: 300)
    #expect(scale.ticks == [10, 100, 1000, 10_000])
    #expect(abs(scale.position(100) - 100) < 1e-9 && scale.position(0) == 0)
    #expect(LogarithmicScale([100], from: 0, to: 10).ticks == [100, 1000])
    #expect(LogarithmicScale([], from: 0, to: 10).ticks == [1, 10])
    let tight = LogarithmicScale([20, 2000], from: 5, to: 105, wholeDecades: false)
    #expect(abs(tight.position(20) - 5) < 1e-9 && abs(tight.position(200) - 55) < 1e-9 && abs(tight.position(2000) - 105) < 1e-9)
    #expect(LogarithmicScale([20], from: 5, to: 105, wholeDecades: false).position(20) == 5)
  }

  @Test(
    "numbers of three digits",
    arguments: [
      (0.0, "0"), (0.25, "0.25"), (7.416, "7.42"), (10.04, "10"), (128.4, "128"), (999.6, "1k"), (12_345, "12.3k"), (4_500_000, "4.5M"),
      (2e9, "2G"), (-0.001, "0"), (-3.5, "-3.5"),
    ])
  func compactNumbers(value: Double, expected: String) {
    #expect(compact(value) == expected)
  }
}
