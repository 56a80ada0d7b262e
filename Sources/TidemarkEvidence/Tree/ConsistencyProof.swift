public import TidemarkLog

/// Shows that a tree is another one with leaves added behind it (RFC 9162, section 2.1.4).
///
/// ```swift
/// let proof = try history.consistencyProof(from: old.size, to: new.size)
/// guard proof.isValid(from: old.root, to: new.root, SHA256()) else { return }
/// ```
public struct ConsistencyProof: Sendable, Hashable {
  /// The size of the smaller tree.
  public let oldSize: Offset
  /// The size of the larger tree.
  public let size: Offset
  /// The nodes, in the order of RFC 9162.
  public let hashes: [Digest256]

  /// A proof from elsewhere.
  public init(oldSize: Offset, size: Offset, hashes: [Digest256]) {
    self.oldSize = oldSize
    self.size = size
    self.hashes = hashes
  }

  /// Whether it leads from the smaller tree's root to the larger one's (RFC 9162, section 2.1.4.2). From the empty tree, which has one root
  /// only, everything follows, without a proof.
  public func isValid(from oldRoot: Digest256, to root: Digest256, _ hasher: SHA256) -> Bool {
    guard oldSize <= size else { return false }
    if oldSize == size { return hashes.isEmpty && oldRoot == root }
    if oldSize == 0 { return hashes.isEmpty && oldRoot == hasher.hash([]) }
    var path = hashes[...]
    // A complete subtree is the first node of the way itself.
    if oldSize & (oldSize - 1) == 0 { path.insert(oldRoot, at: path.startIndex) }
    guard let first = path.popFirst() else { return false }
    var index = oldSize - 1
    var last = size - 1
    while index & 1 == 1 {
      index >>= 1
      last >>= 1
    }
    var oldNode = first
    var node = first
    for hash in path {
      guard last != 0 else { return false }
      if index & 1 == 1 || index == last {
        oldNode = hasher.node(hash, oldNode)
        node = hasher.node(hash, node)
        while index & 1 == 0 && index != 0 {
          index >>= 1
          last >>= 1
        }
      } else {
        node = hasher.node(node, hash)
      }
      index >>= 1
      last >>= 1
    }
    return last == 0 && oldNode == oldRoot && node == root
  }
}
