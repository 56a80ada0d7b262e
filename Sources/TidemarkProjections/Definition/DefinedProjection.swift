public import TidemarkLog
internal import TidemarkText

/// The projection that a ``ProjectionDefinition`` describes. Its value is a table: one row for each key.
///
/// ```swift
/// let runner = try ProjectionRunner(definition.projection, of: log)
/// let rows = definition.projection.rows(of: try runner.current().state)
/// ```
public struct DefinedProjection: Projection {
  /// The value by key, as the fold keeps it: in one of these, the others stay empty.
  public struct State: Sendable, Equatable {
    var counts: [String: UInt64] = [:]
    var sums: [String: SumByKey.Total] = [:]
    var extremes: [String: ExtremesByKey.Extremes] = [:]
    var latest: [String: LatestByKey.Latest] = [:]
    /// The release of the time zone database that its windows go by, if they go by that; a snapshot holds it.
    public internal(set) var timeZoneDatabaseVersion: String?
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
      case .count: .count(CountByKey(name) { event, place in try keyed.key(event, place) })
      case .sum, .average: .sum(SumByKey(name) { event, place in try keyed.number(event, place) })
      case .minimum, .maximum: .extremes(ExtremesByKey(name) { event, place in try keyed.number(event, place) })
      case .latest:
        .latest(LatestByKey(name, order: definition.time == nil ? .offset : .time) { event, place in try keyed.bytes(event, place) })
      }
  }

  public var initial: State { State(timeZoneDatabaseVersion: definition.window?.zone.rules?.databaseVersion) }

  public func apply(_ event: EventView, at place: Place, to state: inout State) throws {
    switch folder {
    case .count(let projection): try projection.apply(event, at: place, to: &state.counts)
    case .sum(let projection): try projection.apply(event, at: place, to: &state.sums)
    case .extremes(let projection): try projection.apply(event, at: place, to: &state.extremes)
    case .latest(let projection): try projection.apply(event, at: place, to: &state.latest)
    }
  }

  public func retract(_ event: EventView, at place: Place, from state: inout State) throws -> Bool {
    switch folder {
    case .count(let projection): try projection.retract(event, at: place, from: &state.counts)
    case .sum(let projection): try projection.retract(event, at: place, from: &state.sums)
    case .extremes(let projection): try projection.retract(event, at: place, from: &state.extremes)
    case .latest(let projection): try projection.retract(event, at: place, from: &state.latest)
    }
  }

  // A state: if its windows go by a named zone, text release of the time zone database. Then as the fold has it.

  public func encode(_ state: State) -> [UInt8] {
    var bytes: [UInt8] = []
    if let release = state.timeZoneDatabaseVersion { bytes.add(text: release) }
    switch folder {
    case .count(let projection): bytes += projection.encode(state.counts)
    case .sum(let projection): bytes += projection.encode(state.sums)
    case .extremes(let projection): bytes += projection.encode(state.extremes)
    case .latest(let projection): bytes += projection.encode(state.latest)
    }
    return bytes
  }

  public func decode(_ bytes: [UInt8]) throws -> State {
    var reader = StateReader(bytes)
    var state = State()
    if definition.window?.zone.rules != nil { state.timeZoneDatabaseVersion = try reader.text() }
    let rest = reader.rest()
    switch folder {
    case .count(let projection): state.counts = try projection.decode(rest)
    case .sum(let projection): state.sums = try projection.decode(rest)
    case .extremes(let projection): state.extremes = try projection.decode(rest)
    case .latest(let projection): state.latest = try projection.decode(rest)
    }
    return state
  }

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
  /// Follows from all that it says, and from the zone's file, so that a changed definition, or changed rules, have other snapshots.
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
    if let window {
      json.string(window.unit.rawValue)
      json.string(window.zone.text)
      json.number(window.zone.rules?.digest ?? 0)
      json.string(windowTime?.text ?? "")
      json.bool(windowTime == nil)
    }
    json.endArray()
    return UInt32(truncatingIfNeeded: xxh3(json.bytes.rawSpan, seed: 0))
  }
}

extension TimeWindow.Zone {
  fileprivate var rules: NamedTimeZone? {
    if case .named(let zone) = self { zone } else { nil }
  }

  /// As a definition has it.
  fileprivate var text: String {
    switch self {
    case .utc: "UTC"
    case .stated: "@offset"
    case .named(let zone): zone.name
    }
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
    reader = FieldReader(definition.key + [definition.windowTime, definition.value, definition.time].compactMap { $0 })
  }

  private func isMine(_ event: EventView) -> Bool { types.isEmpty || types.contains(event.type) }

  /// Nil if the event does not concern the definition.
  private func read(_ event: EventView, _ place: Place) throws(UnreadableEvent) -> (key: String, rest: ArraySlice<FieldReader.Found>)? {
    guard isMine(event) else { return nil }
    let found = try reader.read(event)
    var count = definition.key.count
    var parts: [String] = []
    for index in 0..<count {
      guard let text = found[index].text else {
        throw UnreadableEvent("there is nothing at \(definition.key[index].text), a part of the key")
      }
      parts.append(text)
    }
    if let window = definition.window {
      if let field = definition.windowTime {
        let time = try Self.time(found[count], field)
        parts.append(window.text(at: Timestamp(nanoseconds: time.nanoseconds), utcOffsetMinutes: time.offsetMinutes))
        count += 1
      } else {
        parts.append(window.text(at: place.time))
      }
    }
    return (parts.count == 1 ? parts[0] : Self.joined(parts), found[count...])
  }

  private static func time(_ found: FieldReader.Found?, _ field: EventField) throws(UnreadableEvent) -> RFC3339 {
    guard case .string(let text)? = found, let time = try? RFC3339(text) else {
      throw UnreadableEvent("there is no time (RFC 3339) at \(field.text)")
    }
    return time
  }

  private static func joined(_ parts: [String]) -> String {
    var json = JSONWriter()
    json.beginArray()
    for part in parts { json.string(part) }
    json.endArray()
    return String(decoding: json.bytes, as: UTF8.self)
  }

  func key(_ event: EventView, _ place: Place) throws(UnreadableEvent) -> String? { try read(event, place)?.key }

  func number(_ event: EventView, _ place: Place) throws -> Keyed<ExactDecimal>? {
    guard let (key, rest) = try read(event, place) else { return nil }
    guard case .word(let text)? = rest.first else {
      if case .absent? = rest.first, definition.skipsAbsent { return nil }
      throw UnreadableEvent("there is no number at \(definition.value?.text ?? "")")
    }
    return Keyed(key, try ExactDecimal(text))
  }

  func bytes(_ event: EventView, _ place: Place) throws -> Keyed<[UInt8]>? {
    guard let (key, found) = try read(event, place) else { return nil }
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
    return Keyed(key, bytes, time: Timestamp(nanoseconds: try Self.time(rest.first, field).nanoseconds))
  }
}
