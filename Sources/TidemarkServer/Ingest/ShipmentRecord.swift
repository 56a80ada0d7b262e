package import TidemarkLog

/// What the ingest log keeps of a shipment: the data of one event of type `shipment`.
///
/// ```
///   0         1       2        4        8        24    40      56       64       72       80     88
///   +---------+-------+--------+--------+--------+-----+-------+--------+--------+--------+------+--------+----------+-----------+
///   | version | flags | tenant | number | device | log | epoch | had    | first  | last   | time | tenant | verdicts | shipment, |
///   |         |       | bytes  | of     |        |     |       | before | change | change | in s |        |          | as it     |
///   |         |       |        | verd.  |        |     |       |        |        |        |      |        |          | came      |
///   +---------+-------+--------+--------+--------+-----+-------+--------+--------+--------+------+--------+----------+-----------+
/// ```
///
/// Version is 1; flag 1 says that what was accepted is settled by that, flag 2 that between tenant and verdicts stands the key that is in
/// force where the shipment begins, of 32 bytes. The change numbers are 0 if none was given.
package struct ShipmentRecord: Sendable, Equatable {
  package var tenant: String
  package var device: EventID
  package var log: EventID
  package var epoch: EventID
  /// What the server had of the epoch before.
  package var base: Offset
  /// The change numbers that its events took.
  package var changes: ClosedRange<UInt64>?
  /// When it was received, in seconds since 1970; what the receipt says.
  package var seconds: UInt64
  /// The key that is in force where it begins, if that does not follow from what was there.
  package var key: [UInt8]?
  /// Whether it settles what it brings.
  package var settles: Bool
  package var verdicts: [Verdict]

  static let type = "shipment"
  private static let fixedByteCount = 88

  /// Everything before the shipment.
  package var head: [UInt8] {
    var bytes: [UInt8] = [1, (settles ? 1 : 0) | (key == nil ? 0 : 2)]
    bytes.add(UInt16(tenant.utf8.count))
    bytes.add(UInt32(verdicts.count))
    bytes.add(device)
    bytes.add(log)
    bytes.add(epoch)
    bytes.add(base)
    bytes.add(changes?.lowerBound ?? 0)
    bytes.add(changes?.upperBound ?? 0)
    bytes.add(seconds)
    bytes += tenant.utf8
    bytes += key ?? []
    bytes += Verdict.encode(verdicts)
    return bytes
  }

  /// Reads one, and where the shipment begins. Nil for what is none.
  static func decode(_ bytes: [UInt8]) -> (record: ShipmentRecord, shipment: ArraySlice<UInt8>)? {
    let span = bytes.rawSpan
    guard bytes.count >= fixedByteCount, bytes[0] == 1, bytes[1] <= 3 else { return nil }
    let (tenantLength, verdictCount) = (Int(span.u16(2)), Int(span.u32(4)))
    let keyAt = fixedByteCount + tenantLength
    let verdictsAt = keyAt + (bytes[1] & 2 == 0 ? 0 : 32)
    let end = verdictsAt + verdictCount * Verdict.byteCount
    guard end <= bytes.count, let verdicts = Verdict.decode(span.slice(verdictsAt, end - verdictsAt)) else { return nil }
    let (first, last) = (span.u64(64), span.u64(72))
    guard first <= last else { return nil }
    let record = ShipmentRecord(
      tenant: span.slice(fixedByteCount, tenantLength).text(), device: span.id(8), log: span.id(24), epoch: span.id(40), base: span.u64(56),
      changes: first == 0 ? nil : first...last, seconds: span.u64(80),
      key: verdictsAt == keyAt ? nil : span.slice(keyAt, 32).array(), settles: bytes[1] & 1 == 1, verdicts: verdicts)
    return (record, bytes[end...])
  }
}
