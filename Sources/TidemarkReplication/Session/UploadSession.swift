package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol

/// A file that is to be sent.
package struct UploadFile: Sendable, Hashable {
  package var digest: Digest256
  package var byteCount: UInt64

  package init(digest: Digest256, byteCount: UInt64) {
    self.digest = digest
    self.byteCount = byteCount
  }
}

/// How a device sends files, one at a time and in parts, as a pure state machine: what happened comes in, what is to be done goes out.
///
/// It remembers nothing that the server does not know better: offering a file tells where its upload stands. So it offers it at the start,
/// after every failure, and when the server says that it knows of no such upload. While there is a file, something is under way, a timer is
/// armed, or the state says what leads out of it: ``isAlive``.
package struct UploadSession: Sendable {
  /// What happened.
  package enum Input: Sendable {
    case started
    case stopped
    /// The next file that the server has not signed for; nil if there is none. Only counts while none is under way.
    case next(UploadFile?)
    /// Whether the host lets files use the network now, and whether that costs.
    case conditions(isAllowed: Bool, isMetered: Bool)
    /// There is an access token that was not refused yet; whether the server gave it just now.
    case refreshed(isFresh: Bool)
    /// The device was enrolled again.
    case signedIn
    /// The server refused what was under way.
    case refused(Problem)
    /// No answer came to what was under way, or one that is not the server's.
    case failed(String)
    /// What the server has of the file, and the longest part that it takes, if it said so; after how many nanoseconds.
    case answered(AttachmentAnswer, partLimit: UInt64?, nanoseconds: UInt64)
    /// A part was taken, in so many nanoseconds; where the upload stands now.
    case advanced(to: UInt64, nanoseconds: UInt64)
    /// The outcome of ``Action/store(_:)``.
    case stored
    /// A receipt does not count.
    case notProven(String)
    /// The outcome of ``Action/check(_:)``.
    case checked(isSound: Bool)
    /// The file is not on this device, or shorter than its event says.
    case absent
    /// Something of this device could not be read or written.
    case storageFailed(String)
    case timerFired
  }

  /// What is to be done.
  package enum Action: Sendable, Equatable {
    case refresh
    /// Ask what the server has of a file.
    case offer(UploadFile)
    case send(UploadFile, upload: EventID, offset: UInt64, byteCount: UInt64)
    /// Keep the server's word.
    case store(AttachmentAnswer)
    /// Compare the file with its digest.
    case check(UploadFile)
    /// This file can't be sent; go on with others.
    case setAside(UploadFile, String)
    /// In the place of any timer that was armed before.
    case arm(nanoseconds: UInt64)
    case disarm
  }

  package private(set) var state: ReplicationState = .stopped
  /// What went wrong last; nil once something succeeded.
  package private(set) var trouble: Trouble?
  package private(set) var isArmed = false
  package private(set) var file: UploadFile?
  private var upload: EventID?
  private var offset: UInt64 = 0
  private var sent: UInt64 = 0
  private var partLimit = UInt64.max
  private var isAllowed = true
  private var isMetered = false
  private var hasToken = false
  private var isTokenFresh = false
  /// How often the server meant another place since something was taken.
  private var conflicts = 0
  private var part = BatchSize()
  private var backoff = Backoff()

  /// How often it was tried since the last success.
  package var attempts: UInt64 { backoff.attempts }

  private static let probe: UInt64 = 900_000_000_000

  package init() {}

  /// Whether what is left to do will be done, or the state says why not.
  package var isAlive: Bool { state == .stopped || file == nil || state.isWork || isArmed || state.isSideState }

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
    assert(isAlive, "a file without an attempt, a timer or a reason")
    return actions
  }

  private mutating func step(_ input: Input, _ random: UInt64) -> [Action] {
    switch input {
    case .started:
      guard !state.isWork else { return [] }
      return attempt()
    case .stopped:
      (state, upload) = (.stopped, nil)
      return [.disarm]
    case .next(let next):
      guard file == nil else { return [] }
      file = next
      return state == .idle ? attempt() : []
    case .conditions(let isAllowed, let isMetered): return changed(isAllowed, isMetered)
    case .timerFired:
      isArmed = false
      return state.isWork || state.isFinal ? [] : attempt()
    case .signedIn:
      (hasToken, isTokenFresh) = (false, false)
      return state == .waitingForSignIn || state == .removed ? attempt() : []
    default: return state.isWork ? workEnded(input, random) : []
    }
  }

  /// What only counts while it is awaited.
  private mutating func workEnded(_ input: Input, _ random: UInt64) -> [Action] {
    switch (input, state) {
    case (.refreshed(let isFresh), .refreshing):
      (hasToken, isTokenFresh) = (true, isFresh)
      return attempt()
    case (.refused(let problem), _): return refused(problem, random)
    case (.failed(let why), _):
      if state == .shipping { part.failed() }
      return fail(.transport, why, random)
    case (.answered(let answer, let partLimit, let nanoseconds), .handshaking),
      (.answered(let answer, let partLimit, let nanoseconds), .shipping):
      if state == .shipping { part.succeeded(in: nanoseconds) }
      return answered(answer, partLimit, random)
    case (.advanced(let end, let nanoseconds), .shipping):
      guard end == offset + sent, sent > 0 else {
        return fail(.transport, "the server counts \(end) bytes, \(offset + sent) were sent", random)
      }
      offset = end
      part.succeeded(in: nanoseconds)
      succeeded()
      // It said that this was not all: it has to say where it goes on.
      if end == file?.byteCount { upload = nil }
      return attempt()
    case (.stored, .storing):
      succeeded()
      return done()
    case (.notProven(let why), _): return fail(.transport, why, random)
    case (.checked(let isSound), .checking):
      guard !isSound, let file else { return fail(.corrupt, trouble?.detail ?? "bytes were damaged on the way", random) }
      return [.setAside(file, "its content on this device is no longer what its event says")] + done()
    case (.absent, .shipping):
      guard let file else { return done() }
      return [.setAside(file, "it is not on this device")] + done()
    case (.storageFailed(let why), _):
      let actions = fail(.storage, why, random)
      state = .storageTrouble
      return actions
    default: return []
    }
  }

  private mutating func answered(_ answer: AttachmentAnswer, _ partLimit: UInt64?, _ random: UInt64) -> [Action] {
    guard let file, answer.digest == file.digest, answer.byteCount == file.byteCount else {
      return fail(.transport, "the answer is about another file", random)
    }
    switch answer.state {
    case .complete:
      state = .storing
      return [.store(answer)]
    case .open(let upload, let offset):
      guard state == .handshaking else { return fail(.transport, "the server answers a part with an offer", random) }
      (self.upload, self.offset) = (upload, offset)
      if let partLimit { self.partLimit = max(1, partLimit) }
      return attempt()
    }
  }

  private mutating func attempt() -> [Action] {
    guard let file else {
      state = .idle
      return [.disarm]
    }
    guard isAllowed else {
      (state, upload) = (.waitingForNetwork, nil)
      // Looked at again now and then, should the host forget to tell.
      return [.arm(nanoseconds: Self.probe)]
    }
    guard hasToken else {
      state = .refreshing
      return [.disarm, .refresh]
    }
    guard let upload else {
      state = .handshaking
      return [.disarm, .offer(file)]
    }
    state = .shipping
    sent = min(part.byteCount, partLimit, file.byteCount - offset)
    return [.disarm, .send(file, upload: upload, offset: offset, byteCount: sent)]
  }

  /// Nothing more is to be done about this file.
  private mutating func done() -> [Action] {
    (file, upload, conflicts) = (nil, nil, 0)
    return attempt()
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
    (state, upload) = (.waiting, nil)
    trouble = Trouble(category, why)
    return [.arm(nanoseconds: backoff.failed(isMetered: isMetered, retryAfter: retryAfter, random: random))]
  }

  private mutating func refused(_ problem: Problem, _ random: UInt64) -> [Action] {
    let why = "\(problem.code.rawValue): \(problem.detail)"
    switch problem.action {
    case .retry:
      if state == .shipping, problem.code == .timeout { part.failed() }
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
    case .check:
      // The server dropped what it had, or the part was damaged on its way.
      trouble = Trouble(.corrupt, why)
      guard let file, state == .shipping else { return fail(.corrupt, why, random) }
      (state, upload) = (.checking, nil)
      return [.check(file)]
    case .handshake, .report, .snapshot: break
    }
    switch (problem.code, state) {
    case (.mismatchingOffset, .shipping), (.notFound, .shipping):
      conflicts += 1
      trouble = Trouble(.conflict, why)
      guard conflicts == 1, let file else { return fail(.conflict, why, random) }
      upload = problem.offsets.flatMap { $0.expected < file.byteCount ? upload : nil }
      offset = problem.offsets?.expected ?? 0
      return attempt()
    case (.tooLarge, .shipping) where sent > BatchSize.smallest:
      part.failed()
      return fail(.permanent, why, random)
    case (.tooLarge, _), (.refused, _), (.inconsistentLength, _):
      guard let file else { return done() }
      return [.setAside(file, why)] + done()
    default: return settle(in: .refused, .permanent, why)
    }
  }

  private mutating func settle(in state: ReplicationState, _ category: Trouble.Category, _ why: String) -> [Action] {
    (hasToken, isTokenFresh, upload) = (false, false, nil)
    self.state = state
    trouble = Trouble(category, why)
    return [.disarm]
  }
}
