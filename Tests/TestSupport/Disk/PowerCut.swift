import TidemarkLog

/// What reached the platter before the power went.
package enum PowerCut: Sendable, Equatable {
  /// Nothing that was not synced.
  case losesEverything
  /// All of it.
  case keepsEverything
  /// A subset that follows from the seed: of sectors, of sizes, of names; and garbage in some sectors that were being written.
  case seeded(UInt64, garbage: GarbageRule = .never)
}

/// Where a power cut may leave garbage.
package enum GarbageRule: Sendable, Equatable {
  case never
  /// Only in sectors beyond the durable size: newly taken blocks, whose stale content can show through. This is what the engine must bear.
  case inFreshSectors
  /// In every sector that was being written. A drive that does this loses synced bytes beside the unsynced ones, so the engine can only
  /// report it.
  case inAnySector
}

extension DiskImage {
  /// What the process leaves when it is killed: everything it wrote, but no handles.
  package mutating func processKill() {
    for slot in nodes.indices where nodes[slot].handleCount > 0 { nodes[slot].handleCount = 0 }
    releaseUnused()
  }

  package mutating func powerCut(_ cut: PowerCut) {
    switch cut {
    case .losesEverything:
      powerCut(names: { _ in false }) { _, node in (SectorSet(), SectorSet(), node.durableByteCount) }
    case .keepsEverything:
      powerCut(names: { _ in true }) { _, node in (node.dirty, SectorSet(), node.cache.count) }
    case .seeded(let seed, let garbage):
      powerCut(seed: seed, garbage: garbage)
    }
  }

  /// Carries a cut out. `choose` tells for each unsynced file which sectors arrived, which hold garbage, and how long it is.
  mutating func powerCut(
    names isKept: (Int) -> Bool, seed: UInt64 = 0, _ choose: (Int, DiskNode) -> (kept: SectorSet, garbage: SectorSet, byteCount: Int)
  ) {
    if !changes.isEmpty {
      for index in changes.indices where isKept(index) { durableNames.apply(changes[index]) }
      if changes.contains(where: { $0.isDirectory }) { durableNames.removeUnreachable() }
      if hasRenamedDirectories { durableNames.rebuildPaths() }
      hasRenamedDirectories = false
      changes.removeAll()
      names = durableNames
    }
    for slot in nodes.indices {
      if nodes[slot].handleCount > 0 { nodes[slot].handleCount = 0 }
      guard nodes[slot].isUnsynced else { continue }
      let choice = choose(slot, nodes[slot])
      nodes[slot].powerCut(keeping: choice.kept, garbage: choice.garbage, byteCount: choice.byteCount, seed: seed &+ nodes[slot].inode)
    }
    releaseUnused()
  }

  private mutating func powerCut(seed: UInt64, garbage: GarbageRule) {
    var random = SeededRandom(seed: seed)
    let names = SectorChoice(count: changes.count, using: &random)
    var seeds = random
    powerCut(names: { names.keeps($0) }, seed: seed) { _, node in
      var kept = SectorSet()
      var spoiled = SectorSet()
      let choice = SectorChoice(count: node.dirty.count, using: &seeds)
      var index = 0
      var at = 0
      while let run = node.dirty.run(from: at) {
        for sector in run {
          if choice.keeps(index) {
            kept.insert(sector)
          } else if garbage != .never, seeds.isOneIn(3), garbage == .inAnySector || node.isFresh(sector) {
            spoiled.insert(sector)
          }
          index += 1
        }
        at = run.upperBound
      }
      return (kept, spoiled, Self.byteCount(of: node, using: &seeds))
    }
  }

  /// The old size, the new one, or one on a sector boundary between them.
  private static func byteCount(of node: DiskNode, using random: inout SeededRandom) -> Int {
    let old = node.durableByteCount
    let new = node.cache.count
    switch random.number(below: 4) {
    case 0: return old
    case 1 where new > old:
      return min(
        new, (old + random.number(in: 0...(new - old))) / DiskNode.sectorByteCount * DiskNode.sectorByteCount + DiskNode.sectorByteCount)
    default: return new
    }
  }
}

/// Which of `count` things arrived: all, none, a prefix, a suffix, one, all but one, or each by chance. Even chances alone would hardly
/// ever give the extremes, and those are what breaks engines.
private struct SectorChoice {
  private enum Shape {
    case range(Range<Int>, inside: Bool)
    case chance(seed: UInt64, of256: UInt64)
  }

  private let shape: Shape

  init(count: Int, using random: inout SeededRandom) {
    switch random.number(below: 12) {
    case 0: shape = .range(0..<0, inside: true)
    case 1, 2: shape = .range(0..<0, inside: false)
    case 3: shape = .range(0..<random.number(in: 0...count), inside: true)
    case 4: shape = .range(random.number(in: 0...count)..<count, inside: true)
    case 5, 6:
      let one = random.number(below: max(1, count))
      shape = .range(one..<one + 1, inside: random.next() & 1 == 0)
    case 7, 8: shape = .chance(seed: random.next(), of256: 224)
    case 9: shape = .chance(seed: random.next(), of256: 32)
    default: shape = .chance(seed: random.next(), of256: 128)
    }
  }

  func keeps(_ index: Int) -> Bool {
    switch shape {
    case .range(let range, let inside): range.contains(index) == inside
    case .chance(let seed, let share): splitMix(seed &+ UInt64(index) &* splitMixStep) & 255 < share
    }
  }
}
