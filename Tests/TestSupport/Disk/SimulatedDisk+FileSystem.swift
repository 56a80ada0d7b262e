package import TidemarkLog

extension SimulatedDisk: FileSystem {
  package func open(_ path: String, _ mode: OpenMode) throws(LogError) -> any File {
    if mode.creates { willChange(.create) }
    enter()
    defer { leave() }
    let what = mode.creates ? "cannot create" : "cannot open"
    _ = try begin(mode.creates ? .create : .open, path)
    let slot = mode.creates ? try state.create(path, what) : try state.existing(path, what)
    if mode != .read {
      if let writeRefusal { throw DiskError.make(writeRefusal, what, path) }
      if state.nodes[slot].isDirectory { throw DiskError.make(DiskError.isADirectory, what, path) }
      if state.nodes[slot].isReadOnly { throw DiskError.make(DiskError.accessDenied, what, path) }
    }
    state.nodes[slot].handleCount += 1
    return SimulatedFile(self, slot: slot, generation: generation, path: path, canWrite: mode != .read)
  }

  package func list(_ directory: String) throws(LogError) -> [String] {
    enter()
    defer { leave() }
    _ = try begin(.list, directory)
    let slot = try state.directory(directory, "cannot list")
    return state.names.names(in: slot)
  }

  package func status(_ path: String) throws(LogError) -> FileStatus? {
    enter()
    defer { leave() }
    _ = try begin(.status, path)
    guard let slot = state.slot(of: path) else { return nil }
    return FileStatus(
      isDirectory: state.nodes[slot].isDirectory, byteCount: UInt64(state.nodes[slot].cache.count), device: 1,
      inode: state.nodes[slot].inode)
  }

  package func makeDirectory(_ path: String) throws(LogError) {
    willChange(.makeDirectory)
    enter()
    defer { leave() }
    _ = try begin(.makeDirectory, path)
    _ = try state.create(path, isDirectory: true, "cannot make the directory")
  }

  package func rename(_ path: String, to newPath: String) throws(LogError) {
    willChange(.rename)
    enter()
    defer { leave() }
    _ = try begin(.rename, path)
    try state.rename(path, to: newPath)
  }

  package func remove(_ path: String) throws(LogError) {
    willChange(.remove)
    enter()
    defer { leave() }
    _ = try begin(.remove, path)
    let inode = state.slot(of: path).map { state.nodes[$0].inode }
    try state.remove(path)
    if let inode { pages[inode] = nil }
  }

  package func syncDirectory(_ path: String) throws(LogError) {
    willChange(.syncDirectory)
    enter()
    defer { leave() }
    let fault = try begin(.syncDirectory, path)
    let slot = try state.directory(path, "cannot sync the directory")
    if fault != .lyingSync { state.syncDirectory(slot) }
  }

  package func lock(_ path: String, holder: String) throws(LogError) -> any FileLock {
    enter()
    defer { leave() }
    _ = try begin(.lock, path)
    let slot = try state.createScratch(path, "cannot lock")
    if let lock = locks.first(where: { $0.slot == slot }) {
      throw LogError(
        .locked, "the log is in use", file: path, why: "\(lock.holder) writes to it",
        advice: "close it there first, or open it for reading")
    }
    let text = Array((holder + "\n").utf8)
    setScratch(slot, text)
    locks.append((slot, nextToken, holder))
    nextToken += 1
    return SimulatedLock(self, slot: slot, token: nextToken - 1)
  }

  package func sharedPage(_ path: String, writable: Bool) throws(LogError) -> SharedPage? {
    enter()
    defer { leave() }
    _ = try begin(.sharedPage, path)
    if writable {
      if let writeRefusal { throw DiskError.make(writeRefusal, "cannot open", path) }
    } else {
      guard let slot = state.slot(of: path), state.nodes[slot].cache.count >= SharedPage.byteCount else { return nil }
    }
    let slot = try state.createScratch(path, "cannot open")
    setScratch(slot, [UInt8](repeating: 0, count: SharedPage.byteCount))
    if let page = pages[state.nodes[slot].inode] { return page }
    let page = SharedPage()
    pages[state.nodes[slot].inode] = page
    return page
  }

  private func setScratch(_ slot: Int, _ bytes: [UInt8]) {
    state.nodes[slot].cache = bytes
    state.nodes[slot].platter = bytes
    state.nodes[slot].durableByteCount = bytes.count
  }

  func release(slot: Int, token: UInt64) {
    enter()
    defer { leave() }
    guard let index = locks.firstIndex(where: { $0.token == token }) else { return }
    locks.remove(at: index)
    if !isCut { setScratch(slot, []) }
  }
}
