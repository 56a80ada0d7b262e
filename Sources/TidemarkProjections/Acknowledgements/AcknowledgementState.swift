internal import TidemarkLog

/// Items, versions, and who has acknowledged which: the value of ``Acknowledgements``.
///
/// ```swift
/// for (place, totals) in state.totals() { print(place, totals.pending + totals.reacknowledge) }
/// ```
public struct AcknowledgementState: Sendable, Equatable {
  /// Where a person stands with an item.
  public enum Status: Sendable, Equatable {
    /// No version that is known was acknowledged.
    case pending
    /// The version was acknowledged, and no material one has come since.
    case acknowledged(version: UInt64)
    /// The version was acknowledged, but a later one is material; `current` is the highest.
    case reacknowledge(acknowledged: UInt64, current: UInt64)
    /// The item was withdrawn: nothing is asked.
    case withdrawn
  }

  /// How many pairs of item and person stand where.
  public struct Totals: Sendable, Equatable {
    /// Nothing was acknowledged so far.
    public var pending = 0
    /// All is well.
    public var acknowledged = 0
    /// A later, material version waits.
    public var reacknowledge = 0
    /// The item was withdrawn.
    public var withdrawn = 0

    package init() {}
  }

  /// An item as it was published.
  public struct Item: Sendable, Equatable {
    /// Each version's number, and whether it is material; a version that was published again is as it was published last.
    public internal(set) var versions: [UInt64: Bool] = [:]
    /// Whether it was withdrawn, and not published since.
    public internal(set) var isWithdrawn = false
    /// The highest version; nil if none was published.
    public var current: UInt64? { versions.keys.max() }
  }

  /// A person's acknowledgements of an item.
  public struct Record: Sendable, Equatable {
    /// Each version that was acknowledged, known or not, and where that was said first.
    public internal(set) var versions: [UInt64: Place] = [:]
    /// Where the person was last, as the events state; empty if none does.
    public internal(set) var place = ""
  }

  /// By their names.
  public private(set) var items = ValuesByKey<Item>()
  /// By item, then by person.
  private var records = ValuesByKey<ValuesByKey<Record>>()

  package init() {}

  package mutating func take(_ fact: Acknowledgements.Fact, at place: Place) {
    switch fact {
    case .published(let item, let version, let isMaterial):
      items[item, default: Item()].versions[version] = isMaterial
      items[item, default: Item()].isWithdrawn = false
    case .withdrawn(let item): items[item, default: Item()].isWithdrawn = true
    case .asked(let item, let person, let site): note(item, person, site)
    case .acknowledged(let item, let person, let version, let site):
      note(item, person, site)
      // Said twice, the first counts.
      if record(of: item, by: person)?.versions[version] == nil {
        records[item, default: ValuesByKey()][person, default: Record()].versions[version] = place
      }
    }
  }

  private mutating func note(_ item: String, _ person: String, _ place: String?) {
    let known = record(of: item, by: person)
    records[item, default: ValuesByKey()][person, default: Record()].place = place ?? known?.place ?? ""
  }

  // MARK: Questions

  /// Where a person stands with an item; nil if the person was neither asked nor has acknowledged it.
  ///
  /// ```swift
  /// if case .reacknowledge(_, let current) = state.status(of: "notice-3", by: "kim") { ask("kim", current) }
  /// ```
  public func status(of item: String, by person: String) -> Status? {
    record(of: item, by: person).map { status(items[item], $0) }
  }

  /// Of every pair of item and person.
  var statuses: [(item: String, person: String, status: Status)] {
    records.flatMap { item, persons in persons.map { person, record in (item, person, status(items[item], record)) } }
  }

  private func status(_ item: Item?, _ record: Record) -> Status {
    guard let item else { return .pending }
    if item.isWithdrawn { return .withdrawn }
    guard let current = item.current, let acknowledged = record.versions.keys.filter({ item.versions[$0] != nil }).max() else {
      return .pending
    }
    let isOutdated = item.versions.contains { version, isMaterial in isMaterial && version > acknowledged }
    return isOutdated ? .reacknowledge(acknowledged: acknowledged, current: current) : .acknowledged(version: acknowledged)
  }

  /// What a person has acknowledged of an item; nil if the person was neither asked nor has acknowledged it.
  public func record(of item: String, by person: String) -> Record? { records[item]?[person] }

  /// All who were asked about an item or have acknowledged it, by name.
  public func persons(of item: String) -> [String] { records[item]?.sortedKeys ?? [] }

  /// Versions that a person has acknowledged and that were never published, in order: they count from the moment they are.
  public func unseenVersions(of item: String, by person: String) -> [UInt64] {
    let record = record(of: item, by: person)
    return (record?.versions.keys.filter { items[item]?.versions[$0] == nil } ?? []).sorted()
  }

  /// How many pairs of item and person stand where, by place; of one item, or of all.
  ///
  /// ```swift
  /// let waiting = state.totals(of: "notice-3")["gate-7"]?.pending ?? 0
  /// ```
  public func totals(of item: String? = nil) -> ValuesByKey<Totals> {
    var totals = ValuesByKey<Totals>()
    for (name, persons) in records where item.map({ $0.hasBytes(of: name) }) ?? true {
      for (_, record) in persons { totals[record.place, default: Totals()].count(status(items[name], record)) }
    }
    return totals
  }

  // MARK: Coding
  //
  // u8 version of the coding; u64 number of items, each: text, u8 withdrawn, u64 number of versions, each: u64, u8 material;
  // u64 number of records, each: item, person and place as text, u64 number of versions, each: u64, place

  package func encode() -> [UInt8] {
    var bytes: [UInt8] = [1]
    bytes.add(UInt64(items.count))
    for (name, item) in items {
      bytes.add(text: name)
      bytes.append(item.isWithdrawn ? 1 : 0)
      bytes.add(UInt64(item.versions.count))
      for (version, isMaterial) in item.versions {
        bytes.add(version)
        bytes.append(isMaterial ? 1 : 0)
      }
    }
    bytes.add(UInt64(records.reduce(0) { $0 + $1.value.count }))
    for (item, persons) in records {
      for (person, record) in persons {
        bytes.add(text: item)
        bytes.add(text: person)
        bytes.add(text: record.place)
        bytes.add(UInt64(record.versions.count))
        for (version, place) in record.versions {
          bytes.add(version)
          bytes.add(place: place)
        }
      }
    }
    return bytes
  }

  package init(_ bytes: [UInt8]) throws(UnreadableEvent) {
    var reader = StateReader(bytes)
    guard try reader.u8() == 1 else { throw UnreadableEvent("its coding is of another version") }
    for _ in 0..<(try reader.count(elementByteCount: 13)) {
      let name = try reader.text()
      var item = Item()
      item.isWithdrawn = try reader.u8() != 0
      for _ in 0..<(try reader.count(elementByteCount: 9)) {
        let version = try reader.u64()
        item.versions[version] = try reader.u8() != 0
      }
      items[name] = item
    }
    for _ in 0..<(try reader.count(elementByteCount: 20)) {
      let (item, person) = (try reader.text(), try reader.text())
      var record = Record()
      record.place = try reader.text()
      for _ in 0..<(try reader.count(elementByteCount: 24)) {
        let version = try reader.u64()
        record.versions[version] = try reader.place()
      }
      records[item, default: ValuesByKey()][person] = record
    }
    try reader.finish()
  }
}

extension AcknowledgementState.Totals {
  mutating func count(_ status: AcknowledgementState.Status) {
    switch status {
    case .pending: pending += 1
    case .acknowledged: acknowledged += 1
    case .reacknowledge: reacknowledge += 1
    case .withdrawn: withdrawn += 1
    }
  }
}
