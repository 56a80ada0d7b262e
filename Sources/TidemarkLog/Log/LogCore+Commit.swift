extension LogCore {
  static let frameCapacity = 64 << 10

  // MARK: Appending, for callers that may block

  func append(_ events: [NewEvent], expecting size: Offset?, _ level: Durability?) throws(LogError) -> [Appended] {
    let level = max(options.durability, level ?? .buffered)
    while true {
      try resumeIfSuspended()
      lock.lock()
      let admission: Admission
      do throws(LogError) { admission = try admit(events, expecting: size, level) } catch {
        lock.unlock()
        throw error
      }
      switch admission {
      case .answered(let answers):
        lock.unlock()
        try makeSure(answers, level)
        return answers
      case .suspended: lock.unlock()
      case .buffered(let answers):
        let isFull = unwritten.buffer.recordByteCount >= Self.frameCapacity
        noteDirty()
        lock.unlock()
        if isFull { try write() }
        return answers
      case .later(let ticket):
        ticket.hasWaiters = true
        lock.unlock()
        if keepsInMemory { try write() } else { ticket.wait() }
      case .gathered(let admitted):
        switch turn.didGather(canCommit: true) {
        case .commit:
          runTurn()
        case .wait, .handOver, .rest, .wakeOthers:
          admitted.ticket.hasWaiters = true
          lock.unlock()
          admitted.ticket.wait()
        }
        return admitted.answers(base: try admitted.ticket.base())
      }
    }
  }

  /// A repeated event must be as safe as a new one before it is acknowledged again.
  private func makeSure(_ answers: [Appended], _ level: Durability) throws(LogError) {
    guard level == .synced, let last = answers.map(\.offset).max() else { return }
    if lock.withLock({ last >= durable }) { try sync() }
  }

  // MARK: Appending, for callers that must not block

  func append(_ events: [NewEvent], expecting size: Offset?, _ level: Durability?) async throws(LogError) -> [Appended] {
    let level = max(options.durability, level ?? .buffered)
    while true {
      try resumeIfSuspended()
      switch try admitAsync(events, expecting: size, level) {
      case .answered(let answers):
        try makeSure(answers, level)
        return answers
      case .suspended: break
      case .buffered(let answers): return answers
      case .later(let ticket):
        if keepsInMemory { try write() } else { await wait(for: ticket) }
      case .gathered(let admitted):
        await wait(for: admitted.ticket)
        return admitted.answers(base: try admitted.ticket.base())
      }
    }
  }

  private func admitAsync(_ events: [NewEvent], expecting size: Offset?, _ level: Durability) throws(LogError) -> Admission {
    lock.lock()
    let admission: Admission
    do throws(LogError) { admission = try admit(events, expecting: size, level) } catch {
      lock.unlock()
      throw error
    }
    var hasTurn = false
    switch admission {
    case .answered, .later, .suspended: break
    case .buffered:
      noteDirty()
      hasTurn = unwritten.buffer.recordByteCount >= Self.frameCapacity && turn.take()
    case .gathered: hasTurn = turn.didGather(canCommit: false) == .handOver
    }
    // Without a committer thread it commits itself: to block is better than to wait for nobody.
    if hasTurn && !handOver() { runTurn() } else { lock.unlock() }
    return admission
  }

  private func wait(for ticket: CommitTicket) async {
    await withCheckedContinuation { continuation in
      let isOver = lock.withLock {
        if ticket.isOver { return true }
        ticket.continuations.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  // MARK: The turn

  /// Commits what has gathered, then passes the turn on. The turn is taken and the lock is held; the lock is given up.
  private func runTurn() { passOn(after: commitGathered()) }

  /// Gives the turn up, or to the committer thread if more has gathered, and wakes those whose frame was committed. The lock is held and
  /// given up.
  private func passOn(after ticket: CommitTicket?) {
    let next = turn.release(hasMore: !gathering.isEmpty || unwritten.buffer.recordByteCount >= Self.frameCapacity)
    let isHandedOver = next == .handOver && handOver()
    lock.unlock()
    ticket?.wake()
    if next == .wakeOthers { turnWord.increment() }
    if next == .handOver && !isHandedOver {
      // There is no committer thread to be had.
      lock.lock()
      runTurn()
    }
  }

  /// Lets the committer thread go on with the turn. False if there is no such thread to be had. With the lock held.
  private func handOver() -> Bool {
    if !startCommitter() { return false }
    handedOver = true
    committerWord.increment()
    // The committer thread itself may be waiting for the turn, to sync in time.
    if turn.waiting > 0 { turnWord.increment() }
    return true
  }

  /// Takes the turn for work other than appending, and passes it on afterwards.
  func withTurn<Result>(_ body: () throws(LogError) -> Result) throws(LogError) -> Result {
    lock.lock()
    while !turn.take() {
      turn.beginWaiting()
      let word = turnWord.value
      lock.unlock()
      turnWord.wait(while: word)
      lock.lock()
      turn.endWaiting()
    }
    lock.unlock()
    let result: Swift.Result<Result, LogError>
    do throws(LogError) { result = .success(try body()) } catch { result = .failure(error) }
    lock.lock()
    passOn(after: nil)
    return try result.get()
  }

  // MARK: The committer thread

  /// With the lock held.
  private func startCommitter() -> Bool {
    if committerIsRunning { return true }
    do throws(LogError) {
      // The thread keeps the log alive only while it works for it.
      try environment.startThread("commit", false) { [weak self, committerWord] in
        while true {
          let seen = committerWord.value
          guard let next = self?.committerStep() else { return }
          switch next {
          case .again: break
          case .wait(let nanoseconds): committerWord.wait(while: seen, nanoseconds: nanoseconds)
          case .stop: return
          }
        }
      }
      committerIsRunning = true
      return true
    } catch {
      return false
    }
  }

  private enum CommitterStep {
    case again
    case wait(nanoseconds: Int64)
    case stop
  }

  private func committerStep() -> CommitterStep {
    lock.lock()
    if handedOver {
      handedOver = false
      commitUnderContention()
      return .again
    }
    defer { lock.unlock() }
    if isClosed {
      committerIsRunning = false
      return .stop
    }
    guard let since = dirtySince, options.syncIntervalMilliseconds > 0 else { return .wait(nanoseconds: -1) }
    let due = since &+ UInt64(options.syncIntervalMilliseconds) * 1_000_000
    let now = monotonicNow()
    if due > now { return .wait(nanoseconds: Int64(clamping: due - now)) }
    while !turn.take() {
      // Handed over to this very thread: that comes first.
      if handedOver { return .again }
      turn.beginWaiting()
      let word = turnWord.value
      lock.unlock()
      turnWord.wait(while: word)
      lock.lock()
      turn.endWaiting()
    }
    lock.unlock()
    syncInBackground()
    lock.lock()
    return .again
  }

  /// The turn was handed over; the lock is held and given up.
  ///
  /// The turn is kept from frame to frame while several callers share each: given up in between, the first of them who comes back would
  /// sync alone.
  private func commitUnderContention() {
    var ticket: CommitTicket?
    repeat {
      gatherMore(until: lastCallers, after: ticket)
      ticket = commitGathered()
    } while ticket != nil && lastCallers > 1 && turn.waiting == 0
    passOn(after: ticket)
  }

  /// Wakes and waits for those who were just acknowledged, who are likely to come back: a frame that waits for them carries more events
  /// for the same sync. On few cores they come one after the other, so waiting goes on while somebody comes within 50 microseconds, and
  /// ends in any case after ten times that. The turn is taken; the lock is held before and after, not in between.
  private func gatherMore(until expected: Int, after ticket: CommitTicket?) {
    guard expected > 1 else { return }
    arrivals.set(UInt32(truncatingIfNeeded: gathering.callers))
    var now = monotonicNow()
    let last = now &+ 500_000
    var deadline = now &+ 50_000
    var seen = gathering.callers
    lock.unlock()
    ticket?.wake()
    while seen < expected && now < deadline {
      yieldThread()
      now = monotonicNow()
      let callers = Int(arrivals.value)
      if callers > seen { deadline = min(now &+ 50_000, last) }
      seen = callers
    }
    lock.lock()
  }

  /// With the turn, which is passed on.
  private func syncInBackground() {
    do throws(LogError) { try flush() } catch {
      // The next append meets the failure and writes again what is not synced; nothing acknowledged is forgotten.
      lock.withLock { dirtySince = monotonicNow() }
    }
    lock.lock()
    passOn(after: nil)
  }

  /// Events were left unsynced: the committer thread syncs them in time. With the lock held.
  func noteDirty() {
    guard dirtySince == nil, options.syncIntervalMilliseconds > 0 else { return }
    dirtySince = monotonicNow()
    if startCommitter() { committerWord.increment() }
  }

  // MARK: One frame

  /// Commits `unwritten`, then what has gathered. Returns what to wake once the lock is given up; nil if nothing had gathered. The turn is
  /// taken; the lock is held before and after, not in between.
  func commitGathered() -> CommitTicket? {
    if !unwritten.isEmpty {
      var frame = take(&unwritten)
      let result = commit(&frame)
      if case .failure(let error) = result {
        // It was acknowledged: it stays, and is written before anything else.
        unwritten = frame
        inFlight = (0, 0, nil)
        return gathering.isEmpty ? nil : finish(take(&gathering), .failure(error))
      }
      finish(frame, result).wake()
    }
    guard !gathering.isEmpty else { return nil }
    var frame = take(&gathering)
    let result = commit(&frame)
    return finish(frame, result)
  }

  private func take(_ target: inout Gathering) -> Gathering {
    var taken = spare.take() ?? Gathering(capacity: 256)
    swap(&taken, &target)
    inFlight = (taken.count, taken.userEnd, taken.ticket)
    return taken
  }

  /// Writes a frame, and syncs it if asked. The lock is held before and after, not in between.
  func commit(_ frame: inout Gathering) -> Result<Offset, LogError> {
    lock.unlock()
    defer { lock.lock() }
    let length = FrameHeader.frameLength(stored: frame.buffer.recordByteCount)
    let segment: ActiveSegment
    do throws(LogError) { segment = try readySegment(for: length) } catch { return .failure(error) }
    let base = segment.end
    let header = FrameHeader(
      .events, storedLength: frame.buffer.recordByteCount, rawLength: frame.buffer.recordByteCount, base: base, count: frame.count,
      durable: seeded(.durableTooEarly) ? segment.end : segment.durableEnd, incarnation: incarnation)
    let finished = frame.buffer.finish(header, seed: segment.seed)
    let willSync = frame.level == .synced
    do throws(LogError) {
      try segment.write(frame.buffer, length: finished, count: frame.count, willSync: willSync)
      if seeded(.publishedTooEarly) { live?.publish(base + UInt64(frame.count), durable: segment.durableEnd) }
      if willSync { try segment.syncFrame(frame.buffer) }
    } catch {
      return .failure(unknownOutcome(error))
    }
    return .success(base)
  }

  private func unknownOutcome(_ error: LogError) -> LogError {
    guard error.code == .io else { return error }
    return LogError(
      .outcomeUnknown, "it is unknown whether the events were stored", file: error.file, position: error.position,
      why: "\(error.what): \(error.why)",
      errno: error.errno, advice: "append them again with the same ids: what is there already is recognised")
  }

  /// Publishes a frame, or puts back what must not be lost with it. Returns what to wake. With the lock held.
  func finish(_ frame: consuming Gathering, _ result: Result<Offset, LogError>) -> CommitTicket {
    inFlight = (0, 0, nil)
    lastCallers = frame.callers
    for id in frame.ids { pendingIDs.remove(id) }
    if case .success(let base) = result, let active {
      counters.commits += 1
      counters.appendedEvents += UInt64(frame.count)
      counters.appendedBytes += UInt64(frame.buffer.recordByteCount)
      if frame.level == .synced { counters.syncs += 1 }
      openIDs.didAppend(frame.buffer.records, base: base, to: active.name)
      publish(active)
      if frame.level < .synced { noteDirty() } else { dirtySince = nil }
    } else {
      if frame.holdsSession { needsSession = true }
      staged = frame.staged + staged
    }
    let ticket = frame.ticket
    let waiting = ticket.continuations
    ticket.continuations.removeAll()
    ticket.finish(result)
    frame.reset()
    spare = consume frame
    for continuation in waiting { continuation.resume() }
    return ticket
  }

  /// Makes what the segment holds visible. With the lock held.
  func publish(_ segment: ActiveSegment) {
    published = segment.end
    durable = segment.durableEnd
    userEnd = segment.summary.userEnd
    trimFloor = max(trimFloor, segment.summary.trimFloor)
    showNewest(segment)
    live?.publish(published, durable: durable)
    let waiting = continuations
    continuations.removeAll()
    for continuation in waiting { continuation.resume() }
  }

  // MARK: Syncing

  /// Writes what is only in memory.
  func write() throws(LogError) {
    try withTurn { () throws(LogError) in try self.writeUnwritten() }
  }

  func writeUnwritten() throws(LogError) {
    lock.lock()
    defer { lock.unlock() }
    guard !unwritten.isEmpty else { return }
    var frame = take(&unwritten)
    let result = commit(&frame)
    if case .failure(let error) = result {
      unwritten = frame
      inFlight = (0, 0, nil)
      throw error
    }
    finish(frame, result).wake()
  }

  /// Makes everything acknowledged so far durable.
  func sync() throws(LogError) {
    try withTurn { () throws(LogError) in
      try self.writeUnwritten()
      try self.syncActive()
    }
  }

  func syncActive() throws(LogError) {
    guard let active, active.durableEnd < active.end || active.hasFailed else {
      lock.withLock { dirtySince = nil }
      return
    }
    if active.hasFailed {
      // What was acknowledged is written again into a new segment, which is synced.
      _ = try readySegment(for: 0)
    } else {
      do throws(LogError) { try active.sync() } catch { throw unknownOutcome(error) }
    }
    lock.withLock {
      counters.syncs += 1
      dirtySince = nil
      if let current = self.active { publish(current) }
    }
  }

  /// Makes sure that a synced frame names the durable offset. Returns that offset.
  func recordDurable() throws(LogError) -> Offset {
    try withTurn { () throws(LogError) -> Offset in
      try self.checkWriter()
      try self.writeUnwritten()
      try self.syncActive()
      return try self.markDurable()
    }
  }

  /// With the turn.
  func markDurable() throws(LogError) -> Offset {
    let segment = try readySegment(for: FrameHeader.byteCount)
    if segment.recordedDurable < segment.durableEnd {
      try segment.mark(.mark, incarnation: incarnation)
      lock.withLock {
        counters.syncs += 1
        publish(segment)
      }
    }
    return segment.durableEnd
  }
}
