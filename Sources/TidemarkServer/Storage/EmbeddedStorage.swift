package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol
internal import TidemarkText

/// A server's storage in one directory: the log `ingest`, which is the truth, and `derived.sqlite`, which is made from it and made again
/// whenever it does not fit.
package final class EmbeddedStorage: Storage {
  package let generation: EventID
  let log: Log
  private let writer: Locked<Derived>
  private let reader: Locked<Derived>

  /// An ingest event holds a shipment and what was said about each of its events.
  private static let eventByteLimit = 16 << 20

  /// Opens the storage, or makes it; applies what the rows lack.
  ///
  /// - Parameters:
  ///   - path: the server's directory.
  ///   - rowsPath: the directory of the database.
  ///
  /// Throws errors of the file system and of the database.
  package init(at path: String, rowsPath: String, limits: Limits, environment: Environment) throws {
    let largest = limits.requestBytes + limits.events * UInt64(Verdict.byteCount) + 1_024
    guard largest <= UInt64(Self.eventByteLimit) else {
      throw LogError(
        .invalidArgument, "the server's limits are too high",
        why: "a shipment and what is said about it may take \(largest) bytes, and \(Self.eventByteLimit) fit into an event",
        advice: "take fewer bytes or events at once")
    }
    var options = LogOptions()
    options.maximumEventByteCount = Self.eventByteLimit
    options.maximumBatchByteCount = 64 << 20
    options.segmentByteCount = 64 << 20
    // Shipments come compressed.
    options.compression = .none
    options.program = "tidemark server"
    if seeded(.acknowledgedBeforeSync) { options.durability = .written }
    let logPath = "\(path)/ingest"
    // A directory may be there without a log: a crash left it.
    do { try Log.create(at: logPath, options: options, environment: environment) } catch LogError.Code.alreadyExists {}
    let log = try Log.open(at: logPath, options: options, environment: environment)
    self.log = log
    let file = "\(rowsPath)/derived.sqlite"
    var rows = try? Derived(file)
    // Nil if the rows can't be read; nil within it if they are of another log.
    let next = rows.flatMap { rows in try? .some(rows.next(of: log.identity)) }
    let isLost = next.map { $0.map { $0 > log.size } ?? true } ?? false
    // Rows that are ahead of the log, or of another one, tell that history was lost. That is said first: without them nothing would tell.
    generation = try Self.generation("\(path)/generation", isNew: isLost, environment)
    if isLost || next == nil {
      rows = nil
      let real = POSIXFileSystem()
      for suffix in ["", "-wal", "-shm"] where try real.status(file + suffix) != nil { try real.remove(file + suffix) }
      let fresh = try Derived(file)
      rows = fresh
    }
    guard let rows else { throw LogError(.io, "the server's rows can't be made", file: file, advice: "look at the directory") }
    // Ids come in any order: the more of their tree is in memory, the less is read again. And the WAL is taken over more rarely.
    try rows.rows.execute("PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 8000")
    try Self.catchUp(rows, log)
    writer = Locked(rows)
    reader = Locked(try Derived(file))
  }

  private static func generation(_ path: String, isNew: Bool, _ environment: Environment) throws -> EventID {
    if !isNew, let text = try environment.fileSystem.contents(path),
      let known = EventID(String(decoding: text, as: UTF8.self).filter { $0 != "\n" })
    {
      return known
    }
    let id = EventID(time: environment.clock.now().time, random: (environment.random.next(), environment.random.next()))
    try environment.fileSystem.replace(path, with: Array("\(id.hexadecimal)\n".utf8))
    return id
  }

  package func close() throws { try log.close() }

  // MARK: Writing

  package func commit(_ writes: [Write], at time: Timestamp) -> [(any Error)?] {
    writer.withLock { rows in
      do { return try commit(writes, at: time, rows) } catch {
        rows.rows.rollBack()
        return writes.map { _ in error }
      }
    }
  }

  private func commit(_ writes: [Write], at time: Timestamp, _ rows: Derived) throws -> [(any Error)?] {
    // A commit that failed half-way may be in the log all the same.
    try Self.catchUp(rows, log)
    var results = [(any Error)?](repeating: nil, count: writes.count)
    try rows.rows.execute("BEGIN IMMEDIATE")
    if seeded(.changeNumberBeforeCommit) {
      for write in writes { _ = try? rows.decide(write, seconds: UInt64(max(0, time.nanoseconds / 1_000_000_000)), in: log) }
      try rows.keepOnlyChangeNumbers()
    }
    var decided: [(decision: Decision, event: NewEvent)] = []
    for (index, write) in writes.enumerated() {
      do {
        if let decision = try rows.decide(write, seconds: UInt64(max(0, time.nanoseconds / 1_000_000_000)), in: log) {
          decided.append((decision, decision.event))
        }
      } catch let problem as Problem {
        results[index] = problem
      } catch let moved as Moved {
        results[index] = moved
      }
    }
    guard !decided.isEmpty else {
      try rows.rows.execute("COMMIT")
      return results
    }
    if seeded(.rowsBeforeLog) {
      // The first commit brings the log's session as well.
      let next = log.size + (try log.statistics().commitCount == 0 ? 1 : 0)
      for (index, decision) in decided.enumerated() { try rows.enter(decision.decision, at: next + UInt64(index)) }
      try rows.setNext(next + UInt64(decided.count))
      try rows.rows.execute("COMMIT")
    }
    let appended = try log.append(decided.map(\.event))
    if seeded(.rowsBeforeLog) { return results }
    for (decision, answer) in zip(decided, appended) { try rows.enter(decision.decision, at: answer.offset) }
    if let end = appended.last?.offset { try rows.setNext(end + 1) }
    try rows.rows.execute("COMMIT")
    return results
  }

  /// Applies the events of the log that the rows lack.
  private static func catchUp(_ rows: Derived, _ log: Log) throws {
    guard var next = try rows.next(of: log.identity) else { return }
    while next < log.size {
      let end = min(log.size, next + 64)
      try rows.rows.transaction {
        try rows.apply(log, next..<end)
        try rows.setNext(end)
      }
      next = end
    }
  }

  // MARK: Reading

  package func position(log: EventID, epoch: EventID) throws -> Position? {
    try reader.withLock { try $0.position(log: log, epoch: epoch) }
  }

  package func owner(of log: EventID) throws -> EventID? { try reader.withLock { try $0.owner(of: log) } }

  package func positions(of device: EventID?) throws -> [Position] { try reader.withLock { try $0.positions(of: device) } }

  package func requests(of position: Position, overlapping offsets: Range<Offset>) throws -> [Request] {
    try reader.withLock { try $0.requests(of: position, overlapping: offsets) }
  }

  package func shipment(of request: Request) throws -> Shipment {
    guard let found = ShipmentRecord.decode(try log.event(at: request.ingest).data) else {
      throw LogError(
        .corrupt, "the ingest log can't be read", file: log.path, offsets: request.ingest..<request.ingest + 1,
        why: "there is no shipment where one was", advice: "run verify on it")
    }
    return try Shipment(Array(found.shipment), logID: request.log, epochID: request.epoch)
  }

  package func tree(of position: Position, at size: Offset) throws -> CompactRange? {
    if size == position.accepted { return position.range }
    if size > position.accepted { return nil }
    if size == position.start.size { return position.start }
    if size < position.start.size {
      guard let parent = position.parent, let above = try self.position(log: position.log, epoch: parent) else { return nil }
      return try tree(of: above, at: size)
    }
    let (before, after) = try reader.withLock { rows in
      (try rows.request(of: position, endingUpTo: size), try rows.requests(of: position, overlapping: size..<size + 1).first)
    }
    if let before, before.offsets.upperBound == size { return before.range }
    guard let after, after.offsets.lowerBound < size else { return nil }
    let shipment = try shipment(of: after)
    let known = before?.range ?? position.start
    guard let start = known.size == after.offsets.lowerBound ? known : shipment.compactRange else { return nil }
    return try shipment.extend(start, upTo: size, SHA256())
  }

  package func through(of tenant: String) throws -> UInt64 { try reader.withLock { try $0.through(tenant) } }

  package func awaited(of device: EventID?, isHere: (AwaitedFile) throws -> Bool) throws -> [AwaitedFile] {
    var awaited: [AwaitedFile] = []
    var arrived: [AwaitedFile] = []
    for file in try reader.withLock({ try $0.awaited(of: device) }) {
      if try isHere(file) { arrived.append(file) } else { awaited.append(file) }
    }
    if !arrived.isEmpty {
      try writer.withLock { rows in try rows.rows.transaction { for file in arrived { try rows.crossOff(file) } } }
    }
    return awaited
  }

  package func quarantine(of tenant: String?) throws -> [Quarantined] { try reader.withLock { try $0.quarantine(of: tenant) } }

  package func snapshot(of tenant: String) throws -> (through: UInt64, items: [PublishedItem]) {
    try reader.withLock { rows in
      try rows.rows.snapshot {
        let items = try rows.items(of: tenant).map { item in
          var json = JSONWriter()
          json.beginObject()
          item.write(to: &json)
          json.endObject()
          return PublishedItem(json: json.bytes, place: item.place, person: item.person)
        }
        return (try rows.through(tenant), items)
      }
    }
  }

  package func nextVersion(of item: String, in tenant: String) throws -> UInt64 {
    try reader.withLock { try $0.nextVersion(of: item, in: tenant) }
  }

  package func nextTime() throws -> UInt64? { try reader.withLock { try $0.nextItemChange() } }

  package func changes(of tenant: String, since number: UInt64, withEvents: Bool, _ body: (Change) -> Bool) throws -> UInt64 {
    var through = number
    while true {
      let (end, page) = try reader.withLock { rows in
        try rows.rows.snapshot {
          (try rows.through(tenant), try rows.changed(tenant, since: through, limit: 16, withEvents: withEvents))
        }
      }
      guard !page.isEmpty else { return max(through, end) }
      for changed in page {
        switch changed {
        case .item(let number, let json, let place, let person, let device):
          guard body(.item(number: number, body: json, place: place, person: person, device: device)) else { return through }
          through = number
        case .events(let request, let device, let released, let last):
          let reached = try give(request, device, released, last, above: through, body)
          through = reached.number
          if reached.isOver { return through }
        }
      }
    }
  }

  private func give(
    _ request: Request, _ device: EventID, _ released: Offset?, _ last: UInt64, above number: UInt64, _ body: (Change) -> Bool
  ) throws -> (number: UInt64, isOver: Bool) {
    let shipment = try shipment(of: request)
    let aside = Set(request.verdicts.map(\.offset))
    var next = released == nil ? request.changes?.lowerBound ?? last + 1 : last
    var reached = number
    var isOver = false
    try shipment.read { (item) throws(LogError) in
      guard !isOver, case .event(let event) = item, !event.isControl, request.offsets.contains(event.offset) else { return }
      guard released.map({ $0 == event.offset }) ?? !aside.contains(event.offset) else { return }
      defer { next += 1 }
      guard next > number else { return }
      if body(.event(number: next, device: device, log: request.log, epoch: request.epoch, event)) { reached = next } else { isOver = true }
    }
    return (isOver ? reached : last, isOver)
  }
}

extension Derived {
  /// The device whose request an ingest event holds.
  func owner(ingest: Offset) throws -> EventID {
    try rows.first("SELECT e.device FROM requests r JOIN epochs e ON e.number = r.epoch WHERE r.ingest = ?", RowValue(ingest)) { $0.id(0) }
      ?? .zero
  }
}

extension EmbeddedStorage {
  /// Every derived row as text, for a comparison.
  package static func everything(_ rowsPath: String) throws -> [String] { try Derived("\(rowsPath)/derived.sqlite").everything() }
}
