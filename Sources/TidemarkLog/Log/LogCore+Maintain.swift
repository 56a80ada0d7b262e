extension LogCore {
  /// Begins a new segment, unless the newest is empty.
  func roll() throws(LogError) {
    try withTurn { () throws(LogError) in
      try self.checkWriter()
      try self.flush()
      let segment = try self.readySegment(for: 0)
      if !segment.isEmpty { try self.roll(segment) }
    }
  }

  /// Writes and syncs what is pending. With the turn.
  func flush() throws(LogError) {
    try writeUnwritten()
    try syncActive()
  }

  /// Whether a module may write it.
  private func check(_ control: StagedControl) throws(LogError) {
    if !control.kind.canBeStaged {
      throw LogError(
        .invalidEvent, "control kind \(control.kind.rawValue) can't be staged", why: "the engine writes it itself",
        advice: "use 4 to 6, or 16 to 255")
    }
    if control.data.count > min(options.maximumEventByteCount, Record.lengthLimit) - Record.fixedLength {
      throw LogError(
        .tooLarge, "a control record is too large", why: "it takes \(control.data.count) bytes",
        advice: "store it elsewhere and stage a reference")
    }
  }

  func stage(_ control: StagedControl) throws(LogError) {
    try check(control)
    try lock.withLock { () throws(LogError) in
      if suspended == nil { try checkWritable() }
      let waiting = staged.reduce(control.data.count) { $0 + $1.data.count + Record.fixedLength }
      if waiting > Record.lengthLimit {
        throw LogError(
          .tooLarge, "too much is staged", why: "\(waiting) bytes would wait for the next append, the limit is \(Record.lengthLimit)",
          advice: "append an event, which takes them along")
      }
      staged.append(control)
    }
  }

  /// Commits a control record of a module, behind the session if that is new and what is staged, and syncs it. Returns its offset.
  func commit(_ control: StagedControl) throws(LogError) -> Offset {
    try check(control)
    return try commitUnchecked(control)
  }

  /// Likewise, of whatever kind.
  @discardableResult
  func commitUnchecked(_ control: StagedControl) throws(LogError) -> Offset {
    try withTurn { () throws(LogError) -> Offset in
      try self.checkWriter()
      try self.flush()
      return try self.append(control, takesStaged: true)
    }
  }

  /// Removes whole segments below `floor`. Returns where the log begins afterwards.
  ///
  /// - Parameter evidence: what the record says of the history below where the log will begin.
  func trim(below floor: Offset, evidence: TrimEvidence? = nil) throws(LogError) -> Offset {
    try resumeIfSuspended()
    if evidence == nil { try checkEvidenceIsNotKept() }
    try flushForReading()
    let newFloor = try lock.withLock { () throws(LogError) -> Offset? in
      try checkWritable()
      if floor > published {
        throw LogError(
          .offsetOutOfRange, "can't trim below offset \(floor)", why: "the log ends at offset \(published)", advice: "trim below that")
      }
      if let damage = findings.first(where: { !$0.isHarmless && $0.kind != .gap && ($0.offsets?.lowerBound ?? 0) < floor }),
        options.onCorruption == .refuse
      {
        throw damage.error(in: directory.path)
      }
      return trimPoint(below: floor)
    }
    guard let newFloor, newFloor > lock.withLock({ firstOffset }) else { return lock.withLock { firstOffset } }
    let session = try sessionData(before: newFloor)
    try withTurn { () throws(LogError) in
      try self.checkWriter()
      try self.flush()
      if seeded(.trimmedBeforeRecord) { try self.removeTrimmed(newFloor) }
      let evidence = evidence.flatMap { $0.floor == newFloor ? $0 : nil }
      let record = TrimRecord(
        floor: newFloor, compactRange: evidence?.compactRange ?? [], receipt: evidence?.receipt ?? [], session: session)
      _ = try self.append(StagedControl(kind: .trim, data: record.encode()), takesStaged: false)
      _ = try self.markDurable()
    }
    try removeTrimmed(newFloor)
    return newFloor
  }

  /// Where evidence of the current epoch is kept. With the lock held.
  var evidencePath: String { "\(directory.evidence)/\(identity.epochID.hexadecimal)" }

  /// Evidence of events that are gone needs what only its own trimming writes down.
  private func checkEvidenceIsNotKept() throws(LogError) {
    let place = lock.withLock { evidencePath }
    guard try files.status(place) != nil else { return }
    throw LogError(
      .evidenceNeedsHistory, "a log with evidence can't be trimmed this way", file: place,
      why: "nothing of what was signed of its history could be checked any more",
      advice: "use `Evidence.trim(below:)` of TidemarkEvidence, or `tidemark trim`")
  }

  /// Where the log would begin; nil if no whole segment lies below. With the lock held.
  func trimPoint(below floor: Offset) -> Offset? { closed.last { $0.end <= floor }?.end }

  /// The data of the last session record before an offset; empty if there is none.
  func sessionData(before offset: Offset) throws(LogError) -> [UInt8] {
    if let header = lock.withLock({ newest.flatMap { $0.name.base == offset ? $0.header : nil } }) { return header.session }
    let place = try place(for: offset)
    return place.sessions.last { $0.offset < offset }?.data ?? place.access.map.headerSession
  }

  /// Commits a control record in a frame of its own, and syncs it. Returns its offset. With the turn.
  ///
  /// - Parameter takesStaged: whether a session that is new and what is staged go before it, as before a caller's events.
  private func append(_ control: StagedControl, takesStaged: Bool) throws(LogError) -> Offset {
    lock.lock()
    defer { lock.unlock() }
    let reading = environment.clock.now()
    var frame = Gathering(capacity: 512)
    if takesStaged { begin(&frame, reading) }
    addControl(control, reading, to: &frame)
    frame.level = .synced
    let last = UInt64(frame.count - 1)
    let result = commit(&frame)
    finish(frame, result).wake()
    return try result.get() + last
  }

  private func removeTrimmed(_ floor: Offset) throws(LogError) {
    maintenance.lock()
    defer { maintenance.unlock() }
    let (old, runs) = lock.withLock { () -> ([ClosedSegment], [IDIndex.Run]) in
      let old = closed.filter { $0.end <= floor }
      closed.removeAll { $0.end <= floor }
      let runs = idIndex.runs.filter { $0.first < floor }
      for run in runs { idIndex.remove(run) }
      noteHoles()
      for segment in old {
        readers.forget(segment.name)
        openIDs.forget(segment.name)
      }
      gaps = gaps.compactMap { $0.upperBound <= floor ? nil : max($0.lowerBound, floor)..<$0.upperBound }
      return (old, runs)
    }
    for run in runs { try? files.remove(run.path) }
    for segment in old {
      do throws(LogError) { try files.remove(directory.segment(segment.name.text)) } catch {
        // What is gone already need not go.
        guard error.errno == Self.noSuchFile else { throw error }
      }
    }
    try files.syncDirectory(directory.segments)
  }

  // MARK: Letting go

  /// Commits what was taken in, closes the newest segment in good order, and gives lock and descriptors up. With the turn; ``isClosing`` is
  /// set, so that nothing more comes.
  private func letGo() throws(LogError) {
    lock.lock()
    let ticket = commitGathered()
    lock.unlock()
    ticket?.wake()
    var failure: LogError?
    do throws(LogError) {
      try flush()
      // A segment that is closed already stays as it is: of two close frames whose syncs failed, whoever goes on would write only the
      // last one again.
      if let active, !active.hasFailed, !active.isClosedAsFound, !active.isEmpty || active.position > UInt64(SegmentHeader.byteCount),
        remains == nil, !(seeded(.recoveredNotClosed) && !report.wasClean)
      {
        try active.mark(.close, incarnation: incarnation)
      }
    } catch {
      failure = error
    }
    lock.withLock {
      isClosed = true
      isClosing = false
      suspended?.size = published
    }
    committerWord.increment()
    // The sealing thread stops at its next step.
    maintenance.lock()
    maintenance.unlock()
    // Without a close frame, readers go by the page for what nothing else records, as after a crash.
    if failure == nil && active?.hasFailed != true && remains == nil {
      live?.close()
      // Where the log was moved, another one may have this name.
      if live != nil, (try? checkDirectory()) != nil { try? files.remove(directory.live) }
    }
    live = nil
    active?.file.close()
    active = nil
    remains = nil
    missingNewest = nil
    fileLock?.release()
    fileLock = nil
    readers.forgetAll()
    wakeWaiting()
    if let failure { throw failure }
  }

  func close() throws(LogError) {
    guard isWriter else {
      lock.withLock { isClosed = true }
      readers.forgetAll()
      return wakeWaiting()
    }
    try withTurn { () throws(LogError) in
      let isOpen = self.lock.withLock {
        self.suspended = nil
        self.isClosing = !self.isClosed
        return self.isClosing
      }
      if isOpen { try self.letGo() } else { self.wakeWaiting() }
    }
  }

  func suspend() throws(LogError) {
    try withTurn { () throws(LogError) in
      let isOpen = try self.lock.withLock { () throws(LogError) -> Bool in
        if self.suspended != nil { return false }
        try self.checkWritable()
        self.suspended = Suspension(size: self.published)
        self.isClosing = true
        return true
      }
      if isOpen { try self.letGo() }
    }
  }

  /// Takes a suspended log up again.
  func resumeIfSuspended() throws(LogError) {
    guard lock.withLock({ suspended != nil }) else { return }
    try withTurn { () throws(LogError) in try self.resume() }
  }

  /// With the turn.
  private func resume() throws(LogError) {
    guard lock.withLock({ suspended != nil }) else { return }
    try takeUp()
    lock.withLock { suspended = nil }
    // Another writer may have appended meanwhile.
    wakeWaiting()
  }

  /// Makes sure that this log may be written to. With the turn.
  func checkWriter() throws(LogError) {
    try resume()
    try lock.withLock { () throws(LogError) in try checkWritable() }
  }

  // MARK: Figures

  /// For a reader: the newest segment has grown since it was looked at, or holds more than is published.
  private func recountNewest() throws(LogError) {
    let (known, end) = lock.withLock { (newest?.name, published) }
    guard let known else { return }
    do throws(LogError) {
      let file = try files.open(directory.segment(known.text), .read)
      defer { file.close() }
      let summary = try SegmentScan(file, try Sealer.header(file), name: known.text, pinnedEnd: end).summary
      lock.withLock {
        if newest?.name == known {
          newest?.counts = .init(user: summary.userCount, rawBytes: summary.rawByteCount, gaps: summary.gapCount)
        }
      }
    } catch {
      // Sealed or trimmed at this moment, or without a sound header: what is known has to do.
      guard error.errno == Self.noSuchFile || error.code == .corrupt else { throw error }
    }
  }

  func statistics() throws(LogError) -> LogStatistics {
    if isWriter {
      try? flushForReading()
    } else {
      try refresh()
      try recountNewest()
    }
    let open = lock.withLock { closed.filter { $0.counts == nil } }
    for segment in open {
      // Left unsealed by an earlier process: counted once.
      let file = try files.open(directory.segment(segment.name.text), .read)
      defer { file.close() }
      let scan = try SegmentScan(file, try Sealer.header(file), name: segment.name.text, pinnedEnd: segment.end)
      let counts = ClosedSegment.Counts(user: scan.summary.userCount, rawBytes: scan.summary.rawByteCount, gaps: scan.summary.gapCount)
      lock.withLock {
        guard let index = closed.firstIndex(where: { $0 === segment }) else { return }
        closed[index] = segment.scanned(scan.checkpoints, scan.summary.sessions, counts: counts)
      }
    }
    let newestBytes =
      try lock.withLock { newest?.name }.map { name throws(LogError) in try files.status(directory.segment(name.text))?.byteCount ?? 0 }
      ?? 0
    return lock.withLock {
      var statistics = LogStatistics(first: firstOffset, size: size, durable: durable)
      let counts = closed.compactMap(\.counts) + (newest.map { [$0.counts] } ?? [])
      for count in counts {
        statistics.userEventCount += count.user
        statistics.bytesOfEvents += count.rawBytes
        statistics.lostOffsetCount += count.gaps
      }
      let held = closed.reduce(newest.map { published - $0.name.base } ?? 0) { $0 + $1.end - $1.name.base }
      statistics.controlEventCount = held - min(held, statistics.userEventCount + statistics.lostOffsetCount)
      statistics.sealedSegmentCount = closed.filter { $0.name.form == .sealed }.count
      statistics.openSegmentCount = closed.count - statistics.sealedSegmentCount + (newest == nil ? 0 : 1)
      statistics.bytesOnDisk = closed.reduce(newestBytes) { $0 + $1.byteCount }
      statistics.gaps = gaps
      statistics.commitCount = counters.commits
      statistics.syncCount = counters.syncs
      statistics.appendedByteCount = counters.appendedBytes
      return statistics
    }
  }
}
