public import TidemarkLog

/// What a projection by key takes from an event.
///
/// ```swift
/// let reading = Keyed("station-7", try ExactDecimal(event.data))
/// ```
@frozen public struct Keyed<Value: Sendable>: Sendable {
  /// Whose value it is.
  public var key: EventKey
  /// The value.
  public var value: Value
  /// When it was so, if the event states that; nil: the time of the event's place.
  public var time: Timestamp?

  /// Names a key and a value.
  @inlinable public init(_ key: EventKey, _ value: Value, time: Timestamp? = nil) {
    self.key = key
    self.value = value
    self.time = time
  }
}

/// Reads key and value from an event: nil for events that do not concern the projection; throws for those that should, but can't be read.
/// The same event always gives the same.
///
/// ```swift
/// let rain: Extractor<ExactDecimal> = { event in
///   event.type == "rain" ? Keyed(.subject, try ExactDecimal(event.data)) : nil
/// }
/// ```
public typealias Extractor<Value: Sendable> = @Sendable (EventView) throws -> Keyed<Value>?

/// The same where the place of the event matters as well: above all its time, which a correction takes over from what it corrects. See
/// ``TimeWindow``.
///
/// ```swift
/// let day = TimeWindow(.day, in: .utc)
/// let rain: PlacedExtractor<ExactDecimal> = { event, place in Keyed(.text(day.text(at: place.time)), try ExactDecimal(event.data)) }
/// ```
public typealias PlacedExtractor<Value: Sendable> = @Sendable (EventView, Place) throws -> Keyed<Value>?

// A state by key: u8 version of the coding, u64 number of keys, each: text, then the value.

func encode<Value>(_ state: ValuesByKey<Value>, _ encodeValue: (Value, inout [UInt8]) -> Void) -> [UInt8] {
  var bytes: [UInt8] = [1]
  bytes.add(UInt64(state.count))
  state.forEach { key, value in
    bytes.add(UInt32(truncatingIfNeeded: key.byteCount))
    bytes.add(key)
    encodeValue(value, &bytes)
  }
  return bytes
}

func decode<Value>(_ bytes: [UInt8], _ decodeValue: (inout StateReader) throws(UnreadableEvent) -> Value) throws(UnreadableEvent)
  -> ValuesByKey<Value>
{
  var reader = StateReader(bytes)
  guard try reader.u8() == 1 else { throw UnreadableEvent("its coding is of another version") }
  let count = try reader.count(elementByteCount: 5)
  var state = ValuesByKey<Value>(minimumCapacity: count)
  for _ in 0..<count {
    let key = try reader.data()
    state[key.rawSpan] = try decodeValue(&reader)
  }
  try reader.finish()
  return state
}

extension StateReader {
  mutating func decimal() throws(UnreadableEvent) -> ExactDecimal {
    let bytes = try data()
    do { return try ExactDecimal(bytes.rawSpan, limit: 600) } catch { throw UnreadableEvent("no number: \(error)") }
  }
}

extension [UInt8] {
  mutating func add(_ number: ExactDecimal) { add(text: number.description) }
}
