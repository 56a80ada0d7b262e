/// A name in a directory.
struct NameEntry: Sendable {
  var path: String
  var name: String
  var slot: Int
  /// The slot of the directory that it stands in.
  var directory: Int
}

/// A change to a directory. It names the file by slot, so each change can reach the platter without those before it:
/// a rename that does so takes the file along, which is what makes it atomic.
struct NameChange: Sendable {
  enum Kind: Sendable {
    case create
    case remove
    case rename
  }

  var kind: Kind
  /// The new name, or the one removed.
  var entry: NameEntry
  /// The name that a rename takes away, in the same directory.
  var oldName = ""
  var isDirectory = false
}

/// All names of a disk, by whole path. Few enough that a walk beats hashing, and a copy costs little.
struct NameTable: Sendable {
  private(set) var entries: [NameEntry] = []

  func index(of path: String) -> Int? {
    var index = entries.count - 1
    while index >= 0 {
      if entries[index].path == path { return index }
      index -= 1
    }
    return nil
  }

  func index(of name: String, in directory: Int) -> Int? {
    var index = entries.count - 1
    while index >= 0 {
      if entries[index].directory == directory && entries[index].name == name { return index }
      index -= 1
    }
    return nil
  }

  func contains(slot: Int) -> Bool {
    for index in entries.indices where entries[index].slot == slot { return true }
    return false
  }

  func names(in directory: Int) -> [String] {
    var names: [String] = []
    names.reserveCapacity(entries.count)
    for index in entries.indices where entries[index].directory == directory { names.append(entries[index].name) }
    return names
  }

  mutating func set(_ entry: NameEntry) {
    if let index = index(of: entry.name, in: entry.directory) { entries[index] = entry } else { entries.append(entry) }
  }

  mutating func remove(_ entry: NameEntry) {
    if let index = index(of: entry.name, in: entry.directory) { entries.remove(at: index) }
  }

  mutating func apply(_ change: NameChange) {
    switch change.kind {
    case .create: set(change.entry)
    case .remove: remove(change.entry)
    case .rename:
      if let index = index(of: change.oldName, in: change.entry.directory), entries[index].slot == change.entry.slot {
        entries.remove(at: index)
      }
      set(change.entry)
      if change.isDirectory { movePaths(under: change.entry) }
    }
  }

  /// Makes every path follow from the names of the directories above.
  mutating func rebuildPaths() {
    for entry in entries where entry.directory == DiskImage.root { movePaths(under: entry) }
  }

  /// Gives everything below a directory its new path.
  private mutating func movePaths(under directory: NameEntry) {
    for index in entries.indices where entries[index].directory == directory.slot {
      entries[index].path = directory.path + "/" + entries[index].name
      movePaths(under: entries[index])
    }
  }

  /// Drops the names whose directory is not there, however deep.
  mutating func removeUnreachable() {
    var count = -1
    while count != entries.count {
      count = entries.count
      let present = entries
      entries.removeAll { entry in entry.directory != DiskImage.root && !present.contains { $0.slot == entry.directory } }
    }
  }

  /// The same for tables of the same content, in whatever order.
  var signature: UInt64 {
    var sum: UInt64 = 0
    for entry in entries {
      var word = splitMix(UInt64(entry.slot) << 32 &+ UInt64(entry.directory) &+ splitMixStep)
      for byte in entry.name.utf8 { word = (word ^ UInt64(byte)) &* 0x100_0000_01B3 }
      sum &+= splitMix(word)
    }
    return sum
  }
}
