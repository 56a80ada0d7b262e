internal import TidemarkLog

/// The snapshots of one projection: files in a directory of its name, each named by its offset.
struct SnapshotStore: Sendable {
  let parent: String
  let directory: String
  let files: any FileSystem

  init(_ parent: String, name: String, _ files: any FileSystem) {
    self.parent = parent
    directory = "\(parent)/\(name)"
    self.files = files
  }

  private static let suffix = ".snapshot"
  private static let unfinished = ".tmp"

  func path(_ position: Offset) -> String {
    let digits = String(position)
    return "\(directory)/\(String(repeating: "0", count: max(0, 20 - digits.count)))\(digits)\(Self.suffix)"
  }

  /// The offsets that have a snapshot, in order.
  func positions() throws(LogError) -> [Offset] {
    guard try files.status(directory) != nil else { return [] }
    return Self.positions(in: try files.list(directory))
  }

  private static func positions(in names: [String]) -> [Offset] {
    names.compactMap { name in
      guard name.hasSuffix(suffix), name.utf8.count == 20 + suffix.utf8.count else { return nil }
      return Offset(name.dropLast(suffix.count))
    }.sorted()
  }

  func read(_ position: Offset) throws(LogError) -> [UInt8] {
    let file = try files.open(path(position), .read)
    defer { file.close() }
    let count = Int(clamping: try file.byteCount())
    var bytes = [UInt8](repeating: 0, count: count)
    let got = try file.read(count, at: 0, into: &bytes, at: 0)
    return got == count ? bytes : Array(bytes[..<got])
  }

  /// Write, sync, rename, sync the directory: a crash leaves the file whole or not at all.
  ///
  /// - Parameter syncs: false for one that is not worth the time of a sync. A power cut may leave part of it, which its checksum tells.
  func write(_ bytes: [UInt8], _ position: Offset, syncs: Bool) throws(LogError) {
    if try files.status(directory) == nil {
      if try files.status(parent) == nil {
        try files.makeDirectory(parent)
        try files.syncDirectory(files.directory(of: parent))
      }
      try files.makeDirectory(directory)
      try files.syncDirectory(parent)
    }
    try files.replace(path(position), with: bytes, syncs: syncs)
  }

  func remove(_ position: Offset) throws(LogError) { try files.remove(path(position)) }

  /// Removes what is no longer needed, and what a crash left unfinished.
  func prune(spacing: Spacing) throws(LogError) {
    let names = try files.list(directory)
    for name in names where name.hasSuffix(Self.unfinished) { try files.remove("\(directory)/\(name)") }
    let all = Self.positions(in: names)
    let kept = spacing.kept(all)
    for position in all where !kept.contains(position) { try remove(position) }
  }
}

/// Which snapshots there should be: evenly spaced ones over the whole log, and at doubling distances near its end.
struct Spacing: Sendable, Equatable {
  /// Between the evenly spaced ones: a power of two, so that those of a shorter log serve a longer one.
  let even: Offset
  let finest: Offset
  let end: Offset

  init(end: Offset, finest: Offset) {
    var even = max(1, finest)
    while even < end / 64 { even *= 2 }
    self.even = even
    self.finest = max(1, finest)
    self.end = end
  }

  /// Where a fold on its way from `position` to the end is saved next; nil if it need not be.
  func next(after position: Offset) -> Offset? {
    var next = (position / even + 1) * even
    var distance = finest
    while distance < even {
      if end > distance && end - distance > position { next = min(next, end - distance) }
      distance *= 2
    }
    return next < end ? next : nil
  }

  /// Of snapshots in order, those on the even grid, the newest, and at each doubling of the distance to it the nearest and the farthest.
  func kept(_ positions: [Offset]) -> Set<Offset> {
    guard let newest = positions.last else { return [] }
    var kept: Set<Offset> = [newest]
    var farthest: [Int: Offset] = [:]
    var nearest: [Int: Offset] = [:]
    for position in positions where position != newest {
      if position % even == 0 { kept.insert(position) }
      let distance = Int.bitWidth - ((newest - position) / finest).leadingZeroBitCount
      if farthest[distance] == nil { farthest[distance] = position }
      nearest[distance] = position
    }
    return kept.union(farthest.values).union(nearest.values)
  }
}
