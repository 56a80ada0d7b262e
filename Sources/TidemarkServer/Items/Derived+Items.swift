internal import TidemarkLog
internal import TidemarkProjections
internal import TidemarkProtocol
internal import TidemarkSQLite
internal import TidemarkText

extension Derived {
  static let itemSchema = """
    CREATE TABLE IF NOT EXISTS items (
      tenant INTEGER NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, material INTEGER NOT NULL, material_version INTEGER NOT NULL,
      content TEXT NOT NULL, place TEXT NOT NULL, person TEXT NOT NULL, state TEXT NOT NULL, since INTEGER NOT NULL, due INTEGER NOT NULL,
      required INTEGER NOT NULL, waived INTEGER NOT NULL, removed INTEGER NOT NULL, acknowledged INTEGER NOT NULL, status TEXT NOT NULL,
      next INTEGER NOT NULL, PRIMARY KEY (tenant, name)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS items_by_time ON items (next);
    CREATE TABLE IF NOT EXISTS acknowledgements (
      tenant INTEGER NOT NULL, item TEXT NOT NULL, actor TEXT NOT NULL, version INTEGER NOT NULL,
      PRIMARY KEY (tenant, item, actor, version)) WITHOUT ROWID;
    """

  private static let items = """
    SELECT tenant, name, version, material, material_version, content, place, person, state, since, due, required, waived, removed,
      acknowledged, status FROM items
    """

  private static func item(_ row: Statement) -> (tenant: Int64, item: Item) {
    let item = Item(
      name: row.text(1), version: row.unsigned(2), isMaterial: row.integer(3) != 0, materialVersion: row.unsigned(4), content: row.text(5),
      place: row.text(6), person: row.text(7), state: row.text(8),
      terms: ItemTerms(since: row.unsigned(9), due: row.unsigned(10), required: row.unsigned(11), isWaived: row.integer(12) != 0),
      isRemoved: row.integer(13) != 0, acknowledged: row.unsigned(14), status: ItemStatus(rawValue: row.text(15)))
    return (row.integer(0), item)
  }

  private func item(_ name: String, _ tenant: Int64) throws -> Item? {
    try rows.first(Self.items + " WHERE tenant = ? AND name = ?", .number(tenant), RowValue(name)) { Self.item($0).item }
  }

  /// All of a tenant's, those that were removed left out.
  func items(of tenant: String) throws -> [Item] {
    try rows.all(
      Self.items + " WHERE tenant = (SELECT number FROM tenants WHERE name = ?) AND removed = 0 ORDER BY name", RowValue(tenant)
    ) { Self.item($0).item }
  }

  private func keep(_ item: Item, _ tenant: Int64) throws {
    try rows.run(
      "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", .number(tenant), RowValue(item.name),
      RowValue(item.version), .number(item.isMaterial ? 1 : 0), RowValue(item.materialVersion), RowValue(item.content),
      RowValue(item.place), RowValue(item.person), RowValue(item.state), RowValue(item.terms.since), RowValue(item.terms.due),
      RowValue(item.terms.required), .number(item.terms.isWaived ? 1 : 0), .number(item.isRemoved ? 1 : 0), RowValue(item.acknowledged),
      RowValue(item.status?.rawValue ?? ""),
      RowValue(item.isRemoved ? UInt64(Int64.max) : item.terms.end(of: item.status) ?? UInt64(Int64.max)))
  }

  /// The version that is due next.
  func nextVersion(of item: String, in tenant: String) throws -> UInt64 {
    let version = try rows.first(
      "SELECT version FROM items WHERE tenant = (SELECT number FROM tenants WHERE name = ?) AND name = ?", RowValue(tenant), RowValue(item)
    ) { $0.unsigned(0) }
    return (version ?? 0) + 1
  }

  /// When time alone changes a status next, in seconds since 1970; nil if it does not.
  func nextItemChange() throws -> UInt64? {
    let next = try rows.first("SELECT min(next) FROM items") { $0.isInteger(0) ? $0.unsigned(0) : nil } ?? nil
    return next == UInt64(Int64.max) ? nil : next
  }

  // MARK: Changes

  /// Gives a change of an item the next number.
  private func tell(
    _ kind: String, _ item: Item, _ tenant: Int64, to device: EventID = .zero, _ write: (inout JSONWriter) -> Void
  ) throws {
    guard let number = try takeChanges(tenant, count: 1)?.lowerBound else { return }
    var json = JSONWriter()
    json.beginObject()
    json.member("number", number)
    json.member("kind", kind)
    write(&json)
    json.endObject()
    try rows.run(
      "INSERT INTO changes VALUES (?, ?, -1, -1, ?, ?, ?, ?)", .number(tenant), RowValue(number), RowValue(json.bytes),
      RowValue(item.place), RowValue(item.person), RowValue(device))
  }

  /// Keeps an item, with its status at a time, and tells of that if it is another one.
  private func settle(_ item: Item, _ before: Item?, _ tenant: Int64, at seconds: UInt64, tellsStatus: Bool) throws -> Item {
    var item = item
    item.acknowledged =
      try rows.first(
        "SELECT count(DISTINCT actor) FROM acknowledgements WHERE tenant = ? AND item = ? AND version BETWEEN ? AND ?", .number(tenant),
        RowValue(item.name), RowValue(item.materialVersion), RowValue(item.version)
      ) { $0.unsigned(0) } ?? 0
    item.status = item.terms.status(acknowledged: item.acknowledged, at: seconds)
    try keep(item, tenant)
    if tellsStatus, item.status != before?.status || item.acknowledged != before?.acknowledged {
      try tell("status", item, tenant) { json in
        json.member("item", item.name)
        if let status = item.status { json.member("status", status.rawValue) }
        json.member("acknowledged", item.acknowledged)
      }
    }
    return item
  }

  // MARK: Deciding

  func decide(_ record: ItemRecord, seconds: UInt64) throws -> Decision? {
    var record = record
    record.seconds = seconds
    // A tenant that has no number yet gets one with its first item.
    let tenant = try rows.first("SELECT number FROM tenants WHERE name = ?", RowValue(record.tenant)) { $0.integer(0) }
    let before = try tenant.flatMap { try item(record.item, $0) }
    switch record.action {
    case .publish:
      if let before, before.version == record.version, !before.isRemoved, before.isSame(as: record) { return nil }
      let next = (before?.version ?? 0) + 1
      guard record.version == next else { throw Problem(.refused, "version \(next) is due") }
      let tenant = try self.tenant(record.tenant)
      var item = Item(
        name: record.item, version: next, isMaterial: record.isMaterial || before == nil, materialVersion: before?.materialVersion ?? next,
        content: record.content, place: record.place, person: record.person, state: record.state ?? before?.state ?? "",
        terms: ItemTerms(since: seconds, due: record.due, required: record.required), isRemoved: false, acknowledged: 0, status: nil)
      if item.isMaterial { item.materialVersion = next }
      item = try settle(item, before, tenant, at: seconds, tellsStatus: false)
      // Whoever saw it where it was is told that it is gone from there.
      if let before, !before.isRemoved, before.place != item.place || before.person != item.person {
        try tell("tombstone", before, tenant) { json in
          json.member("item", item.name)
          json.member("version", item.version)
        }
      }
      try tell("item", item, tenant) { item.write(to: &$0) }
    case .remove:
      guard let tenant, var item = before else { throw Problem(.notFound, "there is no such item") }
      if item.isRemoved { return nil }
      item.isRemoved = true
      item.version += 1
      try keep(item, tenant)
      try tell("tombstone", item, tenant) { json in
        json.member("item", item.name)
        json.member("version", item.version)
      }
    case .waive:
      guard let tenant, var item = before, !item.isRemoved else { throw Problem(.notFound, "there is no such item") }
      if item.terms.isWaived { return nil }
      item.terms.isWaived = true
      _ = try settle(item, before, tenant, at: seconds, tellsStatus: true)
    }
    return Decision(event: NewEvent(type: ItemRecord.type, data: record.json))
  }

  /// Changes the statuses that time alone changes. Nil if there is none.
  func decide(_ record: TimeRecord) throws -> Decision? {
    let due = try rows.all(Self.items + " WHERE next <= ? ORDER BY tenant, name", RowValue(record.seconds), read: Self.item)
    if due.isEmpty { return nil }
    for (tenant, item) in due { _ = try settle(item, item, tenant, at: record.seconds, tellsStatus: true) }
    return Decision(event: NewEvent(type: TimeRecord.type, data: record.json))
  }

  /// What an event of a shipment that the log has says about an item.
  func fact(of offset: Offset, ingest: Offset, in log: Log) throws -> (fact: ItemFact, event: EventID)? {
    guard let (record, bytes) = ShipmentRecord.decode(try log.event(at: ingest).data) else { return nil }
    var said: (ItemFact, EventID)?
    try Shipment(Array(bytes), logID: record.log, epochID: record.epoch).read { (item) throws(LogError) in
      if case .event(let event) = item, event.offset == offset { said = ItemFact(event).map { ($0, event.id) } }
    }
    return said
  }

  /// Takes in what an accepted or released event says about an item.
  func take(_ fact: ItemFact, of event: EventID, from device: EventID, _ tenant: Int64, seconds: UInt64) throws {
    switch fact {
    case .acknowledgement(let name, let version, let actor):
      // Also of what is not published yet, or not any more: it counts from the moment it is.
      try rows.run(
        "INSERT OR IGNORE INTO acknowledgements VALUES (?, ?, ?, ?)", .number(tenant), RowValue(name), RowValue(actor), RowValue(version))
      guard let item = try item(name, tenant), !item.isRemoved else { return }
      _ = try settle(item, item, tenant, at: seconds, tellsStatus: true)
    case .transition(let name, let from, let to):
      guard var item = try item(name, tenant), !item.isRemoved else { return }
      guard item.state == from else {
        try tell("refused", item, tenant, to: device) { json in
          json.member("event", event.description)
          json.member("item", name)
          json.member("reason", "the item is not in the state that the event names")
          json.member("state", item.state)
        }
        return
      }
      item.state = to
      try keep(item, tenant)
      try tell("state", item, tenant) { json in
        json.member("item", name)
        json.member("state", to)
        json.member("by", event.description)
      }
    }
  }
}

extension Item {
  /// Whether a publication says what is there.
  fileprivate func isSame(as record: ItemRecord) -> Bool {
    content == record.content && place == record.place && person == record.person && terms.due == record.due
      && terms.required == record.required
      && (record.state == nil || record.state == state)
  }
}
