import TidemarkLog

extension DiskNode {
  /// A write that the device spoils: the cache, and so every read of this boot, has it right.
  mutating func write(_ bytes: RawSpan, at position: Int, _ fault: Fault) {
    write(bytes, at: position)
    let sectors = Self.sectors(position, bytes.byteCount)
    switch fault {
    case .lostWriteBack: lose(sectors)
    case .misdirectedWrite(let distance):
      lose(sectors)
      if position + distance >= 0 { overwritePlatter(bytes, at: position + distance) }
    case .garbageWrite(let sector) where !sectors.isEmpty:
      let spoiled = sectors.lowerBound + sector % sectors.count
      lose(spoiled..<spoiled + 1)
      putGarbage(in: spoiled, seed: inode)
    default: break
    }
  }

  /// What a sync that reports an error leaves.
  mutating func failSync(_ failure: SyncFailure, reaching mask: UInt64) {
    var reached = SectorSet()
    if mask != 0 {
      for (index, sector) in dirty.sectors.prefix(64).enumerated() where mask >> UInt64(index) & 1 == 1 { reached.insert(sector) }
    }
    writeBack(reached)
    if failure == .keepsPages { return }
    hasLostWrites = hasLostWrites || !dirty.isEmpty
    dirty = SectorSet()
    if failure == .dropsPages { evict() }
  }
}
