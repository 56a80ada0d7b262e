import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

private let log = EventID(high: 1, low: 1)
private let epoch = EventID(high: 1, low: 2)

private func welcome(_ accepted: Offset = 0, generation: UInt64 = 1) -> HandshakeAnswer {
  HandshakeAnswer(
    log: log, epoch: epoch, generation: EventID(high: 9, low: generation), sender: EventID(high: 2, low: 2),
    accepted: TreeHead(size: accepted, root: .zero), settled: 0, receipt: nil, through: 0, limits: Limits())
}

private func answer(_ offsets: Range<Offset>, generation: UInt64 = 1) throws -> ShipmentAnswer {
  ShipmentAnswer(
    log: log, epoch: epoch, offsets: offsets, generation: EventID(high: 9, low: generation), accepted: offsets.upperBound, settled: 0,
    changes: nil, outcomes: [], receipt: try SignedNote(Array("a\n\n\u{2014} b AAAAAAA=\n".utf8)))
}

@Suite("The device's session") struct SessionTests {
  private var session = DeviceSession(log: log, epoch: epoch)

  @discardableResult
  private mutating func take(_ inputs: DeviceSession.Input...) -> [DeviceSession.Action] {
    inputs.reduce([]) { $0 + session.handle($1, random: .max) }
  }

  /// Up to the first shipment, of ten events.
  private mutating func ship() {
    take(.started, .refreshed(isFresh: true), .backlog(true), .welcomed(welcome()), .settled(from: 0, hasBacklog: true), .built(0..<10))
    #expect(session.state == .shipping)
  }

  private func armed(_ actions: [DeviceSession.Action]) -> UInt64? {
    for case .arm(let nanoseconds) in actions { return nanoseconds }
    return nil
  }

  @Test("asks for a token, shakes hands, ships, and rests") mutating func order() throws {
    #expect(take(.started).contains(.refresh))
    #expect(take(.refreshed(isFresh: true)).contains(.handshake))
    #expect(take(.welcomed(welcome())) == [.settle(welcome())])
    #expect(session.state == .settling)
    take(.settled(from: 0, hasBacklog: false))
    #expect(session.state == .idle)
    #expect(take(.backlog(true)).contains { if case .ship(from: 0, _, _) = $0 { true } else { false } })
    take(.built(0..<10))
    let answer = try answer(0..<10)
    #expect(take(.answered(answer, nanoseconds: 1)) == [.store(answer)])
    take(.stored(next: 10, hasBacklog: false))
    #expect(session.state == .idle)
    #expect(session.next == 10)
  }

  @Test("takes no answer about another log, epoch or range") mutating func echo() throws {
    let right = try answer(0..<10)
    var wrong: [ShipmentAnswer] = []
    for change in 0..<5 {
      var answer = right
      switch change {
      case 0: answer.log = epoch
      case 1: answer.epoch = log
      case 2: answer.offsets = 0..<9
      case 3: answer.accepted = 9
      default: answer.outcomes = [Outcome(offset: 10, kind: .duplicate(log: log, offset: 1))]
      }
      wrong.append(answer)
    }
    for answer in wrong {
      session = DeviceSession(log: log, epoch: epoch)
      ship()
      take(.answered(answer, nanoseconds: 1))
      #expect(session.state == .waiting)
      #expect(session.trouble?.category == .transport)
      #expect(session.next == 0)
    }
  }

  @Test("waits longer after each failure, five minutes at most, fifteen where it costs") mutating func delay() {
    take(.started)
    var delays: [UInt64] = []
    for _ in 0..<14 {
      delays.append(armed(take(.failed("no answer"))) ?? 0)
      take(.timerFired)
    }
    #expect(delays.prefix(3) == [1_000_000_000, 2_000_000_000, 4_000_000_000])
    #expect(delays.last == 300_000_000_000)
    take(.conditions(isAllowed: true, isMetered: true))
    #expect(armed(take(.failed("no answer"))) == 900_000_000_000)
  }

  @Test("waits as long as the server says") mutating func retryAfter() {
    ship()
    let actions = take(.refused(Problem(.tooMany, "slowly", retryAfter: 77)))
    #expect(armed(actions) == 77_000_000_000)
    #expect(session.trouble == Trouble(.retryable, "too-many: slowly"))
  }

  @Test("does what each problem says", arguments: Problem.Code.allCases) mutating func problems(_ code: Problem.Code) {
    ship()
    let actions = take(.refused(Problem(code, "because")))
    switch Problem(code, "").action {
    case .retry:
      #expect(session.state == .waiting)
      #expect(armed(actions) != nil)
    case .refresh: #expect(actions.contains(.refresh))
    case .signIn: #expect(session.state == .waitingForSignIn)
    case .stop: #expect(session.state == .removed)
    case .handshake: #expect(code == .forked ? actions == [.check] : actions.contains(.handshake))
    case .check: #expect(actions == [.check])
    case .report, .snapshot: #expect(session.state == (code == .tooLarge ? .waiting : .refused))
    }
    #expect(session.trouble?.detail.hasPrefix(code.rawValue) == true)
    #expect(!session.state.isSideState || session.state.wayOut != nil)
  }

  @Test("a second refusal of a new token needs a person; an old one does not") mutating func tokens() {
    ship()
    #expect(take(.refused(Problem(.unauthorized, ""))).contains(.refresh))
    #expect(take(.refreshed(isFresh: true)).contains { if case .ship = $0 { true } else { false } })
    take(.refused(Problem(.unauthorized, "")))
    #expect(session.state == .waitingForSignIn)
    #expect(take(.timerFired, .backlog(true)).isEmpty)
    #expect(take(.signedIn).contains(.refresh))
  }

  @Test("a first conflict is settled at once, a second one later") mutating func conflicts() {
    ship()
    #expect(take(.refused(Problem(.superseded, ""))).contains(.handshake))
    take(.welcomed(welcome()), .settled(from: 0, hasBacklog: true), .built(0..<10))
    #expect(armed(take(.refused(Problem(.superseded, "")))) != nil)
  }

  @Test("ships half as much after a failure, and more when it is quick") mutating func batches() throws {
    func size(_ actions: [DeviceSession.Action]) -> UInt64? {
      for case .ship(_, let byteLimit, _) in actions { return byteLimit }
      return nil
    }
    ship()
    take(.failed("no answer"))
    let first = try #require(size(take(.timerFired)))
    take(.failed("no answer"))
    #expect(size(take(.timerFired)) == first / 2)
    for index in 0..<12 {
      let offsets = Offset(index) * 10..<Offset(index) * 10 + 10
      take(.built(offsets), .answered(try answer(offsets), nanoseconds: 1), .stored(next: offsets.upperBound, hasBacklog: true))
    }
    take(.failed("no answer"))
    #expect(try #require(size(take(.timerFired))) > first * 4)
  }

  @Test("nothing is tried without a network, and it goes on when there is one") mutating func network() {
    take(.conditions(isAllowed: false, isMetered: false))
    #expect(armed(take(.started)) != nil)
    #expect(session.state == .waitingForNetwork)
    #expect(take(.conditions(isAllowed: true, isMetered: false)).contains(.refresh))
  }

  @Test("another generation means another handshake") mutating func generation() throws {
    ship()
    take(.answered(try answer(0..<10, generation: 2), nanoseconds: 1))
    #expect(take(.stored(next: 10, hasBacklog: false)).contains(.handshake))
  }

  @Test("with a backlog something is under way, a timer is armed, or a reason is shown: any inputs in any order", arguments: 0..<40)
  func alive(_ seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var session = DeviceSession(log: log, epoch: epoch)
    _ = session.handle(.started, random: 0)
    var sent: Range<Offset> = 0..<1
    for _ in 0..<2_500 {
      let input: DeviceSession.Input =
        switch random.number(below: 22) {
        case 0: .started
        case 1: random.isOneIn(8) ? .stopped : .started
        case 2, 3: .backlog(random.isOneIn(2))
        case 4: .conditions(isAllowed: !random.isOneIn(3), isMetered: random.isOneIn(2))
        case 5, 6: .refreshed(isFresh: random.isOneIn(2))
        case 7: .signedIn
        case 8:
          .refused(
            Problem(Problem.Code.allCases[random.number(below: Problem.Code.allCases.count)], "", retryAfter: random.isOneIn(2) ? 3 : nil))
        case 9: .failed("no answer")
        case 10, 11: .welcomed(welcome(generation: UInt64(random.number(below: 2))))
        case 12: .settled(from: session.next, hasBacklog: random.isOneIn(2))
        case 13: random.isOneIn(6) ? .differs("another root") : .settled(from: session.next, hasBacklog: random.isOneIn(2))
        case 14: .built(random.isOneIn(4) ? nil : sent)
        case 15, 16: .answered(try answer(sent, generation: UInt64(random.number(below: 2))), nanoseconds: random.next() >> 30)
        case 17: .stored(next: sent.upperBound, hasBacklog: random.isOneIn(2))
        case 18: .notProven("no receipt")
        case 19:
          [.checked, .compare(3), .refill(from: 4), .refilled, .forked(epoch)][random.number(below: 5)]
        case 20: .storageFailed("no space")
        default: .timerFired
        }
      if case .stored = input { sent = sent.upperBound..<sent.upperBound + 1 }
      _ = session.handle(input, random: random.next())
      #expect(session.isAlive, "\(session.state) after \(input)")
      let hasReason = session.trouble != nil || session.state == .waitingForNetwork
      if session.state.isSideState { #expect(session.state.wayOut != nil && hasReason) }
    }
  }
}
