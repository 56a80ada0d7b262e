internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

extension Server {
  /// Publishes, removes or waives, for an office or the operator.
  ///
  /// - Parameter item: the item's name in the path; nil where the body has it.
  func changeItem(_ call: Call, _ action: ItemRecord.Action, _ item: String?, _ reply: @escaping Answer) throws {
    var record: ItemRecord
    if let item {
      record = ItemRecord(action, tenant: call.target["tenant"] ?? "", item: item)
    } else {
      record = try call.message(ItemRecord.self)
    }
    record.action = action
    if case .office(let tenant) = call.credential { record.tenant = tenant }
    guard Accounts.isName(record.tenant), Self.isItemName(record.item) else {
      throw Problem(.malformed, "name a tenant, and an item by 1 to 128 letters, digits, dashes, dots and underscores")
    }
    try accounts.checkTenant(record.tenant)
    if action == .publish, record.version == 0 { record.version = try storage.nextVersion(of: record.item, in: record.tenant) }
    let written = record
    submit(.item(written), byteCount: 1 << 16, for: nil, reply) {
      reply(
        .answer(
          JSONAnswer { json in
            json.member("item", written.item)
            if action == .publish { json.member("version", written.version) }
          }.response(action == .publish ? 201 : 200)))
    }
  }

  private static func isItemName(_ name: String) -> Bool {
    Accounts.isName(name, upTo: 128)
  }

  /// All items as they are, for whoever asks, and the number to go on from.
  func snapshot(_ call: Call) throws -> HTTPResponse {
    let (tenant, scope) = try tenant(call)
    let (through, items) = try storage.snapshot(of: tenant)
    return JSONAnswer { json in
      json.member("generation", storage.generation)
      json.member("through", through)
      scope.write(to: &json)
      json.name("items")
      json.beginArray()
      for item in items where scope.sees(place: item.place, person: item.person, device: .zero) {
        json.value(item.json.span)
      }
      json.endArray()
    }.response()
  }
}

/// What a caller may see of a tenant's changes.
enum Scope: Equatable {
  /// All of it.
  case office
  /// Items without a place, or of the device's, and likewise its person; never events.
  case device(DeviceAccount)

  var seesEvents: Bool {
    guard case .device = self else { return true }
    return false
  }

  func write(to json: inout JSONWriter) {
    guard case .device(let account) = self else { return }
    if !account.place.isEmpty { json.member("place", account.place) }
    if !account.person.isEmpty { json.member("person", account.person) }
  }

  /// - Parameter device: the one whom alone it is for; zero if it is for all who are in scope.
  func sees(place: String, person: String, device: EventID) -> Bool {
    guard case .device(let account) = self else { return true }
    if device != .zero { return device == account.id }
    return (place.isEmpty || place == account.place) && (person.isEmpty || person == account.person)
  }
}
