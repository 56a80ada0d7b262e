internal import TidemarkLog
internal import TidemarkProtocol

/// The thread of a ``Replicator`` between start and stop: it holds the core, waits, and hands requests to the transport.
final class ReplicatorRun: Sendable {
  private let core: Locked<ReplicatorCore>
  private let transport: any Transport
  private let server: ServerAddress
  private let publish: @Sendable ([Status], Reception?) -> Void
  /// Raised to wake the thread.
  private let word = WaitWord()
  private let mail = Locked(Mail())

  private struct Mail {
    var answer: Result<HTTPResponse, any Error>?
    var heldAnswer: Result<HTTPResponse, any Error>?
    var exchange: Task<Void, Never>?
    var held: Task<Void, Never>?
    var watchers: [Task<Void, Never>] = []
    var restarts = false
    var isStopping = false
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// So that a timer keeps its time over a sleep of the device, nearly.
  private static let longestWait: UInt64 = 60_000_000_000

  init(
    _ core: sending ReplicatorCore, _ transport: any Transport, _ server: ServerAddress,
    publish: @escaping @Sendable ([Status], Reception?) -> Void
  ) {
    self.core = Locked(core)
    self.transport = transport
    self.server = server
    self.publish = publish
  }

  func begin(watching logs: [Log]) throws {
    core.withLock { core in
      core.start(now: monotonicNow())
      publish(core.statuses, core.reception)
    }
    try runThread(name: "replicator", lowPriority: false) { self.work() }
    let watchers = logs.map { log in Task.detached { [word] in await Self.watch(log) { word.increment() } } }
    mail.withLock { $0.watchers = watchers }
  }

  /// Calls back whenever there is more in the log.
  private static func watch(_ log: Log, _ wake: @Sendable () -> Void) async {
    while !Task.isCancelled, !log.isOver {
      let size = log.size
      do { try await log.waitForEvents(from: size) } catch { try? await Task.sleep(for: .seconds(1)) }
      wake()
    }
  }

  func wake() { word.increment() }

  func restart() {
    mail.withLock { $0.restarts = true }
    wake()
  }

  func stop() {
    let tasks = mail.withLock { mail in
      mail.isStopping = true
      return mail.watchers + [mail.exchange, mail.held].compactMap { $0 }
    }
    for task in tasks { task.cancel() }
    wake()
  }

  func waitForEnd() async {
    await withCheckedContinuation { continuation in
      let isOver = mail.withLock { mail in
        if !mail.isOver { mail.waiting.append(continuation) }
        return mail.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  private func work() {
    while true {
      let seen = word.value
      let (answer, heldAnswer, restarts, isStopping) = mail.withLock { mail in
        defer { (mail.answer, mail.heldAnswer, mail.restarts) = (nil, nil, false) }
        return (mail.answer, mail.heldAnswer, mail.restarts, mail.isStopping)
      }
      if isStopping { return end() }
      let (step, now) = core.withLock { core in
        let now = monotonicNow()
        if let answer { core.received(answer, now: now) }
        if let heldAnswer { core.receivedHeld(heldAnswer, now: now) }
        if restarts { core.start(now: now) }
        let step = core.poll(now: now)
        publish(core.statuses, core.reception)
        return (step, now)
      }
      switch step {
      case .send(let request): send(request, \.answer, \.exchange)
      case .hold(let request): send(request, \.heldAnswer, \.held)
      case .wait(let deadline):
        core.withLock { $0.prepare() }
        let delay = deadline.map { min($0 > now ? $0 - now : 0, Self.longestWait) }
        word.wait(while: seen, nanoseconds: delay.map { Int64($0) } ?? -1)
      }
    }
  }

  private func send(
    _ request: HTTPRequest, _ answerPath: any WritableKeyPath<Mail, Result<HTTPResponse, any Error>?> & Sendable,
    _ taskPath: any WritableKeyPath<Mail, Task<Void, Never>?> & Sendable
  ) {
    let exchange = Task.detached { [transport, server, mail, word] in
      let answer: Result<HTTPResponse, any Error>
      do { answer = .success(try await transport.send(request, to: server)) } catch { answer = .failure(error) }
      mail.withLock { $0[keyPath: answerPath] = answer }
      word.increment()
    }
    let isStopping = mail.withLock { mail in
      mail[keyPath: taskPath] = exchange
      return mail.isStopping
    }
    if isStopping { exchange.cancel() }
  }

  private func end() {
    core.withLock { core in
      core.stop(now: monotonicNow())
      publish(core.statuses, core.reception)
    }
    let waiting = mail.withLock { mail in
      mail.isOver = true
      defer { mail.waiting = [] }
      return mail.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
