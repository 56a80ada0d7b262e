public import TidemarkLog

extension Log {
  /// The receipts in a log that count by a policy, for time brackets. Reads all of the log; what is no receipt of this history, or does not
  /// count, is left out. That its root is the log's is for an audit to check.
  ///
  /// Throws errors of the file system.
  public func receiptTimes(_ policy: Policy) throws -> [ReceiptTime] {
    var receipts: [ReceiptTime] = []
    var cursor = try read(seen: Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() {
      guard event.kind == .receipt, let receipt = try? Receipt(SignedNote(event.data.array()), policy), isOfThis(receipt),
        receipt.size <= event.offset
      else { continue }
      receipts.append(ReceiptTime(offset: event.offset, size: receipt.size, time: receipt.time))
    }
    return receipts
  }

  /// How many events the server had accepted at a time, by its own clock: the size of the largest receipt, in the log or in its notes, that
  /// is not later. 0 if there is none. `state(asOf:)` of a projection with it gives the value as of a receipt time.
  ///
  /// Throws errors of the file system, and `LogError.Code.corrupt` for damaged notes.
  public func acceptedSize(at time: Timestamp, _ policy: Policy) throws -> Offset {
    let notes = try NoteFile(evidencePath, environment.fileSystem).notes
    let noted = notes.compactMap { try? Receipt($0, policy) }.filter(isOfThis).map { ($0.size, $0.time) }
    let logged = try receiptTimes(policy).map { ($0.size, $0.time) }
    return (noted + logged).filter { $0.1 <= time && $0.0 <= size }.map(\.0).max() ?? 0
  }

  private func isOfThis(_ receipt: Receipt) -> Bool { receipt.checkpoint.origin == Checkpoint.origin(of: identity) }
}
