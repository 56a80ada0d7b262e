package import TidemarkLog

/// An event whose whole content follows from its number and the length of its data, so that what is read back is checked without being
/// stored.
///
/// Number and length are in the id, or for the events without one of their own (one in eight) in the first eight bytes of the data.
package struct TestEvent: Sendable, Equatable {
  /// Below 2^40.
  package let number: UInt64
  /// Below 2^24.
  package let dataByteCount: Int

  package init(number: UInt64, dataByteCount: Int) {
    self.number = number
    self.dataByteCount = dataByteCount
  }

  private static let mark: UInt64 = 0x9E57_E575
  private static let types = ["scan", "check-in", "sign-in", "reading", "d", "acknowledgement.of-a-rather-long-instruction"]

  /// Whether the caller gives the id; else the engine makes one.
  package var hasOwnID: Bool { number % 8 != 7 || dataByteCount < 8 }
  package var id: EventID { EventID(high: number << 16 | 0x8000, low: Self.mark << 32 | UInt64(dataByteCount)) }

  private var type: String { Self.types[Int(number % 6)] }
  private var subject: String? { number % 3 == 0 ? nil : "gate-\(number % 10)" }
  private var actor: String? { number % 5 == 0 ? "badge-\(number % 7)" : nil }
  private var contentType: String? { number % 4 == 1 ? "application/json" : nil }
  private var time: Timestamp? { number % 4 == 2 ? Timestamp(nanoseconds: 1_600_000_000_000_000_000 + Int64(number) * 1_000_000_001) : nil }
  private var extensions: [EventExtension] { number % 11 == 3 ? [.correlation(EventID(high: number, low: ~number))] : [] }

  /// The event as a caller appends it. With `isConflicting` it has the same id and other content.
  package func newEvent(isConflicting: Bool = false) -> NewEvent {
    NewEvent(
      type: isConflicting ? "conflict" : type, subject: subject, actor: actor, time: time, contentType: contentType,
      id: hasOwnID ? id : nil, extensions: extensions, data: data)
  }

  // MARK: Data

  /// Eight bytes of data: number and length first, then random bits, zeros, text, or what looks like the start of a frame.
  private func word(_ index: Int) -> UInt64 {
    if index == 0 { return number << 24 | UInt64(dataByteCount) }
    switch number % 5 {
    case 0: return 0
    case 1: return 0x2064_6573_6F6C_6320
    case 2: return 0x0101_5246_4D54
    default: return splitMix(number << 24 &+ UInt64(index))
    }
  }

  package var data: [UInt8] {
    var data = [UInt8](repeating: 0, count: dataByteCount)
    for index in 0..<dataByteCount / 8 { data.store(word(index), at: index * 8) }
    let last = word(dataByteCount / 8)
    for position in dataByteCount & ~7..<dataByteCount { data[position] = UInt8(truncatingIfNeeded: last >> UInt64(position & 7 * 8)) }
    return data
  }

  private func hasData(_ data: RawSpan) -> Bool {
    guard data.byteCount == dataByteCount else { return false }
    for index in 0..<dataByteCount / 8 where data.u64(index * 8) != word(index) { return false }
    let last = word(dataByteCount / 8)
    for position in dataByteCount & ~7..<dataByteCount
    where data.u8(position) != UInt8(truncatingIfNeeded: last >> UInt64(position & 7 * 8)) {
      return false
    }
    return true
  }

  // MARK: Reading back

  /// The test event that was read, or nil if any byte of it is not as it was appended.
  package init?(_ view: borrowing EventView) {
    let id = view.id
    let data = view.data
    if id.low >> 32 == Self.mark {
      self.init(number: id.high >> 16, dataByteCount: Int(id.low & 0xFFFF_FFFF))
      guard id == self.id, hasOwnID else { return nil }
    } else {
      guard data.byteCount >= 8 else { return nil }
      self.init(number: data.u64(0) >> 24, dataByteCount: Int(data.u64(0) & 0xFF_FFFF))
      guard !hasOwnID else { return nil }
    }
    guard hasData(data), view.type == type, view.subject == subject, view.actor == actor, view.contentType == contentType else {
      return nil
    }
    if let time {
      guard view.isTimeFromCaller, view.time == time else { return nil }
    } else if view.isTimeFromCaller {
      return nil
    }
    guard let readExtensions = try? view.extensions, readExtensions == extensions else { return nil }
  }
}
