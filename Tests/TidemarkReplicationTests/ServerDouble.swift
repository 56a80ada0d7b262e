import TestSupport
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkText

/// The server's end of the protocol, in memory, as simple as can be. For one thread.
final class ServerDouble {
  final class Epoch {
    let device: EventID
    var key: VerifierKey
    var range = CompactRange()
    /// The range at the end of each shipment, with the receipt there.
    var receipts: [(range: CompactRange, note: SignedNote)] = []
    var outcomes: [Outcome] = []
    var sender = EventID.zero
    /// The ids of callers' events, by offset.
    var events: [Offset: EventID] = [:]
    /// What was accepted, and where each begins.
    var shipments: [(base: CompactRange, shipment: Shipment)] = []
    init(_ device: EventID, _ key: VerifierKey) { (self.device, self.key) = (device, key) }
  }
  struct Device {
    var publicKey: [UInt8]
    var refreshToken = ""
    var newRefreshToken = ""
    var problem: Problem?
  }

  let keys: KeyDirectory
  var key: VerifierKey
  var generation = EventID(high: 7, low: 1)
  var devices: [EventID: Device] = [:]
  var codes: [String: EventID?] = ["CODE-1": nil, "CODE-2": nil]
  var tokens: [String: EventID] = [:]
  var epochs: [EventID: Epoch] = [:]
  /// The tenant's events: content digest and where they were first, by id.
  var taken: [EventID: (digest: Digest256, log: EventID, offset: Offset)] = [:]
  /// How many events took a change number.
  var changes: UInt64 = 0
  var settled: Offset = 0
  var limits = Limits()
  var refusedTypes: Set<String> = []
  /// Whether outcomes are told with handshakes.
  var tellsOutcomes = true
  private var counter: UInt64 = 0

  init() throws {
    let disk = SimulatedDisk()
    keys = try KeyDirectory(at: "/server", disk)
    key = try VerifierKey(name: "server.example/1", kind: .cosignature, publicKey: keys.makeKey())
  }

  private func nextID() -> EventID {
    counter += 1
    return EventID(high: 0x5E44, low: counter)
  }

  func answer(_ request: HTTPRequest) -> HTTPResponse {
    do { return try handle(request) } catch let problem as Problem { return problem.response } catch {
      return Problem(.malformed, "\(error)").response
    }
  }

  private func handle(_ request: HTTPRequest) throws -> HTTPResponse {
    if let digest = request.fields[ContentDigestField.name], ContentDigestField.matches(digest, request.body) != true {
      throw Problem(.digestMismatch, "other bytes came")
    }
    switch request.target {
    case "/v1/enrol": return try enrol(Enrolment(json: request.body)).response(201)
    case "/v1/token": return try refresh(TokenRequest(json: request.body)).response()
    default: break
    }
    let bearer = request.fields["authorization"]?.split(separator: " ").last.map(String.init) ?? ""
    guard let device = tokens[bearer] else { throw Problem(.unauthorized, "no such token") }
    if let problem = devices[device]?.problem { throw problem }
    let parts = request.target.split(separator: "/").map(String.init)
    guard parts.count >= 5, parts[1] == "logs", let log = EventID(parts[2]), let epoch = EventID(parts[4]) else {
      throw Problem(.notFound, "no such call")
    }
    if request.method == "GET" {
      guard let epoch = epochs[epoch], epoch.device == device else { throw Problem(.notFound, "no such log") }
      let number = request.target.split(separator: "=").last.flatMap { Offset($0) } ?? 0
      return try request.target.contains("/root?") ? root(epoch, number) : download(epoch, number)
    }
    if request.method == "PUT" { return try shake(Handshake(json: request.body), device, log, epoch).response() }
    guard request.fields[ContentDigestField.name] != nil else { throw Problem(.malformed, "no digest") }
    guard request.body.count <= limits.requestBytes else { throw Problem(.tooLarge, "too long") }
    return try ship(request, device, log, epoch).response()
  }

  // MARK: Devices

  private func enrol(_ enrolment: Enrolment) throws -> EnrolmentAnswer {
    guard let user = codes[enrolment.code] else { throw Problem(.refreshRefused, "no such code") }
    if let user, devices[user]?.publicKey != enrolment.publicKey { throw Problem(.refreshRefused, "the code was used") }
    let device = user ?? devices.first { $0.value.publicKey == enrolment.publicKey }?.key ?? nextID()
    codes[enrolment.code] = .some(device)
    let token = "tmr_\(nextID().low)"
    devices[device] = Device(publicKey: enrolment.publicKey, refreshToken: token)
    return EnrolmentAnswer(device: device, tenant: "acme", refreshToken: token, serverKey: key, generation: generation)
  }

  private func refresh(_ request: TokenRequest) throws -> TokenAnswer {
    let owner = devices.first { [$0.value.refreshToken, $0.value.newRefreshToken].contains(request.refreshToken) }
    guard let (id, found) = owner else { throw Problem(.refreshRefused, "no such token") }
    var device = found
    if device.problem?.code == .revoked { throw Problem(.revoked, "the device was removed") }
    if device.newRefreshToken == request.refreshToken { device.refreshToken = device.newRefreshToken }
    device.newRefreshToken = "tmr_\(nextID().low)"
    devices[id] = device
    let token = "tma_\(nextID().low)"
    tokens[token] = id
    return TokenAnswer(accessToken: token, expiresIn: 900, refreshToken: device.newRefreshToken)
  }

  // MARK: Epochs

  private func shake(_ handshake: Handshake, _ device: EventID, _ log: EventID, _ epochID: EventID) throws -> HandshakeAnswer {
    if epochs[epochID] == nil {
      guard let publicKey = devices[device]?.publicKey else { throw Problem(.internal, "no key") }
      let enrolled = try VerifierKey(name: handshake.key.name, kind: .note, publicKey: publicKey)
      guard let introduction = handshake.introduction, enrolled.isValid(introduction, of: Handshake.introductionMessage(of: handshake.key))
      else { throw Problem(.notPermitted, "the key is not introduced") }
      epochs[epochID] = Epoch(device, handshake.key)
      if let parent = handshake.parent, let above = epochs[parent.epoch], above.device == device,
        let tree = try tree(above, parent.fork.size), tree.root(SHA256()) == parent.fork.root
      {
        epochs[epochID]?.range = tree
      }
    }
    guard let epoch = epochs[epochID], epoch.device == device else { throw Problem(.notFound, "no such log") }
    epoch.sender = nextID()
    var answer = HandshakeAnswer(
      log: log, epoch: epochID, generation: generation, sender: epoch.sender,
      accepted: TreeHead(size: epoch.range.size, root: epoch.range.root(SHA256())), settled: settled, receipt: epoch.receipts.last?.note,
      through: changes, limits: limits)
    if tellsOutcomes { answer.outcomes = epoch.outcomes.filter { $0.offset >= handshake.known ?? 0 } }
    return answer
  }

  private func ship(_ request: HTTPRequest, _ device: EventID, _ log: EventID, _ epochID: EventID) throws -> ShipmentAnswer {
    guard let epoch = epochs[epochID], epoch.device == device else { throw Problem(.notFound, "no such log") }
    guard request.fields["tidemark-sender"] == epoch.sender.hexadecimal else { throw Problem(.superseded, "another sender came") }
    let shipment = try Shipment(request.body, logID: log, epochID: epochID)
    guard shipment.offsets.count <= limits.events else { throw Problem(.tooLarge, "too many events") }
    let hasher = SHA256()
    let note = try SignedNote(shipment.note)
    let head = try Checkpoint(note.text).head
    guard head.size == shipment.offsets.upperBound else { throw Problem(.refused, "another size was signed") }
    if head.size > epoch.range.size {
      guard let known = shipment.offsets.lowerBound > epoch.range.size ? shipment.compactRange : epoch.range else {
        throw Problem(.unexpectedPosition, "there are \(epoch.range.size) events here")
      }
      var new: [(offset: Offset, id: EventID, type: String, digest: Digest256)] = []
      var key = epoch.key
      let range = try shipment.extend(known, hasher) { (event) throws(LogError) in
        if event.kind == .keyRotation, let record = KeyRecord(event.data.array(), logID: log, epochID: epochID),
          let next = try? VerifierKey(name: key.name, kind: .note, publicKey: record.publicKey)
        {
          key = next
        }
        if !event.isControl { new.append((event.offset, event.id, event.type, hasher.hash(ContentDigest.content(of: event)))) }
      }
      guard range.root(hasher) == head.root else { throw Problem(.forked, "the root does not follow") }
      guard note.isSigned(by: key) else { throw Problem(.refused, "the checkpoint is not signed") }
      epoch.key = key
      epoch.shipments.append((known, shipment))
      for event in new { take(event, log, epoch) }
      epoch.range = range
      epoch.receipts.append((range, try note.cosigned(by: self.key, keys, seconds: 1_700_000_000 + changes)))
    }
    guard let last = epoch.receipts.first(where: { $0.range.size >= head.size }) else { throw Problem(.internal, "no receipt") }
    return ShipmentAnswer(
      log: log, epoch: epochID, offsets: shipment.offsets, generation: generation, accepted: last.range.size, settled: settled,
      changes: nil, outcomes: epoch.outcomes.filter { shipment.offsets.contains($0.offset) }, receipt: last.note)
  }

  private func take(_ event: (offset: Offset, id: EventID, type: String, digest: Digest256), _ log: EventID, _ epoch: Epoch) {
    epoch.events[event.offset] = event.id
    if let first = taken[event.id] {
      let isSame = first.digest == event.digest
      let kind: Outcome.Kind =
        isSame
        ? .duplicate(log: first.log, offset: first.offset)
        : .quarantined(.conflict, detail: "another event has this id", digests: [first.digest.hexadecimal, event.digest.hexadecimal])
      epoch.outcomes.append(Outcome(offset: event.offset, kind: kind))
    } else if refusedTypes.contains(event.type) {
      let kind = Outcome.Kind.quarantined(.typeNotAllowed, detail: "events of type \(event.type) are not taken", digests: [])
      epoch.outcomes.append(Outcome(offset: event.offset, kind: kind))
    } else {
      taken[event.id] = (event.digest, log, event.offset)
      changes += 1
    }
  }

  private func tree(_ epoch: Epoch, _ size: Offset) throws -> CompactRange? {
    if size == 0 { return CompactRange() }
    guard let found = epoch.shipments.last(where: { $0.base.size < size }), found.shipment.offsets.upperBound >= size else { return nil }
    return try found.shipment.extend(found.base, upTo: size, SHA256())
  }

  private func root(_ epoch: Epoch, _ size: Offset) throws -> HTTPResponse {
    guard let tree = try tree(epoch, size) else { throw Problem(.notFound, "the root at that size is not known") }
    var json = JSONWriter()
    json.beginObject()
    TreeHead(size: size, root: tree.root(SHA256())).write(to: &json)
    json.endObject()
    var response = HTTPResponse(200, body: json.bytes)
    response.fields["content-type"] = MediaType.answer
    return response
  }

  private func download(_ epoch: Epoch, _ from: Offset) throws -> HTTPResponse {
    let found = epoch.shipments.firstIndex { $0.shipment.offsets.contains(from) }
    guard let index = found else { throw Problem(.notFound, "not here") }
    let shipment = epoch.shipments[index].shipment
    var session = shipment.session
    try shipment.read { (item) throws(LogError) in
      if case .event(let event) = item, event.kind == .session, event.offset < from { session = event.data.array() }
    }
    var writer = ShipmentWriter(logID: shipment.logID, epochID: shipment.epochID, from: from, session: session)
    try shipment.read { (item) throws(LogError) in if case .event(let event) = item, event.offset >= from { writer.add(event) } }
    var response = HTTPResponse(200, body: writer.finish(note: epoch.receipts[index].note.bytes))
    response.fields["content-type"] = MediaType.shipment
    return response
  }

  /// Goes back to how it was after so many shipments of an epoch, as a server that was restored from a backup does.
  func restore(_ epochID: EventID, toShipment count: Int) {
    guard let epoch = epochs[epochID] else { return }
    generation = nextID()
    epoch.receipts = Array(epoch.receipts.prefix(count))
    epoch.shipments = Array(epoch.shipments.prefix(count))
    epoch.range = epoch.receipts.last?.range ?? CompactRange()
    let size = epoch.range.size
    epoch.outcomes = epoch.outcomes.filter { $0.offset < size }
    for (offset, id) in epoch.events where offset >= size {
      epoch.events[offset] = nil
      if let first = taken[id], first.offset == offset {
        taken[id] = nil
        changes -= 1
      }
    }
  }
}
