internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkSQLite

/// What was decided about a write, with the event that says so.
struct Decision {
  let event: NewEvent
  /// Of a shipment.
  var request: Request?
  var tenant: Int64 = 0
  var epoch: Int64 = 0
  /// Of a release: what becomes a change.
  var released: (ingest: Offset, offset: Offset, number: UInt64)?
}

extension Derived {
  // MARK: Deciding. What is refused changes no row.

  /// Decides about a write, with a transaction open. Nil if it was made before.
  ///
  /// - Parameters:
  ///   - seconds: when it was received, since 1970.
  ///   - log: the ingest log.
  ///
  /// Throws a `Problem` if it can't be made, and ``Moved``.
  func decide(_ write: Write, seconds: UInt64, in log: Log) throws -> Decision? {
    switch write {
    case .opening(let opening): try decide(opening)
    case .shipment(let write): try decide(write, seconds: seconds)
    case .settling(let settling): try decide(settling)
    case .judgement(let judgement): try decide(judgement, seconds: seconds, in: log)
    case .item(let record): try decide(record, seconds: seconds)
    case .time(let record): try decide(record)
    }
  }

  private func decide(_ opening: EpochOpening) throws -> Decision? {
    if let owner = try owner(of: opening.log), owner != opening.device { throw Problem.unknownLog }
    if try position(log: opening.log, epoch: opening.epoch) != nil { return nil }
    let tenant = try tenant(opening.tenant)
    // What is safe of the parent is safe of what continues it.
    let parent = try opening.parent.flatMap { try position(log: opening.log, epoch: $0) }
    let settled = min(parent?.settled ?? 0, opening.start.size)
    try rows.run(
      """
      INSERT INTO epochs (tenant, device, log, epoch, parent, start, start_range, accepted, range, key, settled, time)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
      """, .number(tenant), RowValue(opening.device), RowValue(opening.log), RowValue(opening.epoch), RowValue(opening.parent ?? .zero),
      RowValue(opening.start.size), RowValue(opening.start.encoded), RowValue(opening.start.size), RowValue(opening.start.encoded),
      RowValue(opening.key), RowValue(settled))
    return Decision(event: NewEvent(type: EpochOpening.type, data: opening.json))
  }

  private func decide(_ settling: Settling) throws -> Decision? {
    guard let position = try position(log: settling.log, epoch: settling.epoch) else { throw Problem.unknownLog }
    guard settling.size > position.settled else { return nil }
    guard settling.size <= position.accepted else { throw Problem(.refused, "the server has \(position.accepted) events") }
    try rows.run("UPDATE epochs SET settled = ? WHERE number = ?", RowValue(settling.size), .number(position.number))
    return Decision(event: NewEvent(type: Settling.type, data: settling.json))
  }

  private func decide(_ judgement: Judgement, seconds: UInt64, in log: Log) throws -> Decision? {
    var judgement = judgement
    judgement.seconds = seconds > 0 ? seconds : nil
    let tenant = try rows.first("SELECT number FROM tenants WHERE name = ?", RowValue(judgement.tenant)) { $0.integer(0) }
    let found = try rows.first(
      "SELECT state, ingest, verdict FROM quarantine WHERE tenant = ? AND number = ?", .number(tenant ?? -1), RowValue(judgement.number)
    ) { (state: $0.integer(0), ingest: $0.unsigned(1), verdict: Verdict.decode($0.bytes(2).rawSpan)?.first) }
    guard let tenant, let found, let verdict = found.verdict else { throw Problem(.notFound, "there is no such event") }
    let state: Int64 = judgement.releases ? 1 : 2
    if found.state == state { return nil }
    guard found.state == 0 else { throw Problem(.refused, "that was decided otherwise") }
    try rows.run(
      "UPDATE quarantine SET state = ? WHERE tenant = ? AND number = ?", .number(state), .number(tenant), RowValue(judgement.number))
    var decision = Decision(event: NewEvent(type: Judgement.type, data: judgement.json))
    decision.tenant = tenant
    if judgement.releases, let change = try takeChanges(tenant, count: 1) {
      decision.released = (found.ingest, verdict.offset, change.lowerBound)
      if let seconds = judgement.seconds, let said = try fact(of: verdict.offset, ingest: found.ingest, in: log) {
        try take(said.fact, of: said.event, from: try owner(ingest: found.ingest), tenant, seconds: seconds)
      }
    }
    return decision
  }

  private func decide(_ write: ShipmentWrite, seconds: UInt64) throws -> Decision? {
    let shipment = write.shipment
    let examination = write.examination
    guard let position = try position(log: shipment.logID, epoch: shipment.epochID), position.device == write.device else {
      throw Problem.unknownLog
    }
    guard position.accepted == write.accepted else { throw Moved() }
    let tenant = try tenant(write.tenant)
    var verdicts: [Verdict] = []
    var facts: [Examination.Entry] = []
    // No `RETURNING`, which makes a table of what it returns each time.
    let insertion = try rows.prepared("INSERT INTO events VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
    for entry in examination.entries {
      if let verdict = try enter(entry, tenant, position, insertion) {
        verdicts.append(verdict)
      } else if entry.fact != nil {
        facts.append(entry)
      }
      for attachment in entry.attachments {
        try rows.run(
          "INSERT INTO awaited VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", .number(position.number), RowValue(entry.offset),
          RowValue(entry.id), RowValue(attachment.digest), RowValue(attachment.byteCount), RowValue(attachment.name))
      }
    }
    let changes = try takeChanges(tenant, count: examination.entries.count - verdicts.count)
    let end = examination.range.size
    let time = max(seconds, position.seconds)
    for entry in facts {
      if let fact = entry.fact { try take(fact, of: entry.id, from: write.device, tenant, seconds: time) }
    }
    try rows.run(
      "UPDATE epochs SET accepted = ?, range = ?, key = ?, time = ?, settled = max(settled, ?) WHERE number = ?", RowValue(end),
      RowValue(examination.range.encoded), RowValue(examination.key), RowValue(time), RowValue(write.settles ? end : 0),
      .number(position.number))
    if examination.base > position.accepted {
      try rows.run(
        "INSERT INTO holes VALUES (?, ?, ?)", .number(position.number), RowValue(position.accepted), RowValue(examination.base))
    }
    let record = ShipmentRecord(
      tenant: write.tenant, device: write.device, log: shipment.logID, epoch: shipment.epochID, base: position.accepted, changes: changes,
      seconds: time, key: write.key, settles: write.settles, verdicts: verdicts)
    var decision = Decision(event: NewEvent(type: ShipmentRecord.type, data: record.head + shipment.bytes))
    decision.tenant = tenant
    decision.epoch = position.number
    decision.request = Request(
      ingest: 0, log: shipment.logID, epoch: shipment.epochID, offsets: examination.base..<end, changes: changes, seconds: time,
      note: shipment.note, range: examination.range, verdicts: verdicts)
    return decision
  }

  /// Enters the id of an event, if it is new. Nil if the event is accepted by that.
  private func enter(
    _ entry: Examination.Entry, _ tenant: Int64, _ position: Position, _ insertion: Statement
  ) throws -> Verdict? {
    try insertion.bind(1, tenant)
    try insertion.bind(2, entry.id)
    try insertion.bind(3, entry.digest)
    try insertion.bind(4, position.number)
    try insertion.bind(5, Int64(bitPattern: entry.offset))
    try insertion.run()
    let isNew = rows.changedRowCount == 1
    if isNew || seeded(.duplicateKeyForgotten) { return entry.reason.map { .quarantined(entry, $0) } }
    let first = try rows.first(
      "SELECT v.digest, e.log, v.offset FROM events v JOIN epochs e ON e.number = v.epoch WHERE v.tenant = ? AND v.id = ?", .number(tenant),
      RowValue(entry.id)
    ) { (digest: $0.id(0), log: $0.id(1), offset: $0.unsigned(2)) }
    guard let first, first.digest != entry.digest else {
      return .duplicate(entry.offset, of: first?.log ?? .zero, at: first?.offset ?? 0)
    }
    return .quarantined(entry, .conflict, first: first.digest)
  }

  // MARK: Entering

  /// Enters what needs the place of the event that says it.
  func enter(_ decision: Decision, at ingest: Offset) throws {
    if let released = decision.released {
      try rows.run(
        "INSERT INTO changes VALUES (?, ?, ?, ?, x'', '', '', x'')", .number(decision.tenant), RowValue(released.number),
        RowValue(released.ingest), RowValue(released.offset))
    }
    guard let request = decision.request else { return }
    try rows.run(
      "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", RowValue(ingest), .number(decision.tenant), .number(decision.epoch),
      RowValue(request.offsets.lowerBound), RowValue(request.offsets.upperBound), RowValue(request.changes?.lowerBound ?? 0),
      RowValue(request.changes?.upperBound ?? 0), RowValue(request.seconds), RowValue(request.note), RowValue(request.range.encoded),
      RowValue(Verdict.encode(request.verdicts)))
    if let changes = request.changes {
      try rows.run(
        "INSERT INTO changes VALUES (?, ?, ?, -1, x'', '', '', x'')", .number(decision.tenant), RowValue(changes.upperBound),
        RowValue(ingest))
    }
    for verdict in request.verdicts where verdict.reason != nil {
      try rows.run(
        "INSERT INTO quarantine VALUES (?, ?, ?, ?, ?, 0)", .number(decision.tenant), RowValue(try takeQuarantineNumber(decision.tenant)),
        .number(decision.epoch), RowValue(ingest), RowValue(Verdict.encode([verdict])))
    }
  }

  // MARK: Applying what the log has

  /// Decides again about what the log has of a range, which has to come out as it stands there.
  func apply(_ log: Log, _ offsets: Range<Offset>) throws {
    for offset in offsets {
      let event = try log.event(at: offset)
      if event.isControl { continue }
      let data = event.data
      let (write, seconds) = try write(event.type, data, log, offset)
      guard let decision = try decide(write, seconds: seconds, in: log), decision.event.data == data else {
        throw unreadable(log, offset, "deciding again comes out otherwise")
      }
      try enter(decision, at: offset)
    }
  }

  private func unreadable(_ log: Log, _ offset: Offset, _ why: String) -> LogError {
    LogError(
      .corrupt, "the ingest log can't be applied", file: log.path, offsets: offset..<offset + 1, why: why, advice: "run verify on it")
  }

  /// What an ingest event says, as it was to be written.
  private func write(_ type: String, _ data: [UInt8], _ log: Log, _ offset: Offset) throws -> (Write, seconds: UInt64) {
    switch type {
    case EpochOpening.type: return (.opening(try EpochOpening(json: data)), 0)
    case Settling.type: return (.settling(try Settling(json: data)), 0)
    case Judgement.type:
      let judgement = try Judgement(json: data)
      return (.judgement(judgement), judgement.seconds ?? 0)
    case TimeRecord.type: return (.time(try TimeRecord(json: data)), 0)
    case ItemRecord.type:
      let record = try ItemRecord(json: data)
      return (.item(record), record.seconds)
    case ShipmentRecord.type: break
    default: throw unreadable(log, offset, "\"\(type)\" is not known")
    }
    guard let (record, bytes) = ShipmentRecord.decode(data) else { throw unreadable(log, offset, "it is no shipment") }
    let shipment = try Shipment(Array(bytes), logID: record.log, epochID: record.epoch)
    guard let position = try position(log: record.log, epoch: record.epoch), position.accepted == record.base else {
      throw unreadable(log, offset, "it does not continue what is there")
    }
    // What is put aside for what the server was told to take is not asked again: that may have been changed since.
    var reasons: [Offset: Outcome.Reason] = [:]
    for verdict in record.verdicts where verdict.code == .tooLarge || verdict.code == .typeNotAllowed {
      reasons[verdict.offset] = verdict.reason
    }
    let base = shipment.offsets.lowerBound > position.accepted ? shipment.compactRange : position.range
    guard let base else { throw unreadable(log, offset, "it does not continue what is there") }
    let examination = try Examination(of: shipment, from: base, key: record.key ?? position.key) { reasons[$0.offset] }
    let head = TreeHead(size: examination.range.size, root: examination.range.root(SHA256()))
    guard try Checkpoint(SignedNote(shipment.note).text).head == head else {
      throw unreadable(log, offset, "its root is another one")
    }
    let write = ShipmentWrite(
      tenant: record.tenant, device: record.device, shipment: shipment, examination: examination, accepted: position.accepted,
      key: record.key, settles: record.settles)
    return (.shipment(write), record.seconds)
  }
}

extension Problem {
  /// The same for a log that is not there and for another device's.
  static let unknownLog = Problem(.notFound, "there is no such log")
}
