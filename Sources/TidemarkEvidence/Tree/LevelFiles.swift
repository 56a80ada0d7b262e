package import TidemarkLog

/// A directory with one file a level, and one for each 65,536 leaves: digests one behind the other, each at 32 times its index. All zeros
/// stand for one that is not known.
package struct LevelFiles {
  let directory: String
  let files: any FileSystem
  private var open: [String: any File] = [:]
  /// Files that were written to since they were last synced.
  private var unsynced: Set<String> = []
  /// What is not yet written of a file: where it begins, and the bytes.
  private var pending: [String: (position: UInt64, bytes: [UInt8])] = [:]

  private static let leavesInFile: UInt64 = 1 << 16
  private static let bufferByteCount = 64 << 10
  static let leavesPrefix = "leaves-"

  package init(_ directory: String, _ files: any FileSystem) {
    self.directory = directory
    self.files = files
  }

  private static func place(_ level: Int, _ index: UInt64) -> (name: String, position: UInt64) {
    level > 0
      ? ("level-\(level)", index * 32) : (leavesPrefix + "\(index / leavesInFile)", index % leavesInFile * 32)
  }

  private mutating func file(_ name: String, toWrite: Bool) throws(LogError) -> (any File)? {
    if let file = open[name] { return file }
    let path = "\(directory)/\(name)"
    let isThere = try files.status(path) != nil
    if !isThere && !toWrite { return nil }
    let file = try files.open(path, isThere ? (toWrite ? .write : .read) : .create)
    if toWrite { open[name] = file }
    return file
  }

  /// Keeps digests of a level from an index on, all in one file.
  package mutating func store(_ hashes: [Digest256], level: Int, from index: UInt64) throws(LogError) {
    if hashes.isEmpty { return }
    let (name, position) = Self.place(level, index)
    if let known = pending[name], known.position + UInt64(known.bytes.count) != position || known.bytes.count >= Self.bufferByteCount {
      try write(name)
    }
    pending[name, default: (position, [])].bytes.add(unsafe hashes.span.bytes)
  }

  private mutating func write(_ name: String) throws(LogError) {
    guard let next = pending.removeValue(forKey: name), let file = try file(name, toWrite: true) else { return }
    unsynced.insert(name)
    try file.write(next.bytes.rawSpan, at: next.position)
    // Of the files of leaves, of which there may be thousands, only the one that grows stays open.
    guard name.hasPrefix(Self.leavesPrefix) else { return }
    for other in open.keys where other != name && other.hasPrefix(Self.leavesPrefix) { open.removeValue(forKey: other)?.close() }
  }

  /// Writes what waits, and makes it durable if asked to.
  package mutating func flush(syncs: Bool) throws(LogError) {
    for name in pending.keys.sorted() { try write(name) }
    guard syncs else { return }
    for name in unsynced.sorted() {
      let isOpen = open[name] != nil
      guard let file = try file(name, toWrite: true) else { continue }
      defer { if !isOpen { open.removeValue(forKey: name)?.close() } }
      try file.sync()
      unsynced.remove(name)
    }
  }

  /// Digests of a range that lies in one file, up to the first one that is not known.
  package mutating func load(level: Int, _ range: Range<UInt64>) throws(LogError) -> [Digest256] {
    if range.isEmpty { return [] }
    let (name, position) = Self.place(level, range.lowerBound)
    if pending[name] != nil { try write(name) }
    guard let file = try file(name, toWrite: false) else { return [] }
    defer { if open[name] == nil { file.close() } }
    var bytes = [UInt8](repeating: 0, count: 32 * range.count)
    let count = try file.read(bytes.count, at: position, into: &bytes, at: 0)
    var hashes: [Digest256] = []
    for start in stride(from: 0, to: count - count % 32, by: 32) {
      let hash = Digest256(bytes.rawSpan.slice(start, 32))
      if hash == .zero { break }
      hashes.append(hash)
    }
    return hashes
  }

  /// Forgets leaves below an offset, but for the group of 256 that a later beginning of the log lies in.
  mutating func forgetLeaves(below end: Offset, keeping boundary: Offset) throws(LogError) {
    for name in try files.list(directory) where name.hasPrefix(Self.leavesPrefix) {
      guard let number = UInt64(name.dropFirst(Self.leavesPrefix.count)), number < Record.offsetLimit / Self.leavesInFile else { continue }
      let range = number * Self.leavesInFile..<(number + 1) * Self.leavesInFile
      guard range.upperBound <= end, !range.contains(boundary) || boundary & 255 == 0 else { continue }
      pending[name] = nil
      unsynced.remove(name)
      open.removeValue(forKey: name)?.close()
      try files.remove("\(directory)/\(name)")
    }
  }

  /// Removes everything, to begin again.
  mutating func removeAll() throws(LogError) {
    pending = [:]
    unsynced = []
    close()
    for name in try files.list(directory) where name.hasPrefix("level-") || name.hasPrefix(Self.leavesPrefix) {
      try files.remove("\(directory)/\(name)")
    }
  }

  mutating func close() {
    for file in open.values { file.close() }
    open = [:]
  }
}
