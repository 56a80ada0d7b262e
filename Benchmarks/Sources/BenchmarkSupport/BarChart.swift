/// Bars side by side: a line for each of those compared, a panel with a scale of its own for each category. The thin line over a bar's
/// end is the interval of the median.
struct BarChart {
  private let drawn: DrawnChart
  private let nameWidth = 190.0
  private let panelWidth = 230.0
  /// Room for the figure behind the longest bar.
  private let figureWidth = 62.0
  private let rowHeight = 21.0
  private let headHeight = 62.0

  init(_ drawn: DrawnChart) { self.drawn = drawn }

  var svg: String {
    let series = drawn.series, categories = drawn.categories
    var svg = SVG(
      width: nameWidth + Double(categories.count) * panelWidth + 16, height: headHeight + Double(series.count) * rowHeight + 14)
    svg.text(drawn.chart.title, x: 16, y: 24, size: 15, isBold: true)
    for (row, name) in series.enumerated() {
      let isOurs = name.hasPrefix("tidemark")
      svg.text(name, x: nameWidth - 8, y: headHeight + Double(row) * rowHeight + 14, anchor: .end, isBold: isOurs)
    }
    for (column, category) in categories.enumerated() {
      let x = nameWidth + Double(column) * panelWidth
      svg.text("\(category), \(drawn.chart.unit)", x: x, y: 50, colour: "#57606a")
      draw(category, at: x, in: &svg)
    }
    return svg.document
  }

  private func draw(_ category: String, at x: Double, in svg: inout SVG) {
    let rows = drawn.series.map { drawn.interval($0, .bars(category)) }
    let most = rows.compactMap { $0?.upper }.max() ?? 0
    let scale = most > 0 ? (panelWidth - figureWidth - 12) / most : 0
    for (row, (name, interval)) in zip(drawn.series, rows).enumerated() {
      let y = headHeight + Double(row) * rowHeight
      guard let interval else {
        svg.text("not measured", x: x + 4, y: y + 14, size: 11, colour: "#8c959f")
        continue
      }
      svg.rectangle(x: x, y: y + 3, width: max(1, interval.median * scale), height: rowHeight - 7, fill: colour(of: name))
      let middle = y + rowHeight / 2 - 0.5
      svg.line((x + interval.lower * scale, middle), (x + interval.upper * scale, middle), colour: "#cf222e", width: 1.5)
      svg.text(compact(interval.median), x: x + max(interval.median, interval.upper) * scale + 6, y: y + 14, size: 11)
    }
    svg.line((x, headHeight), (x, headHeight + Double(drawn.series.count) * rowHeight), colour: "#8c959f")
  }
}
