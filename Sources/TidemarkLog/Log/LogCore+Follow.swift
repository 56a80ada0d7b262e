extension LogCore {
  // MARK: Opening for reading

  static func openForReading(_ path: String, _ options: LogOptions, _ environment: Environment, isSalvaging: Bool = false) throws(LogError)
    -> LogCore
  {
    let directory = LogDirectory(path: path)
    let core = LogCore(
      directory, options, environment, isWriter: false, isSalvaging: isSalvaging,
      identity: LogIdentity(logID: .zero, created: Timestamp(nanoseconds: 0), contentDigestKind: 1, epochs: []))
    try core.look(isFirst: true)
    return core
  }

  /// Analyses the directory as it is now. A writer may be at work, so what looks wrong is looked at again before it is believed.
  func look(isFirst: Bool) throws(LogError) {
    var attempt = 0
    while true {
      attempt += 1
      let analysis: Analysis
      var damage: Finding?
      do throws(LogError) {
        analysis = try Analysis(directory, files, durableFloor: options.durableFloor)
        if isFirst && options.onCorruption == .refuse { damage = try analysis.damage() }
      } catch {
        if error.errno == Self.noSuchFile && attempt < 8 { continue }
        throw error
      }
      if analysis.corruption != nil && attempt < 4 && writerIsAlive() { continue }
      if !isFirst, analysis.identity.logID != identity.logID {
        throw LogError(
          .directoryMoved, "another log is in this place now", file: directory.path,
          why: "it has id \(analysis.identity.logID.hexadecimal), this one had \(identity.logID.hexadecimal)",
          advice: "put the log back, or open what is there anew")
      }
      if let damage { throw damage.error(in: directory.path) }
      adopt(analysis)
      return
    }
  }

  private func writerIsAlive() -> Bool { openLivePage()?.isOpen ?? false }

  func openLivePage() -> LivePage? {
    guard let page = try? files.sharedPage(directory.live, writable: false) else { return nil }
    return LivePage(reading: page, bootID: environment.clock.bootID)
  }

  private func adopt(_ analysis: Analysis) {
    let page = openLivePage()
    lock.lock()
    defer { lock.unlock() }
    identity = analysis.identity
    trimFloor = analysis.trimFloor
    gaps = analysis.gaps
    findings = analysis.findings
    report.findings = analysis.findings
    report.gaps = analysis.gaps
    report.wasClean = analysis.newest?.scan.isClean ?? false
    let scanned = Dictionary(uniqueKeysWithValues: closed.lazy.filter { $0.sessions != nil }.map { ($0.name, $0) })
    closed = analysis.segments.map { segment in
      let fresh = ClosedSegment(
        name: segment.name, end: segment.end, footer: segment.footer, digest: segment.digest,
        counts: segment.footer.map { .init(user: $0.userCount, rawBytes: $0.rawByteCount, gaps: $0.gapCount) }, byteCount: segment.byteCount
      )
      // One that is closed and not sealed stays as it was scanned.
      guard segment.footer == nil, let known = scanned[segment.name], known.end == segment.end, let sessions = known.sessions else {
        return fresh
      }
      return fresh.scanned(known.checkpoints, sessions)
    }
    newest = analysis.newest.map { newest in
      let summary = newest.scan.summary
      return NewestSegment(
        name: newest.name, seed: newest.header.seed, checkpoints: newest.scan.checkpoints, headerSession: newest.header.session,
        sessions: summary.sessions,
        counts: .init(user: summary.userCount, rawBytes: summary.rawByteCount, gaps: summary.gapCount),
        header: isSalvaging && newest.lacksHeader ? newest.header : nil)
    }
    live = page
    let found = analysis.newest?.scan.summary.end ?? analysis.end
    // What a writer of this boot has published is there; otherwise only what is recorded as durable will surely stay.
    let clean = analysis.newest?.scan.isClean ?? true || isSalvaging
    let surely = clean || seeded(.readerSeesUnsynced) ? found : min(analysis.recordedDurable, found)
    let visible = isSalvaging ? found : page.map { min($0.published, found) } ?? surely
    published = max(published, visible)
    if page == nil, published < found {
      report.findings.append(
        Finding(
          .tornTail, file: newest.map { "segments/\($0.name.text)" }, offsets: published..<found,
          "the log was not closed, and nothing records these events as durable; opening for writing keeps them"))
    }
    durable = max(durable, page.map { min($0.durable, found) } ?? min(analysis.recordedDurable, found))
  }

  // MARK: Following a writer in another process

  /// Looks whether there is more to read.
  func refresh() throws(LogError) {
    let (page, known) = lock.withLock { (live, published) }
    if let page, page.isOpen, page.published == known { return }
    // Read before the directory is listed: what was published by then lies in the newest segment, if that is still the newest afterwards.
    if let page, page.isOpen {
      let (visible, safe) = (page.published, page.durable)
      if isInNewest() {
        lock.withLock {
          published = max(published, visible)
          durable = max(durable, min(safe, visible))
        }
        return
      }
    }
    try look(isFirst: false)
  }

  /// Whether the newest segment that we know is still the newest: then more of it became visible, nothing else.
  private func isInNewest() -> Bool {
    guard let name = lock.withLock({ newest?.name }), let names = try? files.list(directory.segments) else { return false }
    return !names.contains { text in
      SegmentName(text).map { $0.base > name.base || $0.form == .open && $0.base == name.base && $0 != name } ?? false
    }
      && names.contains(name.text)
  }

  /// Waits until events from `offset` on are published, or the log is closed.
  func waitForEvents(from offset: Offset) async {
    if isWriter {
      await withCheckedContinuation { continuation in
        let isOver = lock.withLock {
          if published > offset || isClosed && suspended == nil || Task.isCancelled { return true }
          continuations.append(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } else {
      await withCheckedContinuation { continuation in
        let isOver = lock.withLock {
          if published > offset || isClosed || Task.isCancelled { return true }
          continuations.append(continuation)
          return !startWatcher()
        }
        if isOver { continuation.resume() }
      }
    }
  }

  /// What keeps a reader from seeing more, told once.
  func takeWatcherTrouble() -> LogError? {
    lock.withLock {
      defer { watcherTrouble = nil }
      return watcherTrouble
    }
  }

  /// Wakes all who wait, so that a cancelled one can go.
  func wakeWaiting() {
    let waiting = lock.withLock {
      defer { continuations.removeAll() }
      return continuations
    }
    for continuation in waiting { continuation.resume() }
  }

  /// A thread that watches the live page while somebody waits. With the lock held. False if there is no thread to be had.
  private func startWatcher() -> Bool {
    if watcherIsRunning { return true }
    do throws(LogError) {
      try environment.startThread("watch", false) { [weak self] in
        // The page is waited on without keeping the log alive.
        while let watch = self?.watcherStep() { watch.wait() }
      }
      watcherIsRunning = true
      return true
    } catch {
      return false
    }
  }

  /// Where the watcher waits next.
  private struct Watch {
    var page: LivePage?
    var counter: UInt32

    func wait() {
      guard let page else { return sleepForAWhile(50_000_000) }
      page.wait(while: counter, nanoseconds: page.isOpen ? 500_000_000 : 50_000_000)
    }
  }

  /// Nil when nobody waits any more.
  private func watcherStep() -> Watch? {
    let page = lock.withLock { live }
    let counter = page?.counter ?? 0
    let before = lock.withLock { published }
    var trouble: LogError?
    do throws(LogError) { try refresh() } catch {
      // A file that is gone was sealed or trimmed a moment ago.
      if error.errno != Self.noSuchFile { trouble = error }
    }
    lock.lock()
    defer { lock.unlock() }
    watcherTrouble = continuations.isEmpty ? nil : trouble
    if published > before || isClosed || trouble != nil {
      let waiting = continuations
      continuations.removeAll()
      for continuation in waiting { continuation.resume() }
    }
    if continuations.isEmpty {
      watcherIsRunning = false
      return nil
    }
    return Watch(page: page, counter: counter)
  }
}
