public import TidemarkLog

/// A snapshot of a projection as it lies in a log's directory, whoever saved it.
///
/// ```swift
/// for snapshot in try log.savedSnapshots() { print(snapshot.name, snapshot.position, snapshot.byteCount) }
/// ```
public struct SavedSnapshot: Sendable, Equatable {
  /// The projection's name.
  public var name: String
  /// All events below it are in the saved state.
  public var position: Offset
  /// The version of the projection that saved it; nil if that can't be read.
  public var version: UInt32?
  /// The latest time of an event in it; nil if that can't be read, or there is none.
  public var latestTime: Timestamp?
  /// The state lacks all events below this offset: see ``ProjectionReport/missingBelow``.
  public var missingBelow: Offset = 0
  /// The size of the file, in bytes.
  public var byteCount: UInt64
  /// The file.
  public var path: String
  /// Why no projection can go on from it; nil if one can whose name, version and coding of the state are the same.
  public var trouble: String?
}

extension Log {
  /// The snapshots of all projections, by name and offset. Nothing is changed.
  ///
  /// - Parameter directory: as in ``ProjectionOptions/directory``; nil: beside the log.
  ///
  /// Throws errors of the file system.
  public func savedSnapshots(in directory: String? = nil) throws -> [SavedSnapshot] {
    let files = environment.fileSystem
    let parent = directory ?? "\(path)/projections"
    var found: [SavedSnapshot] = []
    for name in try savedNames(in: directory) {
      let store = SnapshotStore(parent, name: name, files)
      for position in try store.positions() { found.append(try saved(name, position, store)) }
    }
    return found
  }

  /// The projections that have a directory.
  private func savedNames(in directory: String?) throws -> [String] {
    let parent = directory ?? "\(path)/projections"
    guard try environment.fileSystem.status(parent) != nil else { return [] }
    var names: [String] = []
    for name in try environment.fileSystem.list(parent).sorted() where isName(name) {
      if try environment.fileSystem.status("\(parent)/\(name)")?.isDirectory == true { names.append(name) }
    }
    return names
  }

  private func saved(_ name: String, _ position: Offset, _ store: SnapshotStore) throws(LogError) -> SavedSnapshot {
    let bytes = try store.read(position)
    var snapshot = SavedSnapshot(name: name, position: position, byteCount: UInt64(bytes.count), path: store.path(position))
    do throws(UnreadableEvent) {
      let header = try SnapshotHeader(bytes, identity: identity, name: name, position: position)
      snapshot.version = header.projectionVersion
      if header.latestTime != .earliest { snapshot.latestTime = header.latestTime }
      var reader = header.rest
      _ = (try reader.tally(), try reader.tally())
      snapshot.missingBelow = try reader.tally()
      if position > size { snapshot.trouble = "it holds events beyond the log's end" }
      if position < first { snapshot.trouble = "it ends before the log begins" }
    } catch { snapshot.trouble = error.why }
    return snapshot
  }
}

extension Log {
  /// Removes whole segments below `floor`, as far as the saved projections allow: of each that has snapshots beside the log, two that serve
  /// stay at or above where the log then begins, so that its values go on from there even if one of them is damaged later.
  ///
  /// - Parameters:
  ///   - floor: only segments whose events all lie below it are removed.
  ///   - directory: as in ``ProjectionOptions/directory``; nil: beside the log.
  ///   - trim: what removes them, below an offset that is at most `floor`; nil: `Log.trim(below:)`. A log with evidence is trimmed by it.
  ///
  /// Returns where the log begins afterwards. Throws as `Log.trim(below:)` does, and `LogError.Code.projectionsNeedHistory` if a projection
  /// keeps every segment that was to go; nothing is removed then.
  ///
  /// ```swift
  /// try runner.save()
  /// let first = try log.trimKeepingProjections(below: settled)
  /// ```
  @discardableResult
  public func trimKeepingProjections(below floor: Offset, in directory: String? = nil, by trim: ((Offset) throws -> Offset)? = nil) throws
    -> Offset
  {
    let trim = trim ?? { try self.trim(below: $0) }
    let wanted = firstOffset(afterTrimmingBelow: floor)
    if floor > size || wanted == first { return try trim(floor) }
    let sound = try savedSnapshots(in: directory).filter { $0.trouble == nil }
    var bound = floor
    for name in try savedNames(in: directory) {
      // Those of another version than the newest serve nobody who goes on with that.
      let all = sound.filter { $0.name == name }
      let two = all.filter { $0.version == all.last?.version }.suffix(2)
      try makeDurable(two)
      let needed = two.count == 2 ? two.first?.position ?? 0 : 0
      if firstOffset(afterTrimmingBelow: min(floor, needed)) == first {
        throw LogError(
          .projectionsNeedHistory, "the projection \(name) needs what is to be trimmed", offsets: first..<wanted,
          why: "it has fewer than two sound snapshots at or above the end of the oldest segment",
          advice: "bring it up to date and save it, more than once if need be, or delete its directory if nobody asks for it any more")
      }
      bound = min(bound, needed)
    }
    return try trim(bound)
  }

  /// Those that a fold saved on its way were not synced.
  private func makeDurable(_ snapshots: ArraySlice<SavedSnapshot>) throws(LogError) {
    let files = environment.fileSystem
    for snapshot in snapshots {
      let file = try files.open(snapshot.path, .write)
      defer { file.close() }
      try file.sync()
      try files.syncDirectory(files.directory(of: snapshot.path))
    }
  }
}
