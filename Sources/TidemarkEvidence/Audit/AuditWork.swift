internal import TidemarkLog

/// An audit on its way.
struct AuditWork {
  let log: Log
  let policy: Policy?
  /// Hashed again from the log, whatever was kept.
  var history: History
  private(set) var covered: Offset = 0
  private var findings: [AuditFinding] = []
  private var found: Found
  private var receipts: [AuditReport.ReceiptFact] = []
  private var checkpointCount = 0
  /// For each name in the policy what was cosigned, and when.
  private var cosigned: [String: [(size: Offset, seconds: UInt64)]] = [:]
  /// What was kept beside the log, read before the log: a writer may go on meanwhile. Nil for damaged notes.
  private let keptTree: [UInt8]?
  private let keptNotes: [SignedNote]?
  private let origin: String

  init(_ log: Log, _ policy: Policy?) throws {
    self.log = log
    self.policy = policy
    origin = Checkpoint.origin(of: log.identity)
    keptTree = try log.environment.fileSystem.contents("\(log.evidencePath)/\(Frontier.name)")
    keptNotes = (try? NoteFile(log.evidencePath, log.environment.fileSystem))?.notes
    try log.refresh()
    found = Found(log)
    history = try History(hashing: log)
  }

  private mutating func add(
    _ kind: AuditFinding.Kind, _ weight: AuditFinding.Weight, _ offsets: Range<Offset>? = nil, _ message: String
  ) { findings.append(AuditFinding(kind, weight, offsets, message)) }

  private var keys: KeyChain { found.beginning.keys }

  // MARK: The log

  mutating func checkStorage(_ report: VerificationReport) {
    for finding in report.findings where !finding.isHarmless && finding.kind != .gap {
      add(.storage, .refuted, finding.offsets, "\(finding.kind.rawValue) \(finding.file ?? ""): \(finding.message)")
    }
    if log.first > 0 {
      add(
        .trimmed, .notChecked, 0..<log.first,
        "events were removed after a receipt; their descriptors and proofs are with the server or in an archive")
    }
  }

  /// Hashes all events, and notes those that bear on evidence.
  mutating func readEvents() throws {
    let found = Found(log)
    try history.extend(to: log.size) { found.add($0) }
    self.found = found
  }

  /// What was salvaged from another log brings that log's receipts and key events along.
  mutating func checkSalvages() {
    var start = log.first
    for (offset, origin) in found.salvages {
      add(
        .salvaged, .notChecked, start..<offset,
        "these events were salvaged from \(origin): receipts and keys of that history among them prove nothing here, and are checked there")
      start = offset
    }
  }

  /// What earlier epochs left is checked there: it is the beginning of this history, and that of another one.
  mutating func checkEpochs() {
    guard let epoch = log.identity.epochs.last, let parent = epoch.parent else { return }
    add(
      .elsewhere, .notChecked, nil,
      "this history goes on from epoch \(parent.hexadecimal) at size \(epoch.forkSize): receipts and keys of earlier epochs prove nothing "
        + "here, and are checked in theirs")
  }

  /// Whether a note in the log is of an earlier epoch, or of the history that what stands there was salvaged from.
  private func isInherited(_ note: SignedNote, _ offset: Offset) -> Bool {
    guard let origin = (try? Checkpoint(note.text))?.origin else { return false }
    return log.identity.earlierOrigins.contains(origin) || origin == found.salvages.first { $0.offset > offset }?.origin
  }

  /// Ranges that could not be read have the leaves of lost events; a signature over them decides whether that was so then.
  mutating func checkLost() {
    for finding in history.lost {
      add(.lost, .notChecked, finding.offsets, "\(finding.kind.rawValue): these events are lost: \(finding.message)")
    }
  }

  // MARK: What was kept

  mutating func checkKeptTree() throws {
    guard let keptTree, let kept = Frontier(keptTree, log.identity) else {
      add(.treeDiffers, .notChecked, nil, "no tree was kept beside the log, or it is damaged: there is nothing to compare with")
      return
    }
    let head = TreeHead(size: kept.range.size, root: kept.range.root(SHA256()))
    if head.size > history.head.size {
      add(.shorter, .refuted, history.head.size..<head.size, "\(head.size) events were hashed, the log ends at \(history.head.size)")
    } else if let root = rootIfKnown(head.size), root != head.root {
      if found.beginning.isLost { return addWithoutBeginning("the tree that was made of the events", 0..<head.size, .notChecked) }
      add(.treeDiffers, .refuted, 0..<head.size, "the events do not lead to the tree that was made of them")
    }
  }

  /// Nil where it can't be computed any more, because of trimming.
  private mutating func rootIfKnown(_ size: Offset) -> Digest256? {
    if size < log.first { return nil }
    return try? history.root(at: size)
  }

  /// Of something that may be right or wrong: what would tell was trimmed.
  private mutating func addWithoutBeginning(_ what: String, _ offsets: Range<Offset>, _ weight: AuditFinding.Weight) {
    add(
      .trimmed, weight, offsets, "\(what) can't be checked: of the events below \(log.first), which were removed, no hashes were kept")
  }

  mutating func checkNotes() throws {
    if keptNotes == nil { add(.unreadable, .refuted, nil, "the file of notes is damaged") }
    var seen: Set<SignedNote> = []
    for event in found.receipts {
      guard let note = try? SignedNote(event.data) else {
        add(.unreadable, .refuted, event.offset..<event.offset + 1, "a receipt event holds no note")
        continue
      }
      if isInherited(note, event.offset) { continue }
      seen.insert(note)
      check(note, at: event.offset, "the receipt at offset \(event.offset)")
    }
    for note in keptNotes ?? [] where seen.insert(note).inserted { check(note, at: nil, "a note in the file of notes") }
    checkTrim(seen)
    receipts.sort { ($0.size, $0.time) < ($1.size, $1.time) }
    // Of one server: clocks of several may differ.
    for (name, heads) in cosigned.sorted(by: { $0.key < $1.key }) {
      let heads = heads.sorted { ($0.size, $0.seconds) < ($1.size, $1.seconds) }
      for (before, after) in zip(heads, heads.dropFirst()) where after.seconds < before.seconds {
        add(.order, .refuted, before.size..<after.size, "a receipt for more events has an earlier time by the clock of \(name)")
      }
    }
    covered = receipts.last?.size ?? 0
    if policy == nil {
      add(.policy, .unproven, nil, "no policy was given: no signature counts")
    } else if receipts.isEmpty {
      add(.policy, .unproven, nil, "no receipt meets the policy")
    }
  }

  /// The receipt in the trim event, which shows that the tree in it is of the events that went: where it is all that is left.
  private mutating func checkTrim(_ seen: Set<SignedNote>) {
    guard let (offset, record) = found.beginning.trim, !record.receipt.isEmpty else { return }
    guard let note = try? SignedNote(record.receipt) else {
      return add(.unreadable, .refuted, offset..<offset + 1, "a trim event holds a receipt that is no note")
    }
    if !seen.contains(note), !isInherited(note, offset) { check(note, at: offset, "the receipt in the trim event at offset \(offset)") }
  }

  /// - Parameters:
  ///   - offset: of the event that it stands in; nil for a note of the file.
  ///   - what: what it is called in findings.
  private mutating func check(_ note: SignedNote, at offset: Offset?, _ what: String) {
    let place = offset.map { $0..<$0 + 1 }
    guard let checkpoint = try? Checkpoint(note.text) else {
      return add(.unreadable, .refuted, place, "\(what) is no checkpoint")
    }
    guard checkpoint.origin == origin else {
      return add(.otherHistory, .refuted, place, "\(what) is of \(checkpoint.origin)")
    }
    let size = checkpoint.head.size
    if size > history.head.size {
      return add(.shorter, .refuted, history.head.size..<size, "\(what) is for \(size) events, the log ends at \(history.head.size)")
    }
    if let offset, size > offset { return add(.order, .refuted, place, "\(what) covers itself") }
    guard let root = rootIfKnown(size) else {
      return add(.trimmed, .notChecked, 0..<size, "\(what) is for \(size) events, of which some were removed")
    }
    guard root == checkpoint.head.root else {
      if found.beginning.isLost { return addWithoutBeginning(what, 0..<size, .unproven) }
      return add(.rootDiffers, .refuted, 0..<size, "\(what) is for other events: \(lastAgreement(below: size))")
    }
    let candidates = keys.publicKeys(at: size).compactMap { try? VerifierKey(name: origin, kind: .note, publicKey: $0) }
    // Where the event that brought the key was removed, the auditor may know it.
    let pinned = keys.isTrimmed && keys.publicKey(at: size) == nil ? policy?.keys(of: origin) ?? [] : []
    if candidates.isEmpty && !pinned.contains(where: { note.isSigned(by: $0) }) {
      return add(
        .signature, keys.isTrimmed ? .notChecked : .refuted, place, "\(what): it is not known which key was in force at size \(size)")
    }
    guard (candidates + pinned).contains(where: { note.isSigned(by: $0) }) else {
      return add(.signature, .refuted, place, "\(what) is not signed by the key that was in force at size \(size)")
    }
    // Brackets go by receipt events.
    count(note, size, offset == found.beginning.trim?.offset ? nil : offset)
  }

  /// A note that the device has signed for this history.
  private mutating func count(_ note: SignedNote, _ size: Offset, _ offset: Offset?) {
    let place = offset.map { $0..<$0 + 1 }
    if note.signatures.count == 1 {
      checkpointCount += 1
      return
    }
    guard let policy else { return }
    guard let receipt = try? Receipt(note, policy) else {
      return add(.policy, .unproven, place, "a receipt for \(size) events lacks the signatures that the policy asks for")
    }
    let cosignatures = policy.cosignatures(of: note)
    for (name, cosignature) in cosignatures { cosigned[name, default: []].append((size, cosignature.seconds)) }
    receipts.append(
      .init(offset: offset, size: size, time: receipt.time, signers: cosignatures.map(\.name)))
  }

  /// Which events still agree with an earlier note, so that the changed one is among those behind.
  private mutating func lastAgreement(below size: Offset) -> String {
    let agreed = receipts.map(\.size).filter { $0 < size }.max() ?? log.first
    return "what differs lies at or above offset \(agreed)"
  }

  mutating func checkKeys() {
    for offset in keys.refused {
      add(
        .keyRecord, .refuted, offset..<offset + 1,
        "the key event at offset \(offset) does not follow from those before it, or is not signed")
    }
    guard let policy else { return }
    let pinned = policy.keys(of: origin)
    if pinned.isEmpty && !policy.logs.isEmpty {
      // Who pins the keys of some devices does not ask about others.
      add(.deviceKey, .unproven, nil, "the policy names keys of other histories, and none of this one")
    } else if pinned.isEmpty {
      add(.deviceKey, .notChecked, nil, "the policy names no key of this device: its keys are taken from the log itself")
    }
    let known = Set(keys.entries.map(\.publicKey) + (keys.predecessor.map { [$0] } ?? []))
    let foreign = pinned.filter { !known.contains($0.publicKey) }
    if keys.isTrimmed {
      // Key events were removed: one key that leads to those that are left has to do. If none is left, notes are checked against the pinned
      // ones.
      if !foreign.isEmpty && foreign.count == pinned.count && !known.isEmpty {
        add(.deviceKey, .unproven, nil, "no key that the policy names leads to one that the log still has")
      } else if !foreign.isEmpty {
        add(.deviceKey, .notChecked, nil, "the policy names a key of this device that the log does not have, or no more")
      }
    } else if !foreign.isEmpty {
      add(.deviceKey, .refuted, nil, "the policy names a key of this device that the log does not have")
    }
    add(
      .elsewhere, .notChecked, nil,
      "an older copy put in the place of the log, or a second device with the same keys: held against the server's record only")
  }

  func report(_ asked: Offset) -> AuditReport {
    var report = AuditReport(identity: log.identity, first: log.first, head: history.head, asked: asked)
    report.covered = covered
    report.userEventCount = found.userCount
    report.controlEventCount = found.controlCount
    report.correctionCount = found.correctionCount
    report.corrections = found.corrections
    report.erasures = found.erasures
    report.keys = keys
    report.receipts = receipts
    report.checkpointCount = checkpointCount
    report.findings = findings
    if asked > history.head.size {
      report.findings.append(
        AuditFinding(
          .shorter, .refuted, history.head.size..<asked, "the log ends at \(history.head.size), \(asked) events were asked about"))
    } else if covered < asked {
      report.findings.append(
        AuditFinding(.uncovered, .unproven, covered..<asked, "no receipt that counts covers these events"))
    }
    return report
  }
}

extension AuditWork {
  /// What reading all events found.
  private final class Found {
    var userCount: UInt64 = 0
    var controlCount: UInt64 = 0
    var correctionCount: UInt64 = 0
    var corrections: [AuditReport.Correction] = []
    var beginning: Beginning
    var receipts: [(offset: Offset, data: [UInt8])] = []
    var salvages: [(offset: Offset, origin: String)] = []
    var erasures: [Offset] = []

    init(_ log: Log) { beginning = Beginning(of: log) }

    func add(_ event: EventView) {
      if event.isControl { controlCount += 1 } else { userCount += 1 }
      beginning.add(event)
      switch event.kind {
      case .receipt: receipts.append((event.offset, event.data.array()))
      case .salvage: if let salvage = SalvageRecord(event.data) { salvages.append((event.offset, salvage.origin)) }
      case .erasure: erasures.append(event.offset)
      default:
        guard event.extensionBytes.byteCount > 0, let extensions = try? event.extensions else { return }
        for case .supersedes(let id) in extensions {
          correctionCount += 1
          if corrections.count < AuditReport.listLimit { corrections.append(.init(offset: event.offset, superseded: id)) }
        }
      }
    }
  }
}
