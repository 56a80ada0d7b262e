internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol

/// A copy of what devices sent, as it came, in a directory elsewhere: `<tenant>/<log>/<epoch>/<from>-<to>.shipment`, and beside them
/// `receipt`, the checkpoint at the end with the signatures of device and server; and `<tenant>/attachments/<digest>`.
struct Archive {
  let path: String
  private let files: any FileSystem

  /// Of an offset in a file's name, so that names sort as offsets do.
  private static let digitCount = 14

  /// Makes the directory if it is not there; the one above it must exist. Throws errors of the file system.
  init(at path: String, _ files: any FileSystem) throws {
    self.path = path
    self.files = files
    try make(path)
  }

  private func make(_ directory: String) throws {
    if try files.status(directory) != nil { return }
    try files.makeDirectory(directory)
    try files.syncDirectory(files.directory(of: directory))
  }

  /// Copies what is not there yet, reads all of it again, and follows it to its root. What is there is not written again.
  ///
  /// - Parameter receipt: the newest one.
  ///
  /// Throws `LogError.Code.corrupt` if what is read does not lead to the root, and errors of the file system.
  func copy(_ position: Position, _ requests: [Request], _ receipt: SignedNote, _ shipment: (Request) throws -> Shipment) throws {
    var directory = path
    for name in [position.tenant, position.log.hexadecimal, position.epoch.hexadecimal] {
      directory += "/" + name
      try make(directory)
    }
    for request in requests {
      let file = "\(directory)/\(Self.name(request.offsets))"
      if try files.status(file) == nil { try files.replace(file, with: try shipment(request).bytes) }
    }
    try files.replace("\(directory)/receipt", with: receipt.bytes)
    var range = position.start
    let hasher = SHA256()
    for request in requests {
      let file = "\(directory)/\(Self.name(request.offsets))"
      let copy = try Shipment(try files.contents(file) ?? [], logID: position.log, epochID: position.epoch)
      guard let known = copy.offsets.lowerBound > range.size ? copy.compactRange : range else { throw damaged(file, request.offsets) }
      range = try copy.extend(known, hasher)
    }
    if range != position.range { throw damaged(directory, position.start.size..<position.accepted) }
  }

  /// Copies a file that events name, if it is not there yet. Throws as the other one does.
  func copy(_ digest: Digest256, of tenant: String, from source: String) throws {
    try make("\(path)/\(tenant)")
    let directory = "\(path)/\(tenant)/attachments"
    try make(directory)
    let target = "\(directory)/\(digest.hexadecimal)"
    if try files.status(target) != nil { return }
    let unfinished = target + ".tmp"
    if try files.status(unfinished) != nil { try files.remove(unfinished) }
    let file = try files.open(source, .read)
    defer { file.close() }
    let copy = try files.open(unfinished, .create)
    defer { copy.close() }
    var position: UInt64 = 0
    let found = try SHA256().hash(file, byteCount: file.byteCount()) { (piece) throws(LogError) in
      try copy.write(piece, at: position)
      position += UInt64(piece.byteCount)
    }
    guard found == digest else {
      try files.remove(unfinished)
      throw LogError(
        .corrupt, "a file on the server is not what it was", file: source, why: "its SHA-256 is another one",
        advice: "restore it from a backup or its device, then archive again")
    }
    try copy.sync()
    try files.rename(unfinished, to: target)
    try files.syncDirectory(directory)
  }

  private func damaged(_ file: String, _ offsets: Range<Offset>) -> LogError {
    LogError(
      .corrupt, "the archive is not a copy of what was received", file: file, offsets: offsets, why: "it leads to another root",
      advice: "move it away and archive again")
  }

  private static func name(_ offsets: Range<Offset>) -> String {
    let bounds = [offsets.lowerBound, offsets.upperBound].map { bound in
      let text = String(bound)
      return String(repeating: "0", count: max(0, digitCount - text.utf8.count)) + text
    }
    return "\(bounds[0])-\(bounds[1]).shipment"
  }
}

extension Server {
  /// Copies all that was received into a directory, and settles what is safe there by that. Returns what is settled then.
  ///
  /// Throws errors of the file system, and `LogError.Code.corrupt` for a copy that does not lead to the root.
  func archive(at directory: String) throws -> [Position] {
    if directory == path || directory.hasPrefix(path + "/") {
      throw Problem(.refused, "an archive is kept elsewhere than the server's data")
    }
    let archive = try Archive(at: directory, environment.fileSystem)
    // First: what an event names is there before the event is settled, if it is here. One that is damaged keeps nothing else from its
    // place.
    var damage: (any Error)?
    try uploads.forEachFile { tenant, digest, file in
      do { try archive.copy(digest, of: tenant, from: file) } catch let error as LogError where error.code == .corrupt { damage = error }
    }
    for position in try storage.positions(of: nil) where position.accepted > position.start.size {
      let requests = try storage.requests(of: position, overlapping: position.start.size..<position.accepted)
      guard let last = requests.last else { continue }
      try archive.copy(position, requests, try receipt(last), storage.shipment)
      try write(.settling(Settling(log: position.log, epoch: position.epoch, size: position.accepted)))
    }
    if let damage { throw damage }
    return try storage.positions(of: nil)
  }

  /// Has something written and waits for it.
  private func write(_ write: Write) throws {
    let result = Locked<Result<Void, any Error>?>(nil)
    let word = WaitWord()
    let submission = Committer.Submission(
      write: write, byteCount: 256, check: {},
      done: { error in
        result.withLock { $0 = error.map { .failure($0) } ?? .success(()) }
        word.increment()
      })
    guard committer.submit(submission) else { throw Problem.stopping }
    while true {
      if let result = result.withLock({ $0 }) { return try result.get() }
      word.wait(while: 0)
    }
  }
}
