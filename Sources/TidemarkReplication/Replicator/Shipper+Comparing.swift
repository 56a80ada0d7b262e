internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

/// The search for the last size that two histories have in common. All smaller sizes are common, too, so each root that the server tells
/// halves what is left.
struct Comparison {
  /// What it began with.
  let answer: HandshakeAnswer
  /// The server's roots, as far as they were asked for; nil for one that it does not know.
  private(set) var told: [Offset: Digest256?] = [:]
  /// The size that is being asked for.
  private(set) var asked: Offset?
  /// A common size.
  private var low: Offset = 0
  /// A size that is not common; nil while none is known.
  private var high: Offset?

  init(_ answer: HandshakeAnswer) { self.answer = answer }

  var isSearching: Bool { high != nil }

  mutating func ask(_ size: Offset) { asked = size }

  /// The root at the size that was asked for.
  mutating func tell(_ root: Digest256?) {
    if let asked { told[asked] = root }
    asked = nil
  }

  mutating func note(_ size: Offset, isCommon: Bool) {
    if isCommon { low = max(low, size) } else { high = min(high ?? .max, size) }
  }

  /// The size to ask for next; nil once ``low`` is the last common one.
  var next: Offset? {
    guard let high, low + 1 < high else { return nil }
    return low + (high - low) / 2
  }

  var fork: Offset { low }
}

extension Shipper {
  /// Goes on after the server's root at the size that was asked for is known.
  func told(_ root: Digest256?) throws -> DeviceSession.Input {
    guard var comparison, let size = comparison.asked else { return .failed("a root was not asked for") }
    comparison.tell(root)
    // Below where the log begins nothing can be compared; that was settled.
    let own = try? evidence.root(at: size)
    comparison.note(size, isCommon: own == nil || own == root)
    self.comparison = comparison
    return comparison.isSearching ? try search() : try settle(comparison.answer)
  }

  func search() throws -> DeviceSession.Input {
    guard let comparison else { return .failed("nothing is being compared") }
    guard let next = comparison.next else { return try fork(at: comparison.fork) }
    self.comparison?.ask(next)
    return .compare(next)
  }

  /// Goes on in a new epoch, unless the present one did not settle anything.
  private func fork(at size: Offset) throws -> DeviceSession.Input {
    comparison = nil
    guard evidence.receiptedSize > 0 || log.fork == nil else {
      return .differs("the server holds another history of this epoch, of which it has accepted nothing from this device")
    }
    try beginEpoch(fork: max(size, log.first))
    return .forked(log.identity.epochID)
  }

  /// The server got other bytes than were signed: from the network, or from the log.
  func check(_ offsets: Range<Offset>) throws -> DeviceSession.Input {
    try isSound(offsets) ? .checked : try fork(at: offsets.lowerBound)
  }

  /// Whether what the log gives now leads to what was signed.
  private func isSound(_ offsets: Range<Offset>) throws -> Bool {
    guard !offsets.isEmpty else { return true }
    var limits = Limits()
    limits.events = UInt64(offsets.count)
    limits.requestBytes = .max
    guard let bytes = try makeShipment(from: offsets.lowerBound, byteLimit: .max, limits)?.bytes else { return true }
    let shipment = try Shipment(bytes, logID: log.identity.logID, epochID: log.identity.epochID)
    let hasher = SHA256()
    let range = try shipment.extend(evidence.compactRange(at: offsets.lowerBound), hasher)
    return try range.root(hasher) == evidence.root(at: range.size)
  }

  /// Appends what the server has behind the log's end.
  func refill(_ bytes: [UInt8]) throws -> DeviceSession.Input {
    let hasher = SHA256()
    let from = log.size
    guard let shipment = try? Shipment(bytes, logID: log.identity.logID, epochID: log.identity.epochID),
      shipment.offsets.lowerBound <= from, shipment.offsets.upperBound > from,
      let receipt = try? Receipt(SignedNote(shipment.note), policy), receipt.checkpoint.origin == evidence.origin,
      receipt.size == shipment.offsets.upperBound, try evidence.update().size == from
    else { return .notProven("what the server gave does not continue this log") }
    var records: [UInt8] = []
    var isWhole = true
    let range = try shipment.extend(evidence.compactRange(at: from), hasher) { (event) throws(LogError) in records.add(event.record) }
    try shipment.read { (item) throws(LogError) in if case .lost = item { isWhole = false } }
    guard range.root(hasher) == receipt.checkpoint.head.root else { return .notProven("what the server gave is not what it signed for") }
    guard isWhole else { return .differs("the server has lost events that this device needs to go on in this epoch") }
    try log.restore(records, at: from)
    let size = try evidence.update().size
    return size < comparison?.answer.accepted.size ?? 0 ? .refill(from: size) : .refilled
  }
}

/// What answers a question for a root.
struct RootAnswer: Message {
  static let what = "the answer to a question for a root"
  var head: TreeHead

  init(_ object: JSONObject) throws(TextError) { head = try TreeHead(object) }
  func write(to json: inout JSONWriter) { head.write(to: &json) }
}

extension Log {
  /// The epoch that the present one continues, and where; nil for the first.
  var fork: (epoch: EventID, size: Offset)? {
    guard let epoch = identity.epochs.last, let parent = epoch.parent else { return nil }
    return (parent, epoch.forkSize)
  }
}
