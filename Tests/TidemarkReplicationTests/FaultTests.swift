import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

@Suite("What goes wrong on the way") struct FaultTests {
  private static func name(_ request: HTTPRequest) -> String {
    request.method == "PUT" ? "handshake" : request.target == "/v1/token" ? "token" : "frames"
  }

  /// Each fault once, at the first request of each kind.
  private func run(_ fault: NetworkFault, at kind: String, times: Int = 1) throws -> Fixture {
    let fixture = try Fixture()
    try fixture.append(10)
    var left = times
    fixture.fault = { request in
      guard Self.name(request) == kind, left > 0 else { return nil }
      left -= 1
      return fault
    }
    fixture.run()
    #expect(left == 0)
    return fixture
  }

  @Test(
    "a request or a reply that is lost, a portal's page, a redirect, a proxy's error, another media type: it is tried again",
    arguments: ["token", "handshake", "frames"])
  func transport(_ kind: String) throws {
    for fault: NetworkFault in [.requestLost, .replyLost, .portal, .redirect, .gateway, .wrongType] {
      let fixture = try run(fault, at: kind, times: 3)
      try fixture.expectAllAccepted()
      #expect(fixture.server.changes == 10)
      #expect(fixture.waits.count == 3)
      #expect(fixture.waits.allSatisfy { $0 <= 4_000_000_000 })
    }
  }

  @Test("while it fails, the trouble, the number of attempts and the next time are shown") func visible() throws {
    let fixture = try Fixture()
    try fixture.append(1)
    fixture.fault = { _ in .portal }
    fixture.run(waits: 5)
    #expect(fixture.status.state == .waiting)
    #expect(fixture.status.attempts == 6)
    #expect(fixture.status.trouble?.category == .transport)
    #expect(try #require(fixture.status.nextAttempt) > fixture.clock.now().time)
    let seen = try Delivery(of: fixture.log).status
    #expect(seen.attempts == 6)
    #expect(seen.trouble == fixture.status.trouble)
    #expect(seen.nextAttempt != nil)
  }

  @Test("Retry-After of 429 and 503 wins", arguments: ["token", "handshake", "frames"]) func retryAfter(_ kind: String) throws {
    for code in [Problem.Code.tooMany, .storage, .stopping] {
      let fixture = try run(.problem(Problem(code, "later", retryAfter: 1_234)), at: kind)
      try fixture.expectAllAccepted()
      #expect(fixture.waits == [1_234_000_000_000])
    }
  }

  @Test("401: the token is renewed, once; a refresh token that is refused needs a new enrolment") func unauthorized() throws {
    var fixture = try run(.problem(Problem(.unauthorized, "")), at: "frames")
    try fixture.expectAllAccepted()
    #expect(fixture.requests.count { $0.target == "/v1/token" } == 2)
    fixture = try run(.problem(Problem(.refreshRefused, "")), at: "token")
    #expect(fixture.status.state == .waitingForSignIn)
    #expect(fixture.status.trouble?.category == .auth)
    try fixture.enrol("CODE-2")
    fixture.core.start(now: fixture.now)
    fixture.run()
    try fixture.expectAllAccepted()
  }

  @Test("403: a removed device keeps everything and sends nothing; a suspended one tries again") func forbidden() throws {
    let fixture = try run(.problem(Problem(.suspended, "")), at: "frames", times: 3)
    try fixture.expectAllAccepted()
    try fixture.append(5)
    for id in fixture.server.devices.keys { fixture.server.devices[id]?.problem = Problem(.revoked, "removed by the operator") }
    fixture.run()
    #expect(fixture.status.state == .removed)
    #expect(fixture.status.trouble?.detail == "revoked: removed by the operator")
    let count = fixture.requests.count
    try fixture.append(5)
    fixture.pass(86_400_000_000_000)
    fixture.run()
    #expect(fixture.requests.count == count)
    #expect(try fixture.ids().count == 20)
  }

  @Test("409: a new handshake, at once the first time", arguments: [Problem.Code.unexpectedPosition, .superseded, .forked])
  func conflict(_ code: Problem.Code) throws {
    let fixture = try run(.problem(Problem(code, "")), at: "frames")
    try fixture.expectAllAccepted()
    #expect(fixture.requests.count { $0.method == "PUT" } == 2)
    #expect(fixture.waits.isEmpty == (code != .forked))
  }

  @Test(
    "410, 415, 422 and others that no repetition changes: it stops and tells; a start tries again",
    arguments: [Problem.Code.gone, .mediaType, .refused, .malformed, .lengthRequired, .notFound, .notPermitted])
  func permanent(_ code: Problem.Code) throws {
    let fixture = try run(.problem(Problem(code, "no")), at: "frames")
    #expect(fixture.status.state == .refused)
    #expect(fixture.status.trouble?.category == .permanent)
    #expect(fixture.status.accepted == 0)
    fixture.core.start(now: fixture.now)
    fixture.run()
    try fixture.expectAllAccepted()
  }

  @Test("413: a server whose limit was lowered gets fewer events at once") func tooLarge() throws {
    let fixture = try Fixture()
    try fixture.append(2_000)
    fixture.fault = { request in
      request.body.count > 80_000 ? .problem(Problem(.tooLarge, "at most 80,000 bytes")) : nil
    }
    fixture.run()
    try fixture.expectAllAccepted()
  }

  @Test("bytes that are damaged on the way are sent again") func damaged() throws {
    let fixture = try run(.damagedRequest, at: "frames")
    try fixture.expectAllAccepted()
    #expect(fixture.waits.count == 1)
  }

  // MARK: Answers that do not count

  private func change(_ change: @escaping (inout ShipmentAnswer) -> Void) -> NetworkFault {
    .changed { response in
      guard var answer = ShipmentAnswer(answer: response) else { return }
      change(&answer)
      response = answer.response()
    }
  }

  @Test("an answer about something else, or with a receipt that does not count, is no answer") func echo() throws {
    let foreign = try KeyDirectory(at: "/foreign", SimulatedDisk())
    let foreignKey = try VerifierKey(name: "server.example/1", kind: .cosignature, publicKey: foreign.makeKey())
    let faults = [
      change { $0.log = .highest }, change { $0.epoch = .highest }, change { $0.offsets = 0..<$0.offsets.upperBound + 1 },
      change { $0.offsets = 1..<$0.offsets.upperBound }, change { $0.accepted = 0 },
      change { $0.accepted += 100 },
      change { $0.outcomes = [Outcome(offset: 10_000, kind: .duplicate(log: .highest, offset: 1))] },
      // Signed by somebody else.
      change { answer in
        let bare = SignedNote(text: answer.receipt.text, signatures: answer.receipt.signatures.filter { $0.name != "server.example/1" })
        if let note = try? bare.cosigned(by: foreignKey, foreign, seconds: 1) { answer.receipt = note }
      },
      // Not signed at all.
      change { answer in
        let others = answer.receipt.signatures.filter { $0.name != "server.example/1" }
        answer.receipt = SignedNote(text: answer.receipt.text, signatures: others)
      },
      // Another text under the same signatures.
      change { answer in
        let text = answer.receipt.text.replacing("\n2", with: "\n3").replacing("\n1", with: "\n2")
        answer.receipt = SignedNote(text: text, signatures: answer.receipt.signatures)
      },
    ]
    for (index, fault) in faults.enumerated() {
      let fixture = try Fixture()
      try fixture.append(10)
      var isChanged = false
      fixture.fault = { request in
        guard !isChanged, Self.name(request) == "frames" else { return nil }
        isChanged = true
        return fault
      }
      fixture.run(waits: 0)
      if index == 5 {
        // That the server has more is no contradiction.
        try fixture.expectAllAccepted()
        continue
      }
      #expect(fixture.status.state == .waiting, "\(index)")
      #expect(fixture.status.trouble?.category == .transport, "\(index)")
      #expect(fixture.status.accepted == 0, "\(index)")
      #expect(fixture.evidence.receiptedSize == 0, "\(index)")
      #expect(try Delivery(of: fixture.log).counts().saved == 10, "\(index)")
      fixture.run()
      try fixture.expectAllAccepted()
    }
  }

  @Test("a receipt of the right key for another root is no receipt") func otherRoot() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    let fault = change { answer in
      guard let head = try? Checkpoint(answer.receipt.text) else { return }
      let text = Checkpoint(origin: head.origin, head: TreeHead(size: head.head.size, root: .zero)).text
      if let note = try? SignedNote(text: text, signatures: []).cosigned(by: fixture.server.key, fixture.server.keys, seconds: 1) {
        answer.receipt = note
      }
    }
    var count = 0
    fixture.fault = { request in
      guard Self.name(request) == "frames" else { return nil }
      count += 1
      return count < 3 ? fault : nil
    }
    fixture.run(waits: 0)
    #expect(fixture.status.accepted == 0)
    fixture.run()
    try fixture.expectAllAccepted()
  }

  @Test("a lost reply: outcomes come with the handshake, or by shipping again; either way none is missed", arguments: [true, false])
  func outcomesOfLostReply(_ tellsOutcomes: Bool) throws {
    let fixture = try Fixture()
    fixture.server.refusedTypes = ["bad"]
    fixture.server.tellsOutcomes = tellsOutcomes
    try fixture.append(3)
    try fixture.append(1, type: "bad")
    var count = 0
    fixture.fault = { request in
      guard Self.name(request) == "frames" else { return nil }
      count += 1
      return count == 1 ? .replyLost : nil
    }
    fixture.run(requests: 3, waits: 0)
    // The process ends before the next attempt: a handshake comes first.
    try fixture.reopen()
    try fixture.append(1)
    fixture.run()
    try fixture.expectDelivered(accepted: 4, quarantined: 1)
  }

  @Test("any faults in any order: nothing is lost, nothing is there twice, in the end all is accepted", arguments: 0..<6)
  func schedule(_ seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    let fixture = try Fixture(seed: UInt64(seed) + 1)
    fixture.server.refusedTypes = ["bad"]
    fixture.server.tellsOutcomes = seed % 2 == 0
    fixture.server.limits.events = 40
    var events: UInt64 = 0
    var bad: UInt64 = 0
    func faults() -> NetworkFault? {
      switch random.number(below: 16) {
      case 0: .requestLost
      case 1, 2: .replyLost
      case 3: .portal
      case 4: .redirect
      case 5: .problem(Problem([.storage, .tooMany, .internal, .timeout, .suspended][random.number(below: 5)], "", retryAfter: 2))
      case 6: .problem(Problem([.unexpectedPosition, .superseded, .forked][random.number(below: 3)], ""))
      case 7: .damagedRequest
      case 8: .changed { $0.body = Array($0.body.dropLast($0.body.count / 2)) }
      default: nil
      }
    }
    for _ in 0..<80 {
      let count = random.number(in: 1...15)
      let isBad = random.isOneIn(9)
      try fixture.append(count, type: isBad ? "bad" : "scan")
      events += UInt64(count)
      if isBad { bad += UInt64(count) }
      fixture.fault = { _ in faults() }
      fixture.run(requests: random.number(in: 0...8), waits: random.number(in: 0...4))
      switch random.number(below: 12) {
      case 0: try fixture.reopen()
      case 1: try fixture.crash(nil)
      case 2: try fixture.crash(.seeded(random.next()))
      case 3: try fixture.crash(.losesEverything)
      default: break
      }
      let counts = try Delivery(of: fixture.log).counts()
      #expect(counts.all == events)
      // What is called accepted is at the server.
      #expect(counts.accepted <= fixture.server.changes)
    }
    fixture.fault = { _ in nil }
    fixture.run()
    try fixture.expectDelivered(accepted: events - bad, quarantined: bad)
    #expect(fixture.server.changes == events - bad)
    #expect(fixture.status.state == .idle)
  }
}
