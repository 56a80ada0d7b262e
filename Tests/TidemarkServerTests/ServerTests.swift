import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer
import TidemarkText

@Suite struct ShippingTests {
  @Test func `a device enrols, shakes hands, ships, and gets a receipt that counts`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(10)
    let hands = try device.shakeHands()
    #expect(hands.accepted.size == 0 && hands.receipt == nil && hands.through == 0)
    let answer = try device.ship(try device.shipment())
    #expect(answer.accepted == device.log.size && answer.offsets == 0..<device.log.size && answer.changes == 1...10)
    #expect(answer.outcomes.isEmpty && answer.settled == 0)
    try device.evidence.accept(answer.receipt, device.policy)
    let again = try device.shakeHands()
    #expect(again.accepted == (try Checkpoint(answer.receipt.text)).head && again.receipt == answer.receipt && again.through == 10)
    try device.append(5)
    let second = try device.ship(try device.shipment(again.accepted.size))
    #expect(second.changes == 11...15)
    try device.evidence.accept(second.receipt, device.policy)
    let changes = try server.changes()
    #expect(changes.map(\.number) == Array(1...15))
    #expect(try changes.map { try device.log.event(at: $0.offset).isControl } == [Bool](repeating: false, count: 15))
  }

  @Test func `a shipment that comes ten times, whole, in parts, overlapping and out of order, is stored once`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(40)
    try device.shakeHands()
    let size = try Checkpoint(device.evidence.checkpoint().text).head.size
    let whole = try device.shipment()
    let first = try device.ship(try device.shipment(0, 15))
    let rest = try device.ship(try device.shipment(10, 30))
    #expect(first.accepted == 15 && rest.accepted == 30)
    let last = try device.ship(whole)
    #expect(last.accepted == size && last.changes == 1...40)
    let rows = try server.rows()
    let calls = server.disk.callCount
    for _ in 0..<10 {
      #expect(try device.ship(whole) == last)
      #expect(try device.ship(try device.shipment(10, 30)) == rest)
      #expect(try device.ship(try device.shipment(0, 15)) == first)
      #expect(try device.ship(try device.shipment(20, 25)).accepted == 30)
      #expect(try device.ship(try device.shipment(29, 35)).accepted == size)
    }
    #expect(try server.rows() == rows)
    #expect(try server.changes().map(\.number) == Array(1...40))
    #expect(server.disk.callCount > calls)
    // A key is read to sign a receipt; nothing is written.
    server.disk.trace = []
    _ = try device.ship(whole)
    let written = (server.disk.trace ?? []).filter { Calls.changing.contains($0.kind) }
    #expect(written.isEmpty)
  }

  @Test func `the same id with the same content is a duplicate, with other content a conflict`() throws {
    let server = try TestServer()
    let (one, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    let ids = (0..<3).map { EventID(high: 7, low: $0) }
    for id in ids { try one.log.append(NewEvent(type: "scan", id: id, data: [1])) }
    try other.log.append(NewEvent(type: "scan", id: ids[0], data: [1]))
    try other.log.append(NewEvent(type: "scan", id: ids[1], data: [2]))
    try other.log.append(NewEvent(type: "scan", id: EventID(high: 8, low: 0), data: [2]))
    #expect(try one.shipRest().changes == 1...3)
    let answer = try other.shipRest()
    #expect(answer.changes == 4...4 && answer.accepted == other.log.size && answer.outcomes.count == 2)
    let first = try #require(try one.log.event(id: ids[0]))
    #expect(answer.outcomes[0].kind == .duplicate(log: one.log.identity.logID, offset: first.offset))
    guard case .quarantined(.conflict, _, let digests) = answer.outcomes[1].kind else { throw Missing() }
    #expect(digests == [try one.log.digest(of: ids[1]), try other.log.digest(of: ids[1])])
    try other.evidence.accept(answer.receipt, other.policy)
    #expect(try other.ship(try other.shipment()) == answer)
    // A device that lost the answer is told by the handshake.
    for (known, count) in [(0, 2), (answer.outcomes[1].offset, 1), (other.log.size, 0), (other.log.size + 9, 0)] as [(Offset, Int)] {
      var handshake = try other.handshake()
      handshake.known = known
      let hands: HandshakeAnswer = try other.call("PUT", other.path, handshake.json)
      #expect(hands.outcomes == answer.outcomes.suffix(count))
    }
    #expect(try other.shakeHands().outcomes == nil)
    #expect(try server.changes().count == 4)
  }

  @Test func `another tenant's events are not looked at`() throws {
    let server = try TestServer()
    _ = try server.admin("POST", "tenants", #"{"tenant":"other"}"#)
    let (one, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2, tenant: "other"))
    for device in [one, other] {
      try device.log.append(NewEvent(type: "scan", id: EventID(high: 7, low: 1), data: Array(device.path.utf8)))
    }
    #expect(try one.shipRest().changes == 1...1)
    let answer = try other.shipRest()
    #expect(answer.changes == 1...1 && answer.outcomes.isEmpty)
  }

  @Test func `a record that is too large is put aside, and the next ones go on`() throws {
    let server = try TestServer { $0.limits.eventBytes = 1_000 }
    let device = try TestDevice(server)
    try device.append(1)
    try device.log.append(NewEvent(type: "photo", data: [UInt8](repeating: 7, count: 2_000)))
    try device.append(1)
    let answer = try device.shipRest()
    #expect(answer.changes == 1...2 && answer.accepted == device.log.size)
    guard case .quarantined(.tooLarge, _, _) = answer.outcomes.first?.kind else { throw Missing() }
    let listed = try server.admin("GET", "quarantine?tenant=acme").array("quarantined")
    #expect(try listed.map { try $0.object("it").number("number", in: 0...9) } == [1])
    _ = try server.admin("POST", "quarantine/acme/1/release", "")
    _ = try server.admin("POST", "quarantine/acme/1/release", "")
    #expect(problem { _ = try server.admin("POST", "quarantine/acme/1/dismiss", "") } == .refused)
    let changes = try server.changes()
    #expect(changes.map(\.number) == [1, 2, 3] && changes.last?.offset == answer.outcomes.first?.offset)
    #expect(try server.admin("GET", "quarantine").array("quarantined").isEmpty)
    let rows = try server.rows()
    try server.reopen { for name in ["derived.sqlite", "derived.sqlite-wal", "derived.sqlite-shm"] { server.folder.remove(name) } }
    #expect(try server.rows() == rows)
  }

  @Test func `what was shipped comes down again as it was, and continues`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(20)
    try device.shakeHands()
    for end: Offset in [7, 12, 20] { try device.ship(try device.shipment(end == 7 ? 0 : 5, end)) }
    let identity = device.log.identity
    for from: Offset in [0, 3, 7, 11, 19] {
      let response = server.send(device.request("GET", device.path + "/frames?from=\(from)"))
      let shipment = try Shipment(response.body, logID: identity.logID, epochID: identity.epochID)
      #expect(shipment.offsets == from..<20)
      _ = try Receipt(SignedNote(shipment.note), device.policy)
      #expect(try shipment.isSame(as: device.log))
    }
    #expect(Problem(server.send(device.request("GET", device.path + "/frames?from=20")))?.code == .unexpectedPosition)
  }

  @Test func `a receipt's time never goes back, whatever the server's clock does`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    var times: [Timestamp] = []
    for change: Int64 in [0, -50, 20, 100] {
      server.clock.setWallClock(byNanoseconds: change * 1_000_000_000)
      device.tokens = try TestDevice.tokens(device.tokens.refreshToken, server)
      try device.append(1)
      let answer = try device.shipRest()
      times.append(try device.evidence.accept(answer.receipt, device.policy).time)
    }
    #expect(times[0] == times[1] && times[1] == times[2] && times[2] < times[3])
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `the root is told at every size that the server has`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(20)
    try device.shakeHands()
    for end: Offset in [7, 12, 20] { try device.ship(try device.shipment(0, end)) }
    for size: Offset in 0...20 {
      let response = server.send(device.request("GET", device.path + "/root?size=\(size)"))
      let text = String(decoding: response.body, as: UTF8.self)
      let head = TreeHead(size: size, root: try device.evidence.root(at: size))
      #expect(text == String(decoding: HeadMessage(head: head).json, as: UTF8.self))
    }
    #expect(Problem(server.send(device.request("GET", device.path + "/root?size=21")))?.code == .notFound)
  }
}

@Suite struct PositionTests {
  @Test func `what lies beyond the accepted size is refused, and with a compact range it leaves a hole`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(30)
    try device.shakeHands()
    try device.ship(try device.shipment(0, 10))
    #expect(problem { try device.ship(try device.shipment(15, 20)) } == .unexpectedPosition)
    let range = try device.log.range(at: 15)
    let answer = try device.ship(try device.shipment(15, 20, range: range))
    #expect(answer.accepted == 20)
    try device.evidence.accept(answer.receipt, device.policy)
    let status = String(decoding: server.send(device.request("GET", "/v1/status")).body, as: UTF8.self)
    #expect(status.contains(#""holes":[{"from":10,"to":15}]"#))
    #expect(problem { try device.ship(try device.shipment(0, 12)) } == .unexpectedPosition)
    #expect(try device.shipRest().accepted == device.log.size)
    for size: Offset in [10, 15, 17] {
      let response = server.send(device.request("GET", device.path + "/root?size=\(size)"))
      #expect(response.status == (size == 15 ? 404 : 200))
    }
  }

  @Test func `another history of the same epoch is a fork, whether it is longer or not`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(10)
    _ = try device.evidence.checkpoint()
    let image = device.disk.image
    try device.append(5)
    try device.shakeHands()
    try device.ship(try device.shipment(0, 15))
    let twin = try device.twin(image, seed: 9)
    try twin.append(9)
    try twin.shakeHands()
    let rows = try server.rows()
    #expect(problem { try twin.ship(try twin.shipment(0, 15)) } == .forked)
    #expect(problem { try twin.ship(try twin.shipment(15)) } == .forked)
    #expect(problem { try twin.ship(try twin.shipment(0)) } == .forked)
    #expect(try server.rows() == rows)
  }

  @Test func `only the last one that shook hands ships`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shakeHands()
    let first = device.sender
    try device.shakeHands()
    let second = device.sender
    device.sender = first
    #expect(problem { try device.ship(try device.shipment()) } == .superseded)
    device.sender = nil
    #expect(problem { try device.ship(try device.shipment()) } == .superseded)
    device.sender = second
    try device.ship(try device.shipment())
    try server.reopen()
    #expect(problem { try device.ship(try device.shipment()) } == .superseded)
  }

  @Test func `the key changes with what is shipped`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shipRest()
    let old = try #require(try device.evidence.key)
    try device.evidence.rotateKey()
    try device.append(3)
    let answer = try device.shipRest()
    try device.evidence.accept(answer.receipt, device.policy)
    #expect(try #require(try device.evidence.key) != old)
    try device.evidence.rotateKey()
    try device.evidence.rotateKey()
    try device.append(3)
    try device.evidence.accept(try device.shipRest().receipt, device.policy)
  }

  @Test func `behind a hole the enrolled key says which key is in force`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shipRest()
    for _ in 0..<2 {
      try device.evidence.rotateKey()
      try device.append(3)
    }
    let from = device.log.size - 2
    let range = try device.log.range(at: from)
    var handshake = try device.handshake()
    let introduction = handshake.introduction
    handshake.introduction = nil
    let unknown: HandshakeAnswer = try device.call("PUT", device.path, handshake.json)
    device.sender = unknown.sender
    #expect(problem { try device.ship(try device.shipment(from, range: range)) } == .refused)
    handshake.introduction = introduction
    let known: HandshakeAnswer = try device.call("PUT", device.path, handshake.json)
    device.sender = known.sender
    try device.evidence.accept(try device.ship(try device.shipment(from, range: range)).receipt, device.policy)
    try device.append(1)
    try device.shipRest()
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `a checkpoint that another key signed is refused`() throws {
    let server = try TestServer()
    let (device, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    try device.append(3)
    try device.shakeHands()
    let bytes = try device.shipment()
    let note = try device.evidence.checkpoint()
    let key = try VerifierKey(name: device.evidence.origin, kind: .note, publicKey: other.key)
    let signature = try other.keys.sign(Array(note.text.utf8), publicKey: other.key)
    let forged = SignedNote(text: note.text, signatures: [.init(name: key.name, keyID: key.keyID, bytes: signature)])
    #expect(problem { try device.ship(try device.shipment(note: forged)) } == .refused)
    #expect(try server.changes().isEmpty)
    try device.ship(bytes)
  }

  @Test func `a log's key has to be introduced by the enrolled one`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    var handshake = try device.handshake()
    handshake.introduction = nil
    #expect(problem { let _: HandshakeAnswer = try device.call("PUT", device.path, handshake.json) } == .refused)
    handshake.introduction = [UInt8](repeating: 1, count: 64)
    #expect(problem { let _: HandshakeAnswer = try device.call("PUT", device.path, handshake.json) } == .refused)
    #expect(server.send(device.request("GET", device.path + "/root")).status == 404)
    try device.shakeHands()
    #expect(server.send(device.request("GET", device.path + "/root")).status == 200)
  }
}

@Suite struct LimitTests {
  @Test func `a long shipment is taken, with something to say about each of its events`() throws {
    let server = try TestServer()
    let (device, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    for device in [device, other] {
      for start in stride(from: 0, to: 5_000, by: 1_000) {
        try device.log.append(
          (start..<start + 1_000).map { NewEvent(type: "scan", id: EventID(high: 6, low: UInt64($0)), data: [1, 2, 3]) })
      }
    }
    #expect(try device.shipRest().changes == 1...5_000)
    #expect(try other.shipRest().outcomes.count == 5_000)
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `too many offsets at once are refused, and limits that do not fit`() throws {
    let server = try TestServer { $0.limits.events = 10 }
    let device = try TestDevice(server)
    try device.append(20)
    try device.shakeHands()
    #expect(problem { try device.ship(try device.shipment()) } == .tooLarge)
    try device.ship(try device.shipment(0, 10))
    #expect(throws: LogError.self) { _ = try TestServer { $0.limits.requestBytes = 16 << 20 } }
  }
}
