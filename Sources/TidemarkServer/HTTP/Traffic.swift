internal import TidemarkLog
internal import TidemarkProtocol

/// The connections, requests and streams of a server at this moment, and a thread of its own that ends what is too slow, wakes streams and
/// sends signs of life. It sleeps while there is nothing of that to do.
final class Traffic: Sendable {
  typealias Instant = ContinuousClock.Instant

  enum Phase: Sendable {
    case open
    /// New requests are refused; others go on.
    case stopping
    /// Nothing may wait for the handler any more.
    case closing
  }

  private struct Link {
    var connection: Connection
    var deadline: Instant?
  }

  private struct State {
    var phase = Phase.open
    var links: [ObjectIdentifier: Link] = [:]
    var waiting: [ObjectIdentifier: Exchange] = [:]
    var streams: [ObjectIdentifier: EventStream] = [:]
    var inFlight = 0
    var bodyByteCount: UInt64 = 0
    var hasNews = false
    var heartbeat: Instant?
    /// When the thread wakes by itself; nil for never.
    var planned: Instant?
    var isOver = false
  }

  let handler: any RequestHandler
  let options: HTTPServerOptions
  let metrics: HTTPMetrics
  let clock: any DeviceClock
  private let log: (@Sendable (RequestRecord) -> Void)?
  private let state = Locked(State())
  private let alarm = WaitWord()
  private let quiet = WaitWord()

  /// Between two rounds of waking streams, so that a burst of commits does not wake each of them many times.
  private static let newsPause = Duration.milliseconds(50)
  /// Deadlines are met to this.
  private static let grain = Duration.milliseconds(100)

  init(
    _ handler: any RequestHandler, _ options: HTTPServerOptions, _ metrics: HTTPMetrics, clock: any DeviceClock,
    log: (@Sendable (RequestRecord) -> Void)?
  ) throws(LogError) {
    self.handler = handler
    self.options = options
    self.metrics = metrics
    self.clock = clock
    self.log = log
    try runThread(name: "http", lowPriority: false) { [self] in watch() }
    handler.onNews { [weak self] in self?.news() }
  }

  var phase: Phase { state.withLock { $0.phase } }

  // MARK: Connections

  func opened(_ connection: Connection) {
    metrics.connected()
    state.withLock { $0.links[ObjectIdentifier(connection)] = Link(connection: connection) }
    limit(connection, seconds: options.headSeconds)
  }

  func closed(_ connection: Connection) {
    _ = state.withLock { $0.links.removeValue(forKey: ObjectIdentifier(connection)) }
    metrics.disconnected()
  }

  /// Ends the connection after so many seconds, unless this is called again before; nil for never.
  func limit(_ connection: Connection, seconds: UInt64?) {
    let deadline = seconds.map { ContinuousClock.now + .seconds($0) }
    let isSooner = state.withLock { state in
      state.links[ObjectIdentifier(connection)]?.deadline = deadline
      guard let deadline, deadline < state.planned ?? .now + .seconds(1 << 30) else { return false }
      state.planned = deadline
      return true
    }
    if isSooner { alarm.increment() }
  }

  /// What a transfer of so many bytes may take.
  func seconds(for byteCount: UInt64) -> UInt64 { options.bodySeconds + byteCount / max(1, options.bytesPerSecond) }

  // MARK: Requests

  func began() {
    state.withLock { $0.inFlight += 1 }
    metrics.began()
  }

  func ended(_ exchange: Exchange, _ record: RequestRecord) {
    metrics.ended(record)
    log?(record)
    limit(exchange.connection, seconds: options.idleSeconds)
    let isQuiet = state.withLock { state in
      state.inFlight -= 1
      return state.inFlight == 0
    }
    if isQuiet { quiet.increment() }
  }

  /// Whether there is room for so many bytes; if so it is taken.
  func reserve(_ byteCount: UInt64) -> Bool {
    state.withLock { state in
      let limit = options.bodyBytesInFlightLimit
      guard byteCount <= limit, state.bodyByteCount <= limit - byteCount else { return false }
      state.bodyByteCount += byteCount
      return true
    }
  }

  func release(_ byteCount: UInt64) { state.withLock { $0.bodyByteCount -= byteCount } }

  /// Notes that a request waits for the handler. False if nothing may wait any more.
  func waits(_ exchange: Exchange) -> Bool {
    state.withLock { state in
      guard state.phase != .closing else { return false }
      state.waiting[ObjectIdentifier(exchange)] = exchange
      return true
    }
  }

  func waitsNoMore(_ exchange: Exchange) {
    _ = state.withLock { $0.waiting.removeValue(forKey: ObjectIdentifier(exchange)) }
  }

  // MARK: Streams

  func opened(_ stream: EventStream) {
    metrics.streaming(1)
    let next = ContinuousClock.now + .seconds(options.heartbeatSeconds)
    let isFirst = state.withLock { state in
      state.streams[ObjectIdentifier(stream)] = stream
      guard state.heartbeat == nil else { return false }
      state.heartbeat = next
      return true
    }
    if isFirst { alarm.increment() }
  }

  func closed(_ stream: EventStream) {
    metrics.streaming(-1)
    _ = state.withLock { $0.streams.removeValue(forKey: ObjectIdentifier(stream)) }
  }

  private func news() {
    let isNew = state.withLock { state in
      guard !state.hasNews, !state.streams.isEmpty else { return false }
      state.hasNews = true
      return true
    }
    if isNew { alarm.increment() }
  }

  // MARK: The thread

  private struct Round {
    var woken: [EventStream] = []
    var beats: [EventStream] = []
    var next: Instant?
    var isOver = false
  }

  private func watch() {
    var nextNews = ContinuousClock.now
    while true {
      let seen = alarm.value
      let now = ContinuousClock.now
      let round: Round = state.withLock { state in plan(&state, now, &nextNews) }
      if round.isOver { return }
      for stream in round.woken { stream.wake() }
      for stream in round.beats { stream.beat() }
      if let next = round.next {
        let wait = max(Self.grain, ContinuousClock.now.duration(to: next))
        alarm.wait(while: seen, nanoseconds: Int64(wait.components.seconds) * 1_000_000_000 + wait.components.attoseconds / 1_000_000_000)
      } else {
        alarm.wait(while: seen)
      }
    }
  }

  private func plan(_ state: inout State, _ now: Instant, _ nextNews: inout Instant) -> Round {
    var round = Round()
    round.isOver = state.isOver
    for (id, link) in state.links {
      guard let deadline = link.deadline else { continue }
      if deadline > now {
        round.next = min(round.next ?? deadline, deadline)
      } else {
        // Under the lock, which the end of a connection takes before its socket is closed: it is this connection's still.
        link.connection.cut()
        metrics.cut()
        state.links[id]?.deadline = nil
      }
    }
    if state.streams.isEmpty {
      (state.hasNews, state.heartbeat) = (false, nil)
    } else {
      if state.hasNews, now >= nextNews {
        state.hasNews = false
        nextNews = now + Self.newsPause
        round.woken = Array(state.streams.values)
      }
      var beat = state.heartbeat ?? now
      if now >= beat {
        beat = now + .seconds(options.heartbeatSeconds)
        round.beats = Array(state.streams.values)
      }
      state.heartbeat = beat
      round.next = min(round.next ?? beat, beat)
      if state.hasNews { round.next = min(round.next ?? nextNews, nextNews) }
    }
    state.planned = round.next
    return round
  }

  // MARK: The end

  /// Refuses new requests, ends streams, and waits for other requests, so many seconds at most.
  func stop(graceSeconds: UInt64) {
    let streams = state.withLock { state in
      state.phase = .stopping
      return Array(state.streams.values)
    }
    for stream in streams { stream.end() }
    waitUntilQuiet(seconds: graceSeconds)
    let (waiting, late) = state.withLock { state in
      state.phase = .closing
      return (Array(state.waiting.values), Array(state.streams.values))
    }
    for stream in late { stream.end() }
    for exchange in waiting { exchange.reply(.answer(Self.stopping)) }
    waitUntilQuiet(seconds: 1)
  }

  /// Ends the thread.
  func finish() {
    state.withLock { $0.isOver = true }
    alarm.increment()
  }

  private func waitUntilQuiet(seconds: UInt64) {
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
      let seen = quiet.value
      let rest = ContinuousClock.now.duration(to: end)
      guard state.withLock({ $0.inFlight > 0 }), rest > .zero else { return }
      quiet.wait(while: seen, nanoseconds: rest.components.seconds * 1_000_000_000 + rest.components.attoseconds / 1_000_000_000)
    }
  }

  static let stopping = Problem(.stopping, "The server is about to stop.", retryAfter: 2).response
}
