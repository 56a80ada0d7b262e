/// All the file I/O that the engine does. Two things implement it: ``POSIXFileSystem``, and the simulated disk of the tests.
///
/// Every failure is a ``LogError`` that names the path and carries the errno.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens a file. `.create` and `.createPrivate` fail if something has that name already.
  func open(_ path: String, _ mode: OpenMode) throws(LogError) -> any File
  /// The names in a directory, in no order.
  func list(_ directory: String) throws(LogError) -> [String]
  /// What stands at a path, or nil if nothing does.
  func status(_ path: String) throws(LogError) -> FileStatus?
  func makeDirectory(_ path: String) throws(LogError)
  /// A directory that only its owner may enter.
  func makePrivateDirectory(_ path: String) throws(LogError)
  /// Renames within one directory, replacing what has the new name.
  func rename(_ path: String, to newPath: String) throws(LogError)
  func remove(_ path: String) throws(LogError)
  /// Removes an empty directory.
  func removeDirectory(_ path: String) throws(LogError)
  /// Makes the names in a directory durable.
  func syncDirectory(_ path: String) throws(LogError)
  /// Takes the writer's lock and writes the holder's name into the file. Throws ``LogError/Code/locked`` with the present holder's name.
  func lock(_ path: String, holder: String) throws(LogError) -> any FileLock
  /// Maps one page that processes share. If it is writable, zeros are added to what is there. For readers nil if the file is not there or
  /// too short.
  func sharedPage(_ path: String, writable: Bool) throws(LogError) -> SharedPage?
}

extension FileSystem {
  package func makePrivateDirectory(_ path: String) throws(LogError) { try makeDirectory(path) }

  /// Where directories can't be removed, an empty one stays.
  package func removeDirectory(_ path: String) throws(LogError) {}

  /// Puts a file in the place of whatever has that name: write, sync, rename, sync the directory. A crash leaves the old one or the new
  /// one.
  ///
  /// - Parameter syncs: false for one that is not worth the time of a sync. A power cut may leave part of it.
  package func replace(_ path: String, with bytes: [UInt8], _ mode: OpenMode = .create, syncs: Bool = true) throws(LogError) {
    let unfinished = path + LogDirectory.unfinished
    if try status(unfinished) != nil { try remove(unfinished) }
    let file = try open(unfinished, mode)
    defer { file.close() }
    try file.write(bytes.rawSpan, at: 0)
    if syncs { try file.sync() }
    try rename(unfinished, to: path)
    if syncs { try syncDirectory(directory(of: path)) }
  }

  /// All of a file; nil if there is none.
  package func contents(_ path: String) throws(LogError) -> [UInt8]? {
    guard let status = try status(path), !status.isDirectory else { return nil }
    let file = try open(path, .read)
    defer { file.close() }
    var bytes = [UInt8](repeating: 0, count: Int(clamping: status.byteCount))
    let count = try file.read(bytes.count, at: 0, into: &bytes, at: 0)
    return Array(bytes.prefix(count))
  }

  /// The directory that holds something.
  package func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

package enum OpenMode: Sendable {
  case read
  case write
  case create
  /// A file that only its owner may read.
  case createPrivate

  package var creates: Bool { self == .create || self == .createPrivate }
}

package struct FileStatus: Sendable, Equatable {
  package var isDirectory: Bool
  package var byteCount: UInt64
  /// Tells whether a path still leads to the same file: device and inode.
  package var device: UInt64
  package var inode: UInt64
  /// Whether nobody but its owner may do anything with it.
  package var isPrivate: Bool

  package init(isDirectory: Bool, byteCount: UInt64, device: UInt64, inode: UInt64, isPrivate: Bool = true) {
    self.isPrivate = isPrivate
    self.isDirectory = isDirectory
    self.byteCount = byteCount
    self.device = device
    self.inode = inode
  }
}

package protocol File: AnyObject, Sendable {
  var path: String { get }
  /// Reads up to `count` bytes at `position` into `buffer` from `index` on. Returns fewer only at the end of the file.
  func read(_ count: Int, at position: UInt64, into buffer: inout [UInt8], at index: Int) throws(LogError) -> Int
  /// Writes all of `bytes`, or throws; then any part of them may have been written.
  func write(_ bytes: RawSpan, at position: UInt64) throws(LogError)
  /// Makes data and size durable.
  func sync() throws(LogError)
  /// Asks the system to begin sending the bytes to the device, so that the next sync has less to do. A hint: nothing counts on it.
  func startWriteback(at position: UInt64, count: Int)
  func byteCount() throws(LogError) -> UInt64
  /// Whether it was deleted: no name leads to it any more.
  func isDeleted() -> Bool
  func makeReadOnly() throws(LogError)
  /// Closes the descriptor. Calls after that fail; closing twice is harmless.
  func close()
}

extension File {
  package func startWriteback(at position: UInt64, count: Int) {}
  package func isDeleted() -> Bool { false }
}

package protocol FileLock: AnyObject, Sendable {
  /// Empties the file and gives the lock up.
  func release()
}
