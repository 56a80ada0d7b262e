/// Writes frames one behind the other, gathered into larger writes.
struct FrameOutput {
  let file: any File
  let seed: UInt64
  /// Where the next byte will go.
  private(set) var position: UInt64
  private var pending: [UInt8] = []
  private let chunkByteCount: Int
  /// Called before each write; a paced writer waits here, and what it wrote goes to the device at once: a sync of all of it at the end
  /// would make the syncs of appends wait.
  private let beforeWrite: (() throws(LogError) -> Void)?
  /// Over all bytes written, where asked for.
  let digest: StreamDigest?

  init(
    _ file: any File, seed: UInt64, at position: UInt64, chunkByteCount: Int = 256 << 10, digest: StreamDigest? = nil,
    beforeWrite: (() throws(LogError) -> Void)? = nil
  ) {
    self.file = file
    self.seed = seed
    self.position = position
    self.chunkByteCount = chunkByteCount
    self.digest = digest
    self.beforeWrite = beforeWrite
  }

  mutating func append(_ bytes: RawSpan) throws(LogError) {
    pending.add(bytes)
    position += UInt64(bytes.byteCount)
    if pending.count >= chunkByteCount { try flush() }
  }

  /// Appends a frame with the given stored bytes.
  mutating func append(_ header: FrameHeader, stored: RawSpan) throws(LogError) {
    let start = pending.count
    pending += repeatElement(0, count: header.frameLength)
    pending.store(stored, at: start + FrameHeader.byteCount)
    header.encode(into: &pending, at: start, seed: seed)
    position += UInt64(header.frameLength)
    if pending.count >= chunkByteCount { try flush() }
  }

  mutating func flush() throws(LogError) {
    guard !pending.isEmpty else { return }
    try beforeWrite?()
    let start = position - UInt64(pending.count)
    try file.write(pending.rawSpan, at: start)
    if beforeWrite != nil { file.startWriteback(at: start, count: pending.count) }
    digest?.update(pending.rawSpan)
    pending.removeAll(keepingCapacity: true)
  }
}
