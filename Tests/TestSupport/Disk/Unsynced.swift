import TidemarkLog

/// What a power cut can change, item by item, so that every subset can be tried. Item numbers are bits of a mask:
/// first the changes of names in their order, then for each file its size and the sectors that differ.
package struct Unsynced: Sendable {
  struct FileItems: Sendable {
    var slot: Int
    var sizeItem: Int?
    var firstSectorItem: Int
    var sectors: [Int]
  }

  package let nameCount: Int
  package private(set) var sizeCount = 0
  package private(set) var sectorCount = 0
  private(set) var files: [FileItems] = []

  /// The number of items, and so of bits in a mask.
  package var count: Int { nameCount + sizeCount + sectorCount }
  /// Whether all subsets fit a 64-bit mask.
  package var isEnumerable: Bool { count <= 63 }

  init(_ image: DiskImage) {
    nameCount = image.changes.count
    for slot in image.nodes.indices where image.nodes[slot].isUnsynced {
      var sectors: [Int] = []
      var at = 0
      while let run = image.nodes[slot].dirty.run(from: at) {
        for sector in run where image.nodes[slot].differs(sector) { sectors.append(sector) }
        at = run.upperBound
      }
      let hasSize = image.nodes[slot].durableByteCount != image.nodes[slot].cache.count
      if sectors.isEmpty && !hasSize { continue }
      files.append(FileItems(slot: slot, sizeItem: hasSize ? count : nil, firstSectorItem: count + (hasSize ? 1 : 0), sectors: sectors))
      if hasSize { sizeCount += 1 }
      sectorCount += sectors.count
    }
  }
}

extension DiskImage {
  /// Lists what a power cut could change now.
  package func unsynced() -> Unsynced { Unsynced(self) }

  /// Cuts the power; the items whose bits are set in `mask` arrived. `items` must come from the same state.
  package mutating func powerCut(keeping mask: UInt64, of items: Unsynced) {
    var next = 0
    powerCut(names: { mask >> UInt64($0) & 1 == 1 }) { slot, node in
      while next < items.files.count, items.files[next].slot < slot { next += 1 }
      guard next < items.files.count, items.files[next].slot == slot else { return (SectorSet(), SectorSet(), node.durableByteCount) }
      let file = items.files[next]
      var kept = SectorSet()
      for (index, sector) in file.sectors.enumerated() where mask >> UInt64(file.firstSectorItem + index) & 1 == 1 { kept.insert(sector) }
      let keepsSize = file.sizeItem.map { mask >> UInt64($0) & 1 == 1 } ?? false
      return (kept, SectorSet(), keepsSize ? node.cache.count : node.durableByteCount)
    }
  }

  /// Calls `body` with the mask of each power cut that leads to a state of its own, until it returns false. Left out are masks that
  /// differ only in what nobody can see: sectors of a file without a name or beyond its size, and changes of names that undo each other.
  package func forEachPowerCut(of items: Unsynced, _ body: (UInt64) -> Bool) {
    precondition(items.isEnumerable, "too many unsynced items for every subset")
    var seen: [UInt64] = []
    for names in 0..<(UInt64(1) << UInt64(items.nameCount)) {
      var table = durableNames
      if items.nameCount > 0 {
        for index in changes.indices where names >> UInt64(index) & 1 == 1 { table.apply(changes[index]) }
        table.removeUnreachable()
        let signature = table.signature
        if seen.contains(signature) { continue }
        seen.append(signature)
      }
      let files = items.files.filter { file in table.contains(slot: file.slot) }
      let sizes = files.reduce(UInt64(0)) { mask, file in file.sizeItem.map { mask | 1 << UInt64($0) } ?? mask }
      let goesOn = forEachSubset(of: sizes) { chosen in
        var visible: UInt64 = 0
        for file in files {
          let keepsSize = file.sizeItem.map { chosen >> UInt64($0) & 1 == 1 } ?? true
          for (index, sector) in file.sectors.enumerated()
          where keepsSize || sector * DiskNode.sectorByteCount < nodes[file.slot].durableByteCount {
            visible |= 1 << UInt64(file.firstSectorItem + index)
          }
        }
        return forEachSubset(of: visible) { body(names | chosen | $0) }
      }
      if !goesOn { return }
    }
  }

  private func forEachSubset(of mask: UInt64, _ body: (UInt64) -> Bool) -> Bool {
    var subset: UInt64 = 0
    repeat {
      if !body(subset) { return false }
      subset = (subset &- mask) & mask
    } while subset != 0
    return true
  }
}
