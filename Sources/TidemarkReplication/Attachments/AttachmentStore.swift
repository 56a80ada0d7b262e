package import TidemarkEvidence
public import TidemarkLog
package import TidemarkProtocol
internal import TidemarkText

/// The files that a log's events name: in `attachments`, in the log's directory, each under its SHA-256 in hexadecimal. Content that is put
/// twice is one file.
///
/// A file is put before the event that names it is appended: what an event names was on the disk by then.
///
/// ```swift
/// let store = AttachmentStore(log)
/// let photo = try store.put(jpeg, mediaType: "image/jpeg", name: "gate 7.jpg")
/// try log.append(NewEvent(type: "audit", extensions: [.attachment(photo)]))
/// ```
///
/// A ``Replicator`` sends what the log's events name. What sealed events name is not seen: it stays on the device, and nothing waits for
/// it. All methods may be called from any thread.
public final class AttachmentStore: Sendable {
  /// Whose events.
  public let log: Log
  package let directory: String
  private let state: Locked<State>

  private struct State {
    /// Nil before the first look.
    var receipts: AttachmentReceipts?
    /// What events below ``scanned`` name and the server has not signed for, in their order.
    var unaccepted: [NamedAttachment] = []
    var scanned: Offset?
    /// How many receipts there were by then.
    var receiptCount = 0
    /// As it was kept.
    var floor: Offset = 0
  }

  static let folder = "attachments"
  private static let floorName = "floor"
  /// The kept floor follows after so many events.
  private static let floorStep: Offset = 256

  private var files: any FileSystem { log.environment.fileSystem }

  /// Of a log that is open for reading or writing. Nothing is read yet.
  public init(_ log: Log) {
    self.log = log
    directory = "\(log.path)/\(Self.folder)"
    state = Locked(State())
  }

  // MARK: Putting

  /// Stores a file, durably, and returns what an event says of it.
  ///
  /// - Parameters:
  ///   - bytes: what the file holds.
  ///   - mediaType: such as `image/jpeg`: up to 255 bytes.
  ///   - name: the file's name for people: up to 255 bytes.
  ///
  /// Throws `LogError.Code.readOnly` for a log that is open for reading, and errors of the file system.
  ///
  /// ```swift
  /// let note = try store.put(Array("Gate 7 stands open".utf8), mediaType: "text/plain", name: "note.txt")
  /// ```
  public func put(_ bytes: [UInt8], mediaType: String, name: String) throws -> EventExtension.Attachment {
    let digest = SHA256().hash(bytes)
    try put(digest) { (file) throws(LogError) in try file.write(bytes.rawSpan, at: 0) }
    return EventExtension.Attachment(byteCount: UInt64(bytes.count), digest: digest.bytes, mediaType: mediaType, name: name)
  }

  /// Stores a copy of a file, durably, a piece at a time, and returns what an event says of it.
  ///
  /// - Parameters:
  ///   - path: the file. It is only read.
  ///   - mediaType: such as `image/jpeg`: up to 255 bytes.
  ///   - name: the file's name for people: up to 255 bytes. Nil: the last part of the path.
  ///
  /// Throws as ``put(_:mediaType:name:)`` does, and `LogError.Code.invalidArgument` for what is no file or grows shorter meanwhile.
  ///
  /// ```swift
  /// let video = try store.put(file: "gate-7.mp4", mediaType: "video/mp4")
  /// ```
  public func put(file path: String, mediaType: String, name: String? = nil) throws -> EventExtension.Attachment {
    guard let status = try files.status(path), !status.isDirectory else {
      throw LogError(.invalidArgument, "there is no such file", file: path, advice: "name a file")
    }
    let source = try files.open(path, .read)
    defer { source.close() }
    let byteCount = try source.byteCount()
    var digest: Digest256?
    try put({ digest }) { (file) throws(LogError) in
      var position: UInt64 = 0
      digest = try SHA256().hash(source, byteCount: byteCount) { (piece) throws(LogError) in
        try file.write(piece, at: position)
        position += UInt64(piece.byteCount)
      }
    }
    guard let digest else {
      throw LogError(.invalidArgument, "the file can't be stored", file: path, why: "it grew shorter meanwhile", advice: "put it again")
    }
    let last = path.split(separator: "/").last.map(String.init) ?? path
    return EventExtension.Attachment(byteCount: byteCount, digest: digest.bytes, mediaType: mediaType, name: name ?? last)
  }

  private func put(_ digest: Digest256, _ write: (any File) throws(LogError) -> Void) throws { try put({ digest }, write) }

  private func put(_ digest: () -> Digest256?, _ write: (any File) throws(LogError) -> Void) throws {
    guard log.isWriter else {
      throw LogError(
        .readOnly, "a file can't be stored", file: directory, why: "the log is open for reading", advice: "open it for writing")
    }
    try makeDirectory()
    let random = log.environment.random
    let unfinished = "\(directory)/\(EventID(high: log.incarnation, low: random.next()).hexadecimal)\(Self.unfinished)"
    do {
      let file = try files.open(unfinished, .create)
      defer { file.close() }
      try write(file)
      if digest() != nil { try file.sync() }
    } catch {
      try? files.remove(unfinished)
      throw error
    }
    guard let digest = digest() else { return try files.remove(unfinished) }
    try files.rename(unfinished, to: path(digest))
    try files.syncDirectory(directory)
  }

  private static let unfinished = ".tmp"

  private func makeDirectory() throws {
    try state.withLock { _ in
      if try files.status(directory) == nil { try files.makeDirectory(directory) }
      try files.syncDirectory(log.path)
    }
  }

  /// Removes what a process that ended left unfinished. Throws errors of the file system.
  package func clean() throws {
    guard log.isWriter, try files.status(directory) != nil else { return }
    let own = EventID(high: log.incarnation, low: 0).hexadecimal.prefix(16)
    for name in try files.list(directory) where name.hasSuffix(Self.unfinished) && !name.hasPrefix(own) {
      try files.remove("\(directory)/\(name)")
    }
  }

  // MARK: Files

  private func path(_ digest: Digest256) -> String { "\(directory)/\(digest.hexadecimal)" }

  /// Where a file lies; nil if it is not on this device. Throws errors of the file system.
  ///
  /// ```swift
  /// if let path = try store.path(of: photo) { show(path) }
  /// ```
  public func path(of attachment: EventExtension.Attachment) throws -> String? {
    guard let digest = Digest256(attachment.digest), try isHere(digest, attachment.byteCount) else { return nil }
    return path(digest)
  }

  package func isHere(_ digest: Digest256, _ byteCount: UInt64) throws -> Bool {
    guard let status = try files.status(path(digest)) else { return false }
    return !status.isDirectory && status.byteCount == byteCount
  }

  /// A part of a file; nil if it is not here, or shorter.
  package func read(_ digest: Digest256, _ range: Range<UInt64>) throws -> [UInt8]? {
    guard try files.status(path(digest)) != nil else { return nil }
    let file = try files.open(path(digest), .read)
    defer { file.close() }
    var bytes = [UInt8](repeating: 0, count: range.count)
    return try file.read(bytes.count, at: range.lowerBound, into: &bytes, at: 0) == bytes.count ? bytes : nil
  }

  /// Whether a file is what its name says.
  package func isSound(_ digest: Digest256) throws -> Bool {
    let file = try files.open(path(digest), .read)
    defer { file.close() }
    return try SHA256().hash(file, byteCount: file.byteCount()) == digest
  }

  /// Reads all files through, and looks which are not there and which nothing names. Throws errors of the file system and of reading the
  /// log.
  ///
  /// ```swift
  /// for path in try store.verify().damaged { print("damaged: \(path)") }
  /// ```
  public func verify() throws -> AttachmentReport {
    var report = AttachmentReport()
    var named: Set<[UInt8]> = []
    try forEach { attachment in
      named.insert(attachment.attachment.digest)
      if attachment.state == .missing { report.missing.append(attachment) }
    }
    for name in try files.status(directory) == nil ? [] : files.list(directory).sorted() {
      guard let digest = Digest256(hexadecimal: name) else { continue }
      report.checked += 1
      if try !isSound(digest) {
        report.damaged.append(path(digest))
      } else if !named.contains(digest.bytes) {
        report.unnamed.append(path(digest))
      }
    }
    return report
  }

  // MARK: What became of them

  /// Shows what each event names, in order, with what became of it. Throws as a cursor does, and what `body` throws.
  ///
  /// ```swift
  /// try store.forEach { named in print(named.offset, named.attachment.name, named.state) }
  /// ```
  public func forEach(from offset: Offset = 0, _ body: (NamedAttachment) throws -> Void) throws {
    let accepted = try state.withLock { try Self.receipts(&$0, directory, files).accepted }
    var cursor = try log.read(Query(offsets: max(offset, log.first)..<Offset.max, onDamage: .skip))
    while let event = try cursor.next() {
      for var named in Self.named(event) {
        named.state = try fate(named, accepted)
        try body(named)
      }
    }
  }

  /// Throws as ``forEach(from:_:)`` does.
  public func counts() throws -> AttachmentCounts {
    var counts = AttachmentCounts()
    try forEach { named in
      switch named.state {
      case .accepted: counts.accepted += 1
      case .missing: counts.missing += 1
      case .pending:
        counts.pending += 1
        counts.pendingByteCount += named.attachment.byteCount
      }
    }
    return counts
  }

  /// What events below an offset name and the server has not signed for, in their order. Throws errors of the file system and of reading
  /// the log.
  ///
  /// ```swift
  /// if try store.unaccepted(below: offset).isEmpty { try log.trim(below: offset) }
  /// ```
  public func unaccepted(below offset: Offset = .max) throws -> [NamedAttachment] {
    try unacceptedAsKnown().prefix { $0.offset < offset }.map { named in
      var named = named
      named.state = try isHere(named) ? .pending : .missing
      return named
    }
  }

  /// The same for all events, without looking which files are here.
  package func unacceptedAsKnown() throws -> [NamedAttachment] {
    try state.withLock { state in
      try look(&state)
      return state.unaccepted
    }
  }

  /// How far a log may be trimmed: up to an offset, but not beyond an event whose files the server has not all signed for. Throws as
  /// ``unaccepted(below:)`` does.
  ///
  /// ```swift
  /// try log.trim(below: store.trimmable(below: status.trimmable))
  /// ```
  public func trimmable(below offset: Offset) throws -> Offset {
    try unacceptedAsKnown().first.map { min($0.offset, offset) } ?? offset
  }

  private func isHere(_ named: NamedAttachment) throws -> Bool {
    guard let digest = Digest256(named.attachment.digest) else { return false }
    return try isHere(digest, named.attachment.byteCount)
  }

  private func fate(_ named: NamedAttachment, _ accepted: [Digest256: UInt64]) throws -> NamedAttachment.State {
    if Self.isAccepted(named, accepted) { return .accepted }
    return try isHere(named) ? .pending : .missing
  }

  private static func isAccepted(_ named: NamedAttachment, _ accepted: [Digest256: UInt64]) -> Bool {
    Digest256(named.attachment.digest).map { accepted[$0] == named.attachment.byteCount } ?? false
  }

  private static func named(_ event: borrowing EventView) -> [NamedAttachment] {
    var found: [NamedAttachment] = []
    // An event whose extensions can't be taken apart names nothing that could be sent.
    for case .attachment(let attachment) in (try? event.extensions) ?? [] {
      found.append(NamedAttachment(offset: event.offset, event: event.id, attachment: attachment, state: .pending))
    }
    return found
  }

  /// Brings what is not accepted up to date: reads new receipts, and new events.
  private func look(_ state: inout State) throws {
    let accepted = try Self.receipts(&state, directory, files).accepted
    try log.refresh()
    let size = log.size
    let start = try state.scanned ?? loadFloor(&state, size)
    if start == size && state.scanned != nil && state.receiptCount == accepted.count && state.unaccepted.first?.offset ?? .max >= log.first
    {
      return
    }
    if start > size { state.unaccepted.removeAll { $0.offset >= size } }
    var found: [NamedAttachment] = []
    if start < size {
      var cursor = try log.read(seen: Query(offsets: max(start, log.first)..<size, onDamage: .skip))
      while let event = try cursor.next() { found += Self.named(event) }
    }
    state.scanned = size
    state.receiptCount = accepted.count
    state.unaccepted += found
    state.unaccepted.removeAll { Self.isAccepted($0, accepted) || $0.offset < log.first }
    keepFloor(&state, size)
  }

  private static func receipts(_ state: inout State, _ directory: String, _ files: any FileSystem) throws -> AttachmentReceipts {
    if state.receipts == nil { state.receipts = try AttachmentReceipts(directory, files) } else { try state.receipts?.refresh() }
    return try state.receipts ?? AttachmentReceipts(directory, files)
  }

  // MARK: Accepting

  /// Keeps the server's word that it has a file, durably. Throws `LogError.Code.corrupt` for one that does not verify, and errors of the
  /// file system.
  package func accept(_ answer: AttachmentAnswer, by key: VerifierKey, tenant: String) throws {
    guard answer.isReceipt(by: key, tenant: tenant) else {
      throw LogError(.corrupt, "a receipt does not count", why: "its signature is not the server's", advice: "look who answers there")
    }
    try makeDirectory()
    try state.withLock { state in
      _ = try Self.receipts(&state, directory, files)
      try state.receipts?.append(answer, tenant: tenant, key: key)
    }
  }

  /// Removes the files that the server signed for from this device. Returns the bytes that were freed. Throws errors of the file system.
  ///
  /// ```swift
  /// let freed = try store.removeAccepted()
  /// ```
  @discardableResult
  public func removeAccepted() throws -> UInt64 {
    try state.withLock { state in
      let receipts = try Self.receipts(&state, directory, files)
      guard !receipts.accepted.isEmpty else { return 0 }
      try receipts.sync()
      var freed: UInt64 = 0
      for name in try files.list(directory).sorted() {
        guard let digest = Digest256(hexadecimal: name), let byteCount = receipts.accepted[digest],
          try files.status(path(digest))?.byteCount == byteCount
        else { continue }
        try files.remove(path(digest))
        freed += byteCount
      }
      try files.syncDirectory(directory)
      return freed
    }
  }

  // MARK: Generations

  private var generationFile: String { "\(directory)/generation" }

  /// The server's generation in which it was last seen to have all that it signed for; nil if none is known. Throws errors of the file
  /// system.
  package func confirmedGeneration() throws -> EventID? {
    try files.contents(generationFile).flatMap { EventID(String(decoding: $0, as: UTF8.self).filter { $0 != "\n" }) }
  }

  /// Notes that the server has all that it signed for and is still here. Throws errors of the file system.
  package func confirm(_ generation: EventID) throws {
    try makeDirectory()
    try files.replace(generationFile, with: Array("\(generation.hexadecimal)\n".utf8))
  }

  /// The files here that the server signed for. Throws errors of the file system.
  package func acceptedFiles() throws -> [UploadFile] {
    guard try files.status(directory) != nil else { return [] }
    let accepted = try state.withLock { try Self.receipts(&$0, directory, files).accepted }
    return try files.list(directory).sorted().compactMap { name in
      guard let digest = Digest256(hexadecimal: name), let byteCount = accepted[digest], try isHere(digest, byteCount) else { return nil }
      return UploadFile(digest: digest, byteCount: byteCount)
    }
  }

  // MARK: Floor

  // All that events below it name was accepted. It only saves time: without it the whole log is looked through.

  private func loadFloor(_ state: inout State, _ size: Offset) throws -> Offset {
    guard let bytes = try files.contents("\(directory)/\(Self.floorName)"), let object = try? JSONValue(bytes).object("the floor"),
      (try? object.id("log")) == log.identity.logID, let floor = try? object.offset("floor"), floor <= size
    else { return log.first }
    state.floor = floor
    return max(floor, log.first)
  }

  private func keepFloor(_ state: inout State, _ size: Offset) {
    let floor = state.unaccepted.first?.offset ?? size
    guard log.isWriter, floor >= state.floor + Self.floorStep, (try? files.status(directory)) ?? nil != nil else { return }
    var json = JSONWriter()
    json.beginObject()
    json.member("log", log.identity.logID)
    json.member("floor", floor)
    json.endObject()
    if (try? files.replace("\(directory)/\(Self.floorName)", with: json.bytes, syncs: false)) != nil { state.floor = floor }
  }
}
