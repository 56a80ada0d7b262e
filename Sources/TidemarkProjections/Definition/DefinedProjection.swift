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
    // One of them is used, as the fold says. No enum: changing what a case holds would copy it.
    var counts = ValuesByKey<UInt64>()
    var sums = ValuesByKey<SumByKey.Total>()
    var extremes = ValuesByKey<ExtremesByKey.Extremes>()
    var latest = ValuesByKey<LatestByKey.Latest>()
    var presence = Presence.State()
    var acknowledgements = AcknowledgementState()
    /// The release of the time zone database that its windows go by, if they go by that; a snapshot holds it.
    public internal(set) var timeZoneDatabaseVersion: String?
    /// What changed since somebody who keeps the rows elsewhere wrote them; nil if nobody does, and after a fold anew: then any may have.
    package var changes: TableChanges?

    /// The same values, whatever changed before.
    public static func == (first: State, second: State) -> Bool {
      first.counts == second.counts && first.sums == second.sums && first.extremes == second.extremes && first.latest == second.latest
        && first.presence == second.presence && first.acknowledgements == second.acknowledgements
        && first.timeZoneDatabaseVersion == second.timeZoneDatabaseVersion
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
    case presence(Presence)
    case acknowledgements(Acknowledgements)
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
    let told = RoleExtraction(definition)
    folder =
      switch definition.fold {
      case .count: .count(CountByKey(name) { event, place in try keyed.key(event, place) })
      case .sum, .average: .sum(SumByKey(name) { event, place in try keyed.number(event, place) })
      case .minimum, .maximum: .extremes(ExtremesByKey(name) { event, place in try keyed.number(event, place) })
      case .latest:
        .latest(LatestByKey(name, order: definition.time == nil ? .offset : .time) { event, place in try keyed.bytes(event, place) })
      case .presence: .presence(Presence(name) { event in try told.presence(event) })
      case .acknowledgements: .acknowledgements(Acknowledgements(name) { event in try told.acknowledgement(event) })
      }
  }

  public var initial: State { State(timeZoneDatabaseVersion: definition.window?.zone.rules?.databaseVersion) }

  public func apply(_ event: EventView, at place: Place, to state: inout State) throws {
    switch folder {
    case .count(let projection):
      try projection.key(event, place)?.withBytes(of: event) { key in
        state.changes?.note(key)
        projection.add(key, to: &state.counts)
      }
    case .sum(let projection):
      guard let found = try projection.extract(event, place) else { return }
      found.key.withBytes(of: event) { key in
        state.changes?.note(key)
        projection.add(found.value, of: key, to: &state.sums)
      }
    case .extremes(let projection):
      guard let found = try projection.extract(event, place) else { return }
      found.key.withBytes(of: event) { key in
        state.changes?.note(key)
        projection.add(found.value, of: key, to: &state.extremes)
      }
    case .latest(let projection):
      guard let found = try projection.extract(event, place) else { return }
      found.key.withBytes(of: event) { key in
        state.changes?.note(key)
        projection.add(found, event.offset, at: place, of: key, to: &state.latest)
      }
    case .presence(let projection): try projection.apply(event, at: place, to: &state.presence)
    case .acknowledgements(let projection): try projection.apply(event, at: place, to: &state.acknowledgements)
    }
  }

  public func retract(_ event: EventView, at place: Place, from state: inout State) throws -> Bool {
    switch folder {
    case .count(let projection):
      try projection.key(event, place)?.withBytes(of: event) { key in
        state.changes?.note(key)
        return projection.remove(key, from: &state.counts)
      } ?? true
    case .sum(let projection):
      try projection.extract(event, place).flatMap { found in
        found.key.withBytes(of: event) { key in
          state.changes?.note(key)
          return projection.remove(found.value, of: key, from: &state.sums)
        }
      } ?? true
    case .extremes(let projection):
      try projection.extract(event, place).flatMap { found in
        found.key.withBytes(of: event) { key in
          state.changes?.note(key)
          return projection.remove(found.value, of: key, from: &state.extremes)
        }
      } ?? true
    case .latest(let projection): try projection.retract(event, at: place, from: &state.latest)
    case .presence, .acknowledgements: false
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
    case .presence(let projection): bytes += projection.encode(state.presence)
    case .acknowledgements(let projection): bytes += projection.encode(state.acknowledgements)
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
    case .presence(let projection): state.presence = try projection.decode(rest)
    case .acknowledgements(let projection): state.acknowledgements = try projection.decode(rest)
    }
    return state
  }

  // MARK: Rows

  /// The table, in the order of the keys' bytes.
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
      case .presence: state.presence.rows(per: definition.subject)
      case .acknowledgements: state.acknowledgements.rows(per: definition.subject)
      }
    return rows.sorted { $0.key.precedes($1.key) }
  }
}
