package import TidemarkLog
package import TidemarkProtocol

/// How a device ships one log, as a pure state machine: what happened comes in, what is to be done goes out. It knows no file, no clock and
/// no network.
///
/// Its promise is R10 of `Specs/protocol.md`: while there is a backlog, something is under way, a timer is armed, or it is in a side state
/// that says what leads out of it. ``isAlive`` tells, and is asserted after each step.
package struct DeviceSession: Sendable {
  /// What happened.
  package enum Input: Sendable {
    case started
    case stopped
    /// Whether events are there that the server has not accepted.
    case backlog(Bool)
    /// Whether the host lets this lane use the network now, and whether that costs.
    case conditions(isAllowed: Bool, isMetered: Bool)
    /// There is an access token that was not refused yet; whether the server gave it just now.
    case refreshed(isFresh: Bool)
    /// The device was enrolled again.
    case signedIn
    /// The server refused what was under way.
    case refused(Problem)
    /// No answer came to what was under way, or one that is not the server's.
    case failed(String)
    case welcomed(HandshakeAnswer)
    /// The outcome of ``Action/settle(_:)``, or of what the server was asked after it: where to go on.
    case settled(from: Offset, hasBacklog: Bool)
    /// Likewise: the server's root at a size has to be known first.
    case compare(Offset)
    /// Likewise: the server has events behind this log's end.
    case refill(from: Offset)
    /// They are here.
    case refilled
    /// The log goes on in a new epoch.
    case forked(EventID)
    case differs(String)
    /// What was built for ``Action/ship(from:byteLimit:limits:)``; nil if there was nothing to ship after all.
    case built(Range<Offset>?)
    case answered(ShipmentAnswer, nanoseconds: UInt64)
    /// The outcome of ``Action/store(_:)``.
    case stored(next: Offset, hasBacklog: Bool)
    /// A receipt does not count.
    case notProven(String)
    /// The outcome of ``Action/check``, where the log's files are as they were.
    case checked
    /// A file of this device could not be read or written.
    case storageFailed(String)
    case timerFired
  }

  /// What is to be done.
  package enum Action: Sendable, Equatable {
    case refresh
    case handshake
    case settle(HandshakeAnswer)
    /// The server's root at a size.
    case askRoot(Offset)
    case download(from: Offset)
    case ship(from: Offset, byteLimit: UInt64, limits: Limits)
    case store(ShipmentAnswer)
    /// Compare what the log gives now with what was signed.
    case check
    /// In the place of any timer that was armed before.
    case arm(nanoseconds: UInt64)
    case disarm
  }

  private let log: EventID
  private var epoch: EventID
  package private(set) var state: ReplicationState = .stopped
  /// What went wrong last; nil once something succeeded.
  package private(set) var trouble: Trouble?
  package private(set) var isArmed = false
  package private(set) var hasBacklog = false
  private var isAllowed = true
  private var isMetered = false
  private var hasToken = false
  /// The token that was refused was a fresh one.
  private var isTokenFresh = false
  private var needsHandshake = true
  private var conflicts = 0
  package private(set) var sender: EventID?
  private(set) var generation: EventID?
  package private(set) var limits = Limits()
  /// The first offset of the next shipment.
  package private(set) var next: Offset = 0
  private var sent: Range<Offset>?
  private var batch = BatchSize()
  private var backoff = Backoff()

  /// How often it was tried since the last success.
  package var attempts: UInt64 { backoff.attempts }

  /// Of the next shipment.
  package var byteLimit: UInt64 { min(batch.byteCount, limits.requestBytes) }

  private static let probe: UInt64 = 900_000_000_000

  package init(log: EventID, epoch: EventID) {
    self.log = log
    self.epoch = epoch
  }

  /// R10: whether what is left to do will be done, or the state says why not.
  package var isAlive: Bool {
    if state == .stopped || !(hasBacklog || needsHandshake) { return true }
    return state.isWork || isArmed || state.isSideState
  }

  /// Takes a step.
  ///
  /// - Parameter random: uniformly distributed, for the delay after a failure.
  package mutating func handle(_ input: Input, random: UInt64) -> [Action] {
    let actions = step(input, random)
    for action in actions {
      switch action {
      case .arm: isArmed = true
      case .disarm: isArmed = false
      default: break
      }
    }
    assert(isAlive, "a backlog without an attempt, a timer or a reason")
    return actions
  }

  private mutating func step(_ input: Input, _ random: UInt64) -> [Action] {
    switch input {
    case .started:
      guard !state.isWork else { return [] }
      needsHandshake = true
      return attempt()
    case .stopped:
      state = .stopped
      return [.disarm]
    case .backlog(let isThere):
      hasBacklog = isThere
      return state == .idle ? attempt() : []
    case .conditions(let isAllowed, let isMetered): return changed(isAllowed, isMetered)
    case .timerFired:
      isArmed = false
      return state.isWork || state.isFinal ? [] : attempt()
    case .signedIn:
      hasToken = false
      isTokenFresh = false
      needsHandshake = true
      return state == .stopped || state.isWork ? [] : attempt()
    default: return state.isWork ? workEnded(input, random) : []
    }
  }

  /// What only counts while it is awaited.
  private mutating func workEnded(_ input: Input, _ random: UInt64) -> [Action] {
    switch (input, state) {
    case (.refreshed(let isFresh), .refreshing):
      hasToken = true
      isTokenFresh = isFresh
      return attempt()
    case (.refused(let problem), _): return refused(problem, random)
    case (.failed(let why), _):
      if state == .shipping { batch.failed() }
      return fail(.transport, why, random)
    case (.welcomed(let answer), .handshaking): return welcomed(answer, random)
    case (.settled(let from, let hasBacklog), .settling), (.settled(let from, let hasBacklog), .comparing):
      next = from
      self.hasBacklog = hasBacklog
      needsHandshake = false
      return attempt()
    case (.compare(let size), .settling), (.compare(let size), .comparing):
      state = .comparing
      return [.askRoot(size)]
    case (.refill(let from), .settling), (.refill(let from), .comparing), (.refill(let from), .refilling):
      state = .refilling
      return [.download(from: from)]
    case (.refilled, .refilling):
      needsHandshake = true
      return attempt()
    case (.forked(let epoch), _):
      self.epoch = epoch
      sender = nil
      next = 0
      needsHandshake = true
      return attempt()
    case (.differs(let why), _):
      state = .needsNewEpoch
      trouble = Trouble(.conflict, why)
      return [.disarm]
    case (.built(let offsets), .shipping):
      sent = offsets
      if offsets != nil { return [] }
      hasBacklog = false
      return attempt()
    case (.answered(let answer, let nanoseconds), .shipping): return answered(answer, nanoseconds, random)
    case (.stored(let next, let hasBacklog), .storing):
      self.next = next
      self.hasBacklog = hasBacklog
      succeeded()
      return attempt()
    case (.notProven(let why), _):
      needsHandshake = true
      return fail(.transport, why, random)
    case (.checked, .checking):
      needsHandshake = true
      return fail(trouble?.category ?? .corrupt, trouble?.detail ?? "bytes were damaged on the way", random)
    case (.storageFailed(let why), _):
      let actions = fail(.storage, why, random)
      state = .storageTrouble
      return actions
    default: return []
    }
  }

  private mutating func attempt() -> [Action] {
    guard needsHandshake || hasBacklog else {
      state = .idle
      succeeded()
      return [.disarm]
    }
    guard isAllowed else {
      state = .waitingForNetwork
      // Looked at again now and then, should the host forget to tell.
      return [.arm(nanoseconds: Self.probe)]
    }
    guard hasToken else {
      state = .refreshing
      return [.disarm, .refresh]
    }
    guard !needsHandshake else {
      state = .handshaking
      return [.disarm, .handshake]
    }
    state = .shipping
    sent = nil
    return [.disarm, .ship(from: next, byteLimit: byteLimit, limits: limits)]
  }

  private mutating func changed(_ isAllowed: Bool, _ isMetered: Bool) -> [Action] {
    let wasAllowed = self.isAllowed
    self.isAllowed = isAllowed
    self.isMetered = isMetered
    guard isAllowed, state == .waitingForNetwork || (state == .waiting && !wasAllowed) else { return [] }
    return attempt()
  }

  private mutating func succeeded() {
    backoff.succeeded()
    conflicts = 0
    trouble = nil
  }

  private mutating func fail(_ category: Trouble.Category, _ why: String, retryAfter: UInt64? = nil, _ random: UInt64) -> [Action] {
    state = .waiting
    trouble = Trouble(category, why)
    return [.arm(nanoseconds: backoff.failed(isMetered: isMetered, retryAfter: retryAfter, random: random))]
  }

  // MARK: Answers

  private mutating func welcomed(_ answer: HandshakeAnswer, _ random: UInt64) -> [Action] {
    isTokenFresh = false
    guard answer.log == log, answer.epoch == epoch else {
      return fail(.transport, "the answer to the handshake is about another log", random)
    }
    sender = answer.sender
    generation = answer.generation
    limits = answer.limits
    state = .settling
    return [.settle(answer)]
  }

  private mutating func answered(_ answer: ShipmentAnswer, _ nanoseconds: UInt64, _ random: UInt64) -> [Action] {
    isTokenFresh = false
    guard let sent, answer.log == log, answer.epoch == epoch, answer.offsets == sent, answer.accepted >= sent.upperBound,
      Self.areInOrder(answer.outcomes, sent)
    else { return fail(.transport, "the answer is about another shipment", random) }
    batch.succeeded(in: nanoseconds)
    if answer.generation != generation { needsHandshake = true }
    state = .storing
    return [.store(answer)]
  }

  static func areInOrder(_ outcomes: [Outcome], _ offsets: Range<Offset>) -> Bool {
    var next = offsets.lowerBound
    for outcome in outcomes {
      guard outcome.offset >= next, outcome.offset < offsets.upperBound else { return false }
      next = outcome.offset + 1
    }
    return true
  }

  private mutating func refused(_ problem: Problem, _ random: UInt64) -> [Action] {
    let why = problem.detail.isEmpty ? problem.code.rawValue : "\(problem.code.rawValue): \(problem.detail)"
    switch problem.action {
    case .retry:
      if state == .shipping, problem.code == .timeout { batch.failed() }
      return fail(.retryable, why, retryAfter: problem.retryAfter, random)
    case .refresh:
      hasToken = false
      guard isTokenFresh else {
        trouble = Trouble(.auth, why)
        return attempt()
      }
      return settle(in: .waitingForSignIn, .auth, why)
    case .signIn: return settle(in: .waitingForSignIn, .auth, why)
    case .stop: return settle(in: .removed, .auth, why)
    case .handshake:
      needsHandshake = true
      conflicts += 1
      trouble = Trouble(.conflict, why)
      if problem.code == .forked, state == .shipping {
        state = .checking
        return [.check]
      }
      return conflicts == 1 ? attempt() : fail(.conflict, why, random)
    case .check:
      trouble = Trouble(.corrupt, why)
      guard state == .shipping else { return fail(.corrupt, why, random) }
      state = .checking
      return [.check]
    case .report, .snapshot:
      // A server whose limit was lowered takes fewer events at once.
      if problem.code == .tooLarge, let sent, sent.count > 1 {
        needsHandshake = true
        batch.failed()
        return fail(.permanent, why, random)
      }
      return settle(in: .refused, .permanent, why)
    }
  }

  private mutating func settle(in state: ReplicationState, _ category: Trouble.Category, _ why: String) -> [Action] {
    hasToken = false
    isTokenFresh = false
    self.state = state
    trouble = Trouble(category, why)
    return [.disarm]
  }
}
