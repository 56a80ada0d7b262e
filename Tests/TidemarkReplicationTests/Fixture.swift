import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

/// A device with a log on a simulated disk, a server beside it, and time that passes only when somebody waits.
final class Fixture {
  let disk = SimulatedDisk()
  let clock = SteppingClock()
  let server: ServerDouble
  let environment: Environment
  let options: LogOptions
  let conditions = TestConditions()
  private(set) var log: Log
  private(set) var evidence: Evidence
  private(set) var core: ReplicatorCore
  private(set) var now: UInt64 = 1_000_000_000
  /// What happens to a request: nil lets it through.
  var fault: (HTTPRequest) -> NetworkFault? = { _ in nil }
  private(set) var requests: [HTTPRequest] = []
  /// The server's end.
  private var answer: (HTTPRequest) -> HTTPResponse = { _ in HTTPResponse(0) }
  /// How long the last wait was, in nanoseconds.
  private(set) var waits: [UInt64] = []

  static let grant = "http://127.0.0.1:1"

  init(seed: UInt64 = 1, enrols: Bool = true) throws {
    environment = .simulated(disk, seed: seed, clock: clock)
    var options = LogOptions()
    options.segmentByteCount = 8192
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    self.options = options
    server = try ServerDouble()
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
    let keys = try KeyDirectory(at: "/keys", disk)
    evidence = try Evidence(log, keys: keys)
    store = FileCredentialStore(at: "/credentials", disk)
    core = ReplicatorCore([], store: store, conditions: conditions)
    answer = { [server] in server.answer($0) }
    if enrols { try enrol() }
    try begin()
  }

  let store: FileCredentialStore
  var keys: KeyDirectory { get throws { try KeyDirectory(at: "/keys", disk) } }

  /// - Parameter ask: another server; from then on it is the one.
  func enrol(_ code: String = "CODE-1", at ask: ((HTTPRequest) -> HTTPResponse)? = nil) throws {
    if let ask { answer = ask }
    let publicKey = try store.load()?.publicKey ?? keys.makeKey()
    let signature = try keys.sign(Enrolment.signatureMessage(of: code), publicKey: publicKey)
    let enrolment = Enrolment(code: code, publicKey: publicKey, signature: signature)
    let answer = answer(HTTPRequest("POST", "/v1/enrol", MediaType.json, enrolment.json))
    let enrolled = try #require(EnrolmentAnswer(answer: answer))
    let grant = Credentials.Grant(
      device: enrolled.device, tenant: enrolled.tenant, refreshToken: enrolled.refreshToken, serverKey: enrolled.serverKey)
    try store.save(Credentials(server: ServerAddress(Self.grant), publicKey: publicKey, grant: grant))
  }

  private func begin() throws {
    guard let credentials = try store.load(), let grant = credentials.grant else { return }
    let shipper = try Shipper(evidence, keys: keys, publicKey: credentials.publicKey, grant: grant, preparedCount: 1)
    core = ReplicatorCore([shipper], store: store, conditions: conditions)
    core.start(now: now)
  }

  func append(_ count: Int, type: String = "scan") throws {
    let first = Int(log.size)
    try log.append((0..<count).map { NewEvent(type: type, data: Array("event \(first + $0)".utf8)) })
  }

  /// The process ends and begins again.
  func reopen() throws {
    try? log.close()
    log = try Log.open(at: "/log", options: options, environment: environment)
    evidence = try Evidence(log, keys: keys)
    try begin()
  }

  /// The process is killed, or the power goes, and it begins again.
  func crash(_ cut: PowerCut?) throws {
    if let cut { disk.powerCycle(cut) } else { disk.processKill() }
    log = try Log.open(at: "/log", options: options, environment: environment)
    evidence = try Evidence(log, keys: keys)
    try begin()
  }

  var status: Status { core.statuses[0] }

  /// Lets the device work until it waits for something else than time, or so many requests were sent. Time passes as it waits.
  func run(requests limit: Int = 10_000, waits waitLimit: Int = 10_000) {
    var sent = 0
    var waited = 0
    while sent < limit {
      switch core.poll(now: now) {
      case .send(let request):
        sent += 1
        requests.append(request)
        core.prepare()
        core.received(exchange(request), now: now)
      case .hold, .wait(nil): return
      case .wait(let deadline?):
        if deadline <= now { continue }
        if waited >= waitLimit { return }
        waited += 1
        waits.append(deadline - now)
        now = deadline
      }
    }
  }

  /// The request that is sent now; nil if none is.
  func next() -> HTTPRequest? {
    if case .send(let request) = core.poll(now: now) { request } else { nil }
  }

  /// Time passes, and nothing else.
  func pass(_ nanoseconds: UInt64) { now += nanoseconds }

  func exchange(_ request: HTTPRequest) -> Result<HTTPResponse, any Error> {
    guard let fault = fault(request) else { return .success(answer(request)) }
    return fault.apply(request, answer)
  }

  /// The callers' events of the log, by id.
  func ids() throws -> [EventID] { try log.events(in: log.first..<log.size).map(\.id) }

  /// All that was appended is at the server, each event once.
  func expectAllAccepted(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let ids = try ids()
    #expect(status.state == .idle, sourceLocation: sourceLocation)
    #expect(Set(ids).isSubset(of: Set(server.taken.keys)), sourceLocation: sourceLocation)
    #expect(server.changes == UInt64(server.taken.count), sourceLocation: sourceLocation)
    #expect(status.trouble == nil, sourceLocation: sourceLocation)
  }
}

final class TestConditions: ConditionSource {
  private let state = Locked((conditions: Conditions(), changed: { @Sendable () -> Void in }))
  var conditions: Conditions { state.withLock { $0.conditions } }
  func observe(_ changed: @escaping @Sendable () -> Void) { state.withLock { $0.changed = changed } }
  func set(_ change: (inout Conditions) -> Void) {
    let changed = state.withLock { state in
      change(&state.conditions)
      return state.changed
    }
    changed()
  }
}

/// What goes wrong with one request.
enum NetworkFault {
  case requestLost, replyLost
  case problem(Problem)
  case portal, redirect, gateway, wrongType
  /// The server's own answer, changed.
  case changed((inout HTTPResponse) -> Void)
  /// The bytes of the request are damaged on the way.
  case damagedRequest

  func apply(_ request: HTTPRequest, _ answer: (HTTPRequest) -> HTTPResponse) -> Result<HTTPResponse, any Error> {
    switch self {
    case .requestLost: return .failure(LogError(.transport, "no answer"))
    case .replyLost:
      _ = answer(request)
      return .failure(LogError(.transport, "no answer"))
    case .problem(let problem): return .success(problem.response)
    case .portal:
      var fields = HTTPFields()
      fields["content-type"] = "text/html"
      return .success(HTTPResponse(200, fields: fields, body: Array("<html>Sign in to this network</html>".utf8)))
    case .redirect:
      var fields = HTTPFields()
      fields["location"] = "http://portal.example/"
      return .success(HTTPResponse(302, fields: fields))
    case .gateway: return .success(HTTPResponse(502))
    case .wrongType:
      var response = answer(request)
      response.fields["content-type"] = "application/json"
      return .success(response)
    case .changed(let change):
      var response = answer(request)
      change(&response)
      return .success(response)
    case .damagedRequest:
      var request = request
      if !request.body.isEmpty { request.body[request.body.count / 2] ^= 1 }
      return .success(answer(request))
    }
  }
}
