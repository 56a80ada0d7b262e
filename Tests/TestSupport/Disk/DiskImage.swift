import TidemarkLog

/// The whole state of a simulated disk as a value: cheap to copy, since arrays are shared until one of the copies writes.
package struct DiskImage: Sendable {
  static let root = 0

  var nodes = [DiskNode(inode: 1, isDirectory: true)]
  /// The names as every process sees them.
  var names = NameTable()
  /// The names that a power cut can't take away. With all of `changes` applied these are `names`.
  var durableNames = NameTable()
  var changes: [NameChange] = []
  /// Paths in `durableNames` may be out of date.
  var hasRenamedDirectories = false
  private var freeSlots: [Int] = []
  private var nextInode: UInt64 = 2

  package init() {}

  // MARK: Names

  static func parent(of path: String) -> (path: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return ("", path) }
    return (String(path[..<slash]), String(path[path.utf8.index(after: slash)...]))
  }

  func slot(of path: String) -> Int? {
    if path.isEmpty || path == "/" { return Self.root }
    guard let index = names.index(of: path) else { return nil }
    return names.entries[index].slot
  }

  func existing(_ path: String, _ what: String) throws(LogError) -> Int {
    guard let slot = slot(of: path) else { throw DiskError.make(DiskError.noEntry, what, path) }
    return slot
  }

  func directory(_ path: String, _ what: String) throws(LogError) -> Int {
    let slot = try existing(path, what)
    guard nodes[slot].isDirectory else { throw DiskError.make(DiskError.notADirectory, what, path) }
    return slot
  }

  mutating func create(_ path: String, isDirectory: Bool = false, _ what: String) throws(LogError) -> Int {
    if slot(of: path) != nil { throw DiskError.make(DiskError.exists, what, path) }
    let (parentPath, name) = Self.parent(of: path)
    let parent = try directory(parentPath, what)
    let slot = addNode(isDirectory: isDirectory)
    let entry = NameEntry(path: path, name: name, slot: slot, directory: parent)
    names.set(entry)
    changes.append(NameChange(kind: .create, entry: entry, isDirectory: isDirectory))
    return slot
  }

  /// A file whose name and content are durable at once.
  mutating func createScratch(_ path: String, _ what: String) throws(LogError) -> Int {
    if let slot = slot(of: path) { return slot }
    let (parentPath, name) = Self.parent(of: path)
    let parent = try directory(parentPath, what)
    let slot = addNode(isDirectory: false)
    nodes[slot].isScratch = true
    let entry = NameEntry(path: path, name: name, slot: slot, directory: parent)
    names.set(entry)
    durableNames.set(entry)
    return slot
  }

  mutating func rename(_ path: String, to newPath: String) throws(LogError) {
    let what = "cannot rename"
    let slot = try existing(path, what)
    if path == newPath { return }
    let old = Self.parent(of: path)
    let new = Self.parent(of: newPath)
    guard old.path == new.path else { throw DiskError.make(DiskError.crossDevice, what, newPath) }
    let parent = try directory(new.path, what)
    let replaced = self.slot(of: newPath)
    // A directory may take the place of an empty one.
    if let replaced, nodes[replaced].isDirectory,
      !nodes[slot].isDirectory || names.entries.contains(where: { $0.directory == replaced })
    {
      throw DiskError.make(DiskError.isADirectory, what, newPath)
    }
    let entry = NameEntry(path: newPath, name: new.name, slot: slot, directory: parent)
    let change = NameChange(kind: .rename, entry: entry, oldName: old.name, isDirectory: nodes[slot].isDirectory)
    names.apply(change)
    changes.append(change)
    if change.isDirectory { hasRenamedDirectories = true }
  }

  mutating func remove(_ path: String) throws(LogError) {
    let what = "cannot remove"
    let slot = try existing(path, what)
    if nodes[slot].isDirectory { throw DiskError.make(DiskError.isADirectory, what, path) }
    guard let index = names.index(of: path) else { return }
    let entry = names.entries[index]
    names.remove(entry)
    if nodes[slot].isScratch {
      durableNames.remove(entry)
      releaseIfUnused(slot)
    } else {
      changes.append(NameChange(kind: .remove, entry: entry))
    }
  }

  mutating func syncDirectory(_ slot: Int) {
    guard changes.contains(where: { $0.entry.directory == slot }) else { return }
    syncNames { $0.entry.directory == slot }
  }

  /// Makes chosen changes durable, in their order.
  mutating func syncNames(_ isChosen: (NameChange) -> Bool) {
    var kept: [NameChange] = []
    var touched: [Int] = []
    for change in changes {
      guard isChosen(change) else {
        kept.append(change)
        continue
      }
      touched.append(change.entry.slot)
      if let index = durableNames.index(of: change.entry.name, in: change.entry.directory) {
        touched.append(durableNames.entries[index].slot)
      }
      durableNames.apply(change)
    }
    changes = kept
    for slot in touched { releaseIfUnused(slot) }
  }

  // MARK: Nodes

  private mutating func addNode(isDirectory: Bool) -> Int {
    let node = DiskNode(inode: nextInode, isDirectory: isDirectory)
    nextInode += 1
    if let slot = freeSlots.popLast() {
      nodes[slot] = node
      return slot
    }
    nodes.append(node)
    return nodes.count - 1
  }

  func isNamed(_ slot: Int) -> Bool { slot == Self.root || names.contains(slot: slot) }

  private func isUsed(_ slot: Int) -> Bool {
    nodes[slot].handleCount > 0 || isNamed(slot) || durableNames.contains(slot: slot)
      || changes.contains { $0.entry.slot == slot }
  }

  mutating func releaseIfUnused(_ slot: Int) {
    guard nodes[slot].inode != 0, !isUsed(slot) else { return }
    nodes[slot] = DiskNode(inode: 0, isDirectory: false)
    freeSlots.append(slot)
  }

  mutating func releaseUnused() {
    for slot in nodes.indices where slot != Self.root { releaseIfUnused(slot) }
  }

  /// Bytes that files take, those without a name but with an open handle included.
  package var usedByteCount: Int {
    var sum = 0
    for slot in nodes.indices where !nodes[slot].cache.isEmpty && (nodes[slot].handleCount > 0 || isNamed(slot)) {
      sum += nodes[slot].cache.count
    }
    return sum
  }
}
