public import TidemarkLog

/// The smallest and the largest of each key's values.
///
/// When the event that gave one of them is corrected, and no other has the same value, everything is folded again: what came next was
/// not remembered.
///
/// ```swift
/// let range = ExtremesByKey("temperature-range") { event in
///   event.type == "temperature" ? Keyed(.subject, try ExactDecimal(event.data)) : nil
/// }
/// ```
public struct ExtremesByKey: Projection {
  /// The smallest and the largest value of a key.
  public struct Extremes: Sendable, Equatable {
    /// The smallest.
    public var minimum: ExactDecimal
    /// How many events have it.
    public var minimumCount: UInt64 = 1
    /// The largest.
    public var maximum: ExactDecimal
    /// How many events have it.
    public var maximumCount: UInt64 = 1
  }

  public let name: String
  public let version: UInt32
  let extract: PlacedExtractor<ExactDecimal>

  /// - Parameters:
  ///   - name: see ``Projection/name``.
  ///   - version: raise it when `extract` reads otherwise.
  ///   - extract: gives key and value; a time is not looked at.
  @inlinable public init(_ name: String, version: UInt32 = 1, extract: @escaping Extractor<ExactDecimal>) {
    self.init(name, version: version) { event, _ in try extract(event) }
  }

  /// The same by key and value that the event's place takes part in.
  public init(_ name: String, version: UInt32 = 1, placed extract: @escaping PlacedExtractor<ExactDecimal>) {
    self.name = name
    self.version = version
    self.extract = extract
  }

  public var initial: ValuesByKey<Extremes> { ValuesByKey() }

  public func apply(_ event: EventView, at place: Place, to state: inout ValuesByKey<Extremes>) throws {
    guard let found = try extract(event, place) else { return }
    found.key.withBytes(of: event) { add(found.value, of: $0, to: &state) }
  }

  func add(_ value: ExactDecimal, of key: RawSpan, to state: inout ValuesByKey<Extremes>) {
    guard var extremes = state[key] else {
      state[key] = Extremes(minimum: value, maximum: value)
      return
    }
    if value == extremes.minimum {
      extremes.minimumCount += 1
    } else if value < extremes.minimum {
      extremes.minimum = value
      extremes.minimumCount = 1
    }
    if value == extremes.maximum {
      extremes.maximumCount += 1
    } else if extremes.maximum < value {
      extremes.maximum = value
      extremes.maximumCount = 1
    }
    state[key] = extremes
  }

  public func retract(_ event: EventView, at place: Place, from state: inout ValuesByKey<Extremes>) throws -> Bool {
    guard let found = try extract(event, place) else { return true }
    return found.key.withBytes(of: event) { remove(found.value, of: $0, from: &state) } ?? true
  }

  func remove(_ value: ExactDecimal, of key: RawSpan, from state: inout ValuesByKey<Extremes>) -> Bool {
    guard var extremes = state[key] else { return false }
    if value == extremes.minimum { extremes.minimumCount -= 1 }
    if value == extremes.maximum { extremes.maximumCount -= 1 }
    state[key] = extremes
    return extremes.minimumCount > 0 && extremes.maximumCount > 0
  }

  public func encode(_ state: ValuesByKey<Extremes>) -> [UInt8] {
    TidemarkProjections.encode(state) { extremes, bytes in
      bytes.add(extremes.minimum)
      bytes.add(extremes.minimumCount)
      bytes.add(extremes.maximum)
      bytes.add(extremes.maximumCount)
    }
  }

  public func decode(_ bytes: [UInt8]) throws -> ValuesByKey<Extremes> {
    try TidemarkProjections.decode(bytes) { (reader) throws(UnreadableEvent) in
      let extremes = Extremes(
        minimum: try reader.decimal(), minimumCount: try reader.tally(), maximum: try reader.decimal(), maximumCount: try reader.tally())
      guard extremes.minimumCount > 0 && extremes.maximumCount > 0 else { throw UnreadableEvent("a value that no event has") }
      return extremes
    }
  }
}
