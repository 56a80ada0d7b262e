public import TidemarkLog

/// The last value of each key: where someone was last seen, what a sensor last read.
///
/// When the event that gave it is corrected by one of another key, or of an earlier stated time, everything is folded again: what came
/// before was not remembered.
///
/// ```swift
/// let seen = LatestByKey("last-seen") { event in Keyed(.subject, event.copy().data) }
/// ```
public struct LatestByKey: Projection {
  /// What "last" means.
  public enum Order: Sendable {
    /// The event with the highest place in the log.
    case offset
    /// The one with the latest time, ``Keyed/time`` or else that of its place; of equal times, the one with the highest place.
    case time
  }

  /// A value, and which event gave it.
  public struct Latest: Sendable, Equatable {
    /// The value.
    public var value: [UInt8]
    /// The time that counts.
    public var time: Timestamp
    /// Where it counts.
    public var place: Place
    /// The event that holds it: another than its place says if that was corrected.
    public var offset: Offset
  }

  public let name: String
  public let version: UInt32
  private let order: Order
  let extract: PlacedExtractor<[UInt8]>

  /// - Parameters:
  ///   - name: see ``Projection/name``.
  ///   - version: raise it when `order` changes, or `extract` reads otherwise.
  ///   - order: which of two values is the later.
  ///   - extract: gives key, value and perhaps a time.
  @inlinable public init(_ name: String, version: UInt32 = 1, order: Order = .offset, extract: @escaping Extractor<[UInt8]>) {
    self.init(name, version: version, order: order) { event, _ in try extract(event) }
  }

  /// The same by key, value and time that the event's place takes part in.
  public init(_ name: String, version: UInt32 = 1, order: Order = .offset, placed extract: @escaping PlacedExtractor<[UInt8]>) {
    self.name = name
    self.version = version
    self.order = order
    self.extract = extract
  }

  public var initial: ValuesByKey<Latest> { ValuesByKey() }

  public func apply(_ event: EventView, at place: Place, to state: inout ValuesByKey<Latest>) throws {
    guard let found = try extract(event, place) else { return }
    found.key.withBytes(of: event) { add(found, event.offset, at: place, of: $0, to: &state) }
  }

  func add(_ found: Keyed<[UInt8]>, _ offset: Offset, at place: Place, of key: RawSpan, to state: inout ValuesByKey<Latest>) {
    let new = Latest(value: found.value, time: found.time ?? place.time, place: place, offset: offset)
    if let known = state[key], !isInOrder(known, new) { return }
    state[key] = new
  }

  private func isInOrder(_ first: Latest, _ second: Latest) -> Bool {
    if order == .time && first.time != second.time { return first.time < second.time }
    return first.place.offset <= second.place.offset
  }

  public func retract(_ event: EventView, at place: Place, from state: inout ValuesByKey<Latest>) throws -> Bool {
    guard let known = try extract(event, place)?.key.withBytes(of: event, { state[$0] }) ?? nil else { return true }
    return known.offset != event.offset || known.place.offset != place.offset
  }

  public func encode(_ state: ValuesByKey<Latest>) -> [UInt8] {
    TidemarkProjections.encode(state) { latest, bytes in
      bytes.add(data: latest.value)
      bytes.add(latest.time.nanoseconds)
      bytes.add(place: latest.place)
      bytes.add(latest.offset)
    }
  }

  public func decode(_ bytes: [UInt8]) throws -> ValuesByKey<Latest> {
    try TidemarkProjections.decode(bytes) { (reader) throws(UnreadableEvent) in
      Latest(value: try reader.data(), time: try reader.time(), place: try reader.place(), offset: try reader.u64())
    }
  }
}
