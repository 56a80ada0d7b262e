/// The data of a salvage event: the log and epoch from which all events before it were copied.
package struct SalvageRecord: Sendable, Hashable {
  package var logID: EventID
  package var epochID: EventID

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.add(logID)
    bytes.add(epochID)
    return bytes
  }

  init(_ identity: LogIdentity) {
    logID = identity.logID
    epochID = identity.epochID
  }

  /// Nil if the bytes are no salvage record.
  package init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= 32 else { return nil }
    logID = bytes.id(0)
    epochID = bytes.id(16)
  }
}
