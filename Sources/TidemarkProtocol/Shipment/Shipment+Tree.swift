package import TidemarkEvidence
package import TidemarkLog

extension Shipment {
  /// The history tree at the shipment's end, from that at its beginning, or anywhere within it: what the tree has already is passed over.
  ///
  /// - Parameters:
  ///   - known: the tree of the first `known.size` events, where the shipment does not begin behind it.
  ///   - end: leaves from there on are left out; nil for none.
  ///   - observer: is shown each event from `known.size` on, in order.
  ///
  /// Throws `LogError.Code.corrupt` for a malformed record, and what the observer throws.
  package func extend(
    _ known: CompactRange, upTo end: Offset? = nil, _ hasher: SHA256,
    observer: (EventView) throws(LogError) -> Void = { (_) throws(LogError) in }
  ) throws(LogError) -> CompactRange {
    precondition(offsets.lowerBound <= known.size)
    let end = end ?? offsets.upperBound
    var range = known
    var leaves = LeafHasher(hasher, session: hasher.hash(session: session))
    try read { (item) throws(LogError) in
      switch item {
      case .event(let event):
        let leaf = leaves.leaf(event)
        if event.offset < range.size || event.offset >= end { return }
        range.append(leaf, hasher)
        try observer(event)
      case .lost(let offsets, let session, _):
        for offset in offsets where offset >= range.size && offset < end { range.append(Descriptor(lost: offset).leaf(hasher), hasher) }
        leaves.begin(hasher.hash(session: session))
      }
    }
    return range
  }
}
