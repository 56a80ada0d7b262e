internal import TidemarkLog
package import TidemarkProtocol

/// Fetches what the server has for this device, and keeps it in a ``ReceivedLog``. It knows files, but neither network nor clock, and is
/// for one thread.
///
/// Over a network that costs nothing it asks again at once, and the server holds the request until there is something; otherwise it asks
/// now and then, and after this device has shipped something.
package final class Puller {
  private var received: ReceivedLog
  private let logs: () -> [Status]
  private enum Want {
    case changes, snapshot
  }
  private enum State {
    case stopped
    /// It wants to ask.
    case wanting
    case asking
    /// Until the deadline, or news.
    case waiting
    case waitingForNetwork
    /// Until a person does something.
    case refused
  }

  private var state = State.stopped
  private var want = Want.changes
  private var isTokenRefused = false
  /// Since it was started.
  private var isCaughtUp = false
  private var asked: (accepted: [EventID: Offset], isHeld: Bool, since: UInt64) = ([:], false, 0)
  /// As the last page noted.
  private var noted: [EventID: Offset] = [:]
  private var backoff = Backoff()
  private var conditions = Conditions()
  private var lastAsked: UInt64 = 0
  private var random: any RandomSource { received.log.environment.random }
  package private(set) var deadline: UInt64?
  /// How it stands.
  package private(set) var reception = Reception()

  private static let second: UInt64 = 1_000_000_000
  private static let holdSeconds: UInt64 = 50
  private static let shortest = 10 * second
  private static let meteredInterval = 300 * second
  private static let savingInterval = 900 * second

  /// - Parameter logs: how shipping stands.
  package init(_ received: ReceivedLog, logs: @escaping () -> [Status]) {
    self.received = received
    self.logs = logs
    reception.through = received.cursor?.through ?? 0
  }

  /// Whether it wants to send a request.
  package var isWanting: Bool { state == .wanting }

  /// Below which offset the server has accepted what, by log, as far as this device knows.
  private var accepted: [EventID: Offset] {
    Dictionary(logs().map { ($0.log, $0.accepted) }, uniquingKeysWith: { min($0, $1) })
  }

  /// Whether something is being shipped: then the answer to that is waited for first.
  private var isShipping: Bool { logs().contains { $0.state.isWork } }

  // MARK: Time and conditions

  /// The device's interval between two questions; nil: the server holds them.
  private var interval: UInt64? {
    if conditions.isConstrained || conditions.batteryPercent.map({ $0 < Conditions.lowBatteryPercent }) ?? false {
      return Self.savingInterval
    }
    return conditions.isMetered ? Self.meteredInterval : nil
  }

  package func start() {
    guard state == .stopped || state == .refused || state == .waiting else { return }
    isCaughtUp = false
    (state, deadline) = (.wanting, nil)
  }

  package func stop() { (state, deadline) = (.stopped, nil) }

  package func update(_ conditions: Conditions, now: UInt64) {
    self.conditions = conditions
    switch state {
    case .wanting where !conditions.isReachable: state = .waitingForNetwork
    case .waitingForNetwork where conditions.isReachable: state = .wanting
    case .waiting:
      // What was shipped meanwhile has been decided.
      if backoff.attempts == 0, !isShipping, accepted != noted {
        deadline = min(deadline ?? .max, interval == nil ? now : lastAsked + Self.shortest)
      }
      if let deadline, deadline <= now { (state, self.deadline) = (conditions.isReachable ? .wanting : .waitingForNetwork, nil) }
    default: break
    }
    reception.isCurrent = isCaughtUp && !isShipping && accepted == noted
  }

  // MARK: Requests

  package func makeRequest(now: UInt64) -> HTTPRequest {
    let accepted = accepted
    let since = received.cursor?.through ?? 0
    let isHeld = want == .changes && interval == nil && isCaughtUp && accepted == noted
    asked = (accepted, isHeld, since)
    lastAsked = now
    state = .asking
    if want == .snapshot { return HTTPRequest("GET", "/v1/changes/snapshot") }
    var request = HTTPRequest("GET", "/v1/changes?since=\(since)")
    if isHeld { request.fields["prefer"] = "wait=\(Self.holdSeconds)" }
    return request
  }

  package func failed(_ why: String, _ category: Trouble.Category = .transport, retryAfter: UInt64? = nil, now: UInt64) {
    guard state != .stopped else { return }
    let delay = backoff.failed(isMetered: conditions.isMetered, retryAfter: retryAfter, random: random.next())
    reception.trouble = Trouble(category, why)
    (state, deadline) = (.waiting, now &+ delay)
  }

  /// A token that was refused; a second time in a row it is a failure. There is another one by then.
  package func unauthorized(now: UInt64) {
    if isTokenRefused { return failed("the server refuses a token that it gave", .auth, now: now) }
    isTokenRefused = true
    state = .wanting
  }

  package func refused(_ problem: Problem, now: UInt64) {
    guard state != .stopped else { return }
    let why = problem.detail.isEmpty ? problem.code.rawValue : "\(problem.code.rawValue): \(problem.detail)"
    switch problem.action {
    case .refresh: unauthorized(now: now)
    case .snapshot: ask(.snapshot)
    case .signIn, .stop:
      reception.trouble = Trouble(.auth, why)
      (state, deadline) = (.refused, nil)
    case .report:
      reception.trouble = Trouble(.permanent, why)
      (state, deadline) = (.waiting, now &+ Self.savingInterval)
    case .retry, .handshake, .check:
      failed(why, problem.action == .retry ? .retryable : .conflict, retryAfter: problem.retryAfter, now: now)
    }
  }

  private func ask(_ want: Want) {
    self.want = want
    (state, deadline) = (.wanting, nil)
  }

  package func received(_ response: HTTPResponse, now: UInt64) {
    guard state == .asking else { return }
    if let problem = Problem(response) { return refused(problem, now: now) }
    guard response.status == 200, let answer = ChangesAnswer(answer: response, entries: want == .changes ? "changes" : "items") else {
      return failed("status \(response.status) without changes is not the server's answer", now: now)
    }
    isTokenRefused = false
    do {
      switch want {
      case .snapshot:
        try received.take(snapshot: answer, accepted: asked.accepted)
        want = .changes
        noted = asked.accepted
        done(isComplete: answer.isComplete, isEmpty: false, now)
      case .changes: try take(answer, now)
      }
    } catch let error as LogError where error.code == .conflict {
      // A number of this generation that was another change before: the server went back without saying so.
      ask(.snapshot)
    } catch {
      failed(text(of: error), .storage, now: now)
    }
  }

  private func take(_ page: ChangesAnswer, _ now: UInt64) throws {
    guard page.through >= asked.since || isOther(page) else { return failed("the answer ends before its beginning", now: now) }
    // Another generation may number other changes; another place or person has other items.
    guard !isOther(page) else { return ask(.snapshot) }
    try received.take(page, accepted: asked.accepted)
    if page.isComplete { noted = asked.accepted }
    done(isComplete: page.isComplete, isEmpty: page.entries.isEmpty, now)
  }

  private func isOther(_ page: ChangesAnswer) -> Bool {
    guard let cursor = received.cursor else { return false }
    return cursor.generation != page.generation || cursor.place != page.place || cursor.person != page.person
  }

  private func done(isComplete: Bool, isEmpty: Bool, _ now: UInt64) {
    backoff.succeeded()
    reception.trouble = nil
    reception.through = received.cursor?.through ?? 0
    isCaughtUp = isCaughtUp || isComplete
    guard isComplete else { return ask(.changes) }
    if let pause = interval ?? (isShipping ? Self.shortest : nil) { return (state, deadline) = (.waiting, now &+ pause) }
    // A server that does not hold requests is not asked more often than that.
    if isEmpty, !asked.isHeld || now < lastAsked + Self.second {
      (state, deadline) = (.waiting, now &+ (asked.isHeld ? Self.second : 0))
    } else {
      ask(.changes)
    }
  }
}

/// How fetching from the server stands.
///
/// ```swift
/// if let reception = replicator.reception, !reception.isCurrent { show(reception.trouble?.detail ?? "asking the server") }
/// ```
public struct Reception: Sendable, Equatable {
  /// All changes up to this number of the server's that are for this device are here.
  public var through: UInt64 = 0
  /// Whether, since the replicator was started and the last event was accepted, the server said that there was nothing more.
  public var isCurrent = false
  /// What went wrong last; nil once something succeeded.
  public var trouble: Trouble?

  init() {}
}
