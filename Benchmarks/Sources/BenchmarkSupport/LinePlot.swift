import Glibc

/// Lines over the number of events, both axes logarithmic: what does not grow is flat, and what grows in proportion rises by one decade
/// in one.
/// Each line is named at its right end.
struct LinePlot {
  private let drawn: DrawnChart
  private let plot = (left: 62.0, top: 52.0, width: 470.0, height: 300.0)
  private let nameWidth = 190.0
  private let nameHeight = 15.0
  private let x: LogarithmicScale
  private let y: LogarithmicScale

  init(_ drawn: DrawnChart) {
    self.drawn = drawn
    x = LogarithmicScale(drawn.points, from: plot.left + 12, to: plot.left + plot.width - 4, wholeDecades: false)
    y = LogarithmicScale(drawn.entries.map(\.interval.median), from: plot.top + plot.height, to: plot.top)
  }

  var svg: String {
    var svg = SVG(width: plot.left + plot.width + nameWidth, height: plot.top + plot.height + 48)
    svg.text(drawn.chart.title, x: 16, y: 24, size: 15, isBold: true)
    svg.text(drawn.chart.unit, x: 16, y: 43, colour: "#57606a")
    svg.text("events in the store", x: plot.left + plot.width, y: plot.top + plot.height + 38, anchor: .end, colour: "#57606a")
    for value in y.ticks {
      let at = y.position(value)
      svg.line((plot.left, at), (plot.left + plot.width, at), colour: "#d8dee4")
      svg.text(compact(value), x: plot.left - 6, y: at + 4, size: 11, anchor: .end)
    }
    for value in drawn.points {
      let at = x.position(value)
      svg.line((at, plot.top + plot.height), (at, plot.top + plot.height + 4), colour: "#57606a")
      svg.text(compact(value), x: at, y: plot.top + plot.height + 18, size: 11, anchor: .middle)
    }
    var ends: [(name: String, y: Double, colour: String)] = []
    for (index, name) in drawn.series.enumerated() {
      let colour = lineColours[index % lineColours.count]
      let points = drawn.points.compactMap { value in
        drawn.interval(name, .point(value)).map { (x: x.position(value), y: y.position($0.median)) }
      }
      svg.path(points, colour: colour, width: name.hasPrefix("tidemark") ? 2.5 : 1.5)
      for point in points { svg.dot(point, radius: 2.5, fill: colour) }
      if let last = points.last { ends.append((name, last.y, colour)) }
    }
    for end in spread(ends) {
      svg.text(end.name, x: plot.left + plot.width + 10, y: end.y + 4, colour: end.colour, isBold: end.name.hasPrefix("tidemark"))
    }
    return svg.document
  }

  /// Moves names apart that would lie over one another.
  private func spread(_ ends: [(name: String, y: Double, colour: String)]) -> [(name: String, y: Double, colour: String)] {
    var sorted = ends.sorted { $0.y < $1.y }
    for index in sorted.indices.dropFirst() { sorted[index].y = max(sorted[index].y, sorted[index - 1].y + nameHeight) }
    let excess = (sorted.last?.y ?? 0) - (plot.top + plot.height)
    guard excess > 0 else { return sorted }
    var limit = plot.top + plot.height
    for index in sorted.indices.reversed() {
      sorted[index].y = min(sorted[index].y, limit)
      limit = sorted[index].y - nameHeight
    }
    return sorted
  }
}

/// A logarithmic axis over some values, drawn from one coordinate to another.
struct LogarithmicScale {
  private let lowest: Double
  private let highest: Double
  private let start: Double
  private let end: Double

  /// Of whole decades, or from the lowest value to the highest. Values that are not above zero have no place and are left out.
  init(_ values: [Double], from start: Double, to end: Double, wholeDecades: Bool = true) {
    let logarithms = values.filter { $0 > 0 }.map { log10($0) }
    let low = logarithms.min() ?? 0, high = logarithms.max() ?? 1
    lowest = wholeDecades ? low.rounded(.down) : low
    highest = wholeDecades ? max(lowest + 1, high.rounded(.up)) : max(lowest + 0.1, high)
    self.start = start
    self.end = end
  }

  /// Each power of ten.
  var ticks: [Double] { (Int(lowest.rounded(.up))...Int(highest.rounded(.down))).map { pow(10, Double($0)) } }

  /// The coordinate of a value; the lowest one for what is not above zero.
  func position(_ value: Double) -> Double {
    guard value > 0 else { return start }
    return start + (log10(value) - lowest) / (highest - lowest) * (end - start)
  }
}
