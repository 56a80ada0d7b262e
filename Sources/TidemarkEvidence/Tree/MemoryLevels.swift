internal import TidemarkLog

/// The roots of complete subtrees of 256, 65,536, ... leaves (levels 1, 2, ...) in memory: of a log that is only looked at.
struct MemoryLevels {
  private var levels: [Int: (first: UInt64, hashes: [Digest256])] = [:]

  /// Keeps a hash. Of one level they come in order; once more from an earlier one on, where hashing failed and was begun again. Leaves are
  /// hashed again from the log where they are needed.
  mutating func store(_ hash: Digest256, level: Int, index: UInt64) {
    guard level > 0 else { return }
    var known = levels.removeValue(forKey: level) ?? (index, [])
    known.hashes.removeLast(known.hashes.count - Int(index - known.first))
    known.hashes.append(hash)
    levels[level] = known
  }

  /// The index of the first hash of a level that is kept.
  func first(level: Int) -> UInt64? { levels[level]?.first }

  /// Nil for what is not kept.
  func load(level: Int, index: UInt64) -> Digest256? {
    guard let found = levels[level], index >= found.first, index - found.first < found.hashes.count else { return nil }
    return found.hashes[Int(index - found.first)]
  }
}
