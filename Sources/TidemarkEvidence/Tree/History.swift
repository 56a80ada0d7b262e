public import TidemarkLog

/// The history tree of a log: an RFC 6962 Merkle tree over the descriptors of its events, control events included, in the order of their
/// offsets.
///
/// It is made from the log, and kept in the log's directory under `evidence/` (levels of 256 only: 0.126 bytes an event). What is missing
/// or damaged there is made again.
///
/// ```swift
/// var history = try History(log)
/// let head = try history.update()
/// let proof = try history.inclusionProof(of: 41, in: head.size)
/// ```
public struct History: Sendable {
  let log: Log
  let directory: String
  private(set) var frontier: Frontier
  /// What a writer keeps, or a reader finds.
  private var files: LevelFiles
  /// What a reader adds.
  private var memory = MemoryLevels()
  private let isWriter: Bool
  /// How far it was when it was written down last by this object.
  private var savedSize: Offset = 0
  /// The leaves, or roots, of the group of 256 that was looked at last, for each level.
  private var groups: [Int: (index: UInt64, hashes: [Digest256])] = [:]
  /// Ranges of offsets that could not be read when they were hashed: their leaves are those of lost events.
  public private(set) var lost: [Finding] = []

  static let groupCount: UInt64 = 256

  /// Takes up the tree of a log. Hashes what is new only with ``update()``, unless the tree has to be made again.
  ///
  /// A log that is open for reading leaves the directory as it is.
  ///
  /// Throws `LogError.Code.corrupt` if the log ends before events whose hashes were kept, and errors of the file system.
  public init(_ log: Log) throws {
    self.log = log
    isWriter = log.isWriter
    directory = log.evidencePath
    files = LevelFiles(directory, log.environment.fileSystem)
    frontier = Frontier()
    let bytes = try log.environment.fileSystem.contents("\(directory)/\(Frontier.name)")
    // What was kept is of events that a reader can see, if it looks after it has read that.
    try log.refresh()
    if let bytes, let found = Frontier(bytes, log.identity) {
      if found.range.size > log.size {
        throw LogError(
          .corrupt, "history is shorter than its tree", file: log.path, offsets: log.size..<found.range.size,
          why: "the log ends at \(log.size), and \(found.range.size) events were hashed",
          advice: "an older copy of the log was put in its place, or its end was lost: keep both, and go on in a new epoch")
      }
      frontier = found
      if found.range.size >= log.first, try isSound() { return }
    }
    try rebuild()
  }

  /// Without what is kept: hashes the whole log again.
  init(hashing log: Log) throws {
    self.log = log
    isWriter = false
    directory = ""
    files = LevelFiles("\(log.evidencePath)/none", log.environment.fileSystem)
    frontier = Frontier()
    try begin()
  }

  /// What was hashed so far.
  public var head: TreeHead { TreeHead(size: frontier.range.size, root: frontier.range.root(SHA256())) }

  /// Hashes the events that have become durable since, read from the files, and returns the new head.
  ///
  /// Throws errors of the file system. Events that can't be read count as lost: see ``lost``.
  @discardableResult
  public mutating func update() throws -> TreeHead {
    if !isWriter { try log.refresh() }
    // Somebody else has trimmed what was not hashed here yet: the tree where the log begins now is kept.
    if frontier.range.size < log.first { self = try History(log) }
    let end = isWriter ? try log.recordDurable() : log.durable
    try extend(to: end)
    return head
  }

  /// Hashes the events below an offset, and shows each to an observer.
  mutating func extend(to end: Offset, observer: ((EventView) -> Void)? = nil) throws {
    guard end > frontier.range.size else { return }
    let hasher = SHA256()
    var reader = try LeafReader(log, frontier.range.size..<end, session: frontier.session, hasher, observer: observer)
    if isWriter { try makeDirectory() }
    var range = frontier.range
    while range.size < end { try append(Self.leaves(&reader, upTo: min(end, Self.groupEnd(range.size))), to: &range, hasher) }
    frontier.range = range
    frontier.session = reader.session
    frontier.lastKeyRecord = reader.lastKeyRecord ?? frontier.lastKeyRecord
    frontier.lastReceipt = reader.lastReceipt ?? frontier.lastReceipt
    lost += reader.lost
    groups = [:]
  }

  private static func leaves(_ reader: inout LeafReader, upTo end: Offset) throws -> [Digest256] {
    var leaves: [Digest256] = []
    leaves.reserveCapacity(Int(groupCount))
    while reader.position < end, let leaf = try reader.next() { leaves.append(leaf) }
    return leaves
  }

  /// Where the group of 256 that an offset lies in ends.
  private static func groupEnd(_ offset: Offset) -> Offset { (offset / groupCount + 1) * groupCount }

  /// Adds leaves of one group.
  private mutating func append(_ leaves: [Digest256], to range: inout CompactRange, _ hasher: SHA256) throws(LogError) {
    if isWriter { try files.store(leaves, level: 0, from: range.size) }
    for leaf in leaves {
      try range.append(leaf, hasher) { (level, index, hash) throws(LogError) in
        if isWriter { try files.store([hash], level: level, from: index) } else { memory.store(hash, level: level, index: index) }
      }
    }
  }

  // MARK: Keeping

  private func makeDirectory() throws(LogError) {
    let fileSystem = log.environment.fileSystem
    let parent = fileSystem.directory(of: directory)
    for (path, above) in [(parent, log.path), (directory, parent)] where try fileSystem.status(path) == nil {
      try fileSystem.makeDirectory(path)
      try fileSystem.syncDirectory(above)
    }
  }

  /// Writes down how far it is, so that the next opening need not hash again.
  ///
  /// - Parameter syncs: whether it must survive a power cut, which otherwise costs hashing again.
  public mutating func save(syncs: Bool = false) throws {
    guard isWriter else { return }
    savedSize = frontier.range.size
    try makeDirectory()
    try files.flush(syncs: syncs)
    try log.environment.fileSystem.replace("\(directory)/\(Frontier.name)", with: frontier.encode(log.identity), syncs: syncs)
  }

  private static let unsavedLimit: Offset = 4_096

  /// Writes it down where so much was hashed since that it is worth it: hashing 4,096 events again takes a few milliseconds.
  mutating func saveNowAndThen() throws {
    if frontier.range.size - min(savedSize, frontier.range.size) >= Self.unsavedLimit { try save() }
  }

  /// Lets go of leaves that a receipt covers: the log has them, and the receipt would tell if it had others.
  mutating func forgetLeaves(below receipted: Offset) throws {
    guard isWriter else { return }
    try files.forgetLeaves(below: min(receipted, frontier.range.size), keeping: log.first)
  }

  /// Before events below an offset are removed: makes what is needed to go on without them durable, and returns it for the trim record.
  mutating func prepare(trimTo floor: Offset) throws -> CompactRange {
    try extend(to: max(floor, try log.recordDurable()))
    // The group that the floor lies in keeps its leaves.
    if floor % Self.groupCount != 0 {
      let group = try hashes(level: 0, group: floor / Self.groupCount)
      try files.store(group, level: 0, from: floor / Self.groupCount * Self.groupCount)
    }
    frontier.floor = try compactRange(size: floor)
    try save(syncs: true)
    return frontier.floor
  }

  // MARK: Making again

  /// Whether what is kept belongs together: the hashes that no higher level covers must lead to the frontier.
  private mutating func isSound() throws -> Bool {
    var level = 1
    while frontier.range.size >> UInt64(8 * level) > 0 {
      let count = frontier.range.size >> UInt64(8 * level)
      let tail = try files.load(level: level, count / Self.groupCount * Self.groupCount..<count)
      guard leadsToFrontier(tail, level: level) else { return false }
      level += 1
    }
    return true
  }

  /// Whether hashes of a level, those behind its last whole group, lead to the frontier.
  private func leadsToFrontier(_ tail: [Digest256], level: Int) -> Bool {
    leadsToFrontier(Self.range(tail), level: level)
  }

  private static func range(_ hashes: some Sequence<Digest256>, behind start: CompactRange = CompactRange()) -> CompactRange {
    let hasher = SHA256()
    var range = start
    for hash in hashes { range.append(hash, hasher) }
    return range
  }

  private func leadsToFrontier(_ range: CompactRange, level: Int) -> Bool {
    let count = frontier.range.size >> UInt64(8 * level)
    guard range.size == count % Self.groupCount else { return false }
    return (0..<8).allSatisfy { step in
      guard count >> UInt64(step) & 1 == 1 else { return true }
      let known = frontier.range.subtree(level: 8 * level + step, index: count >> UInt64(step) - 1)
      return known == range.subtree(level: step, index: range.size >> UInt64(step) - 1)
    }
  }

  private mutating func rebuild() throws {
    if isWriter {
      try makeDirectory()
      try files.removeAll()
    }
    try begin()
    try extend(to: log.durable)
    try save()
  }

  /// The tree where the log begins.
  private mutating func begin() throws {
    frontier = Frontier()
    let first = log.first
    guard first > 0 else { return }
    if let record = try TrimRecord.newest(in: log), record.floor == first,
      let range = CompactRange(size: first, encoded: record.compactRange)
    {
      frontier = Frontier(range: range, session: SHA256().hash(session: record.session), floor: range)
      return
    }
    // Removed before there was a tree, or lost: nothing tells what these events were.
    let hasher = SHA256()
    var range = CompactRange()
    while range.size < first {
      let group = range.size..<min(first, Self.groupEnd(range.size))
      try append(group.map { Descriptor(lost: $0).leaf(hasher) }, to: &range, hasher)
    }
    frontier = Frontier(range: range, session: hasher.hash(session: try LeafReader.sessionData(log, at: first)), floor: range)
  }
}

// MARK: Proofs

extension History: TreeNodes {
  /// The root at a size that was hashed. Throws `LogError.Code.offsetOutOfRange` beyond it, `LogError.Code.trimmed` for one that needs
  /// events that are gone, and `LogError.Code.corrupt`.
  public mutating func root(at size: Offset) throws -> Digest256 {
    try check(size)
    return try root(size: size, SHA256())
  }

  /// Shows that an event stands at its offset, to somebody who knows the root at `size`. Throws as ``root(at:)`` does.
  public mutating func inclusionProof(of offset: Offset, in size: Offset) throws -> InclusionProof {
    try check(size)
    if offset >= size {
      throw LogError(
        .offsetOutOfRange, "offset \(offset) is not in the first \(size) events", advice: "ask for an offset below the size")
    }
    return InclusionProof(offset: offset, size: size, hashes: try inclusionHashes(offset, size: size, SHA256()))
  }

  /// Shows that the history of one size is the beginning of that of another. Throws as ``root(at:)`` does.
  public mutating func consistencyProof(from oldSize: Offset, to size: Offset) throws -> ConsistencyProof {
    try check(size)
    if oldSize > size {
      throw LogError(.offsetOutOfRange, "size \(oldSize) is above size \(size)", advice: "name the smaller size first")
    }
    return ConsistencyProof(oldSize: oldSize, size: size, hashes: try consistencyHashes(from: oldSize, to: size, SHA256()))
  }

  /// The leaf at an offset. Throws as ``root(at:)`` does.
  public mutating func leaf(at offset: Offset) throws -> Digest256 {
    try check(offset < .max ? offset + 1 : offset)
    return try node(level: 0, index: offset)
  }

  private func check(_ size: Offset) throws(LogError) {
    if size > frontier.range.size {
      throw LogError(
        .offsetOutOfRange, "the history tree has no size \(size)", why: "\(frontier.range.size) events were hashed",
        advice: "name a size up to that, or update the tree first")
    }
  }

  mutating func node(level: Int, index: UInt64) throws(LogError) -> Digest256 {
    if let known = frontier.range.subtree(level: level, index: index) ?? frontier.floor.subtree(level: level, index: index) { return known }
    let floor = frontier.floor.size
    let leaves = index << UInt64(level)..<(index + 1) << UInt64(level)
    let first = index << UInt64(level & 7)
    let group = first / Self.groupCount
    if Self.begins(floor, within: leaves) { return try halves(level: level, index: index) }
    if floor <= leaves.lowerBound, Self.begins(floor, within: Self.leaves(level: level / 8, group: group)) {
      // Of the group that the log begins in, what lies below is known as whole subtrees only.
      if level == 0 { return try leavesBehindFloor()[Int(index - floor)] }
      if level & 7 == 0, let known = try load(level: level / 8, index..<index + 1).first { return known }
      return try halves(level: level, index: index)
    }
    let hashes = try hashes(level: level / 8, group: group)
    let start = Int(first % Self.groupCount)
    let count = 1 << (level & 7)
    guard start + count <= hashes.count else { preconditionFailure("a complete subtree lies within its group") }
    return Self.fold(hashes[start..<start + count], SHA256())
  }

  private mutating func halves(level: Int, index: UInt64) throws(LogError) -> Digest256 {
    let left = try node(level: level - 1, index: 2 * index)
    return SHA256().node(left, try node(level: level - 1, index: 2 * index + 1))
  }

  /// The leaves below a group of a level.
  private static func leaves(level: Int, group: UInt64) -> Range<Offset> {
    group << UInt64(8 * level + 8)..<(group + 1) << UInt64(8 * level + 8)
  }

  private static func begins(_ floor: Offset, within leaves: Range<Offset>) -> Bool {
    leaves.lowerBound < floor && floor < leaves.upperBound
  }

  /// The leaves from the floor on to the end of its group of 256.
  private mutating func leavesBehindFloor() throws(LogError) -> [Digest256] {
    let floor = frontier.floor.size
    if let known = groups[-1], known.index == floor { return known.hashes }
    let end = Self.groupEnd(floor)
    let hashes = try leaves(floor..<min(end, frontier.range.size))
    let start = floor % Self.groupCount
    let subtrees = Array(frontier.floor.subtrees.suffix(start.nonzeroBitCount))
    guard let before = CompactRange(size: start, subtrees: subtrees) else { preconditionFailure("one subtree a bit") }
    let range = Self.range(hashes, behind: before)
    var isRight = true
    if range.size < Self.groupCount {
      isRight = leadsToFrontier(range, level: 0)
    } else if let above = try load(level: 1, end / Self.groupCount - 1..<end / Self.groupCount).first {
      isRight = range.subtrees == [above]
    }
    if !isRight { throw altered(floor..<end) }
    groups[-1] = (floor, hashes)
    return hashes
  }

  private static func fold(_ hashes: ArraySlice<Digest256>, _ hasher: SHA256) -> Digest256 { range(hashes).root(hasher) }

  /// Hashes of a level that are kept, up to the first one that is not.
  private mutating func load(level: Int, _ range: Range<UInt64>) throws(LogError) -> [Digest256] {
    let split = min(max(memory.first(level: level) ?? .max, range.lowerBound), range.upperBound)
    var hashes = try files.load(level: level, range.lowerBound..<split)
    guard hashes.count == split - range.lowerBound else { return hashes }
    for index in split..<range.upperBound {
      guard let hash = memory.load(level: level, index: index) else { break }
      hashes.append(hash)
    }
    return hashes
  }

  /// Up to 256 hashes of a level, as many as there are, checked against the level above, which is checked in turn.
  mutating func hashes(level: Int, group: UInt64) throws(LogError) -> [Digest256] {
    if let known = groups[level], known.index == group { return known.hashes }
    let range = group * Self.groupCount..<min((group + 1) * Self.groupCount, frontier.range.size >> UInt64(8 * level))
    var above: Digest256?
    if range.count == 256 {
      let isCut = Self.begins(frontier.floor.size, within: Self.leaves(level: level, group: group))
      above = isCut ? try load(level: level + 1, group..<group + 1).first : try node(level: 8 * level + 8, index: group)
    }
    var hashes = try load(level: level, range)
    if hashes.count < range.count || !isRight(hashes, level: level, above: above, isLast: range.count < 256) {
      hashes = try makeAgain(level: level, range)
      guard isRight(hashes, level: level, above: above, isLast: range.count < 256) else {
        let offsets = range.lowerBound << UInt64(8 * level)..<range.upperBound << UInt64(8 * level)
        if level > 1 {
          throw LogError(
            .damagedIndex, "the history tree is damaged", file: directory, offsets: offsets,
            why: "level \(level) does not lead to the one above", advice: "remove the directory: the tree is made again from the log")
        }
        throw altered(offsets)
      }
      if isWriter && level > 0 { try files.store(hashes, level: level, from: range.lowerBound) }
    }
    groups[level] = (group, hashes)
    return hashes
  }

  private func altered(_ offsets: Range<Offset>) -> LogError {
    LogError(
      .corrupt, "history was altered", file: log.path, offsets: offsets,
      why: "these events do not lead to the root that was made of them", advice: "run audit for what was signed of them")
  }

  /// Hashes that are not kept, or not as they were: the first two levels from the log, others from those below them.
  private mutating func makeAgain(level: Int, _ range: Range<UInt64>) throws(LogError) -> [Digest256] {
    if level == 0 { return try leaves(range) }
    if range.lowerBound << UInt64(8 * level) < log.first {
      throw Self.trimmed(range.lowerBound << UInt64(8 * level)..<range.upperBound << UInt64(8 * level), first: log.first)
    }
    var hashes: [Digest256] = []
    for index in range {
      let below = index * Self.groupCount..<(index + 1) * Self.groupCount
      hashes.append(Self.fold(try level == 1 ? leaves(below)[...] : load(level: level - 1, below)[...], SHA256()))
    }
    return hashes
  }

  private func isRight(_ hashes: [Digest256], level: Int, above: Digest256?, isLast: Bool) -> Bool {
    isLast ? leadsToFrontier(hashes, level: level) : above.map { $0 == Self.fold(hashes[...], SHA256()) } ?? true
  }

  /// Leaves from the log.
  private mutating func leaves(_ range: Range<Offset>) throws(LogError) -> [Digest256] {
    let first = log.first
    var hashes: [Digest256] = []
    for index in range.lowerBound..<max(range.lowerBound, min(first, range.upperBound)) {
      guard let leaf = try load(level: 0, index..<index + 1).first else { throw Self.trimmed(range.lowerBound..<first, first: first) }
      hashes.append(leaf)
    }
    do {
      var reader = try LeafReader(log, range.lowerBound + UInt64(hashes.count)..<range.upperBound, session: nil, SHA256())
      while let leaf = try reader.next() { hashes.append(leaf) }
    } catch let error as LogError { throw error } catch { preconditionFailure("all errors are LogErrors") }
    return hashes
  }

  private static func trimmed(_ offsets: Range<Offset>, first: Offset) -> LogError {
    LogError(
      .trimmed, "the log can't prove this by itself any more", offsets: offsets, why: "it was trimmed below offset \(first)",
      advice: "get the proof from the server or an archive")
  }
}
