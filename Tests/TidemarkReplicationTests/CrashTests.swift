import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

@Suite("A device that stops at any moment") struct CrashTests {
  /// The first events are at the server, some of them set apart; others wait.
  private func fixture() throws -> Fixture {
    let fixture = try Fixture()
    fixture.server.refusedTypes = ["bad"]
    try fixture.append(6)
    fixture.run()
    try fixture.append(3)
    try fixture.append(2, type: "bad")
    try fixture.append(3)
    return fixture
  }

  /// Cuts at a call of the disk, goes on, and looks. Returns false once the run needs fewer calls.
  private func cut(at call: Int, _ cut: PowerCut?, losesReply: Bool) throws -> Bool {
    let fixture = try fixture()
    let first = fixture.disk.callCount
    fixture.disk.plan = FaultPlan(.cut(), at: first + call)
    if losesReply { fixture.fault = { $0.target.hasSuffix("/frames") ? .replyLost : nil } }
    fixture.run(requests: 6, waits: 2)
    let wasCut = fixture.disk.isCut
    fixture.fault = { _ in nil }
    try fixture.crash(cut)
    let counts = try Delivery(of: fixture.log).counts()
    #expect(counts.all == 14, "call \(call)")
    #expect(counts.accepted <= fixture.server.changes, "call \(call)")
    fixture.run()
    #expect(fixture.status.state == .idle, "call \(call): \(String(describing: fixture.status.trouble))")
    try fixture.expectDelivered(accepted: 12, quarantined: 2)
    #expect(fixture.server.changes == 12, "call \(call)")
    return wasCut
  }

  @Test(
    "at each call of the disk, by power or by a signal: nothing is lost, nothing is there twice, all outcomes are known",
    arguments: [false, true])
  func eachCall(_ losesReply: Bool) throws {
    for kind in [nil, PowerCut.losesEverything, .keepsEverything, .seeded(3)] {
      var call = 0
      while try cut(at: call, kind, losesReply: losesReply) { call += kind == nil ? 3 : 2 }
      #expect(call > 20)
    }
  }

  @Test("a disk that is full, or fails, for a while: it says so, and goes on by itself") func storageTrouble() throws {
    for errno: Int32 in [28, 5, 13] {
      let fixture = try fixture()
      let first = fixture.disk.callCount
      fixture.disk.plan = FaultPlan(.error(errno), during: first...Int.max, only: Calls.writing.union(.sync))
      fixture.run(waits: 3)
      #expect(fixture.status.state == .storageTrouble, "\(errno)")
      #expect(fixture.status.trouble?.category == .storage)
      #expect(fixture.status.nextAttempt != nil)
      fixture.disk.plan = FaultPlan()
      fixture.run()
      #expect(fixture.status.state == .idle, "\(errno)")
      try fixture.expectDelivered(accepted: 12, quarantined: 2)
    }
  }

  @Test("a new refresh token is on the disk before it is used; a lost answer locks nobody out") func tokens() throws {
    let fixture = try Fixture()
    for round in 0..<20 {
      try fixture.append(1)
      fixture.pass(1_000_000_000_000)
      var count = 0
      fixture.fault = { request in
        guard request.target == "/v1/token", round % 2 == 0 else { return nil }
        count += 1
        return count < 3 ? .replyLost : nil
      }
      fixture.run(requests: 1)
      try fixture.crash(round % 4 < 2 ? .losesEverything : nil)
      fixture.run()
      #expect(fixture.status.state == .idle)
    }
  }
}

@Suite("The file of outcomes") struct OutcomeFileTests {
  private func outcome(_ offset: Offset) -> Outcome {
    let kind: Outcome.Kind =
      offset % 2 == 0
      ? .duplicate(log: EventID(high: 1, low: offset), offset: offset / 2)
      : .quarantined(.conflict, detail: "line one\nline two \u{1F30A}", digests: ["aa", "bb"])
    return Outcome(offset: offset, kind: kind)
  }

  private func all(_ file: OutcomeFile) throws -> [Outcome] {
    var reader = try file.read()
    var outcomes: [Outcome] = []
    while let outcome = try reader.next() { outcomes.append(outcome) }
    return outcomes
  }

  @Test("gives back what was added, also what takes more than one block, and after it was opened again") func readsBack() throws {
    let disk = SimulatedDisk()
    try disk.makeDirectory("/a")
    var file = try OutcomeFile("/a", disk)
    let outcomes = (0..<3_000).map { outcome(Offset($0) * 3) }
    for start in stride(from: 0, to: 3_000, by: 500) { try file.append(Array(outcomes[start..<start + 500])) }
    // Told again.
    try file.append(Array(outcomes[100..<200]))
    #expect(try all(file) == outcomes)
    let again = try OutcomeFile("/a", disk)
    #expect(try all(again) == outcomes)
    #expect((again.duplicateCount, again.quarantinedCount) == (1_500, 1_500))
    #expect(!again.isDamaged)
  }

  @Test("what is forgotten from an offset on is decided again") func truncates() throws {
    let disk = SimulatedDisk()
    try disk.makeDirectory("/a")
    var file = try OutcomeFile("/a", disk)
    try file.append((0..<10).map(outcome))
    try file.truncate(from: 7)
    #expect(try all(file) == (0..<7).map(outcome))
    try file.append([outcome(8)])
    #expect(try all(OutcomeFile("/a", disk)) == (0..<7).map(outcome) + [outcome(8)])
    #expect((file.duplicateCount, file.quarantinedCount) == (5, 3))
  }

  @Test("torn at each byte, the lines before it are there, and more can be added") func torn() throws {
    let disk = SimulatedDisk()
    try disk.makeDirectory("/a")
    var file = try OutcomeFile("/a", disk)
    try file.append([outcome(1), outcome(2)])
    let bytes = try #require(try disk.contents(file.path))
    for length in 0..<bytes.count {
      try disk.replace(file.path, with: Array(bytes.prefix(length)) + [UInt8](repeating: 0, count: length % 3))
      var torn = try OutcomeFile("/a", disk)
      let whole = try all(torn)
      #expect(whole == [outcome(1)].filter { _ in whole.count == 1 })
      #expect(!torn.isDamaged)
      try torn.append([outcome(3)])
      #expect(try all(OutcomeFile("/a", disk)) == whole + [outcome(3)])
    }
  }

  @Test("a line that was damaged is noticed, and what follows it is asked for again") func damaged() throws {
    let fixture = try Fixture()
    fixture.server.refusedTypes = ["bad"]
    for _ in 0..<5 {
      try fixture.append(2)
      try fixture.append(2, type: "bad")
    }
    fixture.run()
    let path = try OutcomeFile("/log/replication/\(fixture.log.identity.epochID.hexadecimal)", fixture.disk).path
    var bytes = try #require(try fixture.disk.contents(path))
    bytes[bytes.count / 2] ^= 1
    try fixture.disk.replace(path, with: bytes)
    #expect(try Delivery(of: fixture.log).counts().quarantined < 10)
    try fixture.reopen()
    fixture.run()
    try fixture.expectDelivered(accepted: 10, quarantined: 10)
  }
}
