public import TidemarkLog

/// How large a history is, and the hash that stands for all of it.
public struct TreeHead: Sendable, Hashable {
  /// How many events it is over: the offset of the next one.
  public let size: Offset
  /// The root hash (RFC 6962, section 2.1).
  public let root: Digest256

  /// A size and its root.
  public init(size: Offset, root: Digest256) {
    self.size = size
    self.root = root
  }
}
