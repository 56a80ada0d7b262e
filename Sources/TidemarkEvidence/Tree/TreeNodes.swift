internal import TidemarkLog

/// The roots and proofs of any tree whose complete subtrees can be looked up (RFC 6962, section 2.1).
protocol TreeNodes {
  /// The root of the complete subtree of 2^`level` leaves at an index.
  mutating func node(level: Int, index: UInt64) throws(LogError) -> Digest256
}

extension TreeNodes {
  /// The root over a range of leaves that begins where a subtree of its size rounded up to a power of two may begin.
  private mutating func root(_ range: Range<Offset>, _ hasher: SHA256) throws(LogError) -> Digest256 {
    let count = range.upperBound - range.lowerBound
    if count & (count - 1) == 0 {
      let level = count.trailingZeroBitCount
      return try node(level: level, index: range.lowerBound >> UInt64(level))
    }
    let middle = range.lowerBound + Self.split(count)
    let left = try root(range.lowerBound..<middle, hasher)
    return hasher.node(left, try root(middle..<range.upperBound, hasher))
  }

  /// The largest power of two below a number above 1.
  private static func split(_ count: UInt64) -> UInt64 { 1 << UInt64(63 - (count - 1).leadingZeroBitCount) }

  mutating func root(size: Offset, _ hasher: SHA256) throws(LogError) -> Digest256 {
    size == 0 ? hasher.hash([]) : try root(0..<size, hasher)
  }

  mutating func compactRange(size: Offset) throws(LogError) -> CompactRange {
    var subtrees: [Digest256] = []
    for level in stride(from: 63, through: 0, by: -1) where size >> UInt64(level) & 1 == 1 {
      subtrees.append(try node(level: level, index: size >> UInt64(level) - 1))
    }
    guard let range = CompactRange(size: size, subtrees: subtrees) else { preconditionFailure("one subtree a bit") }
    return range
  }

  /// PATH of RFC 6962, section 2.1.1.
  mutating func inclusionHashes(_ offset: Offset, size: Offset, _ hasher: SHA256) throws(LogError) -> [Digest256] {
    var range: Range<Offset> = 0..<size
    var hashes: [Digest256] = []
    while range.upperBound - range.lowerBound > 1 {
      let middle = range.lowerBound + Self.split(range.upperBound - range.lowerBound)
      if offset < middle {
        hashes.append(try root(middle..<range.upperBound, hasher))
        range = range.lowerBound..<middle
      } else {
        hashes.append(try root(range.lowerBound..<middle, hasher))
        range = middle..<range.upperBound
      }
    }
    return hashes.reversed()
  }

  /// PROOF of RFC 6962, section 2.1.2.
  mutating func consistencyHashes(from oldSize: Offset, to size: Offset, _ hasher: SHA256) throws(LogError) -> [Digest256] {
    guard oldSize > 0, oldSize < size else { return [] }
    var range: Range<Offset> = 0..<size
    var hashes: [Digest256] = []
    // Whether the smaller tree is all of the range, whose root the verifier then knows.
    var isWhole = true
    while oldSize != range.upperBound {
      let middle = range.lowerBound + Self.split(range.upperBound - range.lowerBound)
      if oldSize <= middle {
        hashes.append(try root(middle..<range.upperBound, hasher))
        range = range.lowerBound..<middle
      } else {
        hashes.append(try root(range.lowerBound..<middle, hasher))
        range = middle..<range.upperBound
        isWhole = false
      }
    }
    if !isWhole { hashes.append(try root(range, hasher)) }
    return hashes.reversed()
  }
}
