public import TidemarkLog
internal import TidemarkText

/// The projection that a ``ProjectionDefinition`` describes. Its value is a table: one row for each key.
///
/// ```swift
/// let runner = try ProjectionRunner(definition.projection, of: log)
/// let rows = definition.projection.rows(of: try runner.current().state)
/// ```
public struct DefinedProjection: Projection {
  /// The value by key, as the fold keeps it.
  public struct State: Sendable, Equatable {
    // One of them is used, as the fold says. No enum: changing what a case holds would copy it.
    var counts: [String: UInt64] = [:]
    var sums: [String: SumByKey.Total] = [:]
    var extremes: [String: ExtremesByKey.Extremes] = [:]
    var latest: [String: LatestByKey.Latest] = [:]
    /// What changed since somebody who keeps the rows elsewhere wrote them; nil if nobody does, and after a fold anew: then any may have.
    package var changes: TableChanges?

    /// The same values, whatever changed before.
    public static func == (first: State, second: State) -> Bool {
      first.counts == second.counts && first.sums == second.sums && first.extremes == second.extremes && first.latest == second.latest
    }
  }

  /// One key and its value.
  public struct Row: Sendable, Equatable {
    /// The key: the text of its one part, or a JSON array of the texts of several.
    public var key: String
    /// The value as text; of a ``ProjectionDefinition/Fold/latest`` what stood there.
    public var value: String
    /// How many events it is of; nil where the fold does not count them.
    public var count: UInt64?
  }

  private enum Folder: Sendable {
    case count(CountByKey)
    case sum(SumByKey)
    case extremes(ExtremesByKey)
    case latest(LatestByKey)
  }

  /// What it runs.
  public let definition: ProjectionDefinition
  private let folder: Folder

  public var name: String { definition.name }
  public let version: UInt32

  init(_ definition: ProjectionDefinition) {
    self.definition = definition
    version = definition.version
    let name = definition.name
    let keyed = Extraction(definition)
    folder =
      switch definition.fold {
      case .count: .count(CountByKey(name) { event in try keyed.key(event) })
      case .sum, .average: .sum(SumByKey(name) { event in try keyed.number(event) })
      case .minimum, .maximum: .extremes(ExtremesByKey(name) { event in try keyed.number(event) })
      case .latest: .latest(LatestByKey(name, order: definition.time == nil ? .offset : .time) { event in try keyed.bytes(event) })
      }
  }

  public var initial: State { State() }

  public func apply(_ event: EventView, at place: Place, to state: inout State) throws {
    switch folder {
    case .count(let projection):
      guard let key = try projection.key(event) else { return }
      state.changes?.note(key, in: state.counts)
      projection.add(key, to: &state.counts)
    case .sum(let projection):
      guard let found = try projection.extract(event) else { return }
      state.changes?.note(found.key, in: state.sums)
      projection.add(found, to: &state.sums)
    case .extremes(let projection):
      guard let found = try projection.extract(event) else { return }
      state.changes?.note(found.key, in: state.extremes)
      projection.add(found, to: &state.extremes)
    case .latest(let projection):
      guard let found = try projection.extract(event) else { return }
      state.changes?.note(found.key, in: state.latest)
      projection.add(found, event.offset, at: place, to: &state.latest)
    }
  }

  public func retract(_ event: EventView, at place: Place, from state: inout State) throws -> Bool {
    switch folder {
    case .count(let projection):
      guard let key = try projection.key(event) else { return true }
      state.changes?.note(key, in: state.counts)
      return projection.remove(key, from: &state.counts)
    case .sum(let projection):
      guard let found = try projection.extract(event) else { return true }
      state.changes?.note(found.key, in: state.sums)
      return projection.remove(found, from: &state.sums)
    case .extremes(let projection):
      guard let found = try projection.extract(event) else { return true }
      state.changes?.note(found.key, in: state.extremes)
      return projection.remove(found, from: &state.extremes)
    case .latest(let projection):
      guard let found = try projection.extract(event) else { return true }
      state.changes?.note(found.key, in: state.latest)
      return projection.remove(found, event.offset, at: place, from: &state.latest)
    }
  }

  public func encode(_ state: State) -> [UInt8] {
    switch folder {
    case .count(let projection): projection.encode(state.counts)
    case .sum(let projection): projection.encode(state.sums)
    case .extremes(let projection): projection.encode(state.extremes)
    case .latest(let projection): projection.encode(state.latest)
    }
  }

  public func decode(_ bytes: [UInt8]) throws -> State {
    var state = initial
    switch folder {
    case .count(let projection): state.counts = try projection.decode(bytes)
    case .sum(let projection): state.sums = try projection.decode(bytes)
    case .extremes(let projection): state.extremes = try projection.decode(bytes)
    case .latest(let projection): state.latest = try projection.decode(bytes)
    }
    return state
  }

  // MARK: Rows

  /// The table, in the order of keys.
  public func rows(of state: State) -> [Row] {
    let rows: [Row] =
      switch folder {
      case .count: state.counts.map { Row(key: $0, value: String($1), count: $1) }
      case .sum:
        state.sums.map { key, total in
          let number = definition.fold == .average ? total.average(fractionDigits: definition.digits) : total.sum
          return Row(key: key, value: number.description, count: total.count)
        }
      case .extremes:
        state.extremes.map { key, extremes in
          let isLow = definition.fold == .minimum
          return Row(
            key: key, value: (isLow ? extremes.minimum : extremes.maximum).description,
            count: isLow ? extremes.minimumCount : extremes.maximumCount)
        }
      case .latest: state.latest.map { Row(key: $0, value: String(decoding: $1.value, as: UTF8.self), count: nil) }
      }
    return rows.sorted { $0.key < $1.key }
  }
}

extension ProjectionDefinition {
  /// Follows from all that it says, so that a changed definition has other snapshots.
  var version: UInt32 {
    var json = JSONWriter()
    json.beginArray()
    json.string("1")
    for list in [
      types, key.map(\.text), [value?.text ?? "", value == nil ? "no value" : ""], [time?.text ?? "", time == nil ? "no time" : ""],
    ] {
      json.beginArray()
      for text in list { json.string(text) }
      json.endArray()
    }
    json.string(fold.rawValue)
    json.bool(skipsAbsent)
    json.endArray()
    return UInt32(truncatingIfNeeded: xxh3(json.bytes.rawSpan, seed: 0))
  }
}

/// What a definition takes from an event.
private struct Extraction: Sendable {
  private let definition: ProjectionDefinition
  private let types: Set<String>
  private let reader: FieldReader

  init(_ definition: ProjectionDefinition) {
    self.definition = definition
    types = Set(definition.types)
    reader = FieldReader(definition.key + [definition.value, definition.time].compactMap { $0 })
  }

  private func isMine(_ event: EventView) -> Bool { types.isEmpty || types.contains(event.type) }

  /// Nil if the event does not concern the definition.
  private func read(_ event: EventView) throws(UnreadableEvent) -> (key: String, rest: ArraySlice<FieldReader.Found>)? {
    guard isMine(event) else { return nil }
    let found = try reader.read(event)
    let count = definition.key.count
    var parts: [String] = []
    for index in 0..<count {
      guard let text = found[index].text else {
        throw UnreadableEvent("there is nothing at \(definition.key[index].text), a part of the key")
      }
      parts.append(text)
    }
    return (count == 1 ? parts[0] : Self.joined(parts), found[count...])
  }

  private static func joined(_ parts: [String]) -> String {
    var json = JSONWriter()
    json.beginArray()
    for part in parts { json.string(part) }
    json.endArray()
    return String(decoding: json.bytes, as: UTF8.self)
  }

  func key(_ event: EventView) throws(UnreadableEvent) -> String? { try read(event)?.key }

  func number(_ event: EventView) throws -> Keyed<ExactDecimal>? {
    guard let (key, rest) = try read(event) else { return nil }
    guard case .word(let text)? = rest.first else {
      if case .absent? = rest.first, definition.skipsAbsent { return nil }
      throw UnreadableEvent("there is no number at \(definition.value?.text ?? "")")
    }
    return Keyed(key, try ExactDecimal(text))
  }

  func bytes(_ event: EventView) throws -> Keyed<[UInt8]>? {
    guard let (key, found) = try read(event) else { return nil }
    var rest = found
    var bytes: [UInt8] = []
    if let value = definition.value {
      guard let text = rest.popFirst()?.text else {
        if definition.skipsAbsent { return nil }
        throw UnreadableEvent("there is nothing at \(value.text)")
      }
      bytes = Array(text.utf8)
    } else {
      bytes = event.data.array()
    }
    guard let field = definition.time else { return Keyed(key, bytes) }
    guard case .string(let text)? = rest.first, let time = try? RFC3339(text) else {
      throw UnreadableEvent("there is no time (RFC 3339) at \(field.text)")
    }
    return Keyed(key, bytes, time: Timestamp(nanoseconds: time.nanoseconds))
  }
}
