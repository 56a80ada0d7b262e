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
    enum Values: Sendable, Equatable {
      case counts([String: UInt64])
      case sums([String: SumByKey.Total])
      case extremes([String: ExtremesByKey.Extremes])
      case latest([String: LatestByKey.Latest])
    }
    var values: Values
    /// What changed since somebody who keeps the rows elsewhere wrote them; nil if nobody does, and after a fold anew: then any may have.
    package var changes: TableChanges?

    init(values: Values) { self.values = values }

    /// The same values, whatever changed before.
    public static func == (first: State, second: State) -> Bool { first.values == second.values }
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

  public var initial: State {
    switch folder {
    case .count(let projection): State(values: .counts(projection.initial))
    case .sum(let projection): State(values: .sums(projection.initial))
    case .extremes(let projection): State(values: .extremes(projection.initial))
    case .latest(let projection): State(values: .latest(projection.initial))
    }
  }

  public func apply(_ event: EventView, at place: Place, to state: inout State) throws {
    // The values are taken out of the state, or changing them would copy them.
    switch (folder, state.take()) {
    case (.count(let projection), .counts(var values)):
      defer { state.values = .counts(values) }
      guard let key = try projection.key(event) else { return }
      state.note(key, in: values)
      projection.add(key, to: &values)
    case (.sum(let projection), .sums(var values)):
      defer { state.values = .sums(values) }
      guard let found = try projection.extract(event) else { return }
      state.note(found.key, in: values)
      projection.add(found, to: &values)
    case (.extremes(let projection), .extremes(var values)):
      defer { state.values = .extremes(values) }
      guard let found = try projection.extract(event) else { return }
      state.note(found.key, in: values)
      projection.add(found, to: &values)
    case (.latest(let projection), .latest(var values)):
      defer { state.values = .latest(values) }
      guard let found = try projection.extract(event) else { return }
      state.note(found.key, in: values)
      projection.add(found, event.offset, at: place, to: &values)
    case (_, let other): state.values = other
    }
  }

  public func retract(_ event: EventView, at place: Place, from state: inout State) throws -> Bool {
    switch (folder, state.take()) {
    case (.count(let projection), .counts(var values)):
      defer { state.values = .counts(values) }
      guard let key = try projection.key(event) else { return true }
      state.note(key, in: values)
      return projection.remove(key, from: &values)
    case (.sum(let projection), .sums(var values)):
      defer { state.values = .sums(values) }
      guard let found = try projection.extract(event) else { return true }
      state.note(found.key, in: values)
      return projection.remove(found, from: &values)
    case (.extremes(let projection), .extremes(var values)):
      defer { state.values = .extremes(values) }
      guard let found = try projection.extract(event) else { return true }
      state.note(found.key, in: values)
      return projection.remove(found, from: &values)
    case (.latest(let projection), .latest(var values)):
      defer { state.values = .latest(values) }
      guard let found = try projection.extract(event) else { return true }
      state.note(found.key, in: values)
      return projection.remove(found, event.offset, at: place, from: &values)
    case (_, let other):
      state.values = other
      return false
    }
  }

  public func encode(_ state: State) -> [UInt8] {
    switch (folder, state.values) {
    case (.count(let projection), .counts(let values)): projection.encode(values)
    case (.sum(let projection), .sums(let values)): projection.encode(values)
    case (.extremes(let projection), .extremes(let values)): projection.encode(values)
    case (.latest(let projection), .latest(let values)): projection.encode(values)
    default: []
    }
  }

  public func decode(_ bytes: [UInt8]) throws -> State {
    switch folder {
    case .count(let projection): State(values: .counts(try projection.decode(bytes)))
    case .sum(let projection): State(values: .sums(try projection.decode(bytes)))
    case .extremes(let projection): State(values: .extremes(try projection.decode(bytes)))
    case .latest(let projection): State(values: .latest(try projection.decode(bytes)))
    }
  }

  // MARK: Rows

  /// The table, in the order of keys.
  public func rows(of state: State) -> [Row] {
    let rows: [Row] =
      switch state.values {
      case .counts(let values): values.map { Row(key: $0, value: String($1), count: $1) }
      case .sums(let values):
        values.map { key, total in
          let number = definition.fold == .average ? total.average(fractionDigits: definition.digits) : total.sum
          return Row(key: key, value: number.description, count: total.count)
        }
      case .extremes(let values):
        values.map { key, extremes in
          let isLow = definition.fold == .minimum
          return Row(
            key: key, value: (isLow ? extremes.minimum : extremes.maximum).description,
            count: isLow ? extremes.minimumCount : extremes.maximumCount)
        }
      case .latest(let values): values.map { Row(key: $0, value: String(decoding: $1.value, as: UTF8.self), count: nil) }
      }
    return rows.sorted { $0.key < $1.key }
  }
}

extension DefinedProjection.State {
  mutating func take() -> Values {
    let taken = values
    values = .counts([:])
    return taken
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
