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

  @Test("the device went back to an older copy: it says so, sends nothing, and loses nothing") func wentBack() throws {
    let fixture = try shipped()
    let image = fixture.disk.image
    for _ in 0..<3 {
      try fixture.append(20)
      fixture.run()
    }
    let taken = fixture.server.changes
    fixture.disk.image = image
    try fixture.crash(nil)
    fixture.run()
    #expect(fixture.status.state == .needsNewEpoch)
    #expect(fixture.status.trouble?.detail.contains("older copy") == true)
    let size = fixture.log.size
    try fixture.append(200)
    fixture.run()
    #expect(fixture.status.state == .needsNewEpoch)
    #expect(fixture.server.changes == taken)
    #expect(fixture.log.size >= size + 200)
    // It stays so when it begins anew: now the histories differ.
    try fixture.reopen()
    fixture.run()
    #expect(fixture.status.state == .needsNewEpoch)
    #expect(fixture.status.trouble?.detail.contains("another history") == true)
    #expect(fixture.status.state.wayOut != nil)
  }

  @Test("events that were altered on the device after they were signed are not shipped as if nothing were") func altered() throws {
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
    #expect(fixture.status.state == .needsNewEpoch)
    #expect(fixture.status.trouble?.category == .corrupt)
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
