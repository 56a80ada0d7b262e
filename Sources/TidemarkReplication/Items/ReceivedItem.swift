public import TidemarkLog
public import TidemarkProjections
internal import TidemarkProtocol
internal import TidemarkText

/// An item as this device got it from the server: a text with versions that the office publishes.
public struct ReceivedItem: Sendable, Equatable {
  /// What the office calls it.
  public var name: String
  /// The version in force, as far as this device knows.
  public var version: UInt64
  /// The newest version that asks those again who have acknowledged an earlier one.
  public var materialVersion: UInt64
  /// What it says: a JSON value.
  public var content: [UInt8]
  /// The place whose devices get it; empty: all.
  public var place: String
  /// The person whose devices get it; empty: all.
  public var person: String
  /// The state that the server decided; empty if it has none.
  public var state: String
  /// When the version in force was published, by the server's clock.
  public var published: Timestamp
  /// Until when it is to be acknowledged; nil if it need not be.
  public var due: Timestamp?
  /// By how many persons; 0 if it need not be.
  public var required: UInt64
  /// How many persons have acknowledged the newest material version or a later one, by the server's count.
  public var acknowledged: UInt64
  /// Where it stands, as the server decided; nil if nothing is asked for.
  public var status: ItemStatus?
  /// Whether the office withdrew it, or it is no longer for this device.
  public var isWithdrawn = false

  /// Reads the members of a change, or of a snapshot's item.
  init(_ object: JSONObject, content: [UInt8]) throws(TextError) {
    let any = 0...UInt64.max
    name = try object.string("item")
    version = try object.number("version", in: 1...UInt64.max)
    materialVersion = try object.number("material_version", in: 0...version)
    self.content = content
    place = try object.optionalString("place") ?? ""
    person = try object.optionalString("person") ?? ""
    state = try object.optionalString("state") ?? ""
    published = try object.time("published")
    due = object["due"] == nil ? nil : try object.time("due")
    required = try object.optionalNumber("required", in: any) ?? 0
    acknowledged = try object.optionalNumber("acknowledged", in: any) ?? 0
    status = try object.optionalString("status").flatMap { ItemStatus(rawValue: $0) }
  }

  var terms: ItemTerms {
    ItemTerms(since: published.seconds, due: due?.seconds ?? 0, required: required, isWaived: status == .waived)
  }
}

extension Timestamp {
  /// Since 1970; 0 before.
  var seconds: UInt64 { UInt64(max(0, nanoseconds / 1_000_000_000)) }
}

/// What the server refused of this device's, and why. The event stays as what happened.
public struct ItemRefusal: Sendable, Equatable {
  /// The event that asked for another state.
  public var event: EventID
  /// For people.
  public var reason: String
  /// The state in force when it was refused.
  public var state: String

  /// What leads out of it, for people.
  public var wayOut: String { "the item is in the state \"\(state)\": look at it, and change it from there if that is still right" }
}

/// All that came down from the server, folded.
package struct ReceivedState: Sendable, Equatable {
  package internal(set) var cursor: ReceivedCursor?
  /// By name, also those that were withdrawn.
  package internal(set) var items: [String: ReceivedItem] = [:]
  /// By event.
  package internal(set) var refusals: [EventID: ItemRefusal] = [:]
}

/// Folds a ``ReceivedLog``.
package struct ReceivedItems: Projection {
  package let name = "received-items"
  package let version: UInt32 = 1
  package var initial: ReceivedState { ReceivedState() }

  package init() {}

  package func apply(_ event: EventView, at place: Place, to state: inout ReceivedState) throws {
    switch event.type {
    case ReceivedLog.cursorType: state.cursor = try ReceivedCursor(json: event.data.array())
    case ReceivedLog.snapshotType:
      state.cursor = try ReceivedCursor(json: event.data.array())
      for name in state.items.keys { state.items[name]?.isWithdrawn = true }
    case ReceivedLog.changeType: try Self.apply(event.data.array(), to: &state)
    default: break
    }
  }

  private static func apply(_ bytes: [UInt8], to state: inout ReceivedState) throws {
    let object = try JSONValue(bytes).object("a change")
    // What a snapshot holds is an item without a kind.
    let kind = try object.optionalString("kind") ?? "item"
    guard object["item"] != nil else { return }
    let name = try object.string("item")
    switch kind {
    case "item": state.items[name] = try ReceivedItem(object, content: content(bytes))
    case "tombstone": state.items[name]?.isWithdrawn = true
    case "state": state.items[name]?.state = try object.string("state")
    case "status":
      let acknowledged = try object.number("acknowledged", in: 0...UInt64.max)
      let status = try object.optionalString("status").flatMap { ItemStatus(rawValue: $0) }
      state.items[name]?.acknowledged = acknowledged
      state.items[name]?.status = status
    case "refused":
      let refusal = ItemRefusal(
        event: try object.id("event"), reason: try object.string("reason"), state: try object.optionalString("state") ?? "")
      state.refusals[refusal.event] = refusal
    // A later version of the protocol may have more.
    default: break
    }
  }

  private static let pointers = ["/content"].compactMap { try? JSONPointer($0) }

  /// As it came.
  private static func content(_ bytes: [UInt8]) throws(TextError) -> [UInt8] {
    var scanner = JSONScanner(pointers: pointers)
    _ = try scanner.scan(bytes.span)
    return scanner.found[0].map { Array(bytes[$0]) } ?? Array("null".utf8)
  }

  // u8 version of the coding; cursor as JSON, or empty; u64 number of items, each as JSON; u64 number of refusals, each: id, reason, state

  package func encode(_ state: ReceivedState) -> [UInt8] {
    var bytes: [UInt8] = [1]
    bytes.add(data: state.cursor?.json ?? [])
    bytes.add(UInt64(state.items.count))
    for item in state.items.values {
      bytes.add(data: item.json)
      bytes.append(item.isWithdrawn ? 1 : 0)
    }
    bytes.add(UInt64(state.refusals.count))
    for refusal in state.refusals.values {
      bytes.add(refusal.event)
      bytes.add(text: refusal.reason)
      bytes.add(text: refusal.state)
    }
    return bytes
  }

  package func decode(_ bytes: [UInt8]) throws -> ReceivedState {
    var reader = StateReader(bytes)
    guard try reader.u8() == 1 else { throw UnreadableEvent("its coding is of another version") }
    var state = ReceivedState()
    let cursor = try reader.data()
    if !cursor.isEmpty { state.cursor = try ReceivedCursor(json: cursor) }
    for _ in 0..<(try reader.count(elementByteCount: 5)) {
      let json = try reader.data()
      var item = try ReceivedItem(JSONValue(json).object("an item"), content: Self.content(json))
      item.isWithdrawn = try reader.u8() != 0
      state.items[item.name] = item
    }
    for _ in 0..<(try reader.count(elementByteCount: 24)) {
      let refusal = ItemRefusal(event: try reader.id(), reason: try reader.text(), state: try reader.text())
      state.refusals[refusal.event] = refusal
    }
    try reader.finish()
    return state
  }
}

extension ReceivedItem {
  /// As a snapshot has it.
  fileprivate var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("item", name)
    json.member("version", version)
    json.member("material_version", materialVersion)
    json.name("content")
    json.value(content.span)
    json.member("place", place)
    json.member("person", person)
    json.member("state", state)
    json.member("published", published)
    if let due { json.member("due", due) }
    json.member("required", required)
    json.member("acknowledged", acknowledged)
    if let status { json.member("status", status.rawValue) }
    json.endObject()
    return json.bytes
  }
}
