internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol

extension Shipper {
  /// Carries out how both positions are brought together: the table *Positions* of `Specs/protocol.md`.
  func settle(_ answer: HandshakeAnswer) throws -> DeviceSession.Input {
    let head = try evidence.update()
    let device = Settlement.Device(oldest: log.first, size: head.size, receipted: evidence.receiptedSize)
    let settlement = try Settlement.of(
      device, accepted: answer.accepted, rootAt: { (size) throws(LogError) in try? self.evidence.root(at: size) },
      serverRootAt: { (_) throws(LogError) in nil })
    let accepted = answer.accepted.size
    switch settlement {
    case .newEpoch:
      return .differs("the server holds another history of this log: \(accepted) events with root \(answer.accepted.root.hexadecimal)")
    case .refill:
      return .differs("the server holds \(accepted) events of this log, this device has only \(head.size): an older copy was put in its place")
    case .continue, .fastForward, .rewind, .gap: break
    }
    setStatus {
      $0.settled = answer.settled
      $0.generation = answer.generation
      $0.isRewound = accepted < device.receipted
      if $0.isRewound { $0.accepted = min($0.accepted, accepted) }
    }
    if accepted < known {
      // The server decides again.
      try outcomes.truncate(from: accepted)
      known = accepted
    }
    if known < accepted, let told = answer.outcomes, DeviceSession.areInOrder(told, known..<accepted) {
      try outcomes.append(told)
      known = accepted
    }
    if case .gap(let missing) = settlement { known = max(known, missing.upperBound) }
    var from = min(known, max(accepted, log.first))
    if evidence.receiptedSize < accepted {
      guard let receipt = answer.receipt, try take(receipt, from: accepted, to: accepted) else {
        // It is given again with the answer to the same shipment.
        from = min(from, max(evidence.receiptedSize, log.first))
        return try settled(from)
      }
    }
    return try settled(from)
  }

  private func settled(_ from: Offset) throws -> DeviceSession.Input {
    searchAgain(from: from)
    return .settled(from: from)
  }

  /// Writes down what the server answered: outcomes first, then the receipt, so that a receipt is kept only where all outcomes below it are.
  func store(_ answer: ShipmentAnswer) throws -> DeviceSession.Input {
    let to = answer.offsets.upperBound
    guard let receipt = verified(answer.receipt), receipt.size >= to, receipt.size <= answer.accepted else {
      return .notProven("the receipt in the answer is not the server's, or not of this history")
    }
    try outcomes.append(answer.outcomes)
    known = max(known, to)
    guard try take(receipt.note, from: to, to: known) || receipt.size > known else {
      return .notProven("the receipt in the answer does not count")
    }
    setStatus {
      $0.settled = answer.settled
      $0.generation = answer.generation
    }
    return .stored(next: to, hasBacklog: try hasBacklog(from: to))
  }

  /// The receipt, if its signatures and its root are right; nil otherwise.
  private func verified(_ note: SignedNote) -> Receipt? {
    guard let receipt = try? Receipt(note, policy), receipt.checkpoint.origin == evidence.origin,
      let root = try? evidence.root(at: receipt.size), root == receipt.checkpoint.head.root
    else { return nil }
    return receipt
  }

  /// Keeps a receipt that covers at least `from` and at most `to` events. False if it does not count.
  private func take(_ note: SignedNote, from: Offset, to: Offset) throws -> Bool {
    guard let receipt = verified(note), receipt.size >= from, receipt.size <= to else { return false }
    do { try evidence.accept(note, policy) } catch let error as LogError {
      guard error.code == .notProven || error.code == .inconsistent || error.code == .invalidText else { throw error }
      return false
    }
    setStatus {
      $0.accepted = max($0.accepted, receipt.size)
      if $0.accepted >= evidence.receiptedSize { $0.isRewound = false }
    }
    return true
  }
}
