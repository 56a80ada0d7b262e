package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol

/// Ships one log: carries out what its ``DeviceSession`` says, with files but without network and clock. For one thread.
package final class Shipper: Lane {
  package let priority: LanePriority
  let log: Log
  let evidence: Evidence
  let keys: any SigningKeyProvider
  /// What the device was enrolled with.
  let publicKey: [UInt8]
  /// Whose receipts count.
  let policy: Policy
  private(set) var session: DeviceSession
  private var statusFile: StatusFile
  var outcomes: OutcomeFile
  /// Two histories that are being compared.
  var comparison: Comparison?
  package private(set) var status: Status
  /// The outcomes of all events below it are in the file.
  var known: Offset
  /// What the session wants to be sent.
  private var wanted: DeviceSession.Action?
  package private(set) var deadline: UInt64?
  private var now: UInt64 = 0
  private var sentAt: UInt64 = 0
  /// When the status was written down last.
  private var savedAt: UInt64 = 0
  /// While it is at work, the status is written down once a second.
  private static let statusPause: UInt64 = 1_000_000_000
  private var sent: Range<Offset>?
  /// How many events at least are put together ahead. Fewer are put together quickly, and more of them may come until they are sent.
  private let preparedCount: Offset
  /// What is likely to be sent next.
  private var prepared: (bytes: [UInt8], offsets: Range<Offset>)?
  /// No event of a caller lies between the next offset and this one.
  private var searched: Offset = 0
  /// Whether one lies at ``searched``.
  private var isFound = false

  /// Takes up what was kept. Throws errors of the file system.
  package init(
    _ evidence: Evidence, keys: any SigningKeyProvider, publicKey: [UInt8], grant: Credentials.Grant, priority: LanePriority = .normal,
    preparedCount: Offset = 1_000
  ) throws {
    self.evidence = evidence
    self.keys = keys
    self.publicKey = publicKey
    self.priority = priority
    self.preparedCount = preparedCount
    log = evidence.log
    policy = try Policy(server: grant.serverKey)
    session = DeviceSession(log: log.identity.logID, epoch: log.identity.epochID)
    (statusFile, outcomes, status) = try Self.kept(evidence)
    known = status.accepted
    readKnown()
    updateStatus()
  }

  /// What is kept of the present epoch. That of a new one begins with what is known of its parent.
  private static func kept(_ evidence: Evidence) throws -> (StatusFile, OutcomeFile, Status) {
    let log = evidence.log
    var file = StatusFile(log)
    try file.makeDirectory()
    var outcomes = try OutcomeFile(file.directory, log.environment.fileSystem)
    var status = Status(log: log.identity.logID)
    let fork = log.fork
    if let kept = try file.load(log.identity.logID) {
      status = kept
    } else if let fork {
      let parent = StatusFile(log, epoch: fork.epoch)
      status.accepted = min(try parent.load(log.identity.logID)?.accepted ?? 0, fork.size)
      var reader = try OutcomeFile(parent.directory, log.environment.fileSystem).read()
      try outcomes.append(from: &reader, below: fork.size)
      try file.save(status)
    }
    status.state = .stopped
    status.nextAttempt = nil
    status.isRewound = status.isRewound && status.accepted < evidence.receiptedSize
    if !status.isRewound { status.accepted = max(evidence.receiptedSize, min(status.accepted, fork?.size ?? 0)) }
    return (file, outcomes, status)
  }

  private func readKnown() {
    known = status.accepted
    // What is told again is told the same way.
    if outcomes.isDamaged { known = min(known, outcomes.last.map { $0 + 1 } ?? 0) }
  }

  /// Begins a new epoch. Throws as `Evidence.beginEpoch(fork:)` does, and errors of the file system.
  func beginEpoch(fork: Offset) throws {
    try evidence.beginEpoch(fork: fork)
    (statusFile, outcomes, status) = try Self.kept(evidence)
    readKnown()
  }

  // MARK: Lane

  package var wants: LaneWant? {
    switch wanted {
    case .refresh: .token
    case .handshake, .askRoot, .download, .ship: .request
    default: nil
    }
  }

  package func update(_ conditions: Conditions, now: UInt64) {
    self.now = now
    take(.conditions(isAllowed: conditions.allow(priority), isMetered: conditions.isMetered))
    lookForBacklog()
    if let deadline, deadline <= now {
      self.deadline = nil
      take(.timerFired)
    }
    publish()
  }

  package func handle(_ input: DeviceSession.Input, now: UInt64) {
    self.now = now
    take(input)
    publish()
  }

  package func makeRequest(now: UInt64) -> HTTPRequest? {
    self.now = now
    defer { publish() }
    let action = wanted
    wanted = nil
    do {
      switch action {
      case .handshake: return try handshakeRequest()
      case .askRoot(let size): return rootRequest(size)
      case .download(let from): return downloadRequest(from: from)
      case .ship(let from, let byteLimit, let limits):
        let shipment = try takePrepared(from, limits) ?? makeShipment(from: from, byteLimit: byteLimit, limits)
        sent = shipment?.offsets
        take(.built(sent))
        sentAt = now
        return shipment.map { shipmentRequest($0.bytes) }
      default: return nil
      }
    } catch {
      take(.storageFailed(text(of: error)))
      return nil
    }
  }

  package func prepare() {
    guard session.state == .shipping, prepared == nil, let from = sent?.upperBound, log.durable >= from + preparedCount else { return }
    // Whatever goes wrong: the attempt meets it, too, and tells.
    prepared = try? makeShipment(from: from, byteLimit: session.byteLimit, session.limits)
  }

  private func takePrepared(_ from: Offset, _ limits: Limits) -> (bytes: [UInt8], offsets: Range<Offset>)? {
    defer { prepared = nil }
    guard let prepared, prepared.offsets.lowerBound == from, prepared.offsets.count <= limits.events,
      prepared.bytes.count <= limits.requestBytes
    else { return nil }
    return prepared
  }

  package func received(_ response: HTTPResponse, now: UInt64) {
    self.now = now
    defer { publish() }
    if let problem = Problem(response) {
      // A root that the server does not know is not this log's.
      if problem.code == .notFound, session.state == .comparing { return take(outcome { try self.told(nil) }) }
      return take(.refused(problem))
    }
    guard response.status == 200 else { return take(.failed("status \(response.status) without a reason is not the server's answer")) }
    switch session.state {
    case .handshaking:
      if let answer = HandshakeAnswer(answer: response) { return take(.welcomed(answer)) }
    case .comparing:
      if let answer = RootAnswer(answer: response), answer.head.size == comparison?.asked {
        return take(outcome { try self.told(answer.head.root) })
      }
    case .refilling:
      if MediaType.matches(response.fields["content-type"], MediaType.shipment) {
        return take(outcome { try self.refill(response.body) })
      }
    case .shipping:
      if let answer = ShipmentAnswer(answer: response) {
        return take(.answered(answer, nanoseconds: now < sentAt ? 0 : now - sentAt))
      }
    default: return
    }
    take(.failed("\(response.fields["content-type"] ?? "nothing") is not the server's answer"))
  }

  package var generation: EventID? { session.generation }

  package func report(to statuses: inout [Status]) { statuses.append(status) }

  // MARK: Steps

  private func take(_ input: DeviceSession.Input) {
    var next: DeviceSession.Input? = input
    while let input = next {
      next = nil
      for action in session.handle(input, random: log.environment.random.next()) {
        switch action {
        case .refresh, .handshake, .askRoot, .download, .ship:
          wanted = action
          // Positions and epoch are told anew: what was prepared may not follow from them.
          if action == .handshake { prepared = nil }
        case .arm(let nanoseconds): deadline = now &+ nanoseconds
        case .disarm: deadline = nil
        case .settle(let answer): next = outcome { try self.settle(answer) }
        case .store(let answer): next = outcome { try self.store(answer) }
        case .check: next = outcome { try self.check(self.sent ?? 0..<0) }
        }
      }
      if !session.state.isWork { wanted = nil }
    }
  }

  private func outcome(_ body: () throws -> DeviceSession.Input) -> DeviceSession.Input {
    do { return try body() } catch { return .storageFailed(text(of: error)) }
  }

  /// Whether a caller's event lies behind what the server has.
  func hasBacklog(from next: Offset) throws -> Bool {
    if searched < next || !isFound && searched > log.size { (searched, isFound) = (next, false) }
    if isFound || searched >= log.size { return isFound }
    if let offset = try Self.firstEvent(log, searched..<log.size) {
      (searched, isFound) = (offset, true)
    } else {
      searched = log.size
    }
    return isFound
  }

  private static func firstEvent(_ log: Log, _ range: Range<Offset>) throws -> Offset? {
    var cursor = try log.read(seen: Query(offsets: max(range.lowerBound, log.first)..<range.upperBound, onDamage: .skip))
    return try cursor.next()?.offset
  }

  /// Forgets where it looked: events before that are to be sent, too.
  func searchAgain(from next: Offset) { (searched, isFound) = (next, false) }

  private func lookForBacklog() {
    guard !session.state.isWork, session.state != .stopped else { return }
    do {
      let isThere = try hasBacklog(from: session.next)
      if isThere != session.hasBacklog { take(.backlog(isThere)) }
    } catch {
      // An attempt meets the same, and tells.
      take(.backlog(true))
    }
  }

  // MARK: Status

  func setStatus(_ change: (inout Status) -> Void) { change(&status) }

  private func updateStatus() {
    status.saved = log.durable
    status.state = session.state
    status.attempts = session.attempts
    if session.state != .stopped { status.trouble = session.trouble }
    status.duplicateCount = outcomes.duplicateCount
    status.quarantinedCount = outcomes.quarantinedCount
    status.nextAttempt = deadline.map { deadline in
      let delay = deadline < now ? 0 : deadline - now
      return Timestamp(nanoseconds: log.environment.clock.now().time.nanoseconds &+ Int64(clamping: delay))
    }
  }

  private func publish() {
    let before = (status.nextAttempt, status.state, status.attempts)
    updateStatus()
    // The same attempt, computed again.
    if before.0 != nil, status.nextAttempt != nil, before.1 == status.state, before.2 == status.attempts { status.nextAttempt = before.0 }
    // A courtesy to those who look from elsewhere: that nobody is at work tells less than how it was left.
    // What is over in a moment is not told.
    if status.state == .stopped || session.state.isWork && now &- savedAt < Self.statusPause { return }
    savedAt = now
    try? statusFile.save(status)
  }
}
