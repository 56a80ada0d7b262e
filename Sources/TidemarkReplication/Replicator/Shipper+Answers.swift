internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol

extension Shipper {
  /// Carries out how both positions are brought together: the table *Positions* of `Specs/protocol.md`.
  func settle(_ answer: HandshakeAnswer) throws -> DeviceSession.Input {
    let head = try evidence.update()
    let device = Settlement.Device(oldest: log.first, size: head.size, receipted: evidence.receiptedSize)
    if comparison?.answer != answer { comparison = Comparison(answer) }
    let settlement = try Settlement.of(
      device, accepted: answer.accepted, rootAt: { (size) throws(LogError) in try? self.evidence.root(at: size) },
      serverRootAt: { (size) throws(LogError) in self.comparison?.told[size] ?? nil })
    let accepted = answer.accepted.size
    switch settlement {
    case .newEpoch:
      comparison?.note(min(accepted, head.size), isCommon: false)
      return try search()
    case .refill(let from):
      if from == 0 || comparison?.told[from] != nil { return .refill(from: from) }
      comparison?.ask(from)
      return .compare(from)
    case .continue, .fastForward, .rewind, .gap: comparison = nil
    }
    setStatus {
      $0.settled = answer.settled
      $0.generation = answer.generation
      $0.isRewound = accepted < device.receipted
      if $0.isRewound { $0.accepted = min($0.accepted, accepted) }
      if log.fork?.size == accepted { $0.accepted = max($0.accepted, accepted) }
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
    // What an epoch begins with was accepted in its parent.
    let isInherited = log.fork?.size == accepted
    if isInherited { known = max(known, accepted) }
    var from = max(min(known, accepted), log.first)
    if known >= accepted, evidence.receiptedSize < accepted, !isInherited {
      let isTaken = try answer.receipt.map { try take($0, from: accepted, to: accepted) } ?? false
      if !isTaken { from = max(evidence.receiptedSize, log.first) }
    }
    // What is not known of these events, the answer to the same shipment tells again.
    searchAgain(from: from)
    return .settled(from: from, hasBacklog: try hasBacklog(from: from))
  }

  /// Writes down what the server answered: outcomes first, then the receipt, so that a receipt is kept only where all outcomes below it
  /// are.
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
