import TidemarkLog

// Changes to a disk at rest, which no call makes: for tests of damage, and for looking at what is there.
extension DiskImage {
  /// All files below a directory, as paths in order; those of scratch files (lock, shared page) left out.
  package func files(under directory: String = "") -> [String] {
    names.entries.filter {
      !nodes[$0.slot].isDirectory && !nodes[$0.slot].isScratch && (directory.isEmpty || $0.path.hasPrefix(directory + "/"))
    }
    .map(\.path).sorted()
  }

  /// A file's bytes as a process reads them; nil if no file is there.
  package func contents(of path: String) -> [UInt8]? {
    guard let slot = slot(of: path), !nodes[slot].isDirectory else { return nil }
    return nodes[slot].cache
  }

  /// Puts bytes on the platter and into the cache, making the file if it is not there. The directory must be there.
  package mutating func setContents(of path: String, to bytes: [UInt8]) throws {
    let slot = try self.slot(of: path) ?? create(path, "cannot create")
    nodes[slot].cache = bytes
    nodes[slot].platter = bytes
    nodes[slot].durableByteCount = bytes.count
    nodes[slot].dirty = SectorSet()
    nodes[slot].hasLostWrites = false
    syncNames { $0.entry.path == path }
  }

  /// Flips one bit, counted from the file's first byte, low bit first.
  package mutating func flipBit(_ bit: Int, of path: String) throws {
    let slot = try existing(path, "cannot flip a bit")
    nodes[slot].cache[bit >> 3] ^= 1 << UInt8(bit & 7)
    if bit >> 3 < nodes[slot].platter.count { nodes[slot].platter[bit >> 3] ^= 1 << UInt8(bit & 7) }
  }

  /// Removes a file, durably.
  package mutating func delete(_ path: String) throws {
    try remove(path)
    syncNames { $0.entry.path == path }
  }

  /// Makes everything durable.
  package mutating func syncEverything() {
    for slot in nodes.indices where nodes[slot].isUnsynced { nodes[slot].sync() }
    syncNames { _ in true }
  }

  /// Drops clean pages: what a failed sync lost shows in reads from now on.
  package mutating func evictCleanPages() {
    for slot in nodes.indices where nodes[slot].hasLostWrites { nodes[slot].evict() }
  }

  /// What a kernel does by itself: writes some unsynced sectors, perhaps a size, and the first of the waiting name changes, so that
  /// a later cut finds older versions on the platter.
  package mutating func writeBack(using random: inout SeededRandom) {
    for slot in nodes.indices where nodes[slot].isUnsynced {
      var chosen = SectorSet()
      for word in 0..<nodes[slot].dirty.wordCount where nodes[slot].dirty[word: word] != 0 {
        chosen[word: word] = nodes[slot].dirty[word: word] & (random.isOneIn(2) ? .max : random.next())
      }
      nodes[slot].writeBack(chosen)
      if random.isOneIn(2) { nodes[slot].durableByteCount = nodes[slot].cache.count }
    }
    if !changes.isEmpty {
      var count = random.number(in: 0...changes.count)
      syncNames { _ in
        count -= 1
        return count >= 0
      }
    }
  }
}
