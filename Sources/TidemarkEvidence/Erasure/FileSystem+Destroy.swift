internal import TidemarkLog

extension FileSystem {
  /// Overwrites a file with zeros, syncs it, and removes it. The removal is durable once the directory is synced.
  ///
  /// Returns false if it could only be removed, because nobody may write to it. Overwriting asks the file system for what it may not do:
  /// one that writes elsewhere, and the device below it, can keep the old blocks.
  @discardableResult
  func destroy(_ path: String) throws(LogError) -> Bool {
    var isOverwritten = true
    do throws(LogError) { try overwrite(path) } catch {
      guard error.code == .permissionDenied else { throw error }
      isOverwritten = false
    }
    try remove(path)
    return isOverwritten
  }

  /// Overwrites a file with zeros, in its whole length, and syncs it.
  func overwrite(_ path: String) throws(LogError) {
    let file = try open(path, .write)
    defer { file.close() }
    let count = try file.byteCount()
    let zeros = [UInt8](repeating: 0, count: Int(clamping: min(count, 1 << 20)))
    var position: UInt64 = 0
    while position < count {
      let part = min(UInt64(zeros.count), count - position)
      try file.write(zeros.rawSpan.slice(0, Int(part)), at: position)
      position += part
    }
    try file.sync()
  }

  /// Writes a file under an unfinished name, syncs it, and gives it its own: a crash leaves it whole or not at all. Only its owner may read
  /// it. The name is durable once the directory is synced.
  func writePrivately(_ bytes: [UInt8], to path: String, unfinished: String) throws(LogError) {
    if try status(unfinished) != nil { try destroy(unfinished) }
    let file = try open(unfinished, .createPrivate)
    defer { file.close() }
    try file.write(bytes.rawSpan, at: 0)
    try file.sync()
    try rename(unfinished, to: path)
  }
}
