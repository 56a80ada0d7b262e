/// All measurements of a run, as JSON and as a Markdown table.
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

  /// A table with one line a measurement: name, median, interval, target, met or not.
  public var markdown: String {
    var text = "# Tidemark against plain C\n\n"
    for (name, value) in environment { text += "- \(name): \(value)\n" }
    text += "\n| measurement | median | 95 % interval | target | met |\n|---|---|---|---|---|\n"
    for measurement in measurements {
      let interval = measurement.interval
      let unit = measurement.unit.isEmpty ? "" : " " + measurement.unit
      text += "| \(measurement.group): \(measurement.name) | \(decimal(interval.median))\(unit) "
      text += "| \(decimal(interval.lower)) to \(decimal(interval.upper)) "
      text += "| \(measurement.target.map(describe) ?? "") | \(measurement.isMet.map { $0 ? "yes" : "**no**" } ?? "") |\n"
    }
    let notes = measurements.filter { !$0.note.isEmpty }
    if !notes.isEmpty { text += "\n" }
    for measurement in notes { text += "- \(measurement.group): \(measurement.name): \(measurement.note)\n" }
    if !skipped.isEmpty { text += "\nNot measured:\n\n" }
    for (name, reason) in skipped { text += "- \(name): \(reason)\n" }
    return text
  }

  public var json: String {
    var lines: [String] = []
    for measurement in measurements {
      let interval = measurement.interval
      var fields = [
        "\"group\": \(quoted(measurement.group))", "\"name\": \(quoted(measurement.name))", "\"unit\": \(quoted(measurement.unit))",
        "\"median\": \(number(interval.median))", "\"lower\": \(number(interval.lower))", "\"upper\": \(number(interval.upper))",
        "\"coverage\": \(number(interval.coverage))",
      ]
      switch measurement.target {
      case .atLeast(let bound): fields.append("\"at_least\": \(number(bound))")
      case .atMost(let bound): fields.append("\"at_most\": \(number(bound))")
      case nil: break
      }
      if let isMet = measurement.isMet { fields.append("\"met\": \(isMet)") }
      if !measurement.note.isEmpty { fields.append("\"note\": \(quoted(measurement.note))") }
      fields.append("\"samples\": [\(measurement.samples.map(number).joined(separator: ", "))]")
      lines.append("    {\(fields.joined(separator: ", "))}")
    }
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
