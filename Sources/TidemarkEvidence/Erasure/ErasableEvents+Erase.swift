public import TidemarkLog

extension ErasableEvents {
  /// Erases a subject: its keys are marked, an event that says so is made durable in the log, copies in the clear are removed, and the keys
  /// are destroyed. No byte of the log that was there changes.
  ///
  /// After a failure or a crash, call it again with the same arguments: it goes on where it was. Erasures of other subjects that were
  /// interrupted are finished along with it. What remains is in the report; what can't be reached from here, such as backups and other
  /// holders' keys, in `Specs/erasure.md`.
  ///
  /// - Parameters:
  ///   - subject: as given to ``seal(_:for:hidesID:)``.
  ///   - log: opened for writing.
  ///   - copies: where events may stand in the clear.
  ///
  /// Throws `unknownSubject` if there is no key and nothing to finish: also if all was done before. Before anything is changed
  /// `snapshotsOfTrimmedHistory` and `LogError.Code.invalidArgument`; and whatever the log, the store and the file system throw.
  ///
  /// ```swift
  /// let report = try events.erase("person-17", from: log)
  /// for holder in report.holders { tell(holder, toDestroy: report.keys) }
  /// ```
  @discardableResult
  public func erase(_ subject: String, from log: Log, removing copies: DerivedCopies = DerivedCopies()) throws -> ErasureReport {
    let remover = CopyRemover(copies: copies, log: log)
    try checkWriter(log)
    try remover.check()
    try keys.beginErasure(of: subject)
    let pending = try keys.pendingErasures()
    if pending.isEmpty { throw Self.unknown(subject) }
    var survey = Survey(pending, subject)
    try survey.look(through: log)
    var report = survey.report
    // Recorded, not only synced: recovery must never take it for a torn end once the key is gone.
    if let record = survey.unrecorded { report.erasureOffsets.append(try log.commit(control: .erasure, data: record.encode())) }
    try log.recordDurable()
    let attachments = try survey.find(with: remover, &report)
    report.removed = try remover.remove(remover.found() + attachments)
    // Last: as long as the key is there, whoever comes after a crash finds everything again.
    for erasure in pending { try keys.destroy(erasure.id) }
    return report
  }

  /// What ``erase(_:from:removing:)`` would destroy, and what would remain. Changes nothing.
  ///
  /// Throws as that does, but works on a log opened for reading.
  ///
  /// ```swift
  /// let plan = try events.planErasure(of: "person-17", from: log)
  /// ```
  public func planErasure(of subject: String, from log: Log, removing copies: DerivedCopies = DerivedCopies()) throws -> ErasureReport {
    let remover = CopyRemover(copies: copies, log: log)
    try remover.check()
    let pending = try keys.pendingErasures() + keys.keys(of: subject).map { PendingErasure(id: $0.id, key: $0) }
    if pending.isEmpty { throw Self.unknown(subject) }
    var survey = Survey(pending, subject)
    try survey.look(through: log)
    var report = survey.report
    let attachments = try survey.find(with: remover, &report)
    report.removed = try (remover.found() + attachments).map { .init(path: $0, isOverwritten: true) }
    return report
  }

  /// Destroys the keys of this store that erasure events of a log name. Returns their ids. So another holder of keys, such as a server,
  /// follows a log that came to it; so does whoever has put keys back from a backup.
  ///
  /// Copies in the clear that this holder keeps are its own to remove. Throws whatever the log, the store and the file system throw.
  ///
  /// ```swift
  /// let destroyed = try events.destroyKeysErased(in: received)
  /// ```
  @discardableResult
  public func destroyKeysErased(in log: Log) throws -> [EventID] {
    var named: Set<EventID> = []
    try Self.walk(log) { event in if let record = try ErasureRecord(event) { named.formUnion(record.keys.map(\.id)) } }
    var destroyed: [EventID] = []
    for id in named.sorted() {
      if case .key = try keys.find(id) { destroyed.append(id) }
      try keys.destroy(id)
    }
    return destroyed
  }

  private func checkWriter(_ log: Log) throws(LogError) {
    if log.isWriter { return }
    throw LogError(
      .readOnly, "nothing can be erased", file: log.path, why: "the log was opened for reading", advice: "open it for writing")
  }

  private static func unknown(_ subject: String) -> LogError {
    LogError(
      .unknownSubject, "the subject \(subject) can't be erased",
      why: "the store has no key of it: it was erased, or never sealed anything under that name",
      advice: "check the name and the store; once a key is destroyed, nothing tells whose it was")
  }

  /// Shows every event that can be read. Returns how many offsets damage hides.
  @discardableResult
  fileprivate static func walk(_ log: Log, _ body: (EventView) throws -> Void) throws -> UInt64 {
    var cursor = try log.read(Query(includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() { try body(event) }
    return cursor.gaps.reduce(0) { $0 + UInt64($1.offsets?.count ?? 0) }
  }
}

/// What the log has about keys that are to be destroyed.
private struct Survey {
  private let subject: String
  private var keys: [EventID: SubjectKey] = [:]
  private var found: [EventID: ErasureReport.Key] = [:]
  /// Keys that an erasure event names already.
  private var recorded: Set<EventID> = []
  private var attachments: [EventExtension.Attachment] = []
  private var partial = ErasureReport()

  init(_ pending: [PendingErasure], _ subject: String) {
    self.subject = subject
    for erasure in pending {
      keys[erasure.id] = erasure.key
      found[erasure.id] = ErasureReport.Key(
        id: erasure.id, pseudonym: erasure.key?.pseudonym, eventCount: 0, holders: erasure.key?.holders ?? [])
    }
  }

  mutating func look(through log: Log) throws {
    partial.damagedOffsetCount = try ErasableEvents.walk(log) { event in
      if event.kind == .erasure {
        try note(erasure: event)
      } else if !event.isControl {
        try note(event)
      }
    }
  }

  private mutating func note(erasure event: EventView) throws {
    guard let record = try ErasureRecord(event) else { return }
    let named = record.keys.map(\.id).filter { found[$0] != nil }
    if named.isEmpty { return }
    recorded.formUnion(named)
    partial.erasureOffsets.append(event.offset)
  }

  private mutating func note(_ event: EventView) throws {
    let id: EventID?
    do { id = try event.subjectKey } catch let error as LogError where error.code == .damagedEnvelope || error.code == .corrupt { return }
    guard let id, var entry = found[id] else {
      if event.subject == subject || event.actor == subject { partial.plainEventCount += 1 }
      return
    }
    entry.eventCount += 1
    entry.offsets = (entry.offsets?.lowerBound ?? event.offset)...event.offset
    found[id] = entry
    do {
      guard let key = keys[id] else { return }
      for case .attachment(let attachment) in try ErasableEvents.open(event, with: key).extensions { attachments.append(attachment) }
    } catch { partial.unreadableEventCount += 1 }
  }

  var report: ErasureReport {
    var report = partial
    report.keys = found.values.sorted { $0.id < $1.id }
    return report
  }

  /// What the log does not say yet; nil if it says all.
  var unrecorded: ErasureRecord? {
    let missing = found.values.filter { !recorded.contains($0.id) }.sorted { $0.id < $1.id }
    if missing.isEmpty { return nil }
    return ErasureRecord(keys: missing.map { ErasureRecord.Key(id: $0.id, pseudonym: $0.pseudonym ?? .zero) })
  }

  /// Where the attachments lie.
  func find(with remover: CopyRemover, _ report: inout ErasureReport) throws -> [String] {
    report.missingDatabases = try remover.missingDatabases()
    if remover.copies.snapshots == .keep { report.keptSnapshots = try remover.snapshots() }
    let hasher = SHA256()
    var paths: [String] = []
    for attachment in attachments {
      let found = try remover.paths(of: attachment, hasher)
      paths += found.filter { !paths.contains($0) }
      if found.isEmpty, !report.missingAttachments.contains(attachment.name) { report.missingAttachments.append(attachment.name) }
    }
    return paths
  }
}
