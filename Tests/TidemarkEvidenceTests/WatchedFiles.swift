import TestSupport
import TidemarkLog

/// A disk that tells, once, before something is done to a file.
final class WatchedFiles: FileSystem, @unchecked Sendable {
  private let disk: SimulatedDisk
  private let action: (String) -> Bool
  private(set) var isDone = false
  private var isBusy = false

  /// - Parameter action: returns whether it has done what it was for.
  init(_ disk: SimulatedDisk, before action: @escaping (String) -> Bool) {
    self.disk = disk
    self.action = action
  }

  private func tell(_ path: String) {
    if isDone || isBusy { return }
    isBusy = true
    isDone = action(path)
    isBusy = false
  }

  func open(_ path: String, _ mode: OpenMode) throws(LogError) -> any File {
    tell(path)
    return try disk.open(path, mode)
  }
  func status(_ path: String) throws(LogError) -> FileStatus? {
    tell(path)
    return try disk.status(path)
  }
  func list(_ directory: String) throws(LogError) -> [String] { try disk.list(directory) }
  func makeDirectory(_ path: String) throws(LogError) { try disk.makeDirectory(path) }
  func rename(_ path: String, to newPath: String) throws(LogError) { try disk.rename(path, to: newPath) }
  func remove(_ path: String) throws(LogError) { try disk.remove(path) }
  func syncDirectory(_ path: String) throws(LogError) { try disk.syncDirectory(path) }
  func lock(_ path: String, holder: String) throws(LogError) -> any FileLock { try disk.lock(path, holder: holder) }
  func sharedPage(_ path: String, writable: Bool) throws(LogError) -> SharedPage? { try disk.sharedPage(path, writable: writable) }
}
