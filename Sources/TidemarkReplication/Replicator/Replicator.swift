public import TidemarkEvidence
public import TidemarkLog
internal import TidemarkProtocol

/// Ships logs to a server, by itself, for as long as it runs: what is saved here goes there as soon as conditions allow, and the server's
/// receipts come back into the history.
///
/// ```swift
/// let keys = try KeyDirectory(at: "device-keys")
/// let log = try Log.open(at: "captures")
/// let replicator = try Replicator(Evidence(log, keys: keys), keys: keys, credentials: FileCredentialStore(at: "credentials"))
/// try replicator.start()
/// for await status in replicator.statuses { show(status) }
/// ```
///
/// The device is enrolled once before that: see ``enrol(_:code:name:keys:credentials:transport:)``. Appending never waits for it. Receipts
/// are staged: they stand before the events of the next append, and cause no commit of their own.
///
/// With a log for what is received, it also fetches what the office publishes: see ``DeviceItems``.
public final class Replicator: Sendable {
  private let logs: [ReplicatedLog]
  private let received: Log?
  private let keys: any SigningKeyProvider
  private let store: any CredentialStore
  private let transport: any Transport
  private let conditions: any ConditionSource
  private let state = Locked(State())

  private struct State {
    var run: ReplicatorRun?
    var statuses: [Status] = []
    var reception: Reception?
    var listeners: [UInt64: AsyncStream<Status>.Continuation] = [:]
    var nextListener: UInt64 = 0
  }

  /// For one log. Nothing is sent before ``start()``.
  ///
  /// - Parameters:
  ///   - evidence: of a log that is open for writing.
  ///   - received: where to keep what the server has for this device: see ``openReceived(at:options:)``. Nil: it is not asked.
  ///   - keys: where the device's keys are.
  ///   - credentials: where enrolment left what the server gave.
  ///   - transport: how requests get there.
  ///   - conditions: who knows what sending costs at the moment.
  public convenience init(
    _ evidence: Evidence, received: Log? = nil, keys: any SigningKeyProvider, credentials: any CredentialStore,
    transport: any Transport = CurlTransport(), conditions: any ConditionSource = AlwaysReachable()
  ) {
    self.init(
      [ReplicatedLog(evidence)], received: received, keys: keys, credentials: credentials, transport: transport, conditions: conditions)
  }

  /// For all logs of a device: one request is under way at a time, that of the most urgent log that has something to send; beside it the
  /// one that fetches.
  public init(
    _ logs: [ReplicatedLog], received: Log? = nil, keys: any SigningKeyProvider, credentials: any CredentialStore,
    transport: any Transport = CurlTransport(), conditions: any ConditionSource = AlwaysReachable()
  ) {
    self.logs = logs
    self.received = received
    self.keys = keys
    store = credentials
    self.transport = transport
    self.conditions = conditions
    conditions.observe { [weak self] in self?.state.withLock { $0.run }?.wake() }
  }

  deinit {
    let (run, listeners) = state.withLock { ($0.run, Array($0.listeners.values)) }
    run?.stop()
    for listener in listeners { listener.finish() }
  }

  // MARK: Running

  /// Begins to ship, and goes on until ``stop()``. Started again after a stop, or while a log waits for a person, it begins with a
  /// handshake.
  ///
  /// Throws `LogError.Code.notEnrolled` without credentials, and errors of the file system.
  public func start() throws {
    let isRunning = state.withLock { state in
      guard let run = state.run else { return false }
      run.restart()
      return true
    }
    if isRunning { return }
    guard let credentials = try store.load(), let grant = credentials.grant else {
      throw LogError(
        .notEnrolled, "the device is not enrolled", why: "it has no credentials", advice: "enrol it with a code of the operator")
    }
    var lanes: [any Lane] = []
    for log in logs {
      lanes.append(try Shipper(log.evidence, keys: keys, publicKey: credentials.publicKey, grant: grant, priority: log.priority))
      lanes.append(try AttachmentLane(AttachmentStore(log.evidence.log), grant))
    }
    let core = ReplicatorCore(lanes, received: try received.map { try ReceivedLog($0) }, store: store, conditions: conditions)
    let run = ReplicatorRun(core, transport, credentials.server) { [weak self] in self?.publish($0, $1) }
    state.withLock { $0.run = run }
    try run.begin(watching: logs.map(\.evidence.log))
  }

  /// Ends what is under way, and returns when nothing more is done. A reply that was on its way counts as lost, which harms nothing.
  public func stop() async {
    guard let run = state.withLock({ $0.run }) else { return }
    run.stop()
    await run.waitForEnd()
    state.withLock { state in
      if state.run === run { state.run = nil }
    }
  }

  /// How each log stands, the most urgent first; empty before ``start()``.
  public var status: [Status] { state.withLock { $0.statuses } }

  /// How fetching from the server stands; nil before ``start()``, and without a log for it.
  public var reception: Reception? { state.withLock { $0.reception } }

  /// How each log stands now, and then each change, also of ``reception``. Old ones are left out for a listener who is slow.
  public var statuses: AsyncStream<Status> {
    let (stream, continuation) = AsyncStream.makeStream(of: Status.self, bufferingPolicy: .bufferingNewest(64))
    state.withLock { state in
      let number = state.nextListener
      state.nextListener += 1
      state.listeners[number] = continuation
      for status in state.statuses { continuation.yield(status) }
      continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
    }
    return stream
  }

  private func publish(_ statuses: [Status], _ reception: Reception?) {
    state.withLock { state in
      let isNew = state.reception != reception
      state.reception = reception
      for (index, status) in statuses.enumerated() where isNew || index >= state.statuses.count || state.statuses[index] != status {
        for listener in state.listeners.values { listener.yield(status) }
      }
      state.statuses = statuses
    }
  }

  /// Opens a log for what the server has for this device, or makes it. One of its own for each device.
  ///
  /// Throws as `Log.open(at:options:)` does.
  ///
  /// ```swift
  /// let received = try Replicator.openReceived(at: "received")
  /// ```
  public static func openReceived(at path: String, options: LogOptions = LogOptions()) throws -> Log {
    try ReceivedLog.open(at: path, options: options)
  }

  // MARK: Signing out

  /// Ends the device's part: stops, closes the logs, and removes their directories, the device's keys and its credentials. What the server
  /// has stays there.
  ///
  /// - Parameter discardsUnsent: whether events that the server has not accepted may go, too.
  ///
  /// Throws `LogError.Code.unsentEvents` while there are such events, and errors of the file system; then it can be called again.
  public func signOut(discardsUnsent: Bool = false) async throws {
    await stop()
    for log in logs { try LogErasure.check(log.evidence, discardsUnsent: discardsUnsent) }
    for log in logs {
      let size = log.evidence.log.size
      try log.evidence.log.close()
      if log.evidence.log.size != size, !discardsUnsent { throw LogErasure.unsent(size..<log.evidence.log.size, log.evidence.log.path) }
    }
    if let received {
      try received.close()
      try LogErasure.erase(received.path, received.environment.fileSystem)
    }
    for log in logs {
      if let key = try log.evidence.key { try keys.removeKey(publicKey: key.publicKey) }
      try LogErasure.erase(log.evidence.log.path, log.evidence.log.environment.fileSystem)
    }
    if let credentials = try store.load() { try keys.removeKey(publicKey: credentials.publicKey) }
    try store.erase()
  }
}

/// A log that is shipped, and how urgent it is.
public struct ReplicatedLog: Sendable {
  /// Of the log, open for writing.
  public var evidence: Evidence
  /// What goes first where several logs wait.
  public var priority: LanePriority

  /// Describes one.
  public init(_ evidence: Evidence, priority: LanePriority = .normal) {
    self.evidence = evidence
    self.priority = priority
  }
}
