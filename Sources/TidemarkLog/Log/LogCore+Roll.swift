extension LogCore {
  /// The segment that the next frame of `length` bytes goes to. With the turn.
  ///
  /// Takes up an unfinished recovery, goes on in a new segment after a failure, and rolls when the segment is full. An error means that
  /// nothing of the frame was written.
  func readySegment(for length: Int) throws(LogError) -> ActiveSegment {
    if let remains {
      try writeOutAgain(remains)
      if live == nil { try? startLivePage() }
    }
    if let header = missingNewest {
      let segment = try fresh().make(header)
      missingNewest = nil
      lock.withLock { report.isDegraded = false }
      use(segment, durableEnd: segment.end)
    }
    guard let segment = active else { throw LogError(.closed, "the log is closed", file: directory.path, advice: "open it again") }
    if segment.hasFailed { return try replace(segment) }
    if !segment.hasRoom(length) { return try roll(segment) }
    return segment
  }

  /// Closes a segment and begins the next. With the turn.
  @discardableResult
  func roll(_ segment: ActiveSegment) throws(LogError) -> ActiveSegment {
    try checkDirectory()
    if !seeded(.oldNotSyncedBeforeRoll) { try segment.sync() }
    let next = try fresh().make(header(after: segment.summary, of: segment), willName: segment.giveUp)
    change(to: next, closing: segment, at: segment.summary)
    startSealingIfNeeded()
    return next
  }

  /// Goes on after a failed write or sync, in a new segment that pins where the old one really ended.
  ///
  /// What was acknowledged but not synced is read back and written there first, at the same offsets.
  private func replace(_ segment: ActiveSegment) throws(LogError) -> ActiveSegment {
    try checkDirectory()
    let durable = segment.durable
    var header = header(after: durable, of: segment)
    let replaces = durable.end == segment.header.base
    if replaces {
      header = segment.header
      header.segmentID = environment.randomID()
      header.replaces = segment.header.segmentID
      header.incarnation = incarnation
      header.created = environment.clock.now().time
    }
    let next: ActiveSegment
    var lost: [Finding] = []
    if segment.end > durable.end {
      let old = try files.open(segment.file.path, .read)
      defer { old.close() }
      let piece = SegmentScan.Piece.frames(from: segment.durablePosition, to: segment.position)
      let source = FreshSegment.Source(file: old, seed: segment.seed, pieces: [piece], end: segment.end)
      next = try fresh().make(header, from: source, lost: { lost.append($0) })
    } else {
      next = try fresh().make(header)
    }
    lock.withLock {
      findings += lost
      gaps += lost.compactMap(\.offsets)
    }
    if replaces {
      change(to: next, closing: nil, at: durable)
      segment.file.close()
      removeReplaced(segment.name, segment.header)
    } else {
      change(to: next, closing: segment, at: durable)
    }
    return next
  }

  private func header(after summary: SegmentSummary, of segment: ActiveSegment) -> SegmentHeader {
    SegmentHeader(
      logID: identity.logID, epochID: identity.epochID, segmentID: environment.randomID(), base: summary.end,
      created: environment.clock.now().time,
      incarnation: incarnation, trimFloor: max(trimFloor, summary.trimFloor), replaces: .zero, predecessor: summary.pin(segment.header),
      userEnd: summary.userEnd, sessionOffset: summary.sessionOffset, session: summary.session, durability: options.durability)
  }

  private func change(to next: ActiveSegment, closing old: ActiveSegment?, at summary: SegmentSummary) {
    lock.lock()
    defer { lock.unlock() }
    active = next
    if let old {
      closed.append(
        ClosedSegment(
          name: old.name, end: summary.end, footer: nil, digest: summary.digest.value, checkpoints: old.checkpoints,
          sessions: summary.sessions,
          counts: .init(user: summary.userCount, rawBytes: summary.rawByteCount, gaps: summary.gapCount), byteCount: old.position))
      old.file.close()
    }
    openIDs.didRoll(replacing: old == nil)
    publish(next)
  }

  /// Before a new file is made by its path: is this still our directory?
  func checkDirectory() throws(LogError) {
    guard let directoryStatus else { return }
    let now = try files.status(directory.path)
    guard let now, now.device == directoryStatus.device, now.inode == directoryStatus.inode else {
      throw LogError(
        .directoryMoved, "the log's directory was moved", file: directory.path,
        why: now == nil ? "nothing has that name any more" : "another directory has that name",
        advice: "put it back, or close the log and open it where it is now")
    }
  }
}
