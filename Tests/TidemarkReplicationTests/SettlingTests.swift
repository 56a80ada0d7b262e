import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

@Suite("Positions that differ") struct SettlingTests {
  /// A device with some ten shipments at the server.
  private func shipped() throws -> Fixture {
    let fixture = try Fixture()
    fixture.server.limits.events = 25
    fixture.server.refusedTypes = ["bad"]
    for round in 0..<10 {
      try fixture.append(20, type: round % 3 == 2 ? "bad" : "scan")
      fixture.run()
    }
    #expect(fixture.status.state == .idle)
    return fixture
  }

  private func epoch(_ fixture: Fixture) -> EventID { fixture.log.identity.epochID }

  @Test("the server lost data: everything is sent again, and nothing counts as accepted that it does not have") func rewind() throws {
    let fixture = try shipped()
    let before = try Delivery(of: fixture.log).counts()
    fixture.server.restore(epoch(fixture), toShipment: 4)
    fixture.server.settled = 30
    let left = try #require(fixture.server.epochs[epoch(fixture)]).range.size
    try fixture.append(1)
    // The answer says that the generation is another one; its events are refused until there was a handshake.
    var isAsked = false
    fixture.fault = { request in
      if request.method == "PUT" { isAsked = true }
      return isAsked && request.method != "PUT" ? .requestLost : nil
    }
    fixture.run(waits: 1)
    #expect(fixture.status.accepted == left)
    #expect(fixture.status.isRewound)
    #expect(fixture.status.trimmable == 0)
    #expect(try Delivery(of: fixture.log).counts().saved > 100)
    // Nor does it after the process began anew.
    try fixture.crash(.losesEverything)
    #expect(fixture.status.accepted == left)
    #expect(fixture.status.isRewound)
    fixture.fault = { _ in nil }
    fixture.run()
    #expect(!fixture.status.isRewound)
    #expect(fixture.status.trimmable == 30)
    try fixture.expectDelivered(accepted: before.accepted + 1, quarantined: before.quarantined)
  }

  @Test("the server does not know the log any more: the same") func forgotten() throws {
    let fixture = try shipped()
    let before = try Delivery(of: fixture.log).counts()
    fixture.server.restore(epoch(fixture), toShipment: 0)
    fixture.server.epochs = [:]
    try fixture.append(1)
    try fixture.reopen()
    fixture.run()
    try fixture.expectDelivered(accepted: before.accepted + 1, quarantined: before.quarantined)
  }

  @Test("the server lost events that the device has trimmed: the rest is shipped, with the tree that they left") func gap() throws {
    let fixture = try shipped()
    try fixture.log.seal()
    try fixture.evidence.trim(below: fixture.evidence.receiptedSize - 40)
    #expect(fixture.log.first > 60)
    fixture.server.restore(epoch(fixture), toShipment: 1)
    try fixture.append(30)
    fixture.run()
    #expect(fixture.status.state == .idle)
    #expect(fixture.status.trouble == nil)
    #expect(fixture.status.accepted >= fixture.log.size - 3)
    let ids = try fixture.ids()
    #expect(Set(ids).isSubset(of: Set(try #require(fixture.server.epochs[epoch(fixture)]).events.values)))
    try fixture.append(1)
    fixture.run()
    #expect(fixture.status.state == .idle)
  }

  /// The device goes back to how it was before so many further shipments.
  private func wentBack(_ fixture: Fixture, shipments: Int) throws {
    let image = fixture.disk.image
    for round in 0..<shipments {
      try fixture.append(20, type: round == 1 ? "bad" : "scan")
      fixture.run()
    }
    fixture.disk.image = image
    try fixture.crash(nil)
  }

  @Test("the device went back to an older copy: what the server has behind its end is fetched, at the same offsets") func refills() throws {
    let fixture = try shipped()
    let before = try Delivery(of: fixture.log).counts()
    let epoch = epoch(fixture)
    try wentBack(fixture, shipments: 3)
    let size = fixture.log.size
    fixture.run()
    #expect(fixture.status.state == .idle)
    #expect(fixture.log.size > size + 50)
    #expect(fixture.log.identity.epochID == epoch)
    try fixture.expectDelivered(accepted: before.accepted + 40, quarantined: before.quarantined + 20)
    try fixture.append(5)
    fixture.run()
    try fixture.expectDelivered(accepted: before.accepted + 45, quarantined: before.quarantined + 20)
    #expect(fixture.server.changes == UInt64(fixture.server.taken.count))
    try fixture.reopen()
    #expect(try Log.verify(at: "/log", options: fixture.options, environment: fixture.environment).findings.isEmpty)
  }

  @Test("a refill that is interrupted, or is not what the server signed for, changes nothing that was there") func refillFaults() throws {
    let fixture = try shipped()
    try wentBack(fixture, shipments: 3)
    var count = 0
    fixture.fault = { request in
      guard request.target.contains("/frames?") else { return nil }
      count += 1
      switch count {
      case 1: return .replyLost
      case 2: return .changed { $0.body[$0.body.count - 9] ^= 1 }
      case 3: return .portal
      case 4: return .problem(Problem(.storage, "", retryAfter: 1))
      default: return nil
      }
    }
    fixture.run(requests: 40, waits: 2)
    try fixture.crash(.losesEverything)
    fixture.run()
    #expect(fixture.status.state == .idle)
    #expect(count > 5)
    #expect(fixture.status.accepted == fixture.log.size || fixture.status.accepted + 3 >= fixture.log.size)
  }

  @Test("a device that went back and appended since goes on in a new epoch from the last common size; neither branch is lost")
  func forks() throws {
    let fixture = try shipped()
    let epoch = epoch(fixture)
    let common = fixture.log.size
    try wentBack(fixture, shipments: 3)
    // Events of its own, before it hears of the server.
    try fixture.append(30)
    let own = try fixture.ids()
    fixture.run()
    #expect(fixture.status.state == .idle, "\(String(describing: fixture.status.trouble))")
    let identity = fixture.log.identity
    #expect(identity.epochID != epoch)
    #expect(identity.epochs.last?.parent == epoch)
    // Up to the session of what was appended, both are the same.
    #expect(identity.epochs.last?.forkSize == common)
    let now = try #require(fixture.server.epochs[identity.epochID])
    #expect(now.range.size > common)
    // Both branches are there, and whatever was at the server before.
    #expect(Set(own.suffix(30)).isSubset(of: Set(now.events.values)))
    #expect(try #require(fixture.server.epochs[epoch]).range.size > common + 50)
    #expect(fixture.server.changes == UInt64(fixture.server.taken.count))
    let counts = try Delivery(of: fixture.log).counts()
    #expect(counts.saved == 0)
    #expect(counts.quarantined == 60)
    // It goes on there, and after it began anew.
    try fixture.append(3)
    try fixture.reopen()
    fixture.run()
    #expect(fixture.status.state == .idle)
    #expect(fixture.log.identity.epochs.count == 2)
    #expect(try Delivery(of: fixture.log).counts().saved == 0)
  }

  @Test("a crash at each call of beginning a new epoch leaves the old one or the new one") func forkCrashes() throws {
    var call = 0
    var isDone = false
    while !isDone {
      let fixture = try shipped()
      try wentBack(fixture, shipments: 2)
      try fixture.append(10)
      let first = fixture.disk.callCount
      fixture.disk.plan = FaultPlan(.cut(), at: first + call)
      fixture.run(requests: 40, waits: 1)
      isDone = !fixture.disk.isCut
      try fixture.crash(call % 2 == 0 ? .losesEverything : .seeded(UInt64(call)))
      fixture.run()
      #expect(fixture.status.state == .idle, "call \(call): \(String(describing: fixture.status.trouble))")
      let counts = try Delivery(of: fixture.log).counts()
      #expect(counts.saved == 0, "call \(call)")
      #expect(counts.quarantined == 60, "call \(call)")
      #expect(fixture.server.changes == UInt64(fixture.server.taken.count))
      call += 13
    }
    #expect(call > 30)
  }

  @Test("events that were altered on the device after they were signed: a new epoch, in which they are lost") func altered() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    fixture.run()
    for _ in 0..<30 { try fixture.append(20) }
    // Signed, and then damaged before they could be shipped.
    _ = try fixture.evidence.checkpoint()
    try fixture.evidence.save()
    try fixture.log.close()
    let names = try fixture.disk.list("/log/segments").sorted()
    let victim = "/log/segments/\(names[names.count / 2])"
    let bytes = try #require(try fixture.disk.contents(victim))
    let file = try fixture.disk.open(victim, .write)
    try file.write([UInt8](repeating: 0xA5, count: 600).rawSpan, at: UInt64(bytes.count / 2))
    file.close()
    try fixture.reopen()
    fixture.run()
    #expect(fixture.status.state == .idle, "\(String(describing: fixture.status.trouble))")
    #expect(fixture.log.identity.epochs.count == 2)
    #expect(fixture.server.changes > 500 && fixture.server.changes < 610)
  }

  @Test("a server that holds another history of an epoch that never settled anything: a person has to look") func never() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    fixture.run()
    fixture.fault = { request in
      guard request.method == "PUT" else { return request.target.contains("/root?") ? .problem(Problem(.notFound, "")) : nil }
      return .changed { response in
        guard var answer = HandshakeAnswer(answer: response) else { return }
        answer.accepted = TreeHead(size: 5, root: .zero)
        response = answer.response()
      }
    }
    try fixture.append(1)
    try fixture.reopen()
    fixture.run()
    #expect(fixture.status.state == .needsNewEpoch)
    #expect(fixture.status.state.wayOut != nil)
    #expect(fixture.log.identity.epochs.count == 2)
  }

  @Test("a settlement is a function of facts: each row of the table") func table() throws {
    let roots: (Offset) -> Digest256 = { SHA256().hash([UInt8(truncatingIfNeeded: $0)]) }
    func settle(oldest: Offset, size: Offset, receipted: Offset, accepted: Offset, root: Digest256? = nil) throws -> Settlement {
      try Settlement.of(
        Settlement.Device(oldest: oldest, size: size, receipted: receipted),
        accepted: TreeHead(size: accepted, root: root ?? roots(accepted)), rootAt: { (size) throws(LogError) in roots(size) },
        serverRootAt: { (size) throws(LogError) in roots(size) })
    }
    #expect(try settle(oldest: 0, size: 100, receipted: 50, accepted: 50) == .continue(from: 50))
    #expect(try settle(oldest: 0, size: 100, receipted: 50, accepted: 80) == .fastForward(from: 80))
    #expect(try settle(oldest: 0, size: 100, receipted: 50, accepted: 20) == .rewind(from: 20))
    #expect(try settle(oldest: 30, size: 100, receipted: 50, accepted: 20) == .gap(missing: 20..<30))
    #expect(try settle(oldest: 0, size: 100, receipted: 50, accepted: 120) == .refill(from: 100))
    #expect(try settle(oldest: 0, size: 100, receipted: 50, accepted: 80, root: .zero) == .newEpoch)
    #expect(try settle(oldest: 0, size: 100, receipted: 50, accepted: 0) == .rewind(from: 0))
    #expect(try settle(oldest: 0, size: 0, receipted: 0, accepted: 0) == .continue(from: 0))
  }
}
