import TidemarkLog

/// A file or directory of a simulated disk: what the page cache holds, and what the platter holds.
struct DiskNode: Sendable {
  static let sectorByteCount = 512

  var inode: UInt64
  var isDirectory: Bool
  /// A lock file or a shared page: durable at once, because nothing that recovery reads depends on it, so it must not multiply states.
  var isScratch = false
  var isReadOnly = false
  var handleCount = 0

  /// The file as every process reads it.
  var cache: [UInt8] = []
  /// What would be there after a power cut, read as zeros beyond its end. Longer than `durableByteCount` where data went ahead of the size.
  var platter: [UInt8] = []
  var durableByteCount = 0
  /// Sectors of the cache that no sync or write-back has written yet.
  var dirty = SectorSet()
  /// Some sector that counts as clean is not on the platter as the cache has it.
  var hasLostWrites = false

  init(inode: UInt64, isDirectory: Bool) {
    self.inode = inode
    self.isDirectory = isDirectory
  }

  static func sectors(_ position: Int, _ count: Int) -> Range<Int> {
    position / sectorByteCount..<(position + count + sectorByteCount - 1) / sectorByteCount
  }

  /// Whether a power cut could change what is read.
  var isUnsynced: Bool { durableByteCount != cache.count || hasLostWrites || !dirty.isEmpty }

  // MARK: Cache

  mutating func write(_ bytes: RawSpan, at position: Int) {
    guard bytes.byteCount > 0 else { return }
    if position == cache.count {
      cache.add(bytes)
    } else {
      Self.extend(&cache, to: position + bytes.byteCount)
      cache.store(bytes, at: position)
    }
    dirty.insert(Self.sectors(position, bytes.byteCount))
  }

  func read(_ count: Int, at position: UInt64, into buffer: inout [UInt8], at index: Int) -> Int {
    guard position < UInt64(cache.count), count > 0 else { return 0 }
    let got = min(count, cache.count - Int(position))
    buffer.store(cache.rawSpan.slice(Int(position), got), at: index)
    return got
  }

  /// What memory pressure does: clean pages are dropped, and reads show what the platter has.
  mutating func evict() {
    guard hasLostWrites else { return }
    let dirtyBytes = cache
    let byteCount = cache.count
    cache = platter
    Self.resize(&cache, to: byteCount)
    Self.copy(dirty, of: dirtyBytes, into: &cache, upTo: byteCount)
  }

  // MARK: Platter

  mutating func sync() {
    writeBack(dirty)
    durableByteCount = cache.count
  }

  mutating func writeBack(_ sectors: SectorSet) {
    Self.copy(sectors, of: cache, into: &platter, upTo: cache.count)
    for word in 0..<sectors.wordCount where sectors[word: word] != 0 { dirty[word: word] &= ~sectors[word: word] }
  }

  /// Counts sectors as clean that never reach the platter.
  mutating func lose(_ sectors: Range<Int>) {
    dirty.remove(sectors)
    hasLostWrites = true
  }

  /// Puts bytes where nobody asked for them.
  mutating func overwritePlatter(_ bytes: RawSpan, at position: Int) {
    Self.extend(&platter, to: position + bytes.byteCount)
    platter.store(bytes, at: position)
    hasLostWrites = true
  }

  mutating func putGarbage(in sector: Int, seed: UInt64) {
    Self.extend(&platter, to: (sector + 1) * Self.sectorByteCount)
    for index in 0..<Self.sectorByteCount / 8 {
      platter.store(splitMix(seed &+ UInt64(sector << 6 + index) &* splitMixStep), at: sector * Self.sectorByteCount + index * 8)
    }
    hasLostWrites = true
  }

  /// What the file is after the power comes back: `kept` sectors as the cache had them, `garbage` ones as nobody wrote them, the others
  /// old.
  mutating func powerCut(keeping kept: SectorSet, garbage: SectorSet, byteCount: Int, seed: UInt64) {
    Self.copy(kept, of: cache, into: &platter, upTo: cache.count)
    var at = 0
    while let run = garbage.run(from: at) {
      for sector in run { putGarbage(in: sector, seed: seed) }
      at = run.upperBound
    }
    Self.resize(&platter, to: byteCount)
    durableByteCount = byteCount
    cache = platter
    dirty = SectorSet()
    hasLostWrites = false
  }

  /// Whether the sector reads otherwise in the cache than it would after a power cut that keeps the size.
  func differs(_ sector: Int) -> Bool {
    let start = sector * Self.sectorByteCount
    let end = min(start + Self.sectorByteCount, cache.count)
    let middle = min(max(start, platter.count), end)
    guard start < end else { return false }
    return !cache.rawSpan.slice(start, middle - start).equals(platter.rawSpan.slice(min(start, platter.count), middle - start))
      || !cache.rawSpan.slice(middle, end - middle).isZero()
  }

  /// Whether the sector lies beyond the durable size, so that nobody was ever promised anything about it. Zeros do not count: they may be
  /// data.
  func isFresh(_ sector: Int) -> Bool { sector * Self.sectorByteCount >= durableByteCount }

  // MARK: Bytes

  private static func copy(_ sectors: SectorSet, of source: [UInt8], into target: inout [UInt8], upTo byteCount: Int) {
    var at = 0
    while let run = sectors.run(from: at) {
      at = run.upperBound
      let start = run.lowerBound * sectorByteCount
      let end = min(run.upperBound * sectorByteCount, byteCount)
      guard start < end else { continue }
      if start == target.count {
        target.add(source.rawSpan.slice(start, end - start))
      } else {
        extend(&target, to: end)
        target.store(source.rawSpan.slice(start, end - start), at: start)
      }
    }
  }

  static func extend(_ bytes: inout [UInt8], to count: Int) {
    if bytes.count < count { bytes.append(contentsOf: repeatElement(0, count: count - bytes.count)) }
  }

  static func resize(_ bytes: inout [UInt8], to count: Int) {
    if bytes.count > count { bytes.removeLast(bytes.count - count) } else { extend(&bytes, to: count) }
  }
}
