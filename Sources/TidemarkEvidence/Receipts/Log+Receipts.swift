public import TidemarkLog

extension Log {
  /// The receipts in a log that count by a policy, for time brackets. Reads all of the log; what is no receipt, or does not count, is left
  /// out.
  ///
  /// Throws errors of the file system.
  public func receiptTimes(_ policy: Policy) throws -> [ReceiptTime] {
    var receipts: [ReceiptTime] = []
    var cursor = try read(seen: Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() {
      guard event.kind == .receipt, let receipt = try? Receipt(SignedNote(event.data.array()), policy) else { continue }
      receipts.append(ReceiptTime(offset: event.offset, size: receipt.size, time: receipt.time))
    }
    return receipts
  }
}
