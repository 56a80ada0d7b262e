import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

@Suite("Shipping") struct ShippingTests {
  @Test("ships what is saved, takes receipts, and rests") func ships() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    fixture.run()
    try fixture.expectAllAccepted()
    #expect(fixture.status.accepted >= 10)
    #expect(fixture.evidence.receiptedSize == fixture.status.accepted)
  }

  @Test("a receipt is not a reason to ship: an idle device sends and writes nothing") func idle() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    fixture.run()
    let requests = fixture.requests.count
    let calls = fixture.disk.callCount
    fixture.pass(3_600_000_000_000)
    for _ in 0..<10 { fixture.run() }
    #expect(fixture.requests.count == requests)
    #expect(fixture.disk.callCount == calls)
    // With the next event the receipt goes along. The token has expired meanwhile.
    try fixture.append(1)
    fixture.run()
    #expect(fixture.requests.dropFirst(requests).map(\.target).first == "/v1/token")
    #expect(fixture.requests.count == requests + 2)
    try fixture.expectAllAccepted()
  }

  @Test("what is shipped next is put together while a request is under way") func prepares() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    fixture.run(requests: 2)
    let first = try #require(fixture.next())
    try fixture.append(5)
    fixture.core.prepare()
    // These are too late for the next one.
    try fixture.append(5)
    fixture.core.received(fixture.exchange(first), now: fixture.now)
    let second = try #require(fixture.next())
    let identity = fixture.log.identity
    #expect(try Shipment(second.body, logID: identity.logID, epochID: identity.epochID).offsets.count == 5)
    fixture.core.received(fixture.exchange(second), now: fixture.now)
    fixture.run()
    try fixture.expectAllAccepted()
  }

  @Test("many requests, and the same again after the process began anew") func restarts() throws {
    let fixture = try Fixture()
    for _ in 0..<20 {
      try fixture.append(40)
      fixture.run(requests: 3)
      try fixture.reopen()
    }
    fixture.run()
    try fixture.expectAllAccepted()
    #expect(fixture.server.changes == 800)
    #expect(fixture.evidence.notes.count > 20)
  }

  @Test("10 offered: 1 to 4 are taken, 5 is refused for good, 6 to 10 come again by themselves") func partly() throws {
    let fixture = try Fixture()
    fixture.server.refusedTypes = ["bad"]
    try fixture.append(4)
    try fixture.append(1, type: "bad")
    try fixture.append(5)
    // The server takes five, and fails on what follows.
    fixture.server.limits.events = 6
    var shipments = 0
    fixture.fault = { request in
      guard request.target.hasSuffix("/frames") else { return nil }
      shipments += 1
      return (2...5).contains(shipments) ? .problem(Problem(.storage, "no space", retryAfter: 1)) : nil
    }
    fixture.run(requests: 4)
    #expect(fixture.server.changes == 4)
    var delivery = try Delivery(of: fixture.log)
    #expect(try delivery.counts().quarantined == 1)
    #expect(try delivery.counts().saved == 5)
    fixture.run()
    try fixture.expectDelivered(accepted: 9, quarantined: 1)
    delivery = try Delivery(of: fixture.log)
    let quarantined = try #require(try delivery.quarantined().first)
    #expect(quarantined.reason == "type-not-allowed")
    #expect(quarantined.detail == "events of type bad are not taken")
    #expect(quarantined.answer == nil)
    // It is answered by an event that supersedes it.
    let id = try #require(quarantined.id)
    let answer = try fixture.log.append(NewEvent(type: "scan", extensions: [.supersedes(id)]))
    #expect(try Delivery(of: fixture.log).quarantined().first?.answer == answer.id)
    fixture.run()
    try fixture.expectDelivered(accepted: 10, quarantined: 1)
  }

  @Test("an event that the tenant has from another log is a duplicate; with other content it is set apart with both digests")
  func duplicates() throws {
    let fixture = try Fixture()
    let other = EventID(high: 77, low: 7)
    let same = EventID(high: 5, low: 1)
    let different = EventID(high: 5, low: 2)
    try fixture.log.append(NewEvent(type: "scan", id: same, data: [1]))
    try fixture.log.append(NewEvent(type: "scan", id: different, data: [2]))
    let content = try fixture.log.event(id: same).map { SHA256().hash(ContentDigest.content(of: $0.view)) }
    fixture.server.taken = [same: (try #require(content), other, 4), different: (.zero, other, 5)]
    fixture.run()
    var fates: [Delivery.Fate] = []
    try Delivery(of: fixture.log).forEach { _, fate in fates.append(fate) }
    #expect(fates == [.duplicate(log: other, offset: 4), .quarantined(reason: "conflict", detail: "another event has this id")])
    #expect(fixture.status.duplicateCount == 1)
    #expect(fixture.status.quarantinedCount == 1)
    try fixture.reopen()
    #expect(fixture.status.duplicateCount == 1)
    #expect(fixture.status.quarantinedCount == 1)
  }

  @Test("saved, accepted and settled are three facts") func facts() throws {
    let fixture = try Fixture()
    fixture.server.settled = 5
    try fixture.append(10)
    fixture.run()
    try fixture.append(3)
    fixture.fault = { _ in .requestLost }
    fixture.run(requests: 1)
    let status = fixture.status
    #expect(status.saved == fixture.log.size)
    #expect(status.accepted < status.saved)
    #expect(status.settled == 5)
    #expect(status.trimmable == 5)
    // So says whoever looks from elsewhere.
    let read = try Delivery(of: Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)).status
    #expect((read.accepted, read.settled) == (status.accepted, 5))
  }

  @Test(
    "a device whose clock is wrong ships all the same, and the server is told what the clock says",
    arguments: [0, 915_148_800, 2_147_483_647])
  func wrongClock(_ seconds: Int64) throws {
    let fixture = try Fixture()
    fixture.clock.setWallClock(to: Timestamp(nanoseconds: seconds * 1_000_000_000))
    try fixture.append(5)
    fixture.fault = { request in request.target.hasSuffix("/frames") ? .requestLost : nil }
    fixture.run(requests: 5, waits: 2)
    fixture.clock.setWallClock(byNanoseconds: -7_200_000_000_000)
    fixture.fault = { _ in nil }
    fixture.run()
    try fixture.expectAllAccepted()
    let shake = try #require(fixture.requests.first { $0.method == "PUT" })
    let told = try #require(try Handshake(json: shake.body).clock).wall.nanoseconds / 1_000_000_000
    #expect(abs(told - seconds) < 60)
  }

  @Test("two senders of one history: the older one shakes hands again, and nothing is there twice") func twoSenders() throws {
    let fixture = try Fixture()
    try fixture.append(20)
    fixture.run()
    let credentials = try #require(try fixture.store.load())
    let grant = try #require(credentials.grant)
    let twin = try Shipper(fixture.evidence, keys: fixture.keys, publicKey: credentials.publicKey, grant: grant)
    let other = ReplicatorCore([twin], store: fixture.store, conditions: AlwaysReachable())
    other.start(now: 0)
    for round in 0..<30 {
      try fixture.append(5)
      var now = UInt64(round) * 1_000_000_000_000
      for _ in 0..<4 {
        if case .send(let request) = other.poll(now: now) { other.received(fixture.exchange(request), now: now) }
        now += 400_000_000_000
        fixture.run(requests: 1)
      }
    }
    fixture.run()
    #expect(fixture.server.changes == 170)
    #expect(fixture.status.accepted >= 170)
  }

  @Test("urgent logs go first, bulk ones wait while data is to be saved") func lanes() throws {
    let fixture = try Fixture()
    let credentials = try #require(try fixture.store.load())
    let grant = try #require(credentials.grant)
    var shippers: [Shipper] = []
    for (name, priority) in [("traces", LanePriority.bulk), ("alarms", .urgent), ("captures", .normal)] {
      try Log.create(at: "/\(name)", options: fixture.options, environment: fixture.environment)
      let log = try Log.open(at: "/\(name)", options: fixture.options, environment: fixture.environment)
      try log.append((0..<50).map { NewEvent(type: name, data: [UInt8($0)]) })
      let evidence = try Evidence(log, keys: fixture.keys)
      shippers.append(try Shipper(evidence, keys: fixture.keys, publicKey: credentials.publicKey, grant: grant, priority: priority))
    }
    let names = Dictionary(uniqueKeysWithValues: shippers.map { ($0.status.log.hexadecimal, $0.priority) })
    let core = ReplicatorCore(shippers, store: fixture.store, conditions: fixture.conditions)
    fixture.conditions.set { $0.isConstrained = true }
    core.start(now: 0)
    var order: [LanePriority] = []
    func run() {
      while case .send(let request) = core.poll(now: 1) {
        if request.target.hasSuffix("/frames") { order.append(names[String(request.target.split(separator: "/")[2])] ?? .attachments) }
        core.received(.success(fixture.server.answer(request)), now: 1)
      }
    }
    run()
    #expect(order == [.urgent, .normal])
    #expect(core.statuses.map(\.state) == [.idle, .idle, .waitingForNetwork])
    fixture.conditions.set { $0.isConstrained = false }
    run()
    #expect(order == [.urgent, .normal, .bulk])
    // One token serves all.
    #expect(fixture.server.tokens.count == 1)
  }

  @Test("a key that was changed signs what is shipped from then on") func rotation() throws {
    let fixture = try Fixture()
    fixture.server.limits.events = 16
    try fixture.append(10)
    fixture.run()
    try fixture.append(10)
    try fixture.evidence.rotateKey()
    try fixture.append(10)
    fixture.run()
    try fixture.expectAllAccepted()
  }

  @Test("what was saved before a key was changed is shipped in as many requests as it takes, although the old key is gone")
  func rotationOfBacklog() throws {
    let fixture = try Fixture()
    fixture.server.limits.requestBytes = 400_000
    fixture.fault = { $0.target.hasSuffix("/frames") ? .requestLost : nil }
    var random = SeededRandom(seed: 1)
    for _ in 0..<2 {
      for _ in 0..<9 {
        try fixture.log.append(NewEvent(type: "photo", data: (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }))
      }
      try fixture.evidence.rotateKey()
      try fixture.append(3)
      fixture.run(requests: 2, waits: 1)
    }
    try fixture.reopen()
    fixture.fault = { _ in nil }
    fixture.run()
    #expect(fixture.status.state == .idle, "\(String(describing: fixture.status.trouble))")
    try fixture.expectAllAccepted()
    #expect(fixture.server.changes == 24)
    let bodies = fixture.requests.filter { $0.target.hasSuffix("/frames") }.map(\.body.count)
    #expect(bodies.allSatisfy { $0 <= 400_000 })
  }

  @Test("events that were lost on the device are shipped as lost") func lost() throws {
    let fixture = try Fixture()
    for _ in 0..<30 { try fixture.append(20) }
    try fixture.log.close()
    let names = try fixture.disk.list("/log/segments").sorted()
    let victim = "/log/segments/\(names[names.count / 2])"
    let bytes = try #require(try fixture.disk.contents(victim))
    let file = try fixture.disk.open(victim, .write)
    try file.write([UInt8](repeating: 0xA5, count: 600).rawSpan, at: UInt64(bytes.count / 2))
    file.close()
    try fixture.reopen()
    fixture.run()
    #expect(fixture.status.state == .idle)
    #expect(fixture.status.trouble == nil)
    #expect(fixture.status.accepted + 10 > fixture.log.size)
    #expect(fixture.server.changes > 500 && fixture.server.changes < 600)
  }
}

extension Fixture {
  func expectDelivered(accepted: UInt64, quarantined: UInt64, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let counts = try Delivery(of: log).counts()
    #expect(counts.accepted == accepted, sourceLocation: sourceLocation)
    #expect(counts.quarantined == quarantined, sourceLocation: sourceLocation)
    #expect(counts.saved == 0, sourceLocation: sourceLocation)
    #expect(counts.all == accepted + quarantined + counts.duplicate, sourceLocation: sourceLocation)
  }
}
