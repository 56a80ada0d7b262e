public import TidemarkLog

/// What is needed of a history tree to go on with it: the roots of its complete subtrees, one for each bit that is set in its size. At most
/// 44 digests, whatever the size.
///
/// ```swift
/// let hasher = SHA256()
/// var range = CompactRange()
/// range.append(leaf, hasher)
/// let root = range.root(hasher)
/// ```
public struct CompactRange: Sendable, Equatable {
  /// How many leaves it is over.
  public private(set) var size: Offset = 0
  /// The roots of the complete subtrees, the largest (and oldest) first.
  public private(set) var subtrees: [Digest256] = []

  /// That of an empty tree.
  public init() {}

  /// Nil if a tree of that size has not so many complete subtrees.
  public init?(size: Offset, subtrees: [Digest256]) {
    guard size.nonzeroBitCount == subtrees.count, size <= Record.offsetLimit else { return nil }
    self.size = size
    self.subtrees = subtrees
  }

  /// Adds a leaf's hash, and tells of each subtree of 256, 65,536, ... leaves that becomes complete by it: its level, counted in steps of
  /// eight, its index there, and its root.
  mutating func append(_ leaf: Digest256, _ hasher: SHA256, completed: (Int, UInt64, Digest256) throws(LogError) -> Void) throws(LogError) {
    var node = leaf
    var level = 0
    while size >> UInt64(level) & 1 == 1 {
      node = hasher.node(subtrees.removeLast(), node)
      level += 1
      if level & 7 == 0 { try completed(level / 8, size >> UInt64(level), node) }
    }
    subtrees.append(node)
    size += 1
  }

  /// Adds a leaf's hash.
  public mutating func append(_ leaf: Digest256, _ hasher: SHA256) {
    do throws(LogError) { try append(leaf, hasher) { (_, _, _) throws(LogError) in } } catch { preconditionFailure("nothing throws") }
  }

  /// The tree's root hash (RFC 6962, section 2.1); of the empty tree SHA-256 of nothing.
  public func root(_ hasher: SHA256) -> Digest256 {
    guard var node = subtrees.last else { return hasher.hash([]) }
    for subtree in subtrees.dropLast().reversed() { node = hasher.node(subtree, node) }
    return node
  }

  /// The digests one behind the other, as a trim record keeps them.
  package var encoded: [UInt8] { subtrees.flatMap(\.bytes) }

  /// Nil if the bytes are not those of a tree of that size.
  package init?(size: Offset, encoded: [UInt8]) {
    guard encoded.count % 32 == 0 else { return nil }
    let subtrees = stride(from: 0, to: encoded.count, by: 32).map { Digest256(encoded.rawSpan.slice($0, 32)) }
    self.init(size: size, subtrees: subtrees)
  }

  /// The subtree of 2^`level` leaves at an index, if it is one of these.
  func subtree(level: Int, index: UInt64) -> Digest256? {
    guard size >> UInt64(level) & 1 == 1, index == size >> UInt64(level) - 1 else { return nil }
    return subtrees[(size >> UInt64(level + 1)).nonzeroBitCount]
  }
}
