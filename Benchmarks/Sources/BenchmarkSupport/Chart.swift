/// What a chart shows: figures of the same kind.
public struct Chart: Sendable, Hashable {
  /// Its file is called so, with `.svg` behind it.
  public var name: String
  public var title: String
  /// The unit of all its figures.
  public var unit: String

  public init(_ name: String, title: String, unit: String) {
    self.name = name
    self.title = title
    self.unit = unit
  }
}

/// Where in a chart a measurement is drawn.
public struct ChartPlace: Sendable {
  public enum Position: Sendable, Equatable {
    /// A column of bars, such as `batches of 100`.
    case bars(String)
    /// A point of a line, such as a number of events. Above zero, as the axis is logarithmic.
    case point(Double)
  }

  public var chart: Chart
  /// What is compared, such as `lmdb-outbox`.
  public var series: String
  public var position: Position

  public init(_ chart: Chart, series: String, at position: Position) {
    self.chart = chart
    self.series = series
    self.position = position
  }
}

/// A chart with its figures, in the order in which they were measured.
struct DrawnChart {
  var chart: Chart
  var entries: [(place: ChartPlace, interval: Interval)]

  var series: [String] { distinct(entries.map(\.place.series)) }
  /// The columns of bars; empty for lines.
  var categories: [String] { distinct(entries.compactMap { if case .bars(let name) = $0.place.position { name } else { nil } }) }
  /// The positions of points, from the lowest; empty for bars.
  var points: [Double] { distinct(entries.compactMap { if case .point(let x) = $0.place.position { x } else { nil } }).sorted() }

  func interval(_ series: String, _ position: ChartPlace.Position) -> Interval? {
    entries.first { $0.place.series == series && $0.place.position == position }?.interval
  }

  /// The figures as a table: a line for each of those compared.
  var markdown: String {
    let positions = categories.map { ChartPlace.Position.bars($0) } + points.map { .point($0) }
    let titles = categories + points.map { compact($0) + " events" }
    var text = "| \(chart.unit) | \(titles.joined(separator: " | ")) |\n|---|\(String(repeating: "---:|", count: titles.count))\n"
    for name in series {
      let values = positions.map { interval(name, $0).map { compact($0.median) } ?? "" }
      text += "| \(name) | \(values.joined(separator: " | ")) |\n"
    }
    return text
  }

  var svg: String { points.isEmpty ? BarChart(self).svg : LinePlot(self).svg }
}

private func distinct<Element: Hashable>(_ elements: [Element]) -> [Element] {
  var seen: Set<Element> = []
  return elements.filter { seen.insert($0).inserted }
}
