/// The data of a trim event: everything below the floor may be gone.
package struct TrimRecord: Sendable, Equatable {
  package var floor: Offset
  /// The history tree's compact range at the floor.
  package var compactRange: [UInt8]
  package var receipt: [UInt8]
  /// The session in force at the floor.
  package var session: [UInt8]

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.add(floor)
    for part in [compactRange, receipt, session] {
      bytes.add(UInt16(truncatingIfNeeded: part.count))
      bytes += part
    }
    return bytes
  }

  init(floor: Offset, compactRange: [UInt8], receipt: [UInt8], session: [UInt8]) {
    self.floor = floor
    self.compactRange = compactRange
    self.receipt = receipt
    self.session = session
  }

  /// Nil if the bytes are no trim record.
  package init?(_ bytes: RawSpan) {
    guard let floor = Self.floor(bytes) else { return nil }
    var parts: [[UInt8]] = []
    var position = 8
    for _ in 0..<3 {
      guard bytes.byteCount - position >= 2, bytes.byteCount - position - 2 >= Int(bytes.u16(position)) else { return nil }
      parts.append(bytes.slice(position + 2, Int(bytes.u16(position))).array())
      position += 2 + Int(bytes.u16(position))
    }
    self.init(floor: floor, compactRange: parts[0], receipt: parts[1], session: parts[2])
  }

  /// The floor, which is all that recovery needs. Nil if the bytes are no trim record.
  static func floor(_ bytes: RawSpan) -> Offset? {
    guard bytes.byteCount >= 14, bytes.u64(0) <= Record.offsetLimit else { return nil }
    return bytes.u64(0)
  }

  /// The last one of a log; nil if it has none.
  package static func newest(in log: Log) throws -> TrimRecord? {
    var cursor = try log.read(seen: Query(includesControlEvents: true, onDamage: .skip))
    var newest: TrimRecord?
    while let event = try cursor.next() {
      if event.kind == .trim { newest = TrimRecord(event.data) ?? newest }
    }
    return newest
  }
}

/// What a trim record says of the history below its floor.
package struct TrimEvidence: Sendable {
  package var floor: Offset
  package var compactRange: [UInt8]
  package var receipt: [UInt8]

  package init(floor: Offset, compactRange: [UInt8], receipt: [UInt8]) {
    self.floor = floor
    self.compactRange = compactRange
    self.receipt = receipt
  }
}
