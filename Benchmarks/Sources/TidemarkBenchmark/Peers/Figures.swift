import BenchmarkSupport

/// Figures of contenders that are measured side by side: one value a round for each, from which ratios between two are made.
struct Figures {
  let chart: Chart
  /// The values of a round, by contender and by column of the chart.
  private var values: [(series: String, column: String, samples: [Double])] = []

  init(_ chart: Chart) { self.chart = chart }

  mutating func add(_ value: Double, _ series: String, _ column: String) {
    if let index = values.firstIndex(where: { $0.series == series && $0.column == column }) {
      values[index].samples.append(value)
    } else {
      values.append((series, column, [value]))
    }
  }

  func samples(_ series: String, _ column: String) -> [Double] {
    values.first { $0.series == series && $0.column == column }?.samples ?? []
  }

  /// Everything, to be drawn.
  func measurements(group: String) -> [Measurement] {
    values.map { value in
      Measurement(
        group: group, name: "\(value.series), \(value.column)", unit: chart.unit, samples: value.samples,
        place: ChartPlace(chart, series: value.series, at: .bars(value.column)))
    }
  }

  /// One contender against another, round by round.
  func ratio(
    _ group: String, _ what: String, _ first: Entry, to second: Entry, _ column: String, target: Target?, suffix: String = ""
  ) -> Measurement {
    let samples = ratios(samples(first.name, column), samples(second.name + suffix, column))
    return Measurement(
      group: group, name: "\(what), \(first.name) against \(second.name)\(suffix)", samples: samples, target: target,
      note: samples.isEmpty ? "\(second.name) could not be measured here" : "")
  }
}

/// Each round of one against the same round of the other; empty unless both have all rounds.
func ratios(_ first: [Double], _ second: [Double]) -> [Double] {
  guard first.count == second.count else { return [] }
  return zip(first, second).map { $0 / $1 }
}
