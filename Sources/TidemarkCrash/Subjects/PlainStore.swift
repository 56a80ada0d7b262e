internal import CCrash

/// What many programs do: a length and the bytes at the end of one file. Its variants have one mistake each.
struct PlainStore: Store {
  private let file: Int32
  private let path: String
  private let setting: OwnSetting
  /// What is acknowledged and not written, of the one that acknowledges before it writes.
  private var pending: [UInt8] = []
  private static let pendingByteLimit = 64 << 10
  private static let spaceByteCount = 2 << 20

  /// Opens or makes it, and cuts what a crash left of a last record.
  init(_ folder: String, _ setting: OwnSetting) throws {
    self.setting = setting
    let syncs = setting == .plainFdatasync || setting == .retriesSync || setting == .neverFlushes
    let isNew = Libc.kind(of: folder) == nil
    if isNew { try Libc.makeDirectory(folder) }
    path = folder + "/events"
    file = try Libc.open(path, O_RDWR | O_CREAT)
    let end = try Self.walk(file, path) { _ in }
    if setting == .neverFlushes {
      // Zeros ahead, so that no append changes metadata.
      if isNew { try Libc.writeAll(file, [UInt8](repeating: 0, count: Self.spaceByteCount), path) }
      if !Libc.syncData(file) { throw Libc.failure("can't sync", path) }
      Libc.seek(file, to: end)
    } else if Libc.seekToEnd(file) != end, !Libc.truncate(file, to: end) {
      throw Libc.failure("can't cut", path)
    }
    if setting != .neverFlushes { _ = Libc.seekToEnd(file) }
    guard syncs else { return }
    // What is read now is a promise, and so is the name.
    if !Libc.syncData(file) { throw Libc.failure("can't sync", path) }
    try Libc.syncDirectory(folder)
    if isNew { try Libc.syncDirectory(folder + "/..") }
  }

  mutating func append(_ events: [[UInt8]]) throws {
    var bytes: [UInt8] = []
    for event in events {
      for shift in stride(from: UInt32(0), to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: UInt32(event.count) >> shift)) }
      bytes.append(contentsOf: event)
    }
    switch setting {
    case .acknowledgesBeforeWrite:
      pending.append(contentsOf: bytes)
      if pending.count >= Self.pendingByteLimit {
        try Libc.writeAll(file, pending, path)
        pending.removeAll(keepingCapacity: true)
      }
    case .ignoresShortWrites:
      _ = Libc.write(file, bytes)
    default:
      try Libc.writeAll(file, bytes, path)
    }
    switch setting {
    case .plainFdatasync:
      if !Libc.syncData(file) { throw Libc.failure("can't sync", path) }
    case .retriesSync:
      // Believes the second answer.
      if !Libc.syncData(file), !Libc.syncData(file) { throw Libc.failure("can't sync", path) }
    case .neverFlushes:
      // The data is sent to the disk and nobody asks the disk to keep it.
      Libc.writeBack(file)
    default: break
    }
  }

  mutating func forEach(_ body: ([UInt8]) throws -> Void) throws { _ = try Self.walk(file, path, body) }

  mutating func close() throws {
    if !pending.isEmpty { try Libc.writeAll(file, pending, path) }
    Libc.close(file)
  }

  /// Gives each whole record, and returns where the last one ends.
  private static func walk(_ file: Int32, _ path: String, _ body: ([UInt8]) throws -> Void) throws -> UInt64 {
    var position: UInt64 = 0
    var buffer: [UInt8] = []
    var start = 0
    while true {
      if buffer.count - start < 4 || buffer.count - start < 4 + length(buffer, start) {
        buffer.removeFirst(start)
        start = 0
        let more = Libc.read(file, count: 256 << 10, at: position + UInt64(buffer.count))
        buffer.append(contentsOf: more)
        if more.isEmpty { return position }
        continue
      }
      let count = length(buffer, start)
      if count == 0 { return position }
      try body(Array(buffer[start + 4..<start + 4 + count]))
      start += 4 + count
      position += UInt64(4 + count)
    }
  }

  private static func length(_ buffer: [UInt8], _ start: Int) -> Int {
    (0..<4).reduce(0) { $0 | Int(buffer[start + $1]) << ($1 * 8) }
  }
}
