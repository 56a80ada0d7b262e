import TidemarkLog

// The calls of a handle.
extension SimulatedDisk {
  func read(_ file: SimulatedFile, _ count: Int, at position: UInt64, into buffer: inout [UInt8], at index: Int) throws(LogError) -> Int {
    precondition(index >= 0 && count >= 0 && index + count <= buffer.count)
    enter()
    defer { leave() }
    let fault = try begin(.read, file, "cannot read", position: position, byteCount: count)
    let got = state.nodes[file.slot].read(count, at: position, into: &buffer, at: index)
    if case .flippedRead(let bit) = fault, got > 0 {
      let bit = bit % (got * 8)
      buffer[index + bit >> 3] ^= 1 << UInt8(bit & 7)
    }
    return got
  }

  func write(_ file: SimulatedFile, _ bytes: RawSpan, at position: UInt64) throws(LogError) {
    willChange(.write)
    enter()
    defer { leave() }
    let fault = try begin(.write, file, "cannot write", position: position, byteCount: bytes.byteCount)
    guard file.canWrite else { throw DiskError.make(DiskError.badDescriptor, "cannot write", file.path) }
    let position = Int(position)
    switch fault {
    case nil: break
    case .lostWrite: return
    case .cut(let count):
      state.nodes[file.slot].write(bytes.slice(0, min(count, bytes.byteCount)), at: position)
      throw DiskError.powerCut(file.path)
    case .shortWrite(let count, let errno):
      state.nodes[file.slot].write(bytes.slice(0, min(count, bytes.byteCount)), at: position)
      throw DiskError.make(errno, "cannot write", file.path, position: UInt64(position))
    case .some(let fault):
      state.nodes[file.slot].write(bytes, at: position, fault)
      return
    }
    if let capacity {
      let growth = position + bytes.byteCount - state.nodes[file.slot].cache.count
      let free = capacity - state.usedByteCount
      if growth > 0, growth > free {
        state.nodes[file.slot].write(bytes.slice(0, max(0, bytes.byteCount - growth + max(0, free))), at: position)
        throw DiskError.make(DiskError.noSpace, "cannot write", file.path, position: UInt64(position))
      }
    }
    state.nodes[file.slot].write(bytes, at: position)
    if writeBack != nil { writeBackPerhaps() }
  }

  private func writeBackPerhaps() {
    guard var writeBack else { return }
    if writeBack.random.isOneIn(writeBack.oneIn) { state.writeBack(using: &writeBack.random) }
    self.writeBack = writeBack
  }

  func sync(_ file: SimulatedFile) throws(LogError) {
    willChange(.sync)
    enter()
    defer { leave() }
    let fault = try begin(.sync, file, "cannot sync")
    switch fault {
    case .lyingSync: return
    case .failedSync(let failure, let reaching):
      state.nodes[file.slot].failSync(failure, reaching: reaching)
      throw DiskError.make(DiskError.inputOutput, "cannot sync", file.path)
    default: state.nodes[file.slot].sync()
    }
  }

  func byteCount(_ file: SimulatedFile) throws(LogError) -> UInt64 {
    enter()
    defer { leave() }
    _ = try begin(.byteCount, file, "cannot look at")
    return UInt64(state.nodes[file.slot].cache.count)
  }

  /// No call of the kernel's that could fail: it is not counted.
  func isDeleted(_ file: SimulatedFile) -> Bool {
    enter()
    defer { leave() }
    return file.generation == generation && !state.isNamed(file.slot)
  }

  func makeReadOnly(_ file: SimulatedFile) throws(LogError) {
    enter()
    defer { leave() }
    _ = try begin(.makeReadOnly, file, "cannot make read-only")
    state.nodes[file.slot].isReadOnly = true
  }

  func close(_ file: SimulatedFile) {
    enter()
    defer { leave() }
    guard file.isOpen else { return }
    file.isOpen = false
    guard file.generation == generation, !isCut else { return }
    state.nodes[file.slot].handleCount -= 1
    if state.nodes[file.slot].handleCount == 0 { state.releaseIfUnused(file.slot) }
  }

  private func begin(
    _ kind: Calls, _ file: SimulatedFile, _ what: String, position: UInt64 = 0, byteCount: Int = 0
  ) throws(LogError) -> Fault? {
    if file.generation != generation { throw DiskError.powerCut(file.path) }
    let fault = try begin(kind, file.path, position: position, byteCount: byteCount)
    if !file.isOpen { throw DiskError.make(DiskError.badDescriptor, what, file.path) }
    if state.nodes[file.slot].isDirectory { throw DiskError.make(DiskError.isADirectory, what, file.path) }
    return fault
  }
}
