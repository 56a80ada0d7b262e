public import TidemarkLog

/// How many events each key has. Keys without any are not in the state.
///
/// ```swift
/// let scans = CountByKey("scans-by-gate") { event in event.type == "scan" ? .subject : nil }
/// ```
public struct CountByKey: Projection {
  public let name: String
  public let version: UInt32
  let key: @Sendable (EventView, Place) throws -> EventKey?

  /// - Parameters:
  ///   - name: see ``Projection/name``.
  ///   - version: raise it when `key` reads otherwise.
  ///   - key: nil for events that do not count; throws for those that can't be read.
  @inlinable public init(_ name: String, version: UInt32 = 1, key: @escaping @Sendable (EventView) throws -> EventKey?) {
    self.init(name, version: version) { event, _ in try key(event) }
  }

  /// The same by a key that the event's place takes part in.
  public init(_ name: String, version: UInt32 = 1, placed key: @escaping @Sendable (EventView, Place) throws -> EventKey?) {
    self.name = name
    self.version = version
    self.key = key
  }

  public var initial: ValuesByKey<UInt64> { ValuesByKey() }

  public func apply(_ event: EventView, at place: Place, to state: inout ValuesByKey<UInt64>) throws {
    try key(event, place)?.withBytes(of: event) { add($0, to: &state) }
  }

  public func retract(_ event: EventView, at place: Place, from state: inout ValuesByKey<UInt64>) throws -> Bool {
    try key(event, place)?.withBytes(of: event) { remove($0, from: &state) } ?? true
  }

  func add(_ key: RawSpan, to state: inout ValuesByKey<UInt64>) { state[key, default: 0] += 1 }

  func remove(_ key: RawSpan, from state: inout ValuesByKey<UInt64>) -> Bool {
    guard let count = state[key], count > 0 else { return false }
    state[key] = count == 1 ? nil : count - 1
    return true
  }

  public func encode(_ state: ValuesByKey<UInt64>) -> [UInt8] { TidemarkProjections.encode(state) { $1.add($0) } }
  public func decode(_ bytes: [UInt8]) throws -> ValuesByKey<UInt64> {
    try TidemarkProjections.decode(bytes) { (reader) throws(UnreadableEvent) in try reader.tally() }
  }
}
