package import TidemarkEvidence
package import TidemarkLog

/// How a device and a server that may disagree go on: the table *Positions* of `Specs/protocol.md`. A function of facts, without any I/O.
package enum Settlement: Sendable, Equatable {
  /// Ship from here on.
  case `continue`(from: Offset)
  /// Replies were lost: take the receipt that the server holds, and ship from here on.
  case fastForward(from: Offset)
  /// The server lost data: ship again from here on, and do not trim.
  case rewind(from: Offset)
  /// The server lacks events that this device no longer has: ship from the oldest on, with the tree there.
  case gap(missing: Range<Offset>)
  /// This device went back to an older state: take what the server has behind its end.
  case refill(from: Offset)
  /// The histories differ.
  case newEpoch

  /// What a device knows of itself.
  package struct Device: Sendable, Equatable {
    /// The first offset that it keeps.
    package var oldest: Offset
    /// What is durable.
    package var size: Offset
    /// What its newest receipt covers; 0 without one.
    package var receipted: Offset

    package init(oldest: Offset, size: Offset, receipted: Offset) {
      self.oldest = oldest
      self.size = size
      self.receipted = receipted
    }
  }

  /// - Parameters:
  ///   - accepted: what the server has, and the root there.
  ///   - rootAt: the device's own root at a size up to its own; nil where it can't be told any more.
  ///   - serverRootAt: the server's root at a size below `accepted`, which may have to be asked for; nil if it is not known.
  package static func of(
    _ device: Device, accepted: TreeHead, rootAt: (Offset) throws(LogError) -> Digest256?,
    serverRootAt: (Offset) throws(LogError) -> Digest256?
  ) throws(LogError) -> Settlement {
    let common = min(accepted.size, device.size)
    if common > 0 {
      let own = try rootAt(common)
      let theirs = common == accepted.size ? accepted.root : try serverRootAt(common)
      if let own, let theirs, own != theirs { return .newEpoch }
    }
    if accepted.size > device.size { return .refill(from: device.size) }
    if accepted.size < device.oldest { return .gap(missing: accepted.size..<device.oldest) }
    if accepted.size < device.receipted { return .rewind(from: accepted.size) }
    return accepted.size == device.receipted ? .continue(from: accepted.size) : .fastForward(from: accepted.size)
  }
}
