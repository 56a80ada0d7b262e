internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

extension Server {
  typealias Answer = @Sendable (Reply) -> Void

  // MARK: Calls that need no credential

  func answerOpen(_ target: Target, _ request: HTTPRequest) throws -> HTTPResponse {
    switch target.path.joined(separator: "/") {
    case "v1/enrol":
      guard request.method == "POST" else { throw Problem.method("POST") }
      let (account, token) = try accounts.enrol(try request.message(Enrolment.self))
      return EnrolmentAnswer(
        device: account.id, tenant: account.tenant, refreshToken: token, serverKey: key, generation: storage.generation
      ).response(201)
    case "v1/token":
      guard request.method == "POST" else { throw Problem.method("POST") }
      return try accounts.refresh(try request.message(TokenRequest.self).refreshToken).response()
    default:
      guard request.method == "GET" else { throw Problem.method("GET") }
      if target.path == ["readyz"] {
        if isClosing { throw Problem.stopping }
        if !committer.isReady { throw Problem(.storage, "nothing can be written", retryAfter: 5) }
      }
      if target.path == ["openapi.json"] {
        var response = HTTPResponse(200, body: OpenAPI.json)
        response.fields["content-type"] = MediaType.json
        return response
      }
      return JSONAnswer { $0.member("status", "ok") }.response()
    }
  }

  // MARK: Others

  func answer(_ call: Call, _ reply: @escaping Answer) throws {
    if call.target.path.starts(with: ["v1", "admin"]) { return try administrate(call, reply) }
    if let (log, epoch) = call.target.epoch {
      switch (call.target.path.dropFirst(5).first, call.request.method) {
      case (nil, "PUT"): return try shakeHands(call, log, epoch, reply)
      case (nil, _): throw Problem.method("PUT")
      case ("frames", "POST"): return try ship(call, log, epoch, reply)
      case ("frames", "GET"): return reply(.answer(try download(call, log, epoch)))
      case ("frames", _): throw Problem.method("GET, POST")
      case ("root", "GET"): return reply(.answer(try root(call, log, epoch)))
      case ("root", _): throw Problem.method("GET")
      default: throw Problem(.notFound, "there is no such call")
      }
    }
    if try transfer(call, reply) { return }
    switch (call.target.path.joined(separator: "/"), call.request.method) {
    case ("v1/changes", "GET"): try changes(call, reply)
    case ("v1/changes/snapshot", "GET"): reply(.answer(try snapshot(call)))
    case ("v1/changes/stream", "GET"): try stream(call, reply)
    case ("v1/status", "GET"): reply(.answer(try status(call)))
    case ("metrics", "GET"): reply(.answer(try metrics(call)))
    case ("v1/changes", _), ("v1/changes/snapshot", _), ("v1/changes/stream", _), ("v1/status", _), ("metrics", _):
      throw Problem.method("GET")
    default: throw Problem(.notFound, "there is no such call")
    }
  }

  /// Where an epoch of the caller's stands. An epoch of another device is as one that is not there.
  func position(_ device: DeviceAccount, _ log: EventID, _ epoch: EventID) throws -> Position {
    guard let position = try storage.position(log: log, epoch: epoch), position.device == device.id else { throw Problem.unknownLog }
    return position
  }

  // MARK: Handshake

  /// Of outcomes in the answer to a handshake.
  private static let outcomeLimit = 10_000

  private func shakeHands(_ call: Call, _ log: EventID, _ epoch: EventID, _ reply: @escaping Answer) throws {
    let device = try call.device()
    if let owner = try storage.owner(of: log), owner != device.id { throw Problem.unknownLog }
    let handshake = try call.message(Handshake.self)
    guard handshake.key.kind == .note, handshake.key.name == Self.origin(log, epoch) else {
      throw Problem(.malformed, "\"key\" is not named after the history")
    }
    if let position = try storage.position(log: log, epoch: epoch) {
      return reply(.answer(try answer(to: handshake, device, position).response()))
    }
    guard try isIntroduced(handshake, by: device) else {
      throw Problem(.refused, "the log's key is not the enrolled one, and not introduced by it")
    }
    let opening = EpochOpening(
      tenant: device.tenant, device: device.id, log: log, epoch: epoch, key: handshake.key.publicKey, parent: handshake.parent?.epoch,
      start: try start(handshake, device, log))
    submit(.opening(opening), byteCount: 4_096, for: device, reply) { [self] in
      reply(.answer(try answer(to: handshake, device, position(device, log, epoch)).response()))
    }
  }

  static func origin(_ log: EventID, _ epoch: EventID) -> String { "tidemark/\(log.hexadecimal)/\(epoch.hexadecimal)" }

  private func isIntroduced(_ handshake: Handshake, by device: DeviceAccount) throws -> Bool {
    if handshake.key.publicKey == device.publicKey { return true }
    guard let introduction = handshake.introduction else { return false }
    let enrolled = try VerifierKey(name: handshake.key.name, kind: .note, publicKey: device.publicKey)
    return enrolled.isValid(introduction, of: Handshake.introductionMessage(of: handshake.key))
  }

  /// The tree of what the server has of an epoch from its parent.
  private func start(_ handshake: Handshake, _ device: DeviceAccount, _ log: EventID) throws -> CompactRange {
    guard let parent = handshake.parent, let above = try storage.position(log: log, epoch: parent.epoch), above.device == device.id else {
      return CompactRange()
    }
    let size = min(parent.fork.size, above.accepted)
    guard let tree = try storage.tree(of: above, at: size) else { return CompactRange() }
    if size == parent.fork.size && tree.root(SHA256()) != parent.fork.root { return CompactRange() }
    return tree
  }

  private func answer(to handshake: Handshake, _ device: DeviceAccount, _ position: Position) throws -> HandshakeAnswer {
    let id = EventID(time: now.time, random: (environment.random.next(), environment.random.next()))
    let sender = Sender(id: id, key: try isIntroduced(handshake, by: device) ? handshake.key.publicKey : nil)
    senders.withLock { $0[EpochName(log: position.log, epoch: position.epoch)] = sender }
    let accepted = position.accepted
    let last = accepted > position.start.size ? try storage.requests(of: position, overlapping: accepted - 1..<accepted).last : nil
    var answer = HandshakeAnswer(
      log: position.log, epoch: position.epoch, generation: storage.generation, sender: id,
      accepted: TreeHead(size: accepted, root: position.range.root(SHA256())), settled: position.settled, receipt: try last.map(receipt),
      through: try storage.through(of: position.tenant), limits: options.limits)
    if let known = handshake.known {
      let verdicts = try verdicts(of: position, known..<max(known, accepted))
      if verdicts.count <= Self.outcomeLimit { answer.outcomes = verdicts.map(\.outcome) }
    }
    return answer
  }

  /// What became of the events of a range that were not plainly accepted, in order; also of those that an epoch has from its parents.
  private func verdicts(of position: Position, _ offsets: Range<Offset>) throws -> [Verdict] {
    if offsets.isEmpty { return [] }
    var verdicts: [Verdict] = []
    if offsets.lowerBound < position.start.size, let parent = position.parent,
      let above = try storage.position(log: position.log, epoch: parent)
    {
      verdicts = try self.verdicts(of: above, offsets.lowerBound..<min(offsets.upperBound, position.start.size))
    }
    let own = try storage.requests(of: position, overlapping: offsets).flatMap(\.verdicts)
    return verdicts + own.filter { offsets.contains($0.offset) }
  }

  /// The checkpoint of a request with the server's signature: the same whenever it is asked for.
  func receipt(_ request: Request) throws -> SignedNote {
    if seeded(.receiptOfOtherEvents) {
      let other = Checkpoint(origin: try Checkpoint(SignedNote(request.note).text).origin, head: TreeHead(size: 1, root: .zero))
      return try SignedNote(text: other.text, signatures: []).cosigned(by: key, keys, seconds: request.seconds)
    }
    return try SignedNote(request.note).cosigned(by: key, keys, seconds: request.seconds)
  }

  // MARK: Writing

  /// Has something written, and then answers; if it is not, with the reason.
  ///
  /// - Parameters:
  ///   - device: who asks for it; it is looked at again right before.
  ///   - done: answers.
  func submit(
    _ write: Write, byteCount: Int, for device: DeviceAccount?, _ reply: @escaping Answer,
    check: @escaping @Sendable () throws -> Void = {}, done: @escaping @Sendable () throws -> Void
  ) {
    let submission = Committer.Submission(
      write: write, byteCount: byteCount,
      check: { [accounts] in
        if let device { try accounts.check(device: device.id) }
        try check()
      },
      done: { error in
        do {
          if let error { throw error }
          try done()
        } catch {
          reply(.answer(Self.problem(error).response))
        }
      })
    if !committer.submit(submission) { reply(.answer(Problem.stopping.response)) }
  }

  // MARK: Looking

  private func root(_ call: Call, _ log: EventID, _ epoch: EventID) throws -> HTTPResponse {
    let position = try position(call.device(), log, epoch)
    let size = try call.target.number("size", default: position.accepted)
    guard let tree = try storage.tree(of: position, at: size) else { throw Problem(.notFound, "the root at that size is not known here") }
    let head = TreeHead(size: size, root: tree.root(SHA256()))
    return JSONAnswer { head.write(to: &$0) }.response()
  }

  private func metrics(_ call: Call) throws -> HTTPResponse {
    guard call.credential == .operator else { throw Problem(.notPermitted, "that is for the operator") }
    var response = HTTPResponse(200, body: Array(options.metrics().utf8))
    response.fields["content-type"] = "text/plain; version=0.0.4"
    return response
  }

  private func status(_ call: Call) throws -> HTTPResponse {
    let device = try call.device()
    let positions = try storage.positions(of: device.id)
    let (awaited, open) = (try awaited(of: device.id), try uploads.open(of: device.id))
    return JSONAnswer { json in
      json.member("generation", storage.generation)
      json.member("device", device.id)
      json.member("settle_on_accept", options.settlesOnAccept)
      json.name("logs")
      json.beginArray()
      for position in positions { position.write(to: &json) }
      json.endArray()
      Self.write(awaited, open, to: &json)
    }.response()
  }
}

extension Position {
  /// As status and admin show it.
  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("log", log)
    json.member("epoch", epoch)
    if let parent { json.member("parent", parent) }
    json.member("accepted", accepted)
    json.member("settled", settled)
    json.member("quarantined", quarantined)
    json.name("holes")
    json.beginArray()
    for hole in holes {
      json.beginObject()
      json.member("from", hole.lowerBound)
      json.member("to", hole.upperBound)
      json.endObject()
    }
    json.endArray()
    json.endObject()
  }
}

/// An answer that is written in place.
struct JSONAnswer {
  private var json = JSONWriter()

  init(_ write: (inout JSONWriter) throws -> Void) rethrows {
    json.beginObject()
    try write(&json)
    json.endObject()
  }

  func response(_ status: Int = 200) -> HTTPResponse {
    var response = HTTPResponse(status, body: json.bytes)
    response.fields["content-type"] = MediaType.answer
    return response
  }
}
