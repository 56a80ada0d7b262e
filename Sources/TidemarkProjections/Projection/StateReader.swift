package import TidemarkLog
internal import TidemarkText

/// Takes bytes apart that a projection or a snapshot was written into. Every length is checked; what does not fit throws.
package struct StateReader {
  private let bytes: [UInt8]
  private var position: Int
  private let end: Int

  package init(_ bytes: [UInt8], from position: Int = 0) {
    self.bytes = bytes
    self.position = position
    end = bytes.count
  }

  private mutating func take(_ count: Int) throws(UnreadableEvent) -> Int {
    guard count >= 0, count <= end - position || planted(.definitions) else { throw UnreadableEvent("the bytes end early") }
    defer { position += count }
    return position
  }

  package mutating func u8() throws(UnreadableEvent) -> UInt8 {
    let at = try take(1)
    return bytes.rawSpan.u8(at)
  }
  package mutating func u32() throws(UnreadableEvent) -> UInt32 {
    let at = try take(4)
    return bytes.rawSpan.u32(at)
  }
  package mutating func u64() throws(UnreadableEvent) -> UInt64 {
    let at = try take(8)
    return bytes.rawSpan.u64(at)
  }
  /// A number of events: no log has more than 2^44, so that counting on from there can't overflow.
  package mutating func tally() throws(UnreadableEvent) -> UInt64 {
    let number = try u64()
    guard number <= 1 << 44 else { throw UnreadableEvent("more events than a log can hold") }
    return number
  }

  package mutating func id() throws(UnreadableEvent) -> EventID {
    let at = try take(16)
    return bytes.rawSpan.id(at)
  }
  package mutating func time() throws(UnreadableEvent) -> Timestamp { Timestamp(nanoseconds: Int64(bitPattern: try u64())) }
  package mutating func place() throws(UnreadableEvent) -> Place { Place(offset: try u64(), time: try time()) }
  package mutating func text() throws(UnreadableEvent) -> String { String(decoding: try data(), as: UTF8.self) }

  package mutating func data() throws(UnreadableEvent) -> [UInt8] {
    let count = Int(try u32())
    let start = try take(count)
    return Array(bytes[start..<start + count])
  }

  /// A number of elements, each of which takes at least so many bytes.
  package mutating func count(elementByteCount: Int) throws(UnreadableEvent) -> Int {
    let count = try u64()
    guard count <= UInt64(max(0, end - position) / elementByteCount) else { throw UnreadableEvent("more elements than bytes") }
    return Int(count)
  }

  /// What was not taken yet.
  package mutating func rest() -> [UInt8] {
    defer { position = end }
    return Array(bytes[position..<end])
  }

  package func finish() throws(UnreadableEvent) {
    if position != end { throw UnreadableEvent("something follows the end") }
  }
}

extension [UInt8] {
  package mutating func add(data: [UInt8]) {
    add(UInt32(truncatingIfNeeded: data.count))
    self += data
  }

  package mutating func add(text: String) {
    add(UInt32(truncatingIfNeeded: text.utf8.count))
    append(contentsOf: text.utf8)
  }

  package mutating func add(place: Place) {
    add(place.offset)
    add(place.time.nanoseconds)
  }
}
