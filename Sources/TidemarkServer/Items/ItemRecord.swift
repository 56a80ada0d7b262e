internal import TidemarkLog
internal import TidemarkProtocol
package import TidemarkText

/// What an office does with an item, as it asks for it and as the ingest log keeps it.
package struct ItemRecord: Message {
  package static let what = "the item"
  static let type = "item"

  package enum Action: String, Sendable, CaseIterable {
    case publish, remove, waive
  }

  package var action: Action
  package var tenant: String
  package var item: String
  /// Of what is published; 0: the next one, only as it is asked for.
  package var version: UInt64
  package var isMaterial: Bool
  /// JSON text.
  package var content: String
  package var place: String
  package var person: String
  /// Nil: as it was.
  package var state: String?
  /// In seconds since 1970; 0 without.
  package var due: UInt64
  /// Persons; 0 without.
  package var required: UInt64
  /// When it was received, since 1970.
  package var seconds: UInt64

  package init(_ action: Action, tenant: String, item: String) {
    self.action = action
    self.tenant = tenant
    self.item = item
    version = 0
    isMaterial = false
    content = ""
    place = ""
    person = ""
    due = 0
    required = 0
    seconds = 0
  }

  package init(_ object: JSONObject) throws(TextError) {
    guard let action = Action(rawValue: try object.optionalString("action") ?? "publish") else {
      throw object.wrong("action", "is not known")
    }
    self.init(action, tenant: try object.optionalString("tenant", upTo: 64) ?? "", item: try object.string("item", upTo: 128))
    seconds = try object.optionalNumber("seconds", in: 0...UInt64(Int64.max)) ?? 0
    guard action == .publish else { return }
    version = try object.optionalNumber("version", in: 1...UInt64(Int64.max)) ?? 0
    isMaterial = object["material"] == nil ? true : try object.bool("material")
    guard let value = object["content"] else { throw object.wrong("content", "is missing") }
    content = value.text
    place = try object.optionalLabel("place") ?? ""
    person = try object.optionalLabel("person") ?? ""
    state = try object.optionalLabel("state", upTo: 64)
    if object["due"] != nil { due = UInt64(max(0, try object.time("due").nanoseconds / 1_000_000_000)) }
    required = try object.optionalNumber("required", in: 0...1 << 20) ?? 0
  }

  package func write(to json: inout JSONWriter) {
    json.member("action", action.rawValue)
    json.member("tenant", tenant)
    json.member("item", item)
    json.member("seconds", seconds)
    guard action == .publish else { return }
    json.member("version", version)
    json.member("material", isMaterial)
    json.name("content")
    json.value(content.utf8Span.span)
    if !place.isEmpty { json.member("place", place) }
    if !person.isEmpty { json.member("person", person) }
    if let state { json.member("state", state) }
    if due > 0 { json.member("due", Timestamp(seconds: due)) }
    if required > 0 { json.member("required", required) }
  }
}

/// That a time has come, as the ingest log keeps it: statuses changed by it.
package struct TimeRecord: Message {
  package static let what = "the time"
  static let type = "time"
  /// Since 1970.
  package var seconds: UInt64

  package init(seconds: UInt64) { self.seconds = seconds }
  package init(_ object: JSONObject) throws(TextError) { seconds = try object.number("seconds", in: 0...UInt64(Int64.max)) }
  package func write(to json: inout JSONWriter) { json.member("seconds", seconds) }
}
