internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol

extension Shipper {
  private var target: String { "/v1/logs/\(log.identity.logID.hexadecimal)/epochs/\(log.identity.epochID.hexadecimal)" }

  func handshakeRequest() throws -> HTTPRequest {
    if try evidence.key == nil { _ = try evidence.checkpoint() }
    guard let key = try evidence.key else { throw LogError(.missingKey, "there is no key to sign with", file: log.path) }
    let head = try evidence.update()
    let identity = log.identity
    let reading = log.environment.clock.now()
    var handshake = Handshake(oldest: log.first, head: head, key: key)
    if key.publicKey != publicKey { handshake.introduction = try keys.sign(Handshake.introductionMessage(of: key), publicKey: publicKey) }
    if evidence.receiptedSize > 0, let root = try? evidence.root(at: evidence.receiptedSize) {
      handshake.receipt = TreeHead(size: evidence.receiptedSize, root: root)
    }
    handshake.known = known
    if let epoch = identity.epochs.last, let parent = epoch.parent, let root = epoch.rootHash.flatMap({ Digest256($0) }) {
      handshake.parent = Handshake.Parent(epoch: parent, fork: TreeHead(size: epoch.forkSize, root: root))
    }
    handshake.clock = Handshake.Clock(wall: reading.time, elapsed: reading.elapsed, boot: log.environment.clock.bootID)
    return HTTPRequest("PUT", target, MediaType.json, handshake.json)
  }

  func rootRequest(_ size: Offset) -> HTTPRequest { HTTPRequest("GET", "\(target)/root?size=\(size)") }
  func downloadRequest(from: Offset) -> HTTPRequest { HTTPRequest("GET", "\(target)/frames?from=\(from)") }

  func shipmentRequest(_ bytes: [UInt8]) -> HTTPRequest {
    var request = HTTPRequest("POST", "\(target)/frames", MediaType.shipment, bytes)
    request.fields["tidemark-sender"] = session.sender?.hexadecimal
    return request
  }

  /// Events from an offset on, with the signed checkpoint at their end; nil if nothing durable is there.
  ///
  /// - Parameter byteLimit: is passed by an event that is longer, and where a checkpoint can only be signed further on.
  func makeShipment(from: Offset, byteLimit: UInt64, _ limits: Limits) throws -> (bytes: [UInt8], offsets: Range<Offset>)? {
    let durable = try log.recordDurable()
    guard from < durable else { return nil }
    // Below a change of the key only what the old key signed before that can be the end.
    let signable = try evidence.signableSize(above: from)
    let end = min(durable, from + limits.events, signable.isOpen ? .max : signable.size)
    let range = from == log.first && from > status.accepted ? evidence.floorRange : nil
    var writer = ShipmentWriter(
      logID: log.identity.logID, epochID: log.identity.epochID, from: from, session: try LeafReader.sessionData(log, at: from),
      compactRange: range)
    try Self.fill(
      &writer, log, end: end, signable: signable.size, byteLimit: Int(clamping: byteLimit), requestBytes: Int(clamping: limits.requestBytes)
    )
    guard writer.end >= signable.size else {
      throw LogError(
        .refused, "events can't be shipped", file: log.path, offsets: from..<signable.size,
        why: "below offset \(signable.size) nothing can be signed, and the server's limits do not let one shipment reach that",
        advice: "raise the server's limits")
    }
    let to = writer.end
    return (writer.finish(note: try evidence.checkpoint(at: to).bytes), from..<to)
  }

  private static func fill(
    _ writer: inout ShipmentWriter, _ log: Log, end: Offset, signable: Offset, byteLimit: Int, requestBytes: Int
  ) throws {
    let from = writer.end
    let overhead = writer.byteCount
    var cursor = try read(log, from..<end)
    while writer.end == from || writer.end < signable || writer.byteCount - overhead < byteLimit {
      switch try addNext(&cursor, to: &writer, isFirst: writer.end == from, requestBytes) {
      case .added: break
      case .full: return
      case .end where writer.end == end: return
      case .end: writer.addLost(upTo: end, session: try LeafReader.sessionData(log, at: end), why: reason(cursor.gaps))
      case .lost(let next):
        writer.addLost(upTo: next, session: try LeafReader.sessionData(log, at: next), why: reason(cursor.gaps))
        cursor = try read(log, next..<end)
      }
    }
  }

  private enum Addition {
    case added
    /// It would not fit any more.
    case full
    /// Events before this one can't be read.
    case lost(upTo: Offset)
    case end
  }

  private static func addNext(
    _ cursor: inout Cursor, to writer: inout ShipmentWriter, isFirst: Bool, _ requestBytes: Int
  ) throws -> Addition {
    guard let event = try cursor.next() else { return .end }
    if event.offset > writer.end { return .lost(upTo: event.offset) }
    if !isFirst, writer.byteCount + event.record.byteCount > requestBytes { return .full }
    writer.add(event)
    return .added
  }

  private static func read(_ log: Log, _ range: Range<Offset>) throws -> Cursor {
    try log.read(seen: Query(offsets: range, includesControlEvents: true, onDamage: .skip))
  }

  private static func reason(_ gaps: [Finding]) -> String { gaps.last?.message ?? "these events can't be read" }
}
