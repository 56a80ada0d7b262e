import TidemarkProjections
import TidemarkText

/// Prints the rows of projections, and how they differ.
struct RowPrinter {
  static let option = CommandDescription.Option("format", choices: ["table", "jsonl", "csv"], "how they are printed (default table)")

  private enum Format: String {
    case table
    case jsonl
    case csv
  }

  private let format: Format

  init(_ arguments: ParsedArguments) { format = Format(rawValue: arguments.value("format") ?? "") ?? .table }

  /// All rows.
  func print(_ rows: [DefinedProjection.Row], to output: Output) throws {
    let width = rows.reduce(0) { max($0, $1.key.count) }
    if format == .csv { Self.line(["key", "value", "count"], to: output) }
    for row in rows { try print(row.key, row, width, to: output) }
  }

  /// Rows as they are now, behind those that were printed before. Of a key that is gone, nothing but the key.
  func add(_ differences: [DefinedProjection.Difference], to output: Output) throws {
    let width = differences.reduce(0) { max($0, $1.key.count) }
    for difference in differences { try print(difference.key, difference.after, width, to: output) }
  }

  private func print(_ key: String, _ row: DefinedProjection.Row?, _ width: Int, to output: Output) throws {
    switch format {
    case .table: output.line(Self.padded(key, width) + (row?.value ?? ""))
    case .csv: Self.line([key, row?.value ?? "", row?.count.map { "\($0)" } ?? ""], to: output)
    case .jsonl:
      var json = JSONWriter()
      json.beginObject()
      json.member("key", key)
      if let row { Self.add(row, "value", "count", to: &json) }
      json.endObject()
      output.line(json)
    }
    try output.flushIfFull()
  }

  /// What changed from one state to another.
  func print(_ differences: [DefinedProjection.Difference], to output: Output) throws {
    let width = differences.reduce(0) { max($0, $1.key.count) }
    let second = differences.reduce(1) { max($0, $1.before?.value.count ?? 0) }
    if format == .csv { Self.line(["key", "before", "before_count", "after", "after_count"], to: output) }
    for difference in differences {
      let (before, after) = (difference.before, difference.after)
      switch format {
      case .table: output.line(Self.padded(difference.key, width) + Self.padded(before?.value ?? "-", second) + (after?.value ?? "-"))
      case .csv:
        let counts = [before, after].map { $0?.count.map { "\($0)" } ?? "" }
        Self.line([difference.key, before?.value ?? "", counts[0], after?.value ?? "", counts[1]], to: output)
      case .jsonl:
        var json = JSONWriter()
        json.beginObject()
        json.member("key", difference.key)
        if let before { Self.add(before, "before", "before_count", to: &json) }
        if let after { Self.add(after, "after", "after_count", to: &json) }
        json.endObject()
        output.line(json)
      }
      try output.flushIfFull()
    }
  }

  private static func add(_ row: DefinedProjection.Row, _ value: String, _ count: String, to json: inout JSONWriter) {
    json.member(value, row.value)
    if let number = row.count { json.member(count, number) }
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count) + 2)
  }

  private static func line(_ fields: [String], to output: Output) {
    var csv: [UInt8] = []
    for (index, field) in fields.enumerated() {
      if index > 0 { csv.append(UInt8(ascii: ",")) }
      CSVWriter.field(field.utf8Span.span, to: &csv)
    }
    csv.append(UInt8(ascii: "\n"))
    output.bytes += csv
  }
}
