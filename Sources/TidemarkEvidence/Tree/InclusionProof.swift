public import TidemarkLog

/// Shows that a leaf stands at an offset of a tree, without the others (RFC 9162, section 2.1.3).
///
/// ```swift
/// let proof = try history.inclusionProof(of: 41, in: head.size)
/// guard proof.isValid(leaf: leaf, root: head.root, SHA256()) else { return }
/// ```
public struct InclusionProof: Sendable, Hashable {
  /// Where the leaf stands.
  public let offset: Offset
  /// The tree's size.
  public let size: Offset
  /// The siblings on the way to the root, the leaf's own first.
  public let hashes: [Digest256]

  /// A proof from elsewhere.
  public init(offset: Offset, size: Offset, hashes: [Digest256]) {
    self.offset = offset
    self.size = size
    self.hashes = hashes
  }

  /// The root that follows from a leaf's hash (RFC 9162, section 2.1.3.2); nil if the proof has a wrong number of hashes.
  public func root(leaf: Digest256, _ hasher: SHA256) -> Digest256? {
    guard offset < size else { return nil }
    var index = offset
    var last = size - 1
    var node = leaf
    for hash in hashes {
      guard last != 0 else { return nil }
      if index & 1 == 1 || index == last {
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
    return last == 0 ? node : nil
  }

  /// Whether it leads from this leaf to this root.
  public func isValid(leaf: Digest256, root: Digest256, _ hasher: SHA256) -> Bool { self.root(leaf: leaf, hasher) == root }
}
