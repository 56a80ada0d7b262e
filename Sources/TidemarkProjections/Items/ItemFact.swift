package import TidemarkLog
internal import TidemarkText

/// What an event of a device says about an item. Server and device read it by the same code.
package enum ItemFact: Sendable, Equatable {
  /// The event's actor has seen a version.
  case acknowledgement(item: String, version: UInt64, actor: String)
  /// An item went from one state to another.
  case transition(item: String, from: String, to: String)

  /// Nil for an event of another type, or whose data are not as they should be: then it says nothing about items.
  package init?(_ event: EventView) {
    guard event.typeBytes.byteCount >= 19, event.data.byteCount <= 4_096 else { return nil }
    let type = event.type
    guard type == Self.acknowledgementType || type == Self.transitionType,
      let object = try? JSONValue(event.data.array()).object("the data"), let item = try? object.string("item", upTo: 128)
    else { return nil }
    if type == Self.transitionType {
      guard let from = try? object.string("from", upTo: 64), let to = try? object.string("to", upTo: 64) else { return nil }
      self = .transition(item: item, from: from, to: to)
    } else {
      guard let version = try? object.number("version", in: 1...UInt64(Int64.max)), let actor = event.actor else { return nil }
      self = .acknowledgement(item: item, version: version, actor: actor)
    }
  }

  private static let acknowledgementType = "tidemark.acknowledgement"
  private static let transitionType = "tidemark.transition"

  /// The event that says it.
  ///
  /// - Parameter actor: who made a transition; an acknowledgement names its own.
  package func event(actor: String? = nil) -> NewEvent {
    var json = JSONWriter()
    json.beginObject()
    switch self {
    case .acknowledgement(let item, let version, let actor):
      json.member("item", item)
      json.member("version", version)
      json.endObject()
      return NewEvent(
        type: Self.acknowledgementType, subject: item, actor: actor, contentType: "application/json", data: json.bytes)
    case .transition(let item, let from, let to):
      json.member("item", item)
      json.member("from", from)
      json.member("to", to)
      json.endObject()
      return NewEvent(type: Self.transitionType, subject: item, actor: actor, contentType: "application/json", data: json.bytes)
    }
  }
}
