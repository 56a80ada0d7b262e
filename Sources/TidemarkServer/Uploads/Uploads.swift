package import TidemarkEvidence
package import TidemarkLog
package import TidemarkProtocol

/// The files that events name, as a server takes and holds them: in the directory `attachments`, a folder for each tenant.
///
/// | name | |
/// |---|---|
/// | `<digest>` | a file that was verified; only then does it get this name |
/// | `<id>.part` | what has come of one |
/// | `<id>.upload` | its length, and how much of the part is synced: JSON |
///
/// Everything that it knows is in names and these states, so it needs no database.
package final class Uploads: Sendable {
  private let path: String
  private let environment: Environment
  package let limits: UploadLimits
  private let sign: @Sendable ([UInt8]) throws -> [UInt8]
  private let table = Locked(Table())
  /// One upload is begun at a time.
  private let beginning = Locked(())

  private struct Table {
    var uploads: [EventID: Upload] = [:]
    var names: [Name: EventID] = [:]
    /// Folders with names in them that a power cut may take away.
    var unsynced: Set<String> = []

    mutating func add(_ upload: Upload) {
      uploads[upload.id] = upload
      names[Name(upload)] = upload.id
    }
  }

  private struct Name: Hashable {
    let tenant: String
    let digest: Digest256
    let byteCount: UInt64

    init(_ upload: Upload) { self.init(upload.tenant, upload.digest, upload.byteCount) }

    init(_ tenant: String, _ digest: Digest256, _ byteCount: UInt64) {
      self.tenant = tenant
      self.digest = digest
      self.byteCount = byteCount
    }
  }

  private static let partSuffix = ".part"
  private static let stateSuffix = ".upload"

  private var files: any FileSystem { environment.fileSystem }
  private var now: UInt64 { UInt64(max(0, environment.clock.now().time.nanoseconds / 1_000_000_000)) }

  /// Takes up what was begun; drops what a crash left without the rest of it. Throws errors of the file system.
  ///
  /// - Parameters:
  ///   - path: the directory.
  ///   - sign: the server's key.
  package init(
    at path: String, _ environment: Environment, limits: UploadLimits, sign: @escaping @Sendable ([UInt8]) throws -> [UInt8]
  ) throws {
    self.path = path
    self.environment = environment
    self.limits = limits
    self.sign = sign
    let files = environment.fileSystem
    if try files.status(path) == nil { try files.makeDirectory(path) }
    try files.syncDirectory(files.directory(of: path))
    for folder in try files.list(path).sorted() {
      if let tenant = Self.tenant(folder) { try load(tenant) }
    }
    try files.syncDirectory(path)
  }

  private func load(_ tenant: String) throws {
    let folder = folder(tenant)
    var names = Set(try files.list(folder))
    for name in names.sorted() where name.hasSuffix(Self.stateSuffix) {
      let stem = String(name.dropLast(Self.stateSuffix.count))
      let part = stem + Self.partSuffix
      guard let id = Target.id(stem), let bytes = try files.contents("\(folder)/\(name)"),
        let upload = Upload(bytes, id: id, tenant: tenant), !names.contains(upload.digest.hexadecimal)
      else { continue }
      let standing = upload.state.withLock { $0 }
      guard try standing.offset == 0 || files.status("\(folder)/\(part)")?.byteCount ?? 0 >= standing.offset else { continue }
      table.withLock { $0.add(upload) }
      names.subtract([name, part])
    }
    for name in names.sorted() where Digest256(hexadecimal: name) == nil { try files.remove("\(folder)/\(name)") }
    // What was renamed right before a kill is named for good only now.
    try files.syncDirectory(folder)
  }

  // MARK: Places

  // A tenant's name in lower case, with `=` and two digits for other characters: two tenants never share a folder, on any disk.
  private static func folder(of tenant: String) -> String {
    var name = ""
    for (index, byte) in tenant.utf8.enumerated() {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        name.unicodeScalars.append(Unicode.Scalar(byte))
      case UInt8(ascii: ".") where index > 0: name += "."
      default: name += "=" + [byte].hexadecimal
      }
    }
    return name
  }

  private static func tenant(_ folder: String) -> String? {
    var bytes: [UInt8] = []
    var rest = folder.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "=") else {
        bytes.append(byte)
        continue
      }
      guard let code = [UInt8](hexadecimal: String(rest.prefix(2)) ?? ""), code.count == 1 else { return nil }
      bytes += code
      rest = rest.dropFirst(2)
    }
    guard let tenant = String(validating: bytes, as: UTF8.self), self.folder(of: tenant) == folder else { return nil }
    return tenant
  }

  private func folder(_ tenant: String) -> String { "\(path)/\(Self.folder(of: tenant))" }
  private func file(_ digest: Digest256, _ tenant: String) -> String { "\(folder(tenant))/\(digest.hexadecimal)" }
  private func part(_ upload: Upload) -> String { "\(folder(upload.tenant))/\(upload.id.hexadecimal)\(Self.partSuffix)" }
  private func stateFile(_ upload: Upload) -> String { "\(folder(upload.tenant))/\(upload.id.hexadecimal)\(Self.stateSuffix)" }

  // MARK: Looking

  /// The length of a tenant's file that is here for good; nil if it is not. Throws errors of the file system.
  package func byteCount(of digest: Digest256, _ tenant: String) throws -> UInt64? {
    guard let status = try files.status(file(digest, tenant)), !status.isDirectory else { return nil }
    let folder = folder(tenant)
    if table.withLock({ $0.unsynced.contains(folder) }) {
      try files.syncDirectory(folder)
      table.withLock { _ = $0.unsynced.remove(folder) }
    }
    return status.byteCount
  }

  /// What is here of a tenant's file; nil if nothing.
  package func answer(_ digest: Digest256, _ tenant: String) throws -> AttachmentAnswer? {
    if let byteCount = try byteCount(of: digest, tenant) { return try receipt(digest, byteCount, tenant) }
    let upload = table.withLock { table in table.uploads.values.first { $0.tenant == tenant && $0.digest == digest } }
    return try upload.flatMap(standing)
  }

  private func receipt(_ digest: Digest256, _ byteCount: UInt64, _ tenant: String) throws -> AttachmentAnswer {
    let signature = try sign(AttachmentAnswer.message(tenant: tenant, digest: digest, byteCount: byteCount))
    return AttachmentAnswer(digest: digest, byteCount: byteCount, state: .complete(signature: signature))
  }

  /// Where an upload of a tenant stands. Another tenant's is as one that is not there.
  package func standing(of id: EventID, _ tenant: String) throws -> AttachmentAnswer {
    guard let answer = try standing(find(id, tenant)) else { throw Problem.unknownUpload }
    return answer
  }

  private func standing(_ upload: Upload) throws -> AttachmentAnswer? {
    let state = upload.state.withLock { $0 }
    if state.isGone { return nil }
    if state.isComplete { return try receipt(upload.digest, upload.byteCount, upload.tenant) }
    return AttachmentAnswer(digest: upload.digest, byteCount: upload.byteCount, state: .open(upload: upload.id, offset: state.offset))
  }

  private func find(_ id: EventID, _ tenant: String) throws -> Upload {
    guard let upload = table.withLock({ $0.uploads[id] }), upload.tenant == tenant else { throw Problem.unknownUpload }
    if isOver(upload) {
      try sweep()
      throw Problem.unknownUpload
    }
    return upload
  }

  /// Uploads that are not finished, of a device or of all, the oldest first.
  package func open(of device: EventID?) throws -> [Open] {
    try sweep()
    let uploads = table.withLock { Array($0.uploads.values) }.sorted { $0.id < $1.id }
    return try uploads.filter { isOpen($0) && (device == nil || $0.device == device) }.compactMap { upload in
      try standing(upload).map { Open(tenant: upload.tenant, device: upload.device, answer: $0) }
    }
  }

  /// An upload that is not finished.
  package struct Open: Sendable {
    package let tenant: String
    /// Who began it.
    package let device: EventID
    package let answer: AttachmentAnswer
  }

  private func isOpen(_ upload: Upload) -> Bool { upload.state.withLock { !$0.isComplete && !$0.isGone } }

  /// Calls `body` with each file that is here for good. Throws errors of the file system, and what `body` throws.
  func forEachFile(_ body: (_ tenant: String, _ digest: Digest256, _ path: String) throws -> Void) throws {
    for folder in try files.list(path).sorted() {
      guard let tenant = Self.tenant(folder) else { continue }
      for name in try files.list("\(path)/\(folder)").sorted() {
        guard let digest = Digest256(hexadecimal: name), try byteCount(of: digest, tenant) != nil else { continue }
        try body(tenant, digest, "\(path)/\(folder)/\(name)")
      }
    }
  }

  // MARK: Beginning

  /// Begins an upload, or says where it stands: that of the same tenant, digest and length is the same one.
  ///
  /// - Parameter keepsComplete: whether one of a file that is here is given all the same, at its end.
  ///
  /// Throws a `Problem` for a file that is too long, one of another length than the one here, and too many; and errors of the file system.
  package func begin(
    _ offer: AttachmentOffer, _ tenant: String, device: EventID, keepsComplete: Bool = false
  ) throws -> (answer: AttachmentAnswer, upload: EventID?) {
    guard offer.byteCount <= limits.byteCount else { throw Problem(.tooLarge, "files of at most \(limits.byteCount) bytes are taken here") }
    try sweep()
    return try beginning.withLock { _ in
      let known = table.withLock { table in table.names[Name(tenant, offer.digest, offer.byteCount)].flatMap { table.uploads[$0] } }
      if let byteCount = try byteCount(of: offer.digest, tenant) {
        guard byteCount == offer.byteCount else { throw Problem(.refused, "the file of this digest has another length") }
        let answer = try receipt(offer.digest, byteCount, tenant)
        guard keepsComplete else { return (answer, nil) }
        let upload = known ?? make(offer, tenant, device)
        upload.state.withLock { ($0.offset, $0.isComplete) = (byteCount, true) }
        table.withLock { $0.add(upload) }
        return (answer, upload.id)
      }
      if let known, let answer = try standing(known) { return (answer, known.id) }
      let open = table.withLock { $0.uploads.values.filter { $0.device == device } }.filter(isOpen)
      if open.count >= limits.openPerDevice {
        throw Problem(.tooMany, "finish one of the \(open.count) uploads that are open", retryAfter: 60)
      }
      let folder = folder(tenant)
      if try files.status(folder) == nil { try files.makeDirectory(folder) }
      try files.syncDirectory(path)
      let upload = make(offer, tenant, device)
      try files.replace(stateFile(upload), with: upload.json(0, upload.time.withLock { $0 }))
      table.withLock { $0.add(upload) }
      let state = AttachmentAnswer.State.open(upload: upload.id, offset: 0)
      return (AttachmentAnswer(digest: offer.digest, byteCount: offer.byteCount, state: state), upload.id)
    }
  }

  private func make(_ offer: AttachmentOffer, _ tenant: String, _ device: EventID) -> Upload {
    let random = environment.random
    let id = EventID(time: environment.clock.now().time, random: (random.next(), random.next()))
    return Upload(id: id, tenant: tenant, device: device, digest: offer.digest, byteCount: offer.byteCount, time: now)
  }

  // MARK: Appending

  /// Appends a part, and returns where the upload stands once that survives a power cut. With the last part the file is verified, and gets
  /// its name; one that is not what was offered is dropped.
  ///
  /// - Parameters:
  ///   - isLast: whether the sender says that this is the rest.
  ///   - check: is called right before anything is written; what it throws refuses the part.
  ///
  /// Throws a `Problem` for an offset other than the upload's, a part that goes beyond its length, and a file that is another one; and
  /// errors of the file system.
  package func append(
    _ bytes: [UInt8], at offset: UInt64, isLast: Bool = false, to id: EventID, _ tenant: String, check: () throws -> Void = {}
  ) throws -> AttachmentAnswer {
    let upload = try find(id, tenant)
    defer { if upload.state.withLock({ $0.isGone }) { forget(upload) } }
    try upload.state.withLock { state in
      if state.isGone { throw Problem.unknownUpload }
      try check()
      if !state.isComplete, try byteCount(of: upload.digest, tenant) == upload.byteCount { complete(upload, &state) }
      guard offset == state.offset else { throw Problem.mismatchingOffset(state.offset, offset) }
      let left = upload.byteCount - offset
      guard isLast ? bytes.count == left : bytes.count <= left else {
        throw Problem(.inconsistentLength, "\(left) bytes are left, the part has \(bytes.count)")
      }
      if !state.isComplete { try write(bytes, upload, &state) }
    }
    return try standing(of: id, tenant)
  }

  private func write(_ bytes: [UInt8], _ upload: Upload, _ state: inout Upload.State) throws {
    let part = part(upload)
    let file = try files.open(part, files.status(part) == nil ? .create : .write)
    defer { file.close() }
    try file.write(bytes.rawSpan, at: state.offset)
    try file.sync()
    let end = state.offset + UInt64(bytes.count)
    guard end == upload.byteCount else {
      if bytes.isEmpty { return }
      let time = now
      // With its name the part's becomes durable, too: both are in one folder.
      try files.replace(stateFile(upload), with: upload.json(end, time))
      state.offset = end
      upload.time.withLock { $0 = time }
      return
    }
    guard try SHA256().hash(file, byteCount: end) == upload.digest, try file.byteCount() == end else {
      try drop(upload, &state)
      throw Problem(.digestMismatch, "what has come is not the file that was offered: begin again")
    }
    let folder = folder(upload.tenant)
    table.withLock { _ = $0.unsynced.insert(folder) }
    try files.rename(part, to: self.file(upload.digest, upload.tenant))
    try files.syncDirectory(folder)
    table.withLock { _ = $0.unsynced.remove(folder) }
    complete(upload, &state)
  }

  private func complete(_ upload: Upload, _ state: inout Upload.State) {
    (state.offset, state.isComplete) = (upload.byteCount, true)
    upload.time.withLock { $0 = now }
    // Left behind, they are removed at the next start.
    for path in [stateFile(upload), part(upload)] {
      if let status = try? files.status(path), !status.isDirectory { try? files.remove(path) }
    }
  }

  // MARK: Dropping

  private func drop(_ upload: Upload, _ state: inout Upload.State) throws {
    state.isGone = true
    for path in [stateFile(upload), part(upload)] where try files.status(path) != nil { try files.remove(path) }
    try files.syncDirectory(folder(upload.tenant))
  }

  private func forget(_ upload: Upload) {
    table.withLock { table in
      table.uploads[upload.id] = nil
      if table.names[Name(upload)] == upload.id { table.names[Name(upload)] = nil }
    }
  }

  private func isOver(_ upload: Upload) -> Bool { upload.time.withLock { $0 + limits.lifetime < now } }

  /// Drops uploads of which nothing came for a long time.
  private func sweep() throws {
    for upload in table.withLock({ Array($0.uploads.values) }) where isOver(upload) {
      try upload.state.withLock { state in if isOver(upload) && !state.isGone && !state.isComplete { try drop(upload, &state) } }
      forget(upload)
    }
  }
}

extension Problem {
  /// The same for one that is not there and for another tenant's.
  static let unknownUpload = Problem(.notFound, "there is no such upload: offer the file again")

  static func mismatchingOffset(_ expected: UInt64, _ provided: UInt64) -> Problem {
    Problem(.mismatchingOffset, "the next part begins at \(expected)", offsets: (expected, provided))
  }
}
