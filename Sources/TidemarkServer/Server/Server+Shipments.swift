internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol

extension Server {
  /// How often a shipment is verified again because the epoch has grown meanwhile.
  private static let attemptLimit = 3
  /// Of a checkpoint: room for the server's signature stays.
  private static let noteByteLimit = 16 << 10
  private static let signatureLimit = 16

  // MARK: Up

  func ship(_ call: Call, _ log: EventID, _ epoch: EventID, _ reply: @escaping Answer) throws {
    let device = try call.device()
    _ = try position(device, log, epoch)
    guard MediaType.matches(call.request.fields["content-type"], MediaType.shipment) else {
      throw Problem(.mediaType, "send \(MediaType.shipment)")
    }
    guard call.isDigested else { throw Problem(.malformed, "a shipment needs Content-Digest with sha-256") }
    guard call.request.body.count <= options.limits.requestBytes else {
      throw Problem(.tooLarge, "at most \(options.limits.requestBytes) bytes are taken here")
    }
    let shipment = try Self.undamaged { try Shipment(call.request.body, logID: log, epochID: epoch) }
    guard shipment.offsets.count <= options.limits.events else {
      throw Problem(.tooLarge, "at most \(options.limits.events) offsets are taken at once")
    }
    guard shipment.rawByteCount <= Shipment.expansionLimit * Int(options.limits.requestBytes) else {
      throw Problem(.tooLarge, "decompressed, it takes \(shipment.rawByteCount) bytes")
    }
    let sender = call.request.fields["tidemark-sender"].flatMap(Target.id)
    try attempt(shipment, device, sender, Self.attemptLimit, reply)
  }

  /// What is wrong with the bytes of a shipment is for the device to check.
  private static func undamaged<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as LogError where error.code == .corrupt {
      throw Problem(.digestMismatch, "\(error.what): \(error.why)")
    }
  }

  private func attempt(
    _ shipment: Shipment, _ device: DeviceAccount, _ sender: EventID?, _ attempts: Int, _ reply: @escaping Answer
  ) throws {
    let (log, epoch, offsets) = (shipment.logID, shipment.epochID, shipment.offsets)
    let check: @Sendable () throws -> [UInt8]? = { [self] in
      let last = senders.withLock { $0[EpochName(log: log, epoch: epoch)] }
      guard let last, last.id == sender else { throw Problem(.superseded, "another sender shook hands since") }
      return last.key
    }
    let introduced = try check()
    let position = try position(device, log, epoch)
    // Behind a hole the key may be another one, by events that were never received: then the enrolled key says which.
    let key = shipment.offsets.lowerBound > position.accepted ? introduced : nil
    guard let examination = try examine(shipment, position, key ?? position.key) else {
      return reply(.answer(try answer(offsets, position).response()))
    }
    let write = ShipmentWrite(
      tenant: device.tenant, device: device.id, shipment: shipment, examination: examination, accepted: position.accepted,
      key: key, settles: options.settlesOnAccept)
    let submission = Committer.Submission(
      write: .shipment(write), byteCount: shipment.bytes.count + shipment.offsets.count * Verdict.byteCount,
      check: { [accounts] in
        try accounts.check(device: device.id)
        _ = try check()
      },
      done: { [self] error in
        do {
          if error is Moved, attempts > 1 { return try attempt(shipment, device, sender, attempts - 1, reply) }
          if error is Moved { throw Problem(.unexpectedPosition, "the epoch grows at the same time") }
          if let error { throw error }
          reply(.answer(try answer(offsets, self.position(device, log, epoch)).response()))
        } catch {
          reply(.answer(Self.problem(error).response))
        }
      })
    if !committer.submit(submission) { throw Problem.stopping }
  }

  /// Verifies a shipment against where its epoch stands. Nil if the server has all of it.
  ///
  /// - Parameter key: in force where it begins.
  private func examine(_ shipment: Shipment, _ position: Position, _ key: [UInt8]) throws -> Examination? {
    let (from, to) = (shipment.offsets.lowerBound, shipment.offsets.upperBound)
    guard shipment.note.count <= Self.noteByteLimit, let note = try? SignedNote(shipment.note),
      note.signatures.count <= Self.signatureLimit, let checkpoint = try? Checkpoint(note.text)
    else { throw Problem(.malformed, "the note in the shipment is no checkpoint") }
    guard checkpoint.origin == Self.origin(position.log, position.epoch), checkpoint.head.size == to else {
      throw Problem(.refused, "the checkpoint is not of this history at \(to)")
    }
    let hasher = SHA256()
    if to <= position.accepted {
      guard to > position.start.size, let tree = try storage.tree(of: position, at: to) else {
        throw Problem(.unexpectedPosition, "the server has \(position.accepted) events")
      }
      if tree.root(hasher) != checkpoint.head.root { throw Problem.forked(to) }
      return nil
    }
    guard let known = from > position.accepted ? shipment.compactRange : position.range else {
      throw Problem(.unexpectedPosition, "the server has \(position.accepted) events")
    }
    let limit = options.limits.eventBytes
    let examination = try Self.undamaged {
      try Examination(of: shipment, from: known, key: key) { $0.record.byteCount > limit ? .tooLarge : nil }
    }
    let signer = try VerifierKey(name: checkpoint.origin, kind: .note, publicKey: examination.key)
    guard note.isSigned(by: signer) else { throw Problem(.refused, "the checkpoint is not signed by the key in force at \(to)") }
    if examination.range.root(hasher) != checkpoint.head.root { throw Problem.forked(to) }
    return examination
  }

  /// What is said to a shipment that the server has, from what is stored: the same each time.
  private func answer(_ offsets: Range<Offset>, _ position: Position) throws -> ShipmentAnswer {
    let requests = try storage.requests(of: position, overlapping: offsets)
    guard let last = requests.last, last.offsets.upperBound >= offsets.upperBound else {
      throw Problem(.unexpectedPosition, "the server has \(position.accepted) events")
    }
    let changes = requests.compactMap(\.changes)
    let first = changes.map(\.lowerBound).min()
    return ShipmentAnswer(
      log: position.log, epoch: position.epoch, offsets: offsets, generation: storage.generation, accepted: last.offsets.upperBound,
      settled: position.settled, changes: first.map { $0...(changes.map(\.upperBound).max() ?? $0) },
      outcomes: requests.flatMap(\.verdicts).filter { offsets.contains($0.offset) }.map(\.outcome), receipt: try receipt(last))
  }

  // MARK: Down

  func download(_ call: Call, _ log: EventID, _ epoch: EventID) throws -> HTTPResponse {
    let position = try position(call.device(), log, epoch)
    let from = try call.target.number("from", default: position.start.size)
    guard from < position.accepted else {
      throw Problem(.unexpectedPosition, "the server has \(position.accepted) events")
    }
    guard let first = try storage.requests(of: position, overlapping: from..<from + 1).first else {
      throw Problem(.notFound, "the server has not received offset \(from)")
    }
    let shipment = try storage.shipment(of: first)
    var writer = ShipmentWriter(logID: log, epochID: epoch, from: from, session: try shipment.session(at: from))
    var end = first
    try writer.add(shipment, first.offsets)
    while writer.end < position.accepted {
      guard let next = try storage.requests(of: position, overlapping: writer.end..<writer.end + 1).first else { break }
      let shipment = try storage.shipment(of: next)
      // Frames may compress less here than they came.
      if writer.byteCount + 2 * shipment.bytes.count > options.limits.requestBytes { break }
      try writer.add(shipment, next.offsets)
      end = next
    }
    let note = try receipt(end).bytes
    var response = HTTPResponse(200, body: writer.finish(note: note))
    response.fields["content-type"] = MediaType.shipment
    response.fields[ContentDigestField.name] = ContentDigestField.value(of: response.body)
    return response
  }
}

extension Problem {
  static func forked(_ size: Offset) -> Problem { Problem(.forked, "the root at \(size) is not the one that follows from what is here") }
}

extension Shipment {
  /// The data of the session in force at an offset of it.
  func session(at offset: Offset) throws(LogError) -> [UInt8] {
    var current = session
    try read { (item) throws(LogError) in
      switch item {
      case .event(let event): if event.kind == .session && event.offset < offset { current = event.data.array() }
      case .lost(let offsets, let session, _): if offsets.upperBound <= offset { current = session }
      }
    }
    return current
  }
}

extension ShipmentWriter {
  /// Adds the events of another shipment from the end on.
  ///
  /// - Parameter offsets: which of them.
  mutating func add(_ shipment: Shipment, _ offsets: Range<Offset>) throws(LogError) {
    try shipment.read { (item) throws(LogError) in
      switch item {
      case .event(let event): if event.offset == end && offsets.contains(event.offset) { add(event) }
      case .lost(let lost, let session, let why):
        if lost.contains(end) { addLost(upTo: min(lost.upperBound, offsets.upperBound), session: session, why: why) }
      }
    }
  }
}
