internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

/// A request on its way, from its first line to the end of its answer.
final class Exchange: Sendable {
  /// What the library is to do.
  enum Step {
    /// Go on reading, or wait for ``Exchange/reply(_:)``: the connection was suspended.
    case more
    /// Send this; then close the connection, or not.
    case answer(HTTPResponse, closes: Bool)
    case stream(HTTPResponse, EventStream)
  }

  private enum Stage {
    case head
    case body
    /// The body is read and thrown away: answers reach clients better where nothing is left unread.
    case refused(HTTPResponse)
    case handling
  }

  private struct State {
    var stage = Stage.head
    var request: HTTPRequest
    var reply: Reply?
    var isWaiting = false
    var reserved: UInt64 = 0
    var received: UInt64 = 0
    var sent: UInt64 = 0
    var status = 0
    var stream: EventStream?
    var hasBegun = false
  }

  let connection: Connection
  private let traffic: Traffic
  private let time: Timestamp
  private let start = ContinuousClock.now
  private let state: Locked<State>

  /// Longer bodies of refused requests are not read.
  private static let drainLimit: UInt64 = 64 << 10
  /// Fields that mean something else if they come twice.
  private static let single: Set<String> = [
    "authorization", "content-digest", "content-length", "content-type", "host", "last-event-id", "tidemark-sender", "transfer-encoding",
    "upload-offset",
  ]

  /// - Parameter target: as it stands in the request line; nil if that is not UTF-8.
  init(_ connection: Connection, _ traffic: Traffic, target: String?) {
    self.connection = connection
    self.traffic = traffic
    time = traffic.clock.now().time
    state = Locked(State(request: HTTPRequest("", target ?? "")))
    traffic.limit(connection, seconds: traffic.options.headSeconds)
  }

  var hasBegun: Bool { state.withLock { $0.hasBegun } }
  /// Whether only the head of the answer is sent.
  var isHead: Bool { state.withLock { $0.request.method == "HEAD" } }

  // MARK: On the library's thread

  /// Takes the header fields; nil stands for a field that is malformed.
  func begin(method: String?, fields: [(name: String, value: String)?], headerByteCount: Int) -> Step {
    traffic.began()
    let head = state.withLock { state in
      state.hasBegun = true
      state.request.method = method ?? ""
      return state.request
    }
    switch check(head, fields, headerByteCount) {
    case .wrong(let problem): return .answer(problem.response, closes: true)
    case .fine(let request, let length):
      let byteCount = length ?? 0
      let expectsContinue = request.fields["expect"] != nil
      guard traffic.phase == .open else { return refuse(Traffic.stopping, byteCount, expectsContinue) }
      traffic.limit(connection, seconds: traffic.seconds(for: byteCount))
      if let refusal = traffic.handler.refusal(of: request, byteCount: length) {
        return refuse(refusal, byteCount, expectsContinue)
      }
      guard traffic.reserve(byteCount) else {
        let problem = Problem(.tooMany, "The server takes no more bodies at this moment.", retryAfter: 2)
        return refuse(problem.response, byteCount, expectsContinue)
      }
      state.withLock { state in
        state.request = request
        state.stage = .body
        state.reserved = byteCount
      }
      return .more
    }
  }

  private struct Refusal: Error { let problem: Problem }

  private enum Head {
    case fine(HTTPRequest, UInt64?)
    case wrong(Problem)
  }

  /// The request's head and the length of its body.
  private func check(
    _ head: HTTPRequest, _ fields: [(name: String, value: String)?], _ headerByteCount: Int
  ) -> Head {
    guard headerByteCount <= traffic.options.headerByteLimit else {
      return .wrong(Problem(.headersTooLarge, "The header fields may have \(traffic.options.headerByteLimit) bytes."))
    }
    guard let target = Self.path(head.target), Self.isToken(head.method) else {
      return .wrong(Problem(.malformed, "The request line is malformed."))
    }
    var request = HTTPRequest(head.method, target)
    for field in fields {
      guard let (name, value) = field, Self.isToken(name), value.utf8.allSatisfy({ $0 == 9 || ($0 >= 32 && $0 != 127) }) else {
        return .wrong(Problem(.malformed, "A header field is malformed."))
      }
      if let earlier = request.fields[name] {
        guard !Self.single.contains(name.lowercased()) else { return .wrong(Problem(.malformed, "A header field is there twice.")) }
        request.fields[name] = earlier + ", " + value
      } else {
        request.fields[name] = value
      }
    }
    guard request.fields["transfer-encoding"] == nil else {
      return .wrong(Problem(.lengthRequired, "Bodies have a Content-Length here."))
    }
    var byteCount: UInt64?
    if let text = request.fields["content-length"] {
      guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }), let count = UInt64(text) else {
        return .wrong(Problem(.malformed, "Content-Length is no number."))
      }
      byteCount = count
    }
    guard byteCount ?? 0 <= traffic.options.bodyByteLimit else {
      return .wrong(Problem(.tooLarge, "Bodies may have \(traffic.options.bodyByteLimit) bytes here."))
    }
    return .fine(request, byteCount)
  }

  private func refuse(_ response: HTTPResponse, _ byteCount: UInt64, _ expectsContinue: Bool) -> Step {
    if expectsContinue || byteCount > Self.drainLimit { return .answer(response, closes: true) }
    state.withLock { $0.stage = .refused(response) }
    return .more
  }

  /// The path and query of a request's target; nil if it is malformed.
  private static func path(_ target: String) -> String? {
    guard target.utf8.allSatisfy({ $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "#") }) else { return nil }
    if target.hasPrefix("/") { return target }
    // The absolute form, which servers have to understand.
    let lower = target.lowercased()
    guard lower.hasPrefix("http://") || lower.hasPrefix("https://"), let colon = target.firstIndex(of: ":") else { return nil }
    let rest = target[target.index(colon, offsetBy: 3)...]
    guard let slash = rest.firstIndex(of: "/") else { return "/" }
    return String(rest[slash...])
  }

  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 256
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// Takes bytes of the body.
  func take(_ bytes: [UInt8]) {
    state.withLock { state in
      state.received += UInt64(bytes.count)
      if case .body = state.stage { state.request.body.append(contentsOf: bytes) }
    }
  }

  /// The body is there, or the connection was resumed.
  func proceed() -> Step {
    var complete: HTTPRequest?
    let refusal: HTTPResponse? = state.withLock { state in
      switch state.stage {
      case .refused(let response): return response
      case .body:
        state.stage = .handling
        complete = state.request
        state.request.body = []
      case .head, .handling: break
      }
      return nil
    }
    if let refusal { return answer(refusal) }
    if let complete {
      traffic.limit(connection, seconds: nil)
      traffic.handler.handle(complete) { [self] reply in self.reply(reply) }
    }
    let reply: Reply? = state.withLock { state in
      if let reply = state.reply { return reply }
      guard traffic.waits(self) else {
        state.reply = .answer(Traffic.stopping)
        return state.reply
      }
      state.isWaiting = true
      connection.suspend()
      return nil
    }
    switch reply {
    case nil: return .more
    case .answer(let response): return answer(response)
    case .stream(let response, let after, let next):
      let stream = EventStream(connection, traffic, after: after, next: next)
      state.withLock { $0.stream = stream }
      traffic.opened(stream)
      if traffic.phase != .open { stream.end() }
      return .stream(response, stream)
    }
  }

  private func answer(_ response: HTTPResponse) -> Step {
    traffic.limit(connection, seconds: traffic.seconds(for: UInt64(response.body.count)))
    return .answer(response, closes: traffic.phase != .open)
  }

  /// Notes what was given to the library to send.
  func answered(status: Int, byteCount: Int) {
    state.withLock { state in
      state.status = status
      state.sent = UInt64(byteCount)
    }
  }

  /// The answer was sent, or the connection ended before.
  func end(isComplete: Bool) {
    let state = state.withLock { $0 }
    guard state.hasBegun else { return }
    traffic.release(state.reserved)
    let seconds = start.duration(to: .now).components
    traffic.ended(
      self,
      RequestRecord(
        time: time, peer: connection.peer, method: state.request.method, target: state.request.target,
        route: HTTPRoute(target: state.request.target), status: isComplete || state.stream != nil ? state.status : 0,
        received: state.received, sent: state.stream?.sent ?? (isComplete ? state.sent : 0),
        seconds: Double(seconds.seconds) + Double(seconds.attoseconds) / 1e18))
  }

  // MARK: On any thread

  /// The first reply counts.
  func reply(_ reply: Reply) {
    state.withLock { state in
      guard state.reply == nil else { return }
      state.reply = reply
      guard state.isWaiting else { return }
      state.isWaiting = false
      traffic.waitsNoMore(self)
      connection.resume()
    }
  }
}
