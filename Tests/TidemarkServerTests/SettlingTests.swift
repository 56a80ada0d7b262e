import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

@Suite struct SettlingTests {
  private func settled(_ device: TestDevice) throws -> [UInt64] {
    let status = try device.server.send(device.request("GET", "/v1/status")).object()
    return try status.array("logs").map { try $0.object("a log").number("settled", in: 0...UInt64.max) }
  }

  @Test func `what was archived is settled, and stays so`() throws {
    let server = try TestServer()
    let (device, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    for device in [device, other] {
      try device.append(5)
      #expect(try device.shipRest().settled == 0)
    }
    try device.append(5)
    try device.shipRest()
    let size = device.log.size
    let answer = try server.admin("POST", "archive", #"{"directory":"/archive"}"#).array("logs")
    #expect(answer.count == 2)
    #expect(try settled(device) == [size] && settled(other) == [other.log.size])
    let folder = "/archive/acme/\(device.log.identity.logID.hexadecimal)/\(device.log.identity.epochID.hexadecimal)"
    let names = try server.disk.list(folder).sorted()
    #expect(names.count == 3 && names[2] == "receipt")
    for name in names.dropLast() {
      let bytes = try #require(try server.disk.contents("\(folder)/\(name)"))
      let shipment = try Shipment(bytes, logID: device.log.identity.logID, epochID: device.log.identity.epochID)
      #expect(try shipment.isSame(as: device.log))
    }
    _ = try Receipt(SignedNote(try #require(try server.disk.contents("\(folder)/receipt"))), device.policy)
    try device.append(2)
    #expect(try device.shipRest().settled == size)
    let rows = try server.rows()
    try server.reopen { for name in ["derived.sqlite", "derived.sqlite-wal", "derived.sqlite-shm"] { server.folder.remove(name) } }
    #expect(try server.rows() == rows && settled(device) == [size])
  }

  @Test func `a copy that does not lead to the root settles nothing`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(5)
    try device.shipRest()
    _ = try server.admin("POST", "archive", #"{"directory":"/archive"}"#)
    let size = device.log.size
    let folder = "/archive/acme/\(device.log.identity.logID.hexadecimal)/\(device.log.identity.epochID.hexadecimal)"
    let name = try #require(try server.disk.list(folder).first { $0.hasSuffix(".shipment") })
    try server.disk.replace("\(folder)/\(name)", with: [1, 2, 3])
    try device.append(5)
    try device.shipRest()
    #expect(problem { _ = try server.admin("POST", "archive", #"{"directory":"/archive"}"#) } == .internal)
    #expect(try settled(device) == [size])
    try server.disk.remove("\(folder)/\(name)")
    _ = try server.admin("POST", "archive", #"{"directory":"/archive"}"#)
    #expect(try settled(device) == [device.log.size])
    #expect(problem { _ = try server.admin("POST", "archive", #"{"directory":"/server/archive"}"#) } == .refused)
  }

  @Test func `a copy of another history settles nothing`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(5)
    _ = try device.evidence.checkpoint()
    let twin = try device.twin(device.disk.image, seed: 9)
    for device in [device, twin] { try device.append(5) }
    try device.shipRest()
    _ = try server.admin("POST", "archive", #"{"directory":"/archive"}"#)
    let folder = "/archive/acme/\(device.log.identity.logID.hexadecimal)/\(device.log.identity.epochID.hexadecimal)"
    let name = try #require(try server.disk.list(folder).first { $0.hasSuffix(".shipment") })
    let size = try settled(device)
    try device.append(1)
    try device.shipRest()
    try server.disk.replace("\(folder)/\(name)", with: try twin.shipment())
    #expect(problem { _ = try server.admin("POST", "archive", #"{"directory":"/archive"}"#) } == .internal)
    #expect(try settled(device) == size)
  }

  @Test func `a server that settles on acceptance says so`() throws {
    let server = try TestServer { $0.settlesOnAccept = true }
    let device = try TestDevice(server)
    try device.append(5)
    let answer = try device.shipRest()
    #expect(answer.settled == answer.accepted)
    #expect(try server.send(device.request("GET", "/v1/status")).object().bool("settle_on_accept"))
    let rows = try server.rows()
    try server.reopen {
      server.options.settlesOnAccept = false
      server.folder.remove("derived.sqlite")
    }
    #expect(try server.rows() == rows)
  }
}

@Suite struct EpochTests {
  @Test func `an epoch that continues another begins where both agree, and its repeated events are duplicates`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    let ids = (0..<6).map { EventID(high: 9, low: UInt64($0)) }
    for id in ids { try device.log.append(NewEvent(type: "scan", id: id, data: [1])) }
    try device.shipRest()
    let fork: Offset = 4
    let head = TreeHead(size: fork, root: try device.evidence.root(at: fork))
    let next = try NextEpoch(of: device, at: fork, ids.suffix(4))
    let parent = Handshake.Parent(epoch: device.log.identity.epochID, fork: head)
    let hands: HandshakeAnswer = try device.call("PUT", next.path, try next.handshake(parent).json)
    #expect(hands.accepted == head && hands.receipt == nil)
    let answer = try next.ship(hands.sender)
    #expect(answer.outcomes.count == 4 && answer.changes == nil && answer.accepted == 8)
    for outcome in answer.outcomes {
      guard case .duplicate(device.log.identity.logID, _) = outcome.kind else { throw Missing() }
    }
    for size: Offset in [2, 4, 6, 8] {
      let response = try server.send(device.request("GET", "\(next.path)/root?size=\(size)")).object()
      #expect(try TreeHead(response).root == next.root(size))
    }
    // Another root at the fork: the server has nothing of it.
    let wrong = Handshake.Parent(epoch: device.log.identity.epochID, fork: TreeHead(size: fork, root: .zero))
    let stranger = try NextEpoch(of: device, at: fork, [])
    let none: HandshakeAnswer = try device.call("PUT", stranger.path, try stranger.handshake(wrong).json)
    #expect(none.accepted.size == 0)
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }
}

/// An epoch that goes on from a device's log at a size, with some of its events once more.
struct NextEpoch {
  let device: TestDevice
  let epoch: EventID
  let start: CompactRange
  let key: [UInt8]
  private let shipment: (SignedNote) -> [UInt8]
  private let end: CompactRange

  init(of device: TestDevice, at fork: Offset, _ ids: ArraySlice<EventID>) throws {
    self.device = device
    let epoch = EventID(high: 0xE, low: UInt64(ids.count))
    self.epoch = epoch
    start = try device.log.range(at: fork)
    key = try device.keys.makeKey()
    let (logID, session) = (device.log.identity.logID, try device.log.session(at: fork))
    let events = try ids.map { id -> [UInt8] in try device.log.event(id: id).map { $0.view.record.array() } ?? [] }
    shipment = { note in
      var writer = ShipmentWriter(logID: logID, epochID: epoch, from: fork, session: session)
      for (index, record) in events.enumerated() { writer.add(EventView(record: record.rawSpan, offset: fork + UInt64(index))) }
      return writer.finish(note: note.bytes)
    }
    let empty = SignedNote(text: "none\n", signatures: [])
    end =
      ids.isEmpty ? start : try Shipment(shipment(empty), logID: logID, epochID: epoch).extend(start, SHA256())
  }

  var origin: String { "tidemark/\(device.log.identity.logID.hexadecimal)/\(epoch.hexadecimal)" }
  var path: String { "/v1/logs/\(device.log.identity.logID.hexadecimal)/epochs/\(epoch.hexadecimal)" }

  func handshake(_ parent: Handshake.Parent) throws -> Handshake {
    let key = try VerifierKey(name: origin, kind: .note, publicKey: key)
    return Handshake(
      oldest: 0, head: TreeHead(size: end.size, root: end.root(SHA256())), key: key,
      introduction: try device.keys.sign(Handshake.introductionMessage(of: key), publicKey: device.key), parent: parent)
  }

  func ship(_ sender: EventID) throws -> ShipmentAnswer {
    let text = Checkpoint(origin: origin, head: TreeHead(size: end.size, root: end.root(SHA256()))).text
    let verifier = try VerifierKey(name: origin, kind: .note, publicKey: key)
    let signature = try device.keys.sign(Array(text.utf8), publicKey: key)
    let bytes = shipment(SignedNote(text: text, signatures: [.init(name: origin, keyID: verifier.keyID, bytes: signature)]))
    var request = device.request("POST", path + "/frames", bytes, type: MediaType.shipment)
    request.fields[ContentDigestField.name] = ContentDigestField.value(of: bytes)
    request.fields["tidemark-sender"] = sender.hexadecimal
    return try TestDevice.read(device.server.send(request))
  }

  func root(_ size: Offset) throws -> Digest256 {
    if size <= start.size { return try device.evidence.root(at: size) }
    let bytes = shipment(SignedNote(text: "none\n", signatures: []))
    return try Shipment(bytes, logID: device.log.identity.logID, epochID: epoch).extend(start, upTo: size, SHA256()).root(SHA256())
  }
}
