public import TidemarkLog

/// How many events each key has. Keys without any are not in the state.
///
/// ```swift
/// let scans = CountByKey("scans-by-gate") { event in event.type == "scan" ? event.subject : nil }
/// ```
public struct CountByKey: Projection {
  public let name: String
  public let version: UInt32
  let key: @Sendable (EventView, Place) throws -> String?

  /// - Parameters:
  ///   - name: see ``Projection/name``.
  ///   - version: raise it when `key` reads otherwise.
  ///   - key: nil for events that do not count; throws for those that can't be read.
  public init(_ name: String, version: UInt32 = 1, key: @escaping @Sendable (EventView) throws -> String?) {
    self.init(name, version: version) { event, _ in try key(event) }
  }

  /// The same by a key that the event's place takes part in.
  public init(_ name: String, version: UInt32 = 1, placed key: @escaping @Sendable (EventView, Place) throws -> String?) {
    self.name = name
    self.version = version
    self.key = key
  }

  public var initial: [String: UInt64] { [:] }

  public func apply(_ event: EventView, at place: Place, to state: inout [String: UInt64]) throws {
    if let key = try key(event, place) { add(key, to: &state) }
  }

  public func retract(_ event: EventView, at place: Place, from state: inout [String: UInt64]) throws -> Bool {
    guard let key = try key(event, place) else { return true }
    return remove(key, from: &state)
  }

  func add(_ key: String, to state: inout [String: UInt64]) { state[key, default: 0] += 1 }

  func remove(_ key: String, from state: inout [String: UInt64]) -> Bool {
    guard let count = state[key], count > 0 else { return false }
    state[key] = count == 1 ? nil : count - 1
    return true
  }

  public func encode(_ state: [String: UInt64]) -> [UInt8] { TidemarkProjections.encode(state) { $1.add($0) } }
  public func decode(_ bytes: [UInt8]) throws -> [String: UInt64] {
    try TidemarkProjections.decode(bytes) { (reader) throws(UnreadableEvent) in try reader.tally() }
  }
}
