import TidemarkLog

/// A handle on a file of a ``SimulatedDisk``. Calls of a handle whose process died throw, as after a power cut.
///
/// Unchecked, because `isOpen` changes only under the disk's guard.
final class SimulatedFile: File, @unchecked Sendable {
  private let disk: SimulatedDisk
  let slot: Int
  let generation: Int
  let path: String
  let canWrite: Bool
  var isOpen = true

  init(_ disk: SimulatedDisk, slot: Int, generation: Int, path: String, canWrite: Bool) {
    self.disk = disk
    self.slot = slot
    self.generation = generation
    self.path = path
    self.canWrite = canWrite
  }

  deinit { disk.close(self) }

  func read(_ count: Int, at position: UInt64, into buffer: inout [UInt8], at index: Int) throws(LogError) -> Int {
    try disk.read(self, count, at: position, into: &buffer, at: index)
  }

  func write(_ bytes: RawSpan, at position: UInt64) throws(LogError) { try disk.write(self, bytes, at: position) }
  func sync() throws(LogError) { try disk.sync(self) }
  func byteCount() throws(LogError) -> UInt64 { try disk.byteCount(self) }
  func isDeleted() -> Bool { disk.isDeleted(self) }
  func makeReadOnly() throws(LogError) { try disk.makeReadOnly(self) }
  func close() { disk.close(self) }
}

final class SimulatedLock: FileLock {
  private let disk: SimulatedDisk
  private let slot: Int
  private let token: UInt64

  init(_ disk: SimulatedDisk, slot: Int, token: UInt64) {
    self.disk = disk
    self.slot = slot
    self.token = token
  }

  deinit { release() }

  func release() { disk.release(slot: slot, token: token) }
}
