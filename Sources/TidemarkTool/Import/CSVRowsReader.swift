import TidemarkLog
import TidemarkText

/// CSV: the data of each event is a row as a JSON object, column names to strings.
struct CSVRowsReader: EventReader {
  private var rows: CSVReader
  private let type: String
  /// `"name":` for each column.
  private let names: [[UInt8]]
  private var field: [UInt8] = []
  // Numbers of columns.
  private let typeColumn: Int?
  private let idColumn: Int?
  private let subjectColumn: Int?
  private let actorColumn: Int?
  private let timeColumn: Int?

  var lineNumber: Int { rows.lineNumber }
  var consumedByteCount: UInt64 { rows.input.consumedByteCount }

  /// Reads the header. Throws where a pointer names no column.
  init(_ source: any ByteSource, _ sources: AttributeSources) throws {
    let rows = try CSVReader(source: source)
    func column(_ pointer: JSONPointer?, _ option: String) throws -> Int? {
      guard let pointer, !rows.header.isEmpty else { return nil }
      guard pointer.tokens.count == 1, let index = rows.header.firstIndex(where: { Array($0.utf8) == pointer.tokens[0] }) else {
        let columns = rows.header.map { "/" + $0 }
        let advice = Suggestion.nearest(to: pointer.text, among: columns).map { "did you mean \($0)?" }
        throw UsageError(
          "--\(option) \(pointer.text)", why: "the input has no such column",
          advice: advice ?? "its columns are \(columns.joined(separator: " "))")
      }
      return index
    }
    typeColumn = try column(sources.typeFrom, "type-from")
    idColumn = try column(sources.idFrom, "id-from")
    subjectColumn = try column(sources.subjectFrom, "subject-from")
    actorColumn = try column(sources.actorFrom, "actor-from")
    timeColumn = try column(sources.timeFrom, "time-from")
    type = sources.type
    names = rows.header.map { name in
      var bytes: [UInt8] = []
      JSONString.encode(name.utf8Span.span, to: &bytes)
      return bytes + [UInt8(ascii: ":")]
    }
    self.rows = rows
  }

  mutating func next() throws -> NewEvent? {
    guard try rows.next() else { return nil }
    var event = NewEvent(type: type, contentType: "application/json", data: data())
    if let typeColumn, let found = try text(typeColumn, "type", limit: 255) { event.type = found }
    if let subjectColumn { event.subject = try text(subjectColumn, "subject", limit: 1_024) }
    if let actorColumn { event.actor = try text(actorColumn, "actor", limit: 255) }
    if let idColumn { event.id = try inField(idColumn) { () throws(TextError) in try AttributeRules.id(rows.text(idColumn), at: 0) } }
    if let timeColumn, !rows.isEmpty(timeColumn) {
      let text = rows.text(timeColumn)
      event.set(try inField(timeColumn) { () throws(TextError) in try AttributeRules.time(text.utf8Span.span, at: 0) })
    }
    return event
  }

  private mutating func data() -> [UInt8] {
    var data: [UInt8] = []
    data.reserveCapacity(64 + 24 * names.count)
    data.append(UInt8(ascii: "{"))
    for column in names.indices {
      if column > 0 { data.append(UInt8(ascii: ",")) }
      data.append(contentsOf: names[column])
      field.removeAll(keepingCapacity: true)
      rows.copy(column, to: &field)
      JSONString.encode(field.span, to: &data)
    }
    data.append(UInt8(ascii: "}"))
    return data
  }

  /// Nil where the field is empty.
  private func text(_ column: Int, _ name: String, limit: Int) throws -> String? {
    try inField(column) { () throws(TextError) in try AttributeRules.check(name, rows.text(column), limit: limit, at: 0) }
  }

  private func inField<Value>(_ column: Int, _ body: () throws(TextError) -> Value) throws -> Value {
    do { return try body() } catch { throw rows.error(inField: column, error.why) }
  }
}
