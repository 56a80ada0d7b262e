public import TidemarkLog

/// A history as a C2SP tlog-tiles directory, which tools for transparency logs read: `checkpoint`, `tile/<level>/<index>`, and
/// `tile/entries/<index>` with the descriptors.
///
/// ```swift
/// try TileExport(log).write(to: "captures-tiles", checkpoint: note)
/// ```
public struct TileExport {
  private let log: Log
  private let files: any FileSystem

  /// Of a log that is whole from its first event on.
  public init(_ log: Log) {
    self.log = log
    files = log.environment.fileSystem
  }

  /// Writes all tiles of the checkpoint's size into a new directory.
  ///
  /// Throws `LogError.Code.trimmed` for a log that lacks its beginning, `LogError.Code.alreadyExists` if
  /// something is there, `LogError.Code.inconsistent` if the events do not lead to the checkpoint's root, and errors of the
  /// file system.
  public func write(to path: String, checkpoint: SignedNote) throws {
    let head = try Checkpoint(checkpoint.text).head
    guard log.first == 0 else {
      throw LogError(
        .trimmed, "tiles need the whole history", why: "the log was trimmed below offset \(log.first)",
        advice: "export from the server or an archive")
    }
    if try files.status(path) != nil { throw LogError(.alreadyExists, "something is there", file: path, advice: "name a new directory") }
    var made: Set<String> = []
    try make(path, &made)
    var levels = [try leaves(below: head.size, path, &made)]
    let hasher = SHA256()
    var root = CompactRange()
    for leaf in levels[0] { root.append(leaf, hasher) }
    guard root.root(hasher) == head.root else {
      throw LogError(
        .inconsistent, "the events do not lead to the checkpoint's root", file: log.path, offsets: 0..<head.size, why: "they were altered",
        advice: "run audit")
    }
    // A tile of a level holds the roots of the whole tiles of the level below.
    while let below = levels.last, !below.isEmpty {
      let level = levels.count - 1
      for (index, tile) in Self.groups(below).enumerated() {
        try write(tile.flatMap(\.bytes), "\(path)/tile/\(level)/", index, tile.count, &made)
      }
      levels.append(Self.groups(below).filter { $0.count == 256 }.map { tile in Self.root(tile, hasher) })
    }
    try files.replace("\(path)/checkpoint", with: checkpoint.bytes)
  }

  /// Writes the tiles of entries, and returns all leaves.
  private func leaves(below size: Offset, _ path: String, _ made: inout Set<String>) throws -> [Digest256] {
    let hasher = SHA256()
    var leaves: [Digest256] = []
    var bundle: [UInt8] = []
    func add(_ descriptor: Descriptor) throws {
      bundle += [UInt8(truncatingIfNeeded: descriptor.bytes.count >> 8), UInt8(truncatingIfNeeded: descriptor.bytes.count)]
      bundle += descriptor.bytes
      leaves.append(descriptor.leaf(hasher))
      let count = leaves.count % 256
      if count == 0 || leaves.count == Int(size) {
        try write(bundle, "\(path)/tile/entries/", (leaves.count - 1) / 256, count == 0 ? 256 : count, &made)
        bundle = []
      }
    }
    var session = Digest256.zero
    var cursor = try log.read(seen: Query(offsets: 0..<size, includesControlEvents: true, onDamage: .skip))
    while let event = try cursor.next() {
      let offset = event.offset
      // As in the tree: behind lost events the segment tells.
      if offset > leaves.count { session = try hasher.hash(session: LeafReader.sessionData(log, at: offset)) }
      let descriptor = Descriptor(event, session: session, hasher)
      if event.kind == .session { session = hasher.hash(event.data) }
      while leaves.count < Int(offset) { try add(Descriptor(lost: Offset(leaves.count))) }
      try add(descriptor)
    }
    while leaves.count < Int(size) { try add(Descriptor(lost: Offset(leaves.count))) }
    return leaves
  }

  private static func groups(_ hashes: [Digest256]) -> [ArraySlice<Digest256>] {
    stride(from: 0, to: hashes.count, by: 256).map { hashes[$0..<min($0 + 256, hashes.count)] }
  }

  private static func root(_ hashes: ArraySlice<Digest256>, _ hasher: SHA256) -> Digest256 {
    var range = CompactRange()
    for hash in hashes { range.append(hash, hasher) }
    return range.root(hasher)
  }

  /// Where a tile stands: three digits a directory, an `x` before all but the last; one that is not whole names its width.
  static func name(_ index: Int, _ count: Int) -> String {
    var parts = [Self.digits(index % 1000)]
    var rest = index / 1000
    while rest > 0 {
      parts.insert("x" + Self.digits(rest % 1000), at: 0)
      rest /= 1000
    }
    return parts.joined(separator: "/") + (count == 256 ? "" : ".p/\(count)")
  }

  private static func digits(_ number: Int) -> String { String(String(1000 + number).dropFirst()) }

  private func write(_ bytes: [UInt8], _ place: String, _ index: Int, _ count: Int, _ made: inout Set<String>) throws {
    let path = place + Self.name(index, count)
    try make(files.directory(of: path), &made)
    try files.replace(path, with: bytes, syncs: false)
  }

  private func make(_ path: String, _ made: inout Set<String>) throws {
    guard !made.contains(path) else { return }
    if try files.status(path) == nil {
      let above = files.directory(of: path)
      if try files.status(above) == nil { try make(above, &made) }
      try files.makeDirectory(path)
    }
    made.insert(path)
  }
}
