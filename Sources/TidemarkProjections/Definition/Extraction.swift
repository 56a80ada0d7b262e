internal import TidemarkLog
internal import TidemarkText

/// What a definition takes from an event.
struct Extraction: Sendable {
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
  private func read(_ event: EventView, _ place: Place) throws(UnreadableEvent) -> (key: EventKey, rest: ArraySlice<FieldReader.Found>)? {
    guard isMine(event) else { return nil }
    let found = try reader.read(event)
    var count = definition.key.count
    var parts: [String] = []
    for index in 0..<count {
      guard let text = found[index].text else {
        if definition.skipsAbsent { return nil }
        throw UnreadableEvent("there is nothing at \(definition.key[index].text), a part of the key")
      }
      parts.append(text)
    }
    if let window = definition.window {
      if let field = definition.windowTime {
        if definition.skipsAbsent, found[count] == .absent { return nil }
        let time = try Self.time(found[count], field)
        parts.append(window.text(at: Timestamp(nanoseconds: time.nanoseconds), utcOffsetMinutes: time.offsetMinutes))
        count += 1
      } else {
        parts.append(window.text(at: place.time))
      }
    }
    return (.text(parts.count == 1 ? parts[0] : joinedKey(parts)), found[count...])
  }

  private static func time(_ found: FieldReader.Found?, _ field: EventField) throws(UnreadableEvent) -> RFC3339 {
    guard case .string(let text)? = found, let time = try? RFC3339(text) else {
      throw UnreadableEvent("there is no time (RFC 3339) at \(field.text)")
    }
    return time
  }

  func key(_ event: EventView, _ place: Place) throws(UnreadableEvent) -> EventKey? { try read(event, place)?.key }

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
    if definition.skipsAbsent, rest.first == .absent { return nil }
    return Keyed(key, bytes, time: Timestamp(nanoseconds: try Self.time(rest.first, field).nanoseconds))
  }
}

/// What a definition with roles takes from an event.
struct RoleExtraction: Sendable {
  private let definition: ProjectionDefinition
  private let reader: FieldReader
  private let place: Int?
  private let version: Int?
  private let material: Int?

  init(_ definition: ProjectionDefinition) {
    self.definition = definition
    var fields = definition.key
    func index(_ field: EventField?) -> Int? {
      guard let field else { return nil }
      fields.append(field)
      return fields.count - 1
    }
    place = index(definition.place)
    version = index(definition.itemVersion)
    material = index(definition.material)
    reader = FieldReader(fields)
  }

  func presence(_ event: EventView) throws -> Presence.Fact? {
    guard let role = definition.roles[event.type] else { return nil }
    let found = try reader.read(event)
    let person = try text(found, 0, "the person")
    let site = place.flatMap { found[$0].text }
    if role == .leave { return .signedOut(person: person, place: site) }
    guard let site else { throw absent("the place", definition.place) }
    return .signedIn(person: person, place: site)
  }

  func acknowledgement(_ event: EventView) throws -> Acknowledgements.Fact? {
    guard let role = definition.roles[event.type] else { return nil }
    let found = try reader.read(event)
    let item = try text(found, 0, "the item")
    let site = place.flatMap { found[$0].text }
    switch role {
    case .publish: return .published(item: item, version: try number(found), isMaterial: try isMaterial(found))
    case .withdraw: return .withdrawn(item: item)
    case .ask: return .asked(item: item, person: try text(found, 1, "the person"), place: site)
    default:
      return .acknowledged(item: item, person: try text(found, 1, "the person"), version: try number(found), place: site)
    }
  }

  private func absent(_ what: String, _ field: EventField?) -> UnreadableEvent {
    UnreadableEvent("there is nothing at \(field?.text ?? ""), where \(what) should stand")
  }

  private func text(_ found: [FieldReader.Found], _ index: Int, _ what: String) throws(UnreadableEvent) -> String {
    guard let text = found[index].text else { throw absent(what, definition.key[index]) }
    return text
  }

  private func number(_ found: [FieldReader.Found]) throws(UnreadableEvent) -> UInt64 {
    guard let version, case .word(let text) = found[version], let number = UInt64(text) else {
      throw UnreadableEvent("there is no whole number at \(definition.itemVersion?.text ?? ""), where the version should stand")
    }
    return number
  }

  private func isMaterial(_ found: [FieldReader.Found]) throws(UnreadableEvent) -> Bool {
    guard let material else { return true }
    switch found[material] {
    case .absent, .word("true"): return true
    case .word("false"): return false
    default: throw UnreadableEvent("there is neither true nor false at \(definition.material?.text ?? "")")
    }
  }
}

/// A key of several parts: the JSON array of their texts.
func joinedKey(_ parts: [String]) -> String {
  var json = JSONWriter()
  json.beginArray()
  for part in parts { json.string(part) }
  json.endArray()
  return String(decoding: json.bytes, as: UTF8.self)
}

extension Presence.State {
  /// Of each person at a place since when, or of each place how many there are.
  func rows(per subject: ProjectionDefinition.Subject) -> [DefinedProjection.Row] {
    switch subject {
    case .place: totals.map { DefinedProjection.Row(key: $0, value: String($1), count: UInt64($1)) }
    case .person:
      places.flatMap { site, persons in
        persons.map { person, since in
          DefinedProjection.Row(
            key: joinedKey([site, person]), value: RFC3339.format(nanoseconds: since.time.nanoseconds, fractionDigits: 0), count: nil)
        }
      }
    }
  }
}

extension AcknowledgementState {
  /// Of each item and person how they stand, or of each place how many stand how.
  func rows(per subject: ProjectionDefinition.Subject) -> [DefinedProjection.Row] {
    switch subject {
    case .place:
      totals().map { site, totals in
        let parts = [
          ("acknowledged", totals.acknowledged), ("re-acknowledge", totals.reacknowledge), ("pending", totals.pending),
          ("withdrawn", totals.withdrawn),
        ]
        let text = parts.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return DefinedProjection.Row(key: site, value: text, count: UInt64(parts.reduce(0) { $0 + $1.1 }))
      }
    case .person:
      statuses.map { item, person, status in
        let text =
          switch status {
          case .pending: "pending"
          case .acknowledged(let version): "acknowledged \(version)"
          case .reacknowledge(let acknowledged, let current): "re-acknowledge \(current), acknowledged \(acknowledged)"
          case .withdrawn: "withdrawn"
          }
        return DefinedProjection.Row(key: joinedKey([item, person]), value: text, count: nil)
      }
    }
  }
}
