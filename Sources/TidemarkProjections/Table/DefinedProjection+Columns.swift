internal import TidemarkLog

// The columns in which a table keeps its rows: everything that the fold needs to go on, and nothing that is not of use.
// `Specs/projections.md` lists them.

/// A column behind the key.
package struct TableColumn: Sendable, Equatable {
  package enum Kind: Sendable {
    case integer
    case text
    /// Text where it is UTF-8, else bytes.
    case any
  }
  package var name: String
  package var kind: Kind

  init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }
}

/// Takes the columns of a row in their order.
package protocol RowWriter {
  mutating func add(_ number: Int64)
  mutating func add(_ text: String)
  mutating func add(_ bytes: [UInt8])
}

/// Gives the columns of a row in their order.
package protocol RowReader {
  mutating func integer() throws(UnreadableEvent) -> Int64
  mutating func bytes() throws(UnreadableEvent) -> [UInt8]
}

extension DefinedProjection {
  package var columns: [TableColumn] {
    switch definition.fold {
    case .count: [TableColumn("value", .integer)]
    case .sum: [TableColumn("value", .text), TableColumn("count", .integer)]
    case .average: [TableColumn("value", .text), TableColumn("count", .integer), TableColumn("sum", .text)]
    case .minimum:
      [
        TableColumn("value", .text), TableColumn("count", .integer), TableColumn("maximum", .text), TableColumn("maximum_count", .integer),
      ]
    case .maximum:
      [
        TableColumn("value", .text), TableColumn("count", .integer), TableColumn("minimum", .text), TableColumn("minimum_count", .integer),
      ]
    case .latest:
      [
        TableColumn("value", .any), TableColumn("time", .integer), TableColumn("offset", .integer), TableColumn("place_offset", .integer),
        TableColumn("place_time", .integer),
      ]
    // What they hold is more than rows of keys and values: no table keeps them.
    case .presence, .acknowledgements: []
    }
  }

  /// Gives the columns of a key's row. False if it has no row.
  package func write(_ key: String, of state: State, to row: inout some RowWriter) -> Bool {
    switch definition.fold {
    case .count:
      guard let count = state.counts[key] else { return false }
      row.add(Int64(clamping: count))
    case .sum, .average:
      guard let total = state.sums[key] else { return false }
      let isAverage = definition.fold == .average
      row.add((isAverage ? total.average(fractionDigits: definition.digits) : total.sum).description)
      row.add(Int64(clamping: total.count))
      if isAverage { row.add(total.sum.description) }
    case .minimum, .maximum:
      guard let found = state.extremes[key] else { return false }
      let isLow = definition.fold == .minimum
      row.add((isLow ? found.minimum : found.maximum).description)
      row.add(Int64(clamping: isLow ? found.minimumCount : found.maximumCount))
      row.add((isLow ? found.maximum : found.minimum).description)
      row.add(Int64(clamping: isLow ? found.maximumCount : found.minimumCount))
    case .latest:
      guard let latest = state.latest[key] else { return false }
      row.add(latest.value)
      row.add(latest.time.nanoseconds)
      row.add(Int64(clamping: latest.offset))
      row.add(Int64(clamping: latest.place.offset))
      row.add(latest.place.time.nanoseconds)
    case .presence, .acknowledgements: return false
    }
    return true
  }

  /// Adds a row to a state, from columns as they were written.
  package func read(_ key: String, to state: inout State, from row: inout some RowReader) throws(UnreadableEvent) {
    switch definition.fold {
    case .count: state.counts[key] = try row.tally()
    case .sum, .average:
      var sum = try row.bytes()
      let count = try row.tally()
      if definition.fold == .average { sum = try row.bytes() }
      state.sums[key] = SumByKey.Total(sum: try decimal(sum), count: count)
    case .minimum, .maximum:
      let (value, count) = (try decimal(row.bytes()), try row.tally())
      let (other, otherCount) = (try decimal(row.bytes()), try row.tally())
      guard count > 0, otherCount > 0 else { throw UnreadableEvent("a value that no event has") }
      state.extremes[key] =
        definition.fold == .minimum
        ? ExtremesByKey.Extremes(minimum: value, minimumCount: count, maximum: other, maximumCount: otherCount)
        : ExtremesByKey.Extremes(minimum: other, minimumCount: otherCount, maximum: value, maximumCount: count)
    case .latest:
      let (value, time, offset) = (try row.bytes(), Timestamp(nanoseconds: try row.integer()), try row.tally())
      let place = Place(offset: try row.tally(), time: Timestamp(nanoseconds: try row.integer()))
      state.latest[key] = LatestByKey.Latest(value: value, time: time, place: place, offset: offset)
    case .presence, .acknowledgements: throw UnreadableEvent("no table keeps it")
    }
  }
}

extension RowReader {
  /// A number of events, or an offset: no log has more than 2^44.
  fileprivate mutating func tally() throws(UnreadableEvent) -> UInt64 {
    let number = try integer()
    guard number >= 0, number <= 1 << 44 else { throw UnreadableEvent("more events than a log can hold") }
    return UInt64(number)
  }
}

private func decimal(_ bytes: [UInt8]) throws(UnreadableEvent) -> ExactDecimal {
  do { return try ExactDecimal(bytes.rawSpan, limit: 600) } catch { throw UnreadableEvent("no number: \(error)") }
}
