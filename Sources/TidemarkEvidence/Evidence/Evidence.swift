public import TidemarkLog

/// A log's history as evidence: its tree, the device's key, the checkpoints that it signed and the receipts that it got for them.
///
/// ```swift
/// let evidence = try Evidence(log, keys: KeyDirectory(at: "device-keys"))
/// let checkpoint = try evidence.checkpoint()              // durable, read again from the disk, signed
/// let receipt = try server.countersign(…)                 // over the network
/// try evidence.accept(receipt, policy)                    // verified, kept, and part of the history from the next append on
/// ```
///
/// It costs appends nothing: events are hashed when a checkpoint is asked for. All methods may be called from any thread; those that throw,
/// throw a `LogError`.
public final class Evidence: Sendable {
  /// The log that this is about.
  public let log: Log
  /// Nil where nothing is to be signed.
  private let keys: (any SigningKeyProvider)?
  private let state: Locked<State>

  private struct State {
    var history: History
    var notes: NoteFile
    /// The key in force; nil before the first.
    var publicKey: [UInt8]?
    /// The offset of the event that says so.
    var keyRecord: Offset
    /// Whether no other key came before it: then it signs what lies before its event, too.
    var isFirstKey: Bool
    /// Of what was signed last, and found to be the beginning of this history.
    var signed: TreeHead?
    var receipted: Offset = 0
  }

  /// Takes up the evidence of a log. The first time, and where what was kept is lost, all of it is hashed.
  ///
  /// Throws `LogError.Code.inconsistent` if the history is not what was signed before, `LogError.Code.corrupt`
  /// if it is shorter, and errors of the file system.
  ///
  /// - Parameters:
  ///   - log: open for writing, or for reading only.
  ///   - keys: nil for one that is only to be read; then nothing can be signed.
  public init(_ log: Log, keys: (any SigningKeyProvider)? = nil) throws {
    self.log = log
    self.keys = keys
    state = Locked(try Self.state(log))
  }

  private static func state(_ log: Log) throws -> State {
    var history = try History(log)
    let notes = try NoteFile(history.directory, log.environment.fileSystem)
    // Receipts may come in another order than they were asked for.
    let newest = try notes.notes.map { try Checkpoint($0.text).head }.max { $0.size < $1.size }
    // The last key event has to be known before another one is made.
    if newest == nil { try history.extend(to: log.durable) } else { try history.update() }
    if let newest {
      guard newest.size <= history.head.size, try history.root(at: newest.size) == newest.root else {
        if try Beginning.isLost(of: log) {
          throw LogError(
            .trimmed, "what was signed of the history can't be gone on with", file: log.path, offsets: 0..<log.first,
            why: "these events were removed, and of their hashes nothing was kept",
            advice: "restore the directory \(history.directory) from a copy, or go on in a new epoch")
        }
        throw LogError(
          .inconsistent, "the history is not what was signed", file: log.path, offsets: 0..<newest.size,
          why: "size \(newest.size) was signed with another root", advice: "keep everything, run audit, and go on in a new epoch")
      }
    }
    let key = try key(log, history)
    let receipt = try newestReceipt(notes)
    var state = State(
      history: history, notes: notes, publicKey: key?.publicKey, keyRecord: history.frontier.lastKeyRecord,
      isFirstKey: key?.isFirst ?? true,
      signed: newest)
    state.receipted = try receipt.map { try Checkpoint($0.text).head.size } ?? 0
    // What was not committed before the process ended goes along with the next commit.
    if let receipt, log.isWriter, try isMissing(receipt, log, history) { try log.stage(control: .receipt, data: receipt.bytes) }
    return state
  }

  private static func key(_ log: Log, _ history: History) throws -> (publicKey: [UInt8], isFirst: Bool)? {
    let offset = history.frontier.lastKeyRecord
    guard offset != Frontier.none else { return nil }
    if offset >= log.first, let record = KeyRecord(try log.event(at: offset).data, of: log.identity) {
      return (record.publicKey, record.previous == nil)
    }
    // Trimmed, or not what it should be: the whole chain tells.
    return try KeyChain(of: log).entries.last.map { ($0.publicKey, false) }
  }

  /// The one that covers most.
  private static func newestReceipt(_ notes: NoteFile) throws -> SignedNote? {
    let receipts = try notes.notes.filter { $0.signatures.count > 1 }.map { ($0, try Checkpoint($0.text).head.size) }
    return receipts.max { $0.1 < $1.1 }?.0
  }

  private static func isMissing(_ receipt: SignedNote, _ log: Log, _ history: History) throws -> Bool {
    let offset = history.frontier.lastReceipt
    guard offset != Frontier.none, offset >= log.first else { return true }
    guard let kept = try? SignedNote(log.event(at: offset).data), let known = try? Checkpoint(kept.text) else { return true }
    return try known.head.size < Checkpoint(receipt.text).head.size
  }

  /// What this history is called in notes.
  public var origin: String { Checkpoint.origin(of: log.identity) }

  /// The key that signs now; nil before the first checkpoint.
  public var key: VerifierKey? {
    get throws { try state.withLock { $0.publicKey }.map { try VerifierKey(name: origin, kind: .note, publicKey: $0) } }
  }

  /// All notes, oldest first: checkpoints that were signed, and receipts.
  public var notes: [SignedNote] { state.withLock { $0.notes.notes } }

  /// How many events the newest receipt covers; 0 without one.
  public var receiptedSize: Offset { state.withLock { $0.receipted } }

  // MARK: Signing

  /// Signs how the history stands: makes it durable, reads what is new from the disk again, hashes it, and signs size and root. The note is
  /// kept before it is returned.
  ///
  /// The first one makes the device's key, and an event that says so. If nothing was added since the last one, that is returned.
  ///
  /// Throws `LogError.Code.missingKey` and errors of the file system.
  public func checkpoint() throws -> SignedNote {
    try state.withLock { state in
      let keys = try signingKeys()
      try catchUp(&state)
      if state.publicKey == nil {
        try changeKey(&state, keys)
        try catchUp(&state)
      }
      let head = state.history.head
      if state.signed == head, let known = signed(head, state) { return known }
      guard let publicKey = state.publicKey else {
        throw LogError(
          .missingKey, "there is no key to sign with", file: log.path, why: "the log has no key event that counts", advice: "run audit")
      }
      try state.history.save()
      let note = try sign(head, publicKey, keys, &state)
      state.signed = head
      return note
    }
  }

  /// Signs how the history stood at a size, for whoever is given the events up to there. There must have been a checkpoint before, so that
  /// the key is known.
  ///
  /// - Parameter size: durable; above the last change of the key, since an older key signs nothing more.
  ///
  /// Throws `LogError.Code.offsetOutOfRange` for a size that is not durable, `LogError.Code.missingKey` without a key of that size, and
  /// errors of the file system.
  package func checkpoint(at size: Offset) throws -> SignedNote {
    try state.withLock { state in
      let keys = try signingKeys()
      try catchUp(&state)
      let root = try state.history.root(at: size)
      let head = TreeHead(size: size, root: root)
      if let known = signed(head, state) { return known }
      guard let publicKey = state.publicKey, size > state.keyRecord || state.isFirstKey else {
        throw LogError(
          .missingKey, "size \(size) can't be signed", file: log.path, why: "the key was changed at offset \(state.keyRecord)",
          advice: "ask for a larger size")
      }
      try state.history.saveNowAndThen()
      return try sign(head, publicKey, keys, &state)
    }
  }

  /// The smallest size above an offset that can be signed, or was; above it are only such, if the key in force signs it.
  package func signableSize(above offset: Offset) throws -> (size: Offset, isOpen: Bool) {
    try state.withLock { state in
      let first = state.isFirstKey ? 0 : state.keyRecord + 1
      if offset + 1 >= first { return (offset + 1, true) }
      let known = try state.notes.notes.map { try Checkpoint($0.text).head.size }.filter { $0 > offset && $0 < first }.min()
      return known.map { ($0, false) } ?? (first, true)
    }
  }

  /// The root at a size that was hashed. Throws as ``History/root(at:)``.
  package func root(at size: Offset) throws -> Digest256 { try state.withLock { try $0.history.root(at: size) } }

  /// The tree of the first `size` events. Throws as ``root(at:)``.
  package func compactRange(at size: Offset) throws -> CompactRange {
    try state.withLock { try $0.history.compactRange(size: size) }
  }

  /// The tree of the events below where the log begins.
  package var floorRange: CompactRange { state.withLock { $0.history.frontier.floor } }

  private func signed(_ head: TreeHead, _ state: State) -> SignedNote? {
    let text = Checkpoint(origin: origin, head: head).text
    return state.notes.notes.last { $0.text == text }
  }

  private func sign(_ head: TreeHead, _ publicKey: [UInt8], _ keys: any SigningKeyProvider, _ state: inout State) throws -> SignedNote {
    let text = Checkpoint(origin: origin, head: head).text
    let key = try VerifierKey(name: origin, kind: .note, publicKey: publicKey)
    let signature = try keys.sign(Array(text.utf8), publicKey: publicKey)
    let note = SignedNote(text: text, signatures: [SignedNote.Signature(name: key.name, keyID: key.keyID, bytes: signature)])
    guard note.isSigned(by: key) else {
      throw LogError(.missingKey, "the key's signature does not verify", why: "the key provider signed with another", advice: "check it")
    }
    try state.notes.append(note)
    return note
  }

  /// Signs with a new key from here on. The event that says so is signed by both keys, and durable when this returns; the old key is
  /// removed.
  ///
  /// Throws as ``checkpoint()`` does.
  @discardableResult
  public func rotateKey() throws -> VerifierKey {
    try state.withLock { state in
      let keys = try signingKeys()
      try catchUp(&state)
      let old = state.publicKey
      if let old { try signAhead(old, keys, &state) }
      let publicKey = try changeKey(&state, keys)
      if let old { try keys.removeKey(publicKey: old) }
      return try VerifierKey(name: origin, kind: .note, publicKey: publicKey)
    }
  }

  /// Between two sizes that a key signs before it is replaced: so many bytes of records, or one event.
  private static let stepByteCount = 256 << 10

  /// Signs what no receipt covers, in steps, while the key is there: once it is replaced, nothing below that could be signed any more, and
  /// all of it would have to reach a server at once.
  private func signAhead(_ publicKey: [UInt8], _ keys: any SigningKeyProvider, _ state: inout State) throws {
    let first = max(state.receipted, state.isFirstKey ? log.first : state.keyRecord + 1)
    let end = state.history.head.size
    guard first < end else { return }
    try state.history.save()
    for size in try Self.steps(log, first..<end) + [end] {
      let head = TreeHead(size: size, root: try state.history.root(at: size))
      if signed(head, state) == nil { _ = try sign(head, publicKey, keys, &state) }
    }
  }

  private static func steps(_ log: Log, _ offsets: Range<Offset>) throws -> [Offset] {
    var cursor = try log.read(Query(offsets: offsets, includesControlEvents: true, onDamage: .skip))
    var sizes: [Offset] = []
    var byteCount = 0
    while let event = try cursor.next() {
      // The next one would make it too much.
      if byteCount > 0, byteCount + event.record.byteCount > stepByteCount {
        sizes.append(event.offset)
        byteCount = 0
      }
      byteCount += event.record.byteCount
    }
    return sizes
  }

  private func signingKeys() throws -> any SigningKeyProvider {
    guard let keys else {
      throw LogError(
        .missingKey, "nothing can be signed", why: "no key provider was given", advice: "give one when the evidence is taken up")
    }
    try checkWriter()
    return keys
  }

  private func checkWriter() throws {
    if !log.isWriter { throw LogError(.readOnly, "the log was opened for reading", file: log.path, advice: "open it for writing") }
  }

  /// Hashes what is durable, and goes by the last key event in it, whoever wrote that.
  private func catchUp(_ state: inout State) throws {
    try state.history.update()
    guard state.keyRecord != state.history.frontier.lastKeyRecord else { return }
    let key = try Self.key(log, state.history)
    state.publicKey = key?.publicKey
    state.isFirstKey = key?.isFirst ?? true
    state.keyRecord = state.history.frontier.lastKeyRecord
  }

  @discardableResult
  private func changeKey(_ state: inout State, _ keys: any SigningKeyProvider) throws -> [UInt8] {
    let publicKey = try keys.makeKey()
    let record = try KeyRecord(log.identity, from: state.publicKey, to: publicKey, keys)
    state.keyRecord = try log.commit(control: .keyRotation, data: record.bytes)
    state.isFirstKey = state.publicKey == nil
    state.publicKey = publicKey
    return publicKey
  }

  /// Goes on in a new epoch: its history is the same up to the fork, and so far also behind it, but another copy's may not be. It has a key
  /// and notes of its own; those of the old epoch stay where they are.
  ///
  /// - Parameter fork: the last size that this history has in common with the other one.
  ///
  /// Throws as ``root(at:)`` and `Log.beginEpoch(fork:rootHash:)` do.
  package func beginEpoch(fork: Offset) throws {
    try state.withLock { state in
      try checkWriter()
      let root = try state.history.root(at: fork)
      try state.history.save()
      try log.beginEpoch(fork: fork, rootHash: root.bytes)
      state = try Self.state(log)
    }
  }

  // MARK: Receipts

  /// Keeps a receipt: verifies it, writes it to the notes, and stages it, so that it stands in the log before the next commit's events. By
  /// itself it causes no commit.
  ///
  /// - Parameters:
  ///   - note: as the server gave it.
  ///   - policy: whose signatures count.
  ///   - commits: whether to commit it at once, for a program that ends before it appends anything.
  ///
  /// Throws `LogError.Code.invalidText` for what is no note, `LogError.Code.notProven` if it is not of this history, this device has not
  /// signed it, or the policy is not met, and `LogError.Code.inconsistent` if it is for another root than this history has.
  @discardableResult
  public func accept(_ note: SignedNote, _ policy: Policy, commits: Bool = false) throws -> Receipt {
    let receipt = try Receipt(note, policy)
    // What could not be read again would make the file of notes worthless.
    _ = try SignedNote(note.bytes)
    try checkWriter()
    try state.withLock { state in
      let head = receipt.checkpoint.head
      guard receipt.checkpoint.origin == origin, head.size <= state.history.head.size else {
        throw LogError(
          .notProven, "a receipt is not for this history", why: "it is for size \(head.size) of \(receipt.checkpoint.origin)",
          advice: "give it to the log that it belongs to")
      }
      let root = try state.history.root(at: head.size)
      guard root == head.root else {
        throw LogError(
          .inconsistent, "a receipt is for another history", offsets: 0..<head.size,
          why: "it has root \(head.root.hexadecimal), this history has \(root.hexadecimal)", advice: "keep both, and go on in a new epoch")
      }
      guard try isSigned(note, state) else {
        throw LogError(
          .notProven, "a receipt lacks this device's signature", why: "it is not there as it was made, or another one stands beside it",
          advice: "put the server's signature under the checkpoint that was signed")
      }
      if state.notes.notes.contains(note) {
        if head.size <= state.receipted { return }
      } else {
        try state.notes.append(note)
      }
      if commits { _ = try log.commit(control: .receipt, data: note.bytes) } else { try log.stage(control: .receipt, data: note.bytes) }
      if head.size > state.receipted {
        state.receipted = head.size
        try state.history.forgetLeaves(below: head.size)
      }
    }
    return receipt
  }

  /// Whether a note is one that this device signed. The key may have changed since: then the checkpoint that was kept tells.
  private func isSigned(_ note: SignedNote, _ state: State) throws -> Bool {
    let own = state.notes.notes.filter { $0.text == note.text }.flatMap(\.signatures).filter { $0.name == origin }
    if own.isEmpty {
      guard let publicKey = state.publicKey else { return false }
      return note.isSigned(by: try VerifierKey(name: origin, kind: .note, publicKey: publicKey))
    }
    let claimed = note.signatures.filter { $0.name == origin }
    return !claimed.isEmpty && claimed.allSatisfy(own.contains)
  }

  // MARK: Proofs

  /// Shows that an event stands at its offset, to somebody who knows the root at `size`. Throws as ``History/inclusionProof(of:in:)``.
  public func inclusionProof(of offset: Offset, in size: Offset) throws -> InclusionProof {
    try state.withLock { try $0.history.inclusionProof(of: offset, in: size) }
  }

  /// Shows that the history of one size is the beginning of that of another. Throws as ``History/consistencyProof(from:to:)``.
  public func consistencyProof(from oldSize: Offset, to size: Offset) throws -> ConsistencyProof {
    try state.withLock { try $0.history.consistencyProof(from: oldSize, to: size) }
  }

  // MARK: Trimming

  /// As `Log.trim(below:)`, and keeps what the history needs to go on without the events: the tree at the new beginning and
  /// the newest receipt go into the trim event.
  ///
  /// Throws as that does, and `LogError.Code.notProven` for events that no receipt covers.
  @discardableResult
  public func trim(below floor: Offset) throws -> Offset {
    try state.withLock { state in
      if floor > state.receipted {
        throw LogError(
          .notProven, "events that no receipt covers can't be trimmed", offsets: state.receipted..<floor,
          why: "receipts cover \(state.receipted) events", advice: "trim below that, or get a receipt first")
      }
      try catchUp(&state)
      let point = log.firstOffset(afterTrimmingBelow: floor)
      guard point > log.first else { return log.first }
      let lastKey = state.history.frontier.lastKeyRecord
      if lastKey < point, lastKey >= log.first {
        // The key in force stays known by a repetition of its event.
        _ = try log.commit(control: .keyRotation, data: log.event(at: lastKey).data)
      }
      let range = try state.history.prepare(trimTo: point)
      let receipt = try Self.newestReceipt(state.notes)
      return try log.trim(
        below: point, evidence: TrimEvidence(floor: point, compactRange: range.encoded, receipt: receipt?.bytes ?? []))
    }
  }

  /// Hashes the events that became durable since, without signing. Throws as ``History/update()`` does.
  @discardableResult
  public func update() throws -> TreeHead { try state.withLock { try $0.history.update() } }

  /// Whether a log has notes or a tree beside it.
  package static func isKept(of log: Log) throws -> Bool {
    try log.environment.fileSystem.status(log.evidencePath) != nil
  }

  /// Where a device's keys are kept unless a host has a better place.
  public static func keyPath(of log: Log) -> String { "\(log.path)/evidence/keys" }

  /// Writes down how far the tree is, so that the next opening need not hash again.
  public func save() throws { try state.withLock { try $0.history.save() } }
}
