extension LogCore {
  /// Starts the sealing thread if there is something to seal and nobody at it.
  func startSealingIfNeeded() { lock.withLock { startSealing() } }

  /// With the lock held.
  private func startSealing() {
    guard isWriter, options.sealing == .background, !sealerIsRunning, !isClosed, nextToSeal() != nil else { return }
    do throws(LogError) {
      try environment.startThread("seal", true) { [weak self] in
        while self?.sealerStep() ?? false {}
      }
      sealerIsRunning = true
    } catch {
      sealingTrouble = error
    }
  }

  /// Seals one segment. False when there is nothing left to do.
  private func sealerStep() -> Bool {
    do throws(LogError) {
      if try sealNext(paced: true) { return true }
    } catch {
      lock.withLock { if !isClosed { sealingTrouble = error } }
    }
    lock.lock()
    defer { lock.unlock() }
    sealerIsRunning = false
    return false
  }

  /// The oldest closed segment that is not sealed. With the lock held.
  private func nextToSeal() -> ClosedSegment? {
    closed.first { ($0.name.form == .open || damagedIndexes.contains($0.name)) && $0.damage == nil }
  }

  /// The index, or the id pages, of a sealed segment can't be read: they are made again from the events.
  func noteDamagedIndex(_ name: SegmentName) { lock.withLock { didFindDamagedIndex(name) } }

  /// With the lock held.
  func didFindDamagedIndex(_ name: SegmentName) {
    damagedIndexes.insert(name)
    startSealing()
  }

  /// Looks at header, index and id pages of the sealed segments in which this process has not done so yet, and notes what is damaged.
  func checkIndexes() throws(LogError) {
    maintenance.lock()
    defer { maintenance.unlock() }
    let unknown = lock.withLock {
      closed.filter { $0.damage == nil && !soundIndexes.contains($0.name) && !damagedIndexes.contains($0.name) }
    }
    for segment in unknown {
      guard let footer = segment.footer else { continue }
      let file = try files.open(directory.segment(segment.name.text), .read)
      defer { file.close() }
      let isSound = try SealedCheck(file, footer, name: segment.name.text).isSoundBesideEvents()
      lock.withLock { _ = isSound ? soundIndexes.insert(segment.name) : damagedIndexes.insert(segment.name) }
    }
  }

  /// Seals the oldest closed segment, or merges a part of the id index. False if there is neither.
  func sealNext(paced: Bool) throws(LogError) -> Bool {
    maintenance.lock()
    defer { maintenance.unlock() }
    let pace: () throws(LogError) -> Void = { [unowned self] () throws(LogError) in if paced { try self.pace() } }
    // Merging comes first: look-ups by id visit every segment that is not merged yet.
    do throws(LogError) { if try mergeIDs(pace: pace) { return true } } catch {
      guard error.code == .damagedIndex, let path = error.file else { throw error }
      if try giveUpIDs(in: path) { return true }
    }
    if let next = lock.withLock({ isClosed ? nil : nextToSeal() }) {
      try checkDirectory()
      try repack(next, pace: pace)
      lock.withLock { _ = damagedIndexes.remove(next.name) }
      guard next.name.form == .open else { return true }
      let sealed = lock.withLock { closed.first { $0.name.segmentID == next.name.segmentID } }
      if sealed?.name.form == .sealed {
        if !seeded(.openFormRemovedFirst) { try files.remove(directory.segment(next.name.text)) }
        try files.syncDirectory(directory.segments)
      }
      return true
    }
    return false
  }

  /// Waits between two blocks while appends are going on. Compressing one takes a millisecond or more, and an append whose sync needs the
  /// same processor waits for the end of that, whatever the thread's priority: with this pause, that is about one append in a hundred.
  /// Where appends fill segments faster than that, a few wait, and then there is no pause.
  private func pace() throws(LogError) {
    let (closing, isPaced, last) = lock.withLock { (isClosed, sealerIsPaced && sealingBacklog < 4, lastAppend) }
    if closing {
      throw LogError(
        .closed, "the log was closed while a segment was sealed", file: directory.path, advice: "it is sealed after the next opening")
    }
    let idle = monotonicNow() &- last
    if isPaced && idle < 200_000_000 { sleepForAWhile(50_000_000) }
  }

  /// How many segments wait to be sealed. Only a bulk import makes it large, and a bulk import is better served by keeping up. With the
  /// lock held.
  private var sealingBacklog: Int { closed.reduce(0) { $0 + ($1.name.form == .open ? 1 : 0) } }

  /// Seals everything that is closed, at full speed.
  func waitForSealing() throws(LogError) {
    lock.withLock { sealerIsPaced = false }
    defer { lock.withLock { sealerIsPaced = true } }
    while try sealNext(paced: true) {}
  }

  // MARK: The merged id index

  /// Uses the runs that match the segments, and removes the others.
  func loadIDIndex() {
    var index = IDIndex()
    for name in ((try? files.list(directory.index)) ?? []).sorted() {
      let path = "\(directory.index)/\(name)"
      if let run = try? openRun(path) { index.add(run) } else if isWriter { try? files.remove(path) }
    }
    lock.withLock {
      idIndex = index
      noteHoles()
    }
  }

  /// With the lock held.
  func noteHoles() {
    idIndex.hasHoles = closed.contains { $0.footer != nil && $0.end <= idIndex.end && !idIndex.covers($0.name.base) }
  }

  private func openRun(_ path: String) throws(LogError) -> IDIndex.Run? {
    guard path.hasSuffix(".ids") else { return nil }
    let file = try files.open(path, .read)
    var page = [UInt8](repeating: 0, count: IDIndexHeader.byteCount)
    let got = try file.read(page.count, at: 0, into: &page, at: 0)
    guard got == page.count, let header = IDIndexHeader(page.rawSpan), header.logID == identity.logID else { return nil }
    let covered = lock.withLock { closed.filter { $0.footer != nil && $0.name.base >= header.first && $0.end <= header.end } }
    guard covered.first?.name.base == header.first, covered.last?.end == header.end,
      IDIndex.coverage(covered.map(\.name.segmentID)) == header.coverage,
      try file.byteCount() == UInt64(IDIndexHeader.byteCount) + header.pageCount * UInt64(IDPages.pageByteCount)
    else { return nil }
    return run(header, file, segments: covered.count)
  }

  private func run(_ header: IDIndexHeader, _ file: any File, segments: Int) -> IDIndex.Run {
    let seed = IDIndex.seed(header.logID, header.coverage)
    let pages = IDPageRun(file: file, position: UInt64(IDIndexHeader.byteCount), pageCount: Int(clamping: header.pageCount), seed: seed)
    return IDIndex.Run(
      first: header.first, end: header.end, segments: segments, pages: pages, low: header.low, high: header.high, path: file.path)
  }

  /// One part of what is to be merged.
  private enum Unit {
    case segment(ClosedSegment)
    case run(IDIndex.Run)

    var first: Offset {
      switch self {
      case .segment(let segment): segment.name.base
      case .run(let run): run.first
      }
    }
    var end: Offset {
      switch self {
      case .segment(let segment): segment.end
      case .run(let run): run.end
      }
    }
    /// How often eights were merged into it.
    var tier: Int {
      guard case .run(let run) = self else { return 0 }
      var tier = 0
      var size = run.segments
      while size >= IDIndex.fanOut {
        tier += 1
        size /= IDIndex.fanOut
      }
      return tier
    }
  }

  /// Merges eight neighbours of one size, if there are. False if not. With `maintenance` held.
  private func mergeIDs(pace: () throws(LogError) -> Void) throws(LogError) -> Bool {
    let group = lock.withLock { isClosed ? [] : mergeable() }
    guard let first = group.first, let last = group.last else { return false }
    let covered = lock.withLock { closed.filter { $0.name.base >= first.first && $0.end <= last.end } }
    let coverage = IDIndex.coverage(covered.map(\.name.segmentID))
    var sources: [IDMerge.Source] = []
    var ids = (low: EventID.highest, high: EventID.zero)
    for unit in group {
      switch unit {
      case .segment(let segment):
        guard let footer = segment.footer else { return false }
        let pages = try readers.idPages(segment.name, footer, directory, files)
        sources.append(try IDMerge.Source(pages, shift: segment.name.base - first.first))
        ids = (min(ids.low, footer.ids.low), max(ids.high, footer.ids.high))
      case .run(let run):
        sources.append(try IDMerge.Source(run.pages, shift: run.first - first.first))
        ids = (min(ids.low, run.low), max(ids.high, run.high))
      }
    }
    try checkDirectory()
    let path = "\(directory.index)/\(IDIndex.name(first.first, last.end))"
    let unfinished = path + LogDirectory.unfinished
    if try files.status(unfinished) != nil { try files.remove(unfinished) }
    var header = IDIndexHeader(
      logID: identity.logID, first: first.first, end: last.end, pageCount: 0, low: ids.low, high: ids.high, coverage: coverage)
    do throws(LogError) {
      let target = try files.open(unfinished, .create)
      defer { target.close() }
      header.pageCount = try IDMerge.write(sources, to: target, seed: IDIndex.seed(identity.logID, coverage), pace: pace)
      try target.write(header.encode().rawSpan, at: 0)
      try target.sync()
    } catch {
      try? files.remove(unfinished)
      throw error
    }
    try files.rename(unfinished, to: path)
    try files.syncDirectory(directory.index)
    let merged = run(header, try files.open(path, .read), segments: covered.count)
    let old = group.compactMap { unit -> IDIndex.Run? in if case .run(let run) = unit { run } else { nil } }
    lock.withLock {
      idIndex.replace(old, by: merged)
      noteHoles()
    }
    for run in old where run.path != path { try? files.remove(run.path) }
    return true
  }

  /// Id pages can't be merged because one is damaged: those of a segment are made again from its events, a run again from its segments.
  /// True if merging can be tried again at once. With `maintenance` held.
  private func giveUpIDs(in path: String) throws(LogError) -> Bool {
    let run = lock.withLock { () -> IDIndex.Run? in
      if let segment = closed.first(where: { directory.segment($0.name.text) == path }) { damagedIndexes.insert(segment.name) }
      guard let run = idIndex.runs.first(where: { $0.path == path }) else { return nil }
      idIndex.remove(run)
      noteHoles()
      return run
    }
    guard let run else { return false }
    try files.remove(run.path)
    return true
  }

  /// The first eight neighbours of one tier. With the lock held.
  private func mergeable() -> [Unit] {
    var units: [Unit] = idIndex.runs.map { .run($0) }
    units += closed.filter { $0.footer != nil && $0.damage == nil && !idIndex.covers($0.name.base) }.map { .segment($0) }
    units.sort { $0.first < $1.first }
    var group: [Unit] = []
    for unit in units {
      if let last = group.last, last.tier != unit.tier || last.end != unit.first { group.removeAll() }
      group.append(unit)
      // Entries have 32 bits for an offset: more only a gap can take.
      while let first = group.first, unit.end - first.first > UInt64(UInt32.max) { group.removeFirst() }
      if group.count == IDIndex.fanOut { return group }
    }
    return []
  }
}
