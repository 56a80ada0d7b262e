package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol
internal import TidemarkText

/// A server of the replication protocol, from request to answer: everything but sockets.
///
/// ```swift
/// let server = try Server(at: "server")
/// server.handle(request) { reply in … }
/// try server.close()
/// ```
package final class Server: RequestHandler {
  /// The directory.
  package let path: String
  /// Whose receipts count.
  package let key: VerifierKey
  package let accounts: Accounts
  package let storage: any Storage
  package let uploads: Uploads
  let options: ServerOptions
  let environment: Environment
  let keys: KeyDirectory
  let committer: Committer
  let waiting: Waiting
  let news: News
  /// Who may ship an epoch: the last one that shook hands, by log and epoch. One that is not here shakes hands again.
  let senders = Locked([EpochName: Sender]())
  private let rates: Locked<RateLimiter>
  private let isStopping = Locked(false)

  struct Sender {
    let id: EventID
    /// The key that the enrolled one vouches for at this handshake; nil if it does not.
    let key: [UInt8]?
  }

  struct EpochName: Hashable {
    let log: EventID
    let epoch: EventID
  }

  /// Of a body that is no shipment, in bytes.
  private static let messageByteLimit: UInt64 = 64 << 10

  /// Opens a server's directory, or makes it.
  ///
  /// - Parameters:
  ///   - path: the directory.
  ///   - rowsPath: the directory of the databases; nil: the same.
  ///
  /// Throws errors of the file system and of the databases.
  package init(
    at path: String, rowsPath: String? = nil, options: ServerOptions = ServerOptions(),
    environment: Environment = Environment(fileSystem: POSIXFileSystem(), clock: SystemClock(), random: SystemRandom())
  ) throws {
    let files = environment.fileSystem
    if try files.status(path) == nil { try files.makePrivateDirectory(path) }
    // Also of one that is there: who made it may have been killed before this.
    if !seeded(.serverDirectoryNotSynced) { try files.syncDirectory(files.directory(of: path)) }
    self.path = path
    self.options = options
    self.environment = environment
    keys = try KeyDirectory(at: "\(path)/keys", files)
    key = try Self.key(path, options.name, keys, files)
    let storage = try EmbeddedStorage(at: path, rowsPath: rowsPath ?? path, limits: options.limits, environment: environment)
    self.storage = storage
    accounts = try Accounts(
      "\(rowsPath ?? path)/accounts.sqlite", operatorToken: try Self.operatorToken(path, environment), environment: environment)
    uploads = try Uploads(at: "\(path)/attachments", environment, limits: options.uploads) { [key, keys] message in
      try keys.sign(message, publicKey: key.publicKey)
    }
    let waiting = Waiting(environment)
    self.waiting = waiting
    let news = News()
    self.news = news
    rates = Locked(RateLimiter(rate: options.limits.rate))
    committer = Committer(
      environment: environment,
      commit: { storage.commit($0, at: environment.clock.now().time) },
      afterwards: {
        let pause = Self.lookAtTime(storage, environment.clock)
        waiting.wake()
        news.tell()
        return pause
      })
    try waiting.start()
    try committer.start()
  }

  /// Writes that a time has come, if it changes anything. Returns the nanoseconds until the next look; nil if nothing waits for its time.
  private static func lookAtTime(_ storage: any Storage, _ clock: any DeviceClock) -> UInt64? {
    let now = clock.now().time
    let seconds = UInt64(max(0, now.nanoseconds / 1_000_000_000))
    guard let next = (try? storage.nextTime()) ?? nil else { return nil }
    if next > seconds { return min(next - seconds, 60) * 1_000_000_000 }
    // Whatever comes of it: in a second it is looked at again.
    _ = storage.commit([.time(TimeRecord(seconds: seconds))], at: now)
    return 1_000_000_000
  }

  private static func key(_ path: String, _ name: String, _ keys: KeyDirectory, _ files: any FileSystem) throws -> VerifierKey {
    let file = "\(path)/server-key"
    if let text = try files.contents(file) {
      let key = try VerifierKey(String(decoding: text, as: UTF8.self).filter { $0 != "\n" })
      _ = try keys.sign([], publicKey: key.publicKey)
      return key
    }
    let key = try VerifierKey(name: name, kind: .cosignature, publicKey: try keys.makeKey())
    try files.replace(file, with: Array("\(key)\n".utf8))
    return key
  }

  private static func operatorToken(_ path: String, _ environment: Environment) throws -> String {
    let file = "\(path)/operator-token"
    if let text = try environment.fileSystem.contents(file) { return String(decoding: text, as: UTF8.self).filter { $0 != "\n" } }
    let token = Secret.token(Secret.operatorToken, environment.random)
    try environment.fileSystem.replace(file, with: Array("\(token)\n".utf8), .createPrivate)
    return token
  }

  /// Answers what is held, commits what was taken in, and ends streams. Requests after it are refused.
  package func stop() {
    isStopping.withLock { $0 = true }
    waiting.stop()
    committer.stop()
    news.tell()
  }

  /// Stops and closes.
  package func close() throws {
    stop()
    try (storage as? EmbeddedStorage)?.close()
  }

  var now: ClockReading { environment.clock.now() }
  var isClosing: Bool { isStopping.withLock { $0 } }

  // MARK: Requests

  package func refusal(of head: HTTPRequest, byteCount: UInt64?) -> HTTPResponse? {
    do {
      let target = Target(head.target)
      let isLong = target.path.last == "frames" || target.path.starts(with: ["v1", "uploads"])
      let limit = isLong ? options.limits.requestBytes : Self.messageByteLimit
      if !Self.isOpen(target, head.method) {
        let credential = try credential(head)
        if case .device(let device) = credential, let wait = rate(device.id, takes: false) { throw Self.tooMany(wait) }
      }
      if isClosing { throw Problem.stopping }
      guard let byteCount else {
        if ["POST", "PUT", "PATCH"].contains(head.method) { throw Problem(.lengthRequired, "say how long the body is") }
        return nil
      }
      if byteCount > limit { throw Problem(.tooLarge, "at most \(limit) bytes are taken here") }
      return nil
    } catch {
      return Self.problem(error).response
    }
  }

  package func onNews(_ signal: @escaping @Sendable () -> Void) { news.onNews(signal) }

  package func handle(_ request: HTTPRequest, reply: @escaping @Sendable (Reply) -> Void) {
    do { try answer(request, reply) } catch { reply(.answer(Self.problem(error).response)) }
  }

  private func answer(_ request: HTTPRequest, _ reply: @escaping @Sendable (Reply) -> Void) throws {
    let target = Target(request.target)
    let isOpen = Self.isOpen(target, request.method)
    let credential = isOpen ? nil : try credential(request)
    if case .device(let device) = credential, let wait = rate(device.id, takes: true) { throw Self.tooMany(wait) }
    if isClosing { throw Problem.stopping }
    let isIntact = request.fields[ContentDigestField.name].flatMap { ContentDigestField.matches($0, request.body) }
    if isIntact == false { throw Problem(.digestMismatch, "the body is not what Content-Digest says") }
    guard let credential else { return reply(.answer(try answerOpen(target, request))) }
    try answer(Call(target: target, request: request, credential: credential, isDigested: isIntact == true), reply)
  }

  /// Whether a call needs no credential.
  private static func isOpen(_ target: Target, _ method: String) -> Bool {
    ["v1/enrol", "v1/token", "healthz", "readyz", "openapi.json"].contains(target.path.joined(separator: "/"))
  }

  func credential(_ request: HTTPRequest) throws -> Credential {
    guard let token = bearer(request) else { throw Problem.unauthorized }
    return try accounts.credential(token)
  }

  func bearer(_ request: HTTPRequest) -> String? {
    guard let field = request.fields["authorization"], field.utf8.count <= 512, field.lowercased().hasPrefix("bearer ") else { return nil }
    return String(field.dropFirst("bearer ".count))
  }

  private func rate(_ device: EventID, takes: Bool) -> UInt64? {
    let elapsed = now.elapsed
    return rates.withLock { $0.refusal(of: device, now: elapsed, takes: takes) }
  }

  private static func tooMany(_ wait: UInt64) -> Problem { Problem(.tooMany, "send fewer requests a second", retryAfter: max(1, wait)) }

  /// What an error is to whoever asked.
  static func problem(_ error: any Error) -> Problem {
    if let problem = error as? Problem { return problem }
    if let error = error as? TextError { return Problem(.malformed, "the body can't be read: \(error.why)") }
    guard let error = error as? LogError else { return Problem(.internal, "the server failed") }
    switch error.code {
    case .closed: return .stopping
    case .invalidText: return Problem(.malformed, "\(error.what): \(error.why)")
    case .corrupt, .invalidArgument: return Problem(.internal, "the server failed")
    default: return Problem(.storage, "nothing was stored: try again", retryAfter: 5)
    }
  }
}

/// A request whose sender is known.
struct Call: Sendable {
  let target: Target
  let request: HTTPRequest
  let credential: Credential
  /// Whether it brought its body's SHA-256.
  let isDigested: Bool

  /// The body, which has to be JSON.
  func message<Value: Message>(_ type: Value.Type) throws -> Value { try request.message(type) }

  /// The device that sends it. Throws `Problem.Code.notPermitted` for another credential.
  func device() throws -> DeviceAccount {
    guard case .device(let device) = credential else { throw Problem(.notPermitted, "that is for devices") }
    return device
  }
}

extension HTTPRequest {
  /// The body, which has to be JSON.
  func message<Value: Message>(_ type: Value.Type) throws -> Value {
    guard MediaType.matches(fields["content-type"], MediaType.json) || MediaType.matches(fields["content-type"], MediaType.answer) else {
      throw Problem(.mediaType, "send \(MediaType.json)")
    }
    return try Value(json: body)
  }
}

extension Problem {
  static let stopping = Problem(.stopping, "try again in a while", retryAfter: 5)
  static func method(_ allowed: String) -> Problem { Problem(.method, "allowed here: \(allowed)", allow: allowed) }
}
