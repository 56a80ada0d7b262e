internal import TidemarkLog

/// Where, beside the log, its events may stand in the clear: what erasure removes along with the key.
///
/// They are removed as a whole, whoever's data is in them; all but attachments can be made again from the log.
///
/// ```swift
/// var copies = DerivedCopies()
/// copies.databases = ["captures.sqlite"]
/// try events.erase("person-17", from: log, removing: copies)
/// ```
public struct DerivedCopies: Sendable, Equatable {
  /// What to do about saved values of projections.
  public enum SnapshotHandling: Sendable, Equatable {
    /// Remove them; refuse with `snapshotsOfTrimmedHistory` where history was trimmed, since values would be lost that nothing can give
    /// again.
    case remove
    /// Remove them in any case.
    case removeWhereTrimmed
    /// Leave them: right only if no projection ever opened sealed events.
    case keep
  }

  /// SQLite databases with rows of projections, as paths. They go whole, with what SQLite keeps beside them. Close them first.
  public var databases: [String] = []
  /// Directories with attachments. Of the files in them go those that have name, length and SHA-256 of an attachment of the subject. Those
  /// beside the log, which are named by their SHA-256, always go.
  public var attachmentDirectories: [String] = []
  /// Directories with snapshots of this log's projections. Nil: the one beside the log.
  public var snapshotDirectories: [String]?
  /// Default ``SnapshotHandling/remove``.
  public var snapshots = SnapshotHandling.remove

  /// The snapshots beside the log, and what recovery cut away.
  public init() {}
}

/// Finds and removes the copies of one log.
struct CopyRemover {
  let copies: DerivedCopies
  let log: Log

  private var files: any FileSystem { log.environment.fileSystem }

  // MARK: Finding

  /// What a file is renamed to before it is overwritten: a half overwritten file can't be told by its content any more.
  static let suffix = ".tidemark-erasing"

  /// Files that are there to be removed, but for attachments, in order.
  func found() throws(LogError) -> [String] {
    var paths: [String] = []
    if copies.snapshots != .keep { paths += try snapshots() }
    paths += try list("\(log.path)/torn")
    for database in copies.databases {
      for path in [database, "\(database)-wal", "\(database)-shm", "\(database)-journal"] { paths += try forms(of: path) }
    }
    return paths
  }

  /// A file, and what an interrupted removal has left of one of that name.
  private func forms(of path: String) throws(LogError) -> [String] {
    var paths: [String] = []
    for path in [path, path + Self.suffix] where try files.status(path) != nil { paths.append(path) }
    return paths
  }

  func snapshots() throws(LogError) -> [String] {
    var paths: [String] = []
    for parent in copies.snapshotDirectories ?? ["\(log.path)/projections"] {
      guard try files.status(parent) != nil else { continue }
      for name in try files.list(parent).sorted() where try files.status("\(parent)/\(name)")?.isDirectory == true {
        paths += try list("\(parent)/\(name)").filter { path in
          [".snapshot", ".snapshot.tmp", Self.suffix].contains { path.hasSuffix($0) }
        }
      }
    }
    return paths
  }

  private func list(_ directory: String) throws(LogError) -> [String] {
    guard try files.status(directory) != nil else { return [] }
    var paths: [String] = []
    for name in try files.list(directory).sorted() where try files.status("\(directory)/\(name)")?.isDirectory == false {
      paths.append("\(directory)/\(name)")
    }
    return paths
  }

  /// Databases that are named and not there: removed already, or misspelt.
  func missingDatabases() throws(LogError) -> [String] {
    var missing: [String] = []
    for path in copies.databases where try forms(of: path).isEmpty { missing.append(path) }
    return missing
  }

  /// Where an attachment lies; empty if it is not there, or something else has its name.
  func paths(of attachment: EventExtension.Attachment, _ hasher: SHA256) throws(LogError) -> [String] {
    var candidates = ["\(log.path)/attachments/\(attachment.digest.hexadecimal)"]
    // The name is data of an event: it must not lead elsewhere.
    if !attachment.name.isEmpty, attachment.name != ".", attachment.name != "..", !attachment.name.contains("/") {
      candidates += copies.attachmentDirectories.map { "\($0)/\(attachment.name)" }
    }
    var paths: [String] = []
    for path in candidates {
      if try files.status(path + Self.suffix) != nil { paths.append(path + Self.suffix) }
      guard let status = try files.status(path), !status.isDirectory, status.byteCount == attachment.byteCount else { continue }
      if let bytes = try files.contents(path), hasher.hash(bytes).bytes == attachment.digest { paths.append(path) }
    }
    return paths
  }

  // MARK: Refusing

  /// Before anything is done: throws what would make the removal wrong.
  func check() throws(LogError) {
    if copies.snapshots == .remove, log.first > 0, let snapshot = try snapshots().first {
      throw LogError(
        .snapshotsOfTrimmedHistory, "saved values would be lost", file: snapshot, offsets: 0..<log.first,
        why: "the log begins at offset \(log.first), and only snapshots hold the values of what was trimmed; nothing was changed",
        advice: "say that they go all the same, or that they stay because no projection opened sealed events")
    }
    for path in copies.databases {
      guard let status = try files.status(path) else { continue }
      let magic = Array("SQLite format 3\u{0}".utf8)
      let start = status.isDirectory ? nil : try head(path, magic.count)
      guard let start, start.isEmpty || start == magic else {
        throw LogError(
          .invalidArgument, "a database can't be removed", file: path, why: "it is no SQLite database; nothing was changed",
          advice: "name the file that rows were kept in")
      }
    }
  }

  private func head(_ path: String, _ count: Int) throws(LogError) -> [UInt8] {
    let file = try files.open(path, .read)
    defer { file.close() }
    var bytes = [UInt8](repeating: 0, count: count)
    let got = try file.read(count, at: 0, into: &bytes, at: 0)
    return Array(bytes[..<got])
  }

  // MARK: Removing

  /// Removes files, and makes that durable: all are renamed, then each is overwritten and removed.
  func remove(_ paths: [String]) throws(LogError) -> [ErasureReport.RemovedFile] {
    let directories = Set(paths.map { files.directory(of: $0) }).sorted()
    for path in paths where !path.hasSuffix(Self.suffix) { try files.rename(path, to: path + Self.suffix) }
    for directory in directories { try files.syncDirectory(directory) }
    var removed: [ErasureReport.RemovedFile] = []
    for path in paths {
      let name = path.hasSuffix(Self.suffix) ? String(path.dropLast(Self.suffix.count)) : path
      removed.append(.init(path: name, isOverwritten: try files.destroy(name + Self.suffix)))
    }
    for directory in directories { try files.syncDirectory(directory) }
    return removed
  }
}
