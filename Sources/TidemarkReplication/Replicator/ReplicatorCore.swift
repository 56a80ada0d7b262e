internal import TidemarkLog
package import TidemarkProtocol

/// What a ``Replicator`` does between requests: whose turn it is, and with which token. It knows files, but neither network nor clock, and
/// is for one thread at a time.
///
/// One request of a lane is under way at a time, so a lane that waits for its turn has an attempt under way before it. What fetches from
/// the server goes beside them, as the server may hold it.
package final class ReplicatorCore {
  private let lanes: [any Lane]
  private let puller: Puller?
  private let store: any CredentialStore
  private let source: any ConditionSource
  private var token: (text: String, expiry: UInt64)?
  private var inFlight: Flight?
  /// The token of what is held.
  private var heldToken: String?

  private enum Flight {
    case token
    case lane(Int)
  }

  /// What comes next.
  package enum Step: Sendable {
    case send(HTTPRequest)
    /// Beside what is sent; its answer goes to ``receivedHeld(_:now:)``.
    case hold(HTTPRequest)
    /// Until an answer comes, something changes, or that time.
    case wait(until: UInt64?)
  }

  /// A token is not used in its last seconds.
  private static let margin: UInt64 = 20_000_000_000

  /// Lanes of one priority take turns in the order in which they are given.
  ///
  /// - Parameter received: where to keep what the server has for this device; nil: it is not asked.
  package init(_ lanes: [any Lane], received: ReceivedLog? = nil, store: any CredentialStore, conditions: any ConditionSource) {
    let lanes = LanePriority.allCases.flatMap { priority in lanes.filter { $0.priority == priority } }
    self.lanes = lanes
    puller = received.map { Puller($0) { Self.statuses(of: lanes) } }
    self.store = store
    source = conditions
  }

  package var statuses: [Status] { Self.statuses(of: lanes) }

  private static func statuses(of lanes: [any Lane]) -> [Status] {
    var statuses: [Status] = []
    for lane in lanes { lane.report(to: &statuses) }
    return statuses
  }

  /// How fetching stands; nil if the server is not asked.
  package var reception: Reception? { puller?.reception }

  package func start(now: UInt64) {
    for lane in lanes { lane.handle(.started, now: now) }
    puller?.start()
  }

  package func stop(now: UInt64) {
    inFlight = nil
    puller?.stop()
    for lane in lanes { lane.handle(.stopped, now: now) }
  }

  package func poll(now: UInt64) -> Step {
    let conditions = source.conditions
    if let generation = lanes.lazy.compactMap(\.generation).first { for lane in lanes { lane.learned(generation) } }
    for lane in lanes { lane.update(conditions, now: now) }
    puller?.update(conditions, now: now)
    if inFlight == nil, let request = nextRequest(now) { return .send(request) }
    if let puller, puller.isWanting, let token {
      var request = puller.makeRequest(now: now)
      request.fields["authorization"] = "Bearer \(token.text)"
      heldToken = token.text
      return .hold(request)
    }
    return .wait(until: (lanes.map(\.deadline) + [puller?.deadline]).compactMap(\.self).min())
  }

  private func nextRequest(_ now: UInt64) -> HTTPRequest? {
    if let expiry = token?.expiry, expiry <= now { token = nil }
    for (index, lane) in lanes.enumerated() {
      if case .token = lane.wants, token != nil { lane.handle(.refreshed(isFresh: false), now: now) }
      guard let want = lane.wants else { continue }
      guard case .request = want, let token else {
        if let request = tokenRequest(now) { return request }
        continue
      }
      guard var request = lane.makeRequest(now: now) else { continue }
      request.fields["authorization"] = "Bearer \(token.text)"
      inFlight = .lane(index)
      return request
    }
    return token == nil && puller?.isWanting == true ? tokenRequest(now) : nil
  }

  /// Uses the time until an answer comes.
  package func prepare() {
    if case .lane(let index) = inFlight { lanes[index].prepare() }
  }

  /// Takes in the answer to what was sent, or why none came.
  package func received(_ result: Result<HTTPResponse, any Error>, now: UInt64) {
    guard let flight = inFlight else { return }
    inFlight = nil
    switch flight {
    case .token:
      switch result {
      case .success(let response): tokenAnswered(response, now)
      case .failure(let error): tell(.failed(text(of: error)), now)
      }
    case .lane(let index):
      switch result {
      case .success(let response):
        if response.status == 401 { token = nil }
        lanes[index].received(response, now: now)
      case .failure(let error): lanes[index].handle(.failed(text(of: error)), now: now)
      }
    }
  }

  /// Takes in the answer to what was held.
  package func receivedHeld(_ result: Result<HTTPResponse, any Error>, now: UInt64) {
    switch result {
    case .success(let response):
      if response.status == 401, token?.text == heldToken { token = nil }
      puller?.received(response, now: now)
    case .failure(let error): puller?.failed(text(of: error), now: now)
    }
  }

  // MARK: Tokens

  private func tokenRequest(_ now: UInt64) -> HTTPRequest? {
    do {
      guard let grant = try store.load()?.grant else {
        tell(.refused(Problem(.refreshRefused, "this device has no credentials")), now)
        return nil
      }
      inFlight = .token
      return HTTPRequest("POST", "/v1/token", MediaType.json, TokenRequest(refreshToken: grant.refreshToken).json)
    } catch {
      tell(.storageFailed(text(of: error)), now)
      return nil
    }
  }

  private func tokenAnswered(_ response: HTTPResponse, _ now: UInt64) {
    if let problem = Problem(response) { return tell(.refused(problem), now) }
    guard response.status == 200, let answer = TokenAnswer(answer: response) else {
      return tell(.failed("status \(response.status) without a token is not the server's answer"), now)
    }
    do {
      // Kept before anything is done with it: from its first use on, the old one is worth nothing.
      guard var credentials = try store.load(), credentials.grant != nil else { return tell(.failed("the credentials are gone"), now) }
      credentials.grant?.refreshToken = answer.refreshToken
      try store.save(credentials)
    } catch {
      return tell(.storageFailed(text(of: error)), now)
    }
    let lifetime = answer.expiresIn * 1_000_000_000
    token = (answer.accessToken, now &+ max(lifetime / 2, lifetime > Self.margin ? lifetime - Self.margin : 0))
    for lane in lanes { if case .token = lane.wants { lane.handle(.refreshed(isFresh: true), now: now) } }
  }

  /// All who wait for a token.
  private func tell(_ input: DeviceSession.Input, _ now: UInt64) {
    for lane in lanes where lane.wants != nil { lane.handle(input, now: now) }
    guard let puller, puller.isWanting else { return }
    switch input {
    case .refused(let problem): puller.refused(problem, now: now)
    case .failed(let why): puller.failed(why, now: now)
    case .storageFailed(let why): puller.failed(why, .storage, now: now)
    default: break
    }
  }
}
