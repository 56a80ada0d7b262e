/// Copies what can be read of a damaged log into a new one, at the same offsets. What can't be read becomes a gap there. Behind the last
/// offset an event says which log they are from.
///
/// The new log is built beside its place under another name, and gets its own when it is whole and durable.
struct Salvage {
  private let source: LogCore
  private let target: LogDirectory
  private let environment: Environment
  private let options: LogOptions
  private var identity: LogIdentity
  private var report = SalvageReport()

  static func run(
    _ path: String, to newPath: String, _ environment: Environment, progress: ((Progress) -> Bool)?
  ) throws(LogError) -> SalvageReport {
    var options = LogOptions()
    options.onCorruption = .salvage
    options.sealing = .manual
    let source = try LogCore.openForReading(path, options, environment, isSalvaging: true)
    defer { try? source.close() }
    let files = environment.fileSystem
    var place = newPath[...]
    while place.count > 1, place.last == "/" { place.removeLast() }
    try checkPlace(String(place), files)
    let number = String(UInt32(truncatingIfNeeded: environment.random.next()), radix: 16)
    let unfinished = LogDirectory(path: "\(place).unfinished-\(number)")
    for path in [unfinished.path, unfinished.segments, unfinished.index, unfinished.torn] { try files.makeDirectory(path) }
    let identity = LogCore.newIdentity(options, environment)
    var salvage = Salvage(source, unfinished, environment, options, identity)
    let report = try salvage.run(progress)
    try LogCore.writeIdentity(identity, generation: 1, unfinished, files)
    let made = try LogCore.openForWriting(unfinished.path, options, environment)
    defer { try? made.close() }
    try made.commitUnchecked(StagedControl(kind: .salvage, data: SalvageRecord(source.lock.withLock { source.identity }).encode()))
    try made.close()
    try files.rename(unfinished.path, to: String(place))
    try LogCore.syncName(of: String(place), files)
    return report
  }

  /// Nothing may be there but an empty directory.
  private static func checkPlace(_ path: String, _ files: any FileSystem) throws(LogError) {
    guard let status = try files.status(path) else { return }
    guard status.isDirectory else {
      throw LogError(.notADirectory, "a log is a directory", file: path, why: "this is a file", advice: "name a directory")
    }
    guard try files.list(path).isEmpty else {
      throw LogError(
        .alreadyExists, "the directory is in use already", file: path, why: "it holds a log, or something else",
        advice: "choose another place")
    }
  }

  private init(_ source: LogCore, _ target: LogDirectory, _ environment: Environment, _ options: LogOptions, _ identity: LogIdentity) {
    self.source = source
    self.target = target
    self.environment = environment
    self.options = options
    self.identity = identity
  }

  private mutating func run(_ progress: ((Progress) -> Bool)?) throws(LogError) -> SalvageReport {
    let (first, size) = source.lock.withLock { (source.firstOffset, source.published) }
    var segment = try fresh(base: first, after: nil)
    var cursor = try Cursor(source, Query(offsets: first..<size, includesControlEvents: true, onDamage: .skip))
    var buffer = FrameBuffer(capacity: 64 << 10)
    var count: UInt32 = 0
    while let (next, continuesBatch) = try step(&cursor, into: &buffer) {
      let expected = segment.end + UInt64(count)
      // A batch stays in one frame.
      if next > expected || buffer.recordByteCount >= 64 << 10 && !continuesBatch {
        let last = next > expected ? buffer.takeLast() : nil
        if last == nil { count += 1 }
        try write(&buffer, &count, &segment)
        if let last {
          try gap(segment.end..<next, &segment)
          buffer.append(last.rawSpan)
          count = 1
        }
        if let progress, !progress(Progress(done: next - first, total: size - first)) {
          throw LogError(.closed, "salvaging was stopped", file: target.path, advice: "remove what was begun and run it again")
        }
      } else {
        count += 1
      }
    }
    try write(&buffer, &count, &segment)
    if segment.end < size { try gap(segment.end..<size, &segment) }
    try segment.mark(.close, incarnation: segment.header.incarnation)
    segment.file.close()
    // What is lost without anybody knowing its offsets, too.
    let findings = source.lock.withLock { source.report.findings }
    report.gaps = cursor.gaps + findings.filter { !$0.isHarmless && $0.kind != .gap && $0.offsets?.isEmpty ?? true }
    return report
  }

  /// Copies the next record behind the others and returns its offset, and whether its batch goes on.
  private mutating func step(
    _ cursor: inout Cursor, into buffer: inout FrameBuffer
  ) throws(LogError) -> (offset: Offset, continuesBatch: Bool)? {
    do {
      guard let event = try cursor.next() else { return nil }
      if event.isControl { report.controlEventCount += 1 } else { report.eventCount += 1 }
      buffer.append(event.record)
      return (event.offset, event.continuesBatch)
    } catch let error as LogError {
      throw error
    } catch {
      throw LogError(.io, "salvaging failed", file: source.directory.path, why: "\(error)")
    }
  }

  private func write(_ buffer: inout FrameBuffer, _ count: inout UInt32, _ segment: inout ActiveSegment) throws(LogError) {
    guard count > 0 else { return }
    let length = FrameHeader.frameLength(stored: buffer.recordByteCount)
    if !segment.hasRoom(length) {
      try segment.sync()
      let next = try fresh(base: segment.end, after: segment)
      segment.file.close()
      segment = next
    }
    let header = FrameHeader(
      .events, storedLength: buffer.recordByteCount, rawLength: buffer.recordByteCount, base: segment.end, count: count,
      durable: segment.durableEnd,
      incarnation: segment.header.incarnation)
    let finished = buffer.finish(header, seed: segment.seed)
    try segment.write(buffer, length: finished, count: count, willSync: false)
    buffer.removeAll()
    count = 0
  }

  /// A gap begins a segment of its own.
  private func gap(_ offsets: Range<Offset>, _ segment: inout ActiveSegment) throws(LogError) {
    try segment.sync()
    let replaced = segment.isEmpty ? segment : nil
    var header = header(base: segment.end, after: segment)
    if let replaced {
      header = replaced.header
      header.segmentID = environment.randomID()
      header.replaces = replaced.header.segmentID
    }
    let piece = SegmentScan.Piece.gap(offsets: offsets, why: "could not be read when the log was salvaged")
    let source = FreshSegment.Source(file: segment.file, seed: segment.seed, pieces: [piece], end: offsets.upperBound)
    let next = try FreshSegment(environment: environment, directory: target, options: options).make(header, from: source)
    segment.file.close()
    if let replaced { try environment.fileSystem.remove(target.segment(replaced.name.text)) }
    segment = next
  }

  private func fresh(base: Offset, after segment: ActiveSegment?) throws(LogError) -> ActiveSegment {
    try FreshSegment(environment: environment, directory: target, options: options).make(header(base: base, after: segment))
  }

  private func header(base: Offset, after segment: ActiveSegment?) -> SegmentHeader {
    // Of a trimmed log, the oldest segment that stays knows the session in force.
    let oldest = segment == nil ? (try? source.place(for: base)).flatMap { try? Sealer.header($0.access.file) } : nil
    return SegmentHeader(
      logID: identity.logID, epochID: identity.epochID, segmentID: environment.randomID(), base: base,
      created: environment.clock.now().time,
      incarnation: environment.random.next() | 1, trimFloor: segment?.summary.trimFloor ?? base, replaces: .zero,
      predecessor: segment.map { $0.summary.pin($0.header) } ?? .none, userEnd: segment?.summary.userEnd ?? oldest?.userEnd ?? 0,
      sessionOffset: segment?.summary.sessionOffset ?? oldest?.sessionOffset ?? SegmentHeader.noSession,
      session: segment?.summary.session ?? oldest?.session ?? [], durability: .written)
  }
}
