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
    guard try files.status(parent) != nil else { return [] }
    var found: [SavedSnapshot] = []
    for name in try files.list(parent).sorted() where isName(name) {
      let store = SnapshotStore(parent, name: name, files)
      for position in try store.positions() { found.append(try saved(name, position, store)) }
    }
    return found
  }

  private func saved(_ name: String, _ position: Offset, _ store: SnapshotStore) throws(LogError) -> SavedSnapshot {
    let bytes = try store.read(position)
    var snapshot = SavedSnapshot(name: name, position: position, byteCount: UInt64(bytes.count), path: store.path(position))
    do throws(UnreadableEvent) {
      let header = try SnapshotHeader(bytes, identity: identity, name: name, position: position)
      snapshot.version = header.projectionVersion
      if header.latestTime != .earliest { snapshot.latestTime = header.latestTime }
      if position > size { snapshot.trouble = "it holds events beyond the log's end" }
      if position < first { snapshot.trouble = "it ends before the log begins" }
    } catch { snapshot.trouble = error.why }
    return snapshot
  }
}
