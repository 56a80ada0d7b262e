public import TidemarkLog

/// Keys in files of a directory that only its owner may enter, one file a key.
///
/// Keep the directory apart from the log, out of its backups, and on a device that is encrypted as a whole: what a backup holds, erasure
/// does not reach.
///
/// Several processes may use one directory. Each looks at a key's file whenever it uses the key, so a key that another has destroyed is
/// gone for all of them at the next use.
///
/// ```swift
/// let events = ErasableEvents(keys: FileKeyStore(directory: "keys"))
/// ```
public final class FileKeyStore: SubjectKeyStore {
  /// The directory, as it was given.
  public let directory: String
  private let files: any FileSystem
  /// Keys that were read, by id: each serves only as long as its file is there.
  private let known = Locked(Known())

  private struct Known {
    var keys: [EventID: SubjectKey] = [:]
    /// Which key new events of a subject are sealed under.
    var current: [String: EventID] = [:]
    /// Whether all keys that were there at the first look were read.
    var isComplete = false
  }

  /// Uses a directory. It is made with the first key.
  public convenience init(directory: String) { self.init(directory: directory, files: POSIXFileSystem()) }

  package init(directory: String, files: any FileSystem) {
    self.directory = directory
    self.files = files
  }

  // One key's files.
  //
  //   <id>.key         the key
  //   <id>.erasing     the key, once its erasure has begun
  //   <id>.holders     who else has a copy, a line each; absent if nobody does
  //   <id>.destroyed   that there was a key, and who else had a copy
  //   <id>.tmp         unfinished work
  private enum Form: String, CaseIterable {
    case key = ".key"
    case erasing = ".erasing"
    case holders = ".holders"
    case destroyed = ".destroyed"
    case unfinished = ".tmp"
  }

  private func path(_ id: EventID, _ form: Form) -> String { "\(directory)/\(id.hexadecimal)\(form.rawValue)" }

  private func ids(_ form: Form) throws(LogError) -> [EventID] {
    try files.list(directory).compactMap { name in
      name.hasSuffix(form.rawValue) ? EventID(name.dropLast(form.rawValue.count)) : nil
    }.sorted()
  }

  private func exists(_ id: EventID, _ form: Form) throws(LogError) -> Bool { try files.status(path(id, form)) != nil }

  // MARK: Giving keys

  public func key(for subject: String) throws -> SubjectKey {
    try ErasableEvents.check(subject)
    return try known.withLock { (known) throws(LogError) in try key(for: subject, &known) }
  }

  private func key(for subject: String, _ known: inout Known) throws(LogError) -> SubjectKey {
    if let id = known.current[subject], let key = try read(id, &known) { return key }
    if try files.status(directory) == nil {
      try files.makePrivateDirectory(directory)
      try files.syncDirectory(files.directory(of: directory))
    }
    // Read once: with each new subject, it would take as long as there are keys. One that another process makes meanwhile is a second key
    // of the subject, and erased along with the first.
    if !known.isComplete {
      for key in try read(&known) where known.current[key.subject] == nil { known.current[key.subject] = key.id }
      known.isComplete = true
      if let id = known.current[subject], let key = known.keys[id] { return key }
    }
    let key = SubjectKey(newFor: subject)
    try files.writePrivately(SubjectKeyFile.encode(key), to: path(key.id, .key), unfinished: path(key.id, .unfinished))
    try files.syncDirectory(directory)
    known.keys[key.id] = key
    known.current[subject] = key.id
    return key
  }

  public func keys(of subject: String) throws -> [SubjectKey] {
    let all = try known.withLock { (known) throws(LogError) in try read(&known) }
    return all.filter { $0.subject == subject }
  }

  public func find(_ id: EventID) throws -> FoundKey {
    try known.withLock { (known) throws(LogError) -> FoundKey in
      if let key = try read(id, &known) { return .key(key) }
      if try exists(id, .destroyed) { return .destroyed }
      return try exists(id, .erasing) ? .destroyed : .unknown
    }
  }

  /// All keys, in the order of their ids.
  private func read(_ known: inout Known) throws(LogError) -> [SubjectKey] {
    try checkPrivate(directory)
    var keys: [SubjectKey] = []
    for id in try ids(.key) { if let key = try read(id, &known) { keys.append(key) } }
    return keys
  }

  private func read(_ id: EventID, _ known: inout Known) throws(LogError) -> SubjectKey? {
    let path = path(id, .key)
    guard let status = try files.status(path) else {
      if let key = known.keys.removeValue(forKey: id) { known.current[key.subject] = nil }
      return nil
    }
    if let key = known.keys[id] { return key }
    try status.checkPrivate(path)
    // A copy that somebody has put back does not undo an erasure.
    if try exists(id, .destroyed) { return nil }
    guard let bytes = try files.contents(path) else { return nil }
    var key = try SubjectKeyFile.decode(bytes, id: id, path: path)
    key.holders = try holders(of: id)
    known.keys[id] = key
    return key
  }

  private func checkPrivate(_ path: String) throws(LogError) {
    try files.status(path)?.checkPrivate(path)
  }

  // MARK: Holders

  /// Notes that somebody else, such as a server, was given a copy of a key, so that its erasure can name all who must destroy theirs.
  ///
  /// - Parameters:
  ///   - holder: a name for people, without line breaks; it stays when the key is destroyed, so it must not tell who the subject is.
  ///   - id: the key's.
  ///
  /// Throws `unknownKey` if the key is not here (any more), `LogError.Code.invalidArgument` for an empty name or one with line breaks, and
  /// errors of the file system.
  ///
  /// ```swift
  /// try store.addHolder("server a.example", to: key.id)
  /// ```
  public func addHolder(_ holder: String, to id: EventID) throws {
    if holder.isEmpty || holder.contains(where: \.isNewline) {
      throw LogError(.invalidArgument, "a holder has no such name", why: "it is empty or has line breaks", advice: "name it in one line")
    }
    try known.withLock { (known) throws(LogError) in
      guard var key = try read(id, &known) else {
        throw LogError(
          .unknownKey, "a key can't be given away", file: path(id, .key), why: "it is not here", advice: "look whether it was destroyed")
      }
      key.holders = try holders(of: id)
      if key.holders.contains(holder) { return }
      key.holders.append(holder)
      try files.writePrivately(
        Array((key.holders.joined(separator: "\n") + "\n").utf8), to: path(id, .holders), unfinished: path(id, .unfinished))
      try files.syncDirectory(directory)
      known.keys[id] = key
    }
  }

  private func holders(of id: EventID) throws(LogError) -> [String] {
    // Of a key whose destruction was interrupted they stand there already.
    let form: Form = try exists(id, .holders) ? .holders : .destroyed
    return String(decoding: try files.contents(path(id, form)) ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
  }

  // MARK: Destroying keys

  public func beginErasure(of subject: String) throws {
    try known.withLock { (known) throws(LogError) in
      for key in try read(&known) where key.subject == subject {
        try files.rename(path(key.id, .key), to: path(key.id, .erasing))
        known.keys[key.id] = nil
        known.current[subject] = nil
      }
      // A key that a crash kept from being given to anybody, and with it the name of its subject.
      for id in try ids(.unfinished) { try files.destroy(path(id, .unfinished)) }
      try files.syncDirectory(directory)
    }
  }

  public func pendingErasures() throws -> [PendingErasure] {
    try known.withLock { (_) throws(LogError) -> [PendingErasure] in
      var pending: [PendingErasure] = []
      for id in try ids(.erasing) {
        let path = path(id, .erasing)
        guard let bytes = try files.contents(path) else { continue }
        var erasure = PendingErasure(id: id, key: nil)
        do throws(LogError) {
          erasure.key = try SubjectKeyFile.decode(bytes, id: id, path: path)
          erasure.key?.holders = try holders(of: id)
        } catch {
          // Destruction has begun. Of a version that is not known, nothing is destroyed.
          guard error.code == .damagedKey else { throw error }
        }
        pending.append(erasure)
      }
      return pending
    }
  }

  /// The file is overwritten with zeros, that is synced, a file that says so takes its place, and that is synced.
  public func destroy(_ id: EventID) throws {
    try known.withLock { (known) throws(LogError) in
      if let key = known.keys.removeValue(forKey: id) { known.current[key.subject] = nil }
      if try exists(id, .key) {
        try files.rename(path(id, .key), to: path(id, .erasing))
        try files.syncDirectory(directory)
      }
      guard try exists(id, .erasing) else { return }
      try files.overwrite(path(id, .erasing))
      if try exists(id, .holders) {
        try files.rename(path(id, .holders), to: path(id, .destroyed))
      } else if try !exists(id, .destroyed) {
        try files.writePrivately([], to: path(id, .destroyed), unfinished: path(id, .unfinished))
      }
      // Before the key's own name goes: one of the two is always there.
      try files.syncDirectory(directory)
      try files.remove(path(id, .erasing))
      try files.syncDirectory(directory)
    }
  }
}
