public import TidemarkLog

/// The exact sum of each key's values, how many they are, and so their average. Keys without values are not in the state.
///
/// ```swift
/// let rain = SumByKey("rain-by-station") { event in
///   event.type == "rain" ? Keyed(.subject, try ExactDecimal(event.data)) : nil
/// }
/// ```
public struct SumByKey: Projection {
  /// A sum and what it is of.
  public struct Total: Sendable, Equatable {
    /// Exact.
    public var sum: ExactDecimal
    /// How many values.
    public var count: UInt64

    package init(sum: ExactDecimal, count: UInt64) {
      self.sum = sum
      self.count = count
    }

    /// Sum over count, rounded half to even to so many digits after the point, 0 to 100.
    ///
    /// ```swift
    /// let average = total.average(fractionDigits: 2)
    /// ```
    public func average(fractionDigits: Int) -> ExactDecimal { sum.divided(by: max(1, count), fractionDigits: fractionDigits) ?? .zero }
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

  public var initial: ValuesByKey<Total> { ValuesByKey() }

  public func apply(_ event: EventView, at place: Place, to state: inout ValuesByKey<Total>) throws {
    guard let found = try extract(event, place) else { return }
    found.key.withBytes(of: event) { add(found.value, of: $0, to: &state) }
  }

  func add(_ value: ExactDecimal, of key: RawSpan, to state: inout ValuesByKey<Total>) {
    state[key, default: Total(sum: .zero, count: 0)].add(value)
  }

  public func retract(_ event: EventView, at place: Place, from state: inout ValuesByKey<Total>) throws -> Bool {
    guard let found = try extract(event, place) else { return true }
    return found.key.withBytes(of: event) { remove(found.value, of: $0, from: &state) } ?? true
  }

  func remove(_ value: ExactDecimal, of key: RawSpan, from state: inout ValuesByKey<Total>) -> Bool {
    guard let total = state[key], total.count > 0 else { return false }
    state[key] = total.count == 1 ? nil : Total(sum: total.sum - value, count: total.count - 1)
    return true
  }

  public func encode(_ state: ValuesByKey<Total>) -> [UInt8] {
    TidemarkProjections.encode(state) { total, bytes in
      bytes.add(total.sum)
      bytes.add(total.count)
    }
  }

  public func decode(_ bytes: [UInt8]) throws -> ValuesByKey<Total> {
    try TidemarkProjections.decode(bytes) { (reader) throws(UnreadableEvent) in Total(sum: try reader.decimal(), count: try reader.tally())
    }
  }
}

extension SumByKey.Total {
  mutating func add(_ value: ExactDecimal) {
    sum += value
    count += 1
  }
}
