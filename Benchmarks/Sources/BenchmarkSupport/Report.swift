/// All measurements of a run, as JSON, as Markdown and as charts.
public struct Report: Sendable {
  /// What was measured where: name and value, in the order to print.
  public var environment: [(name: String, value: String)]
  public var measurements: [Measurement]
  /// Cases that could not run here, each with its reason.
  public var skipped: [(name: String, reason: String)]

  public init(environment: [(name: String, value: String)] = []) {
    self.environment = environment
    measurements = []
    skipped = []
  }

  /// Whether every measurement with a target met it and no case was skipped.
  public var isAllMet: Bool { skipped.isEmpty && measurements.allSatisfy { $0.isMet ?? true } }

  /// Targets first, then charts with their tables, then what else was measured.
  public var markdown: String {
    var text = "# Tidemark, measured\n\n"
    for (name, value) in environment { text += "- \(name): \(value)\n" }
    let targets = measurements.filter { $0.target != nil }
    let met = targets.count { $0.isMet == true }
    if !targets.isEmpty {
      text += "\n## Targets: \(met) of \(targets.count) met\n\n"
      text += "| measurement | median | 95 % interval | target | met |\n|---|---|---|---|---|\n"
      for measurement in targets { text += line(measurement, target: true) }
    }
    for drawn in drawnCharts {
      text += "\n## \(drawn.chart.title)\n\n![\(drawn.chart.title)](\(drawn.chart.name).svg)\n\n" + drawn.markdown
    }
    let others = measurements.filter { $0.target == nil && ($0.place == nil || $0.samples.isEmpty) }
    if !others.isEmpty {
      text += "\n## Other figures\n\n| measurement | median | 95 % interval |\n|---|---|---|\n"
      for measurement in others { text += line(measurement, target: false) }
    }
    let notes = measurements.filter { !$0.note.isEmpty && !$0.samples.isEmpty }
    if !notes.isEmpty { text += "\n## Notes\n\n" }
    for measurement in notes { text += "- \(measurement.group): \(measurement.name): \(measurement.note)\n" }
    if !skipped.isEmpty { text += "\n## Not measured\n\n" }
    for (name, reason) in skipped { text += "- \(name): \(reason)\n" }
    return text
  }

  private func line(_ measurement: Measurement, target isWithTarget: Bool) -> String {
    let unit = measurement.unit.isEmpty ? "" : " " + measurement.unit
    var text = "| \(measurement.group): \(measurement.name) "
    if let interval = measurement.interval {
      text += "| \(decimal(interval.median))\(unit) | \(decimal(interval.lower)) to \(decimal(interval.upper)) "
    } else {
      text += "| not measured | \(measurement.note) "
    }
    guard isWithTarget else { return text + "|\n" }
    let verdict = measurement.samples.isEmpty ? "not measured" : measurement.isMet == true ? "yes" : "**no**"
    return text + "| \(measurement.target.map(describe) ?? "") | \(verdict) |\n"
  }

  /// The charts that the measurements have places in: name of the file, and what is in it.
  public var charts: [(name: String, svg: String)] { drawnCharts.map { ($0.chart.name + ".svg", $0.svg) } }

  private var drawnCharts: [DrawnChart] {
    var charts: [DrawnChart] = []
    for measurement in measurements {
      guard let place = measurement.place, let interval = measurement.interval else { continue }
      if let index = charts.firstIndex(where: { $0.chart == place.chart }) {
        charts[index].entries.append((place, interval))
      } else {
        charts.append(DrawnChart(chart: place.chart, entries: [(place, interval)]))
      }
    }
    return charts
  }

  public var json: String {
    let lines = measurements.map { "    {\(fields($0).joined(separator: ", "))}" }
    let facts = environment.map { "    \(quoted($0.name)): \(quoted($0.value))" }.joined(separator: ",\n")
    let omissions = skipped.map { "    {\"name\": \(quoted($0.name)), \"reason\": \(quoted($0.reason))}" }.joined(separator: ",\n")
    return """
      {
        "environment": {
      \(facts)
        },
        "measurements": [
      \(lines.joined(separator: ",\n"))
        ],
        "skipped": [
      \(omissions)
        ]
      }

      """
  }

  private func fields(_ measurement: Measurement) -> [String] {
    var fields = [
      "\"group\": \(quoted(measurement.group))", "\"name\": \(quoted(measurement.name))", "\"unit\": \(quoted(measurement.unit))",
    ]
    if let interval = measurement.interval {
      fields += [
        "\"median\": \(number(interval.median))", "\"lower\": \(number(interval.lower))", "\"upper\": \(number(interval.upper))",
        "\"coverage\": \(number(interval.coverage))",
      ]
    }
    switch measurement.target {
    case .atLeast(let bound): fields.append("\"at_least\": \(number(bound))")
    case .atMost(let bound): fields.append("\"at_most\": \(number(bound))")
    case nil: break
    }
    if let isMet = measurement.isMet { fields.append("\"met\": \(isMet)") }
    if let place = measurement.place { fields.append("\"chart\": \(quoted(place.chart.name)), \"series\": \(quoted(place.series))") }
    if !measurement.note.isEmpty { fields.append("\"note\": \(quoted(measurement.note))") }
    fields.append("\"samples\": [\(measurement.samples.map(number).joined(separator: ", "))]")
    return fields
  }

  private func describe(_ target: Target) -> String {
    switch target {
    case .atLeast(let bound): "at least \(bound)"
    case .atMost(let bound): "at most \(bound)"
    }
  }

  /// JSON has no infinity and no NaN.
  private func number(_ value: Double) -> String { value.isFinite ? "\(value)" : "null" }
}

/// A number for people: two decimals below 100, one below 1,000, none above.
public func decimal(_ value: Double) -> String {
  guard value.isFinite else { return "\(value)" }
  let places = abs(value) < 100 ? 2 : abs(value) < 1000 ? 1 : 0
  guard abs(value) < 1e15 else { return "\(value)" }
  let scale = [1.0, 10, 100][places]
  let scaled = Int((abs(value) * scale).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard places > 0 else { return "\(sign)\(scaled)" }
  let fraction = String(scaled % Int(scale))
  return "\(sign)\(scaled / Int(scale)).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
}

/// A JSON string.
func quoted(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    case _ where scalar.value < 0x20:
      let digits = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}
