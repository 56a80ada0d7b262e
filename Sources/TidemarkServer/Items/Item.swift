internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

/// What an office publishes: a text with versions, for some devices or all, perhaps to be acknowledged by so many persons in time.
struct Item: Equatable {
  var name: String
  var version: UInt64
  /// Whether the version in force has to be acknowledged anew.
  var isMaterial: Bool
  /// The newest version that is material: to have acknowledged it, or a later one, counts.
  var materialVersion: UInt64
  var content: String
  /// Empty: for all places.
  var place: String
  /// Empty: for all persons.
  var person: String
  var state: String
  /// When the version in force was published, in seconds since 1970.
  var since: UInt64
  /// In seconds since 1970; 0 if nothing is asked for.
  var due: UInt64
  /// How many persons have to acknowledge it; 0 if nothing is asked for.
  var required: UInt64
  var isWaived: Bool
  var isRemoved: Bool
  /// How many persons have.
  var acknowledged: UInt64
  /// As it was told last; empty if nothing is asked for.
  var status: String

  /// What is so at a time.
  func status(at seconds: UInt64) -> String {
    guard due > 0, required > 0 else { return "" }
    if isWaived { return "waived" }
    if acknowledged >= required { return "met" }
    if seconds > due { return "missed" }
    return seconds > riskFrom ? "at-risk" : "open"
  }

  /// The end of the first three quarters of the time before it is due.
  private var riskFrom: UInt64 { due - (due - min(due, since)) / 4 }

  /// When time alone changes its status next.
  var nextChange: UInt64? {
    switch status {
    case "open": riskFrom + 1
    case "at-risk": due + 1
    default: nil
    }
  }

  func write(to json: inout JSONWriter) {
    json.member("item", name)
    json.member("version", version)
    json.member("material", isMaterial)
    json.member("content", content)
    if !place.isEmpty { json.member("place", place) }
    if !person.isEmpty { json.member("person", person) }
    if !state.isEmpty { json.member("state", state) }
    if due > 0 {
      json.member("due", Timestamp(nanoseconds: Int64(clamping: due.multipliedReportingOverflow(by: 1_000_000_000).partialValue)))
    }
    if required > 0 { json.member("required", required) }
    if !status.isEmpty {
      json.member("status", status)
      json.member("acknowledged", acknowledged)
    }
  }
}

/// What an event says about an item.
package enum ItemFact: Sendable, Equatable {
  /// The event's actor has seen a version.
  case acknowledgement(item: String, version: UInt64, actor: String)
  /// An item went from one state to another.
  case transition(item: String, from: String, to: String)

  /// Nil for an event of another type, or whose data are not as they should be: then it says nothing about items.
  init?(_ event: EventView) {
    guard event.typeBytes.byteCount >= 19, event.data.byteCount <= 4_096 else { return nil }
    let type = event.type
    guard type == "tidemark.acknowledgement" || type == "tidemark.transition",
      let object = try? JSONValue(event.data.array()).object("the data"), let item = try? object.string("item", upTo: 128)
    else { return nil }
    if type == "tidemark.transition" {
      guard let from = try? object.string("from", upTo: 64), let to = try? object.string("to", upTo: 64) else { return nil }
      self = .transition(item: item, from: from, to: to)
    } else {
      guard let version = try? object.number("version", in: 1...UInt64(Int64.max)), let actor = event.actor else { return nil }
      self = .acknowledgement(item: item, version: version, actor: actor)
    }
  }
}
