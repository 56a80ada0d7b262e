/// What became of an appended event.
public struct Appended: Sendable, Equatable {
  /// Where the event is.
  public fileprivate(set) var offset: Offset
  /// The caller's id, or the one that the engine made.
  public let id: EventID
  /// Whether the log, or the batch before it, had the event already: same id, same content. `offset` is then that of the first time.
  public fileprivate(set) var isDuplicate: Bool
}

extension LogCore {
  /// A batch that was taken in, with offsets still counted from the beginning of its frame.
  struct Admitted {
    var answers: [Appended]
    /// Answers that repeat another one of the batch.
    var repeats: [Int]
    var ticket: CommitTicket

    /// The final answers, once the frame's base offset is known.
    consuming func answers(base: Offset) -> [Appended] {
      for index in answers.indices where !answers[index].isDuplicate { answers[index].offset += base }
      for index in repeats { answers[index].isDuplicate = true }
      return answers
    }
  }

  enum Admission {
    /// Nothing new in it.
    case answered([Appended])
    /// Gathered for the next frame.
    case gathered(Admitted)
    /// Acknowledged in memory.
    case buffered([Appended])
    /// An id of it belongs to an event that is being committed, or the gathering frame is full: ask again when that has ended.
    case later(CommitTicket)
    /// The log was suspended in this moment: take it up and ask again.
    case suspended
  }

  // MARK: Taking a batch in. With the lock held.

  func admit(_ events: [NewEvent], expecting size: Offset?, _ level: Durability) throws(LogError) -> Admission {
    if suspended != nil { return .suspended }
    try checkWritable()
    let lengths = try lengths(of: events)
    let hasIDs = events.haveIDs
    var plan = Plan()
    if hasIDs {
      if let ticket = try plan.fill(events, self) { return .later(ticket) }
      if plan.newCount == 0 { return .answered(plan.answers) }
    }
    // A batch that is there already is answered whatever size was expected: its first attempt may have made the log grow.
    if let size, projectedUserEnd > size || size > projectedEnd { throw unexpected(size) }
    // Room stays for what the engine itself appends.
    if projectedEnd + UInt64(events.count) > Record.offsetLimit - (1 << 32) {
      throw LogError(
        .tooLarge, "the log has no offsets left", file: directory.path,
        why: "it ends at offset \(projectedEnd), the highest is \(Record.offsetLimit)", advice: "go on in a new log")
    }
    let repeats = hasIDs ? plan.repeatsOfNew : []
    let staysInMemory =
      (level == .buffered || level == .written && seeded(.acknowledgedBeforeWrite)) && !turn.isTaken && gathering.isEmpty && remains == nil
      && unwritten.buffer.recordByteCount < Self.frameCapacity
    if !staysInMemory, !gathering.isEmpty,
      gathering.buffer.recordByteCount + lengths.reduce(0, +) > LogOptions.batchByteLimit
    {
      return .later(gathering.ticket)
    }
    let reading = environment.clock.now()
    var answers: [Appended]
    if staysInMemory {
      answers = encode(events, lengths, plan, reading, level, into: &unwritten)
      acknowledged = published + UInt64(unwritten.count)
      return .buffered(Admitted(answers: answers, repeats: repeats, ticket: unwritten.ticket).answers(base: published))
    }
    answers = encode(events, lengths, plan, reading, level, into: &gathering)
    arrivals.set(UInt32(truncatingIfNeeded: gathering.callers))
    return .gathered(Admitted(answers: answers, repeats: repeats, ticket: gathering.ticket))
  }

  func checkWritable() throws(LogError) {
    if isClosed || isClosing { throw LogError(.closed, "the log is closed", file: directory.path, advice: "open it again") }
    if !isWriter { throw LogError(.readOnly, "the log was opened for reading", file: directory.path, advice: "open it for writing") }
  }

  private func lengths(of events: [NewEvent]) throws(LogError) -> [Int] {
    if events.isEmpty { throw LogError(.invalidEvent, "a batch has no events", advice: "append at least one") }
    let lengths = try events.recordLengths(maximum: options.maximumEventByteCount)
    let total = lengths.reduce(0, +)
    if total > options.maximumBatchByteCount && events.count > 1 {
      throw LogError(
        .tooLarge, "a batch is too large",
        why: "its \(events.count) events take \(total) bytes, the limit is \(options.maximumBatchByteCount)",
        advice: "split it, or raise maximumBatchByteCount (at most 64 MiB)")
    }
    return lengths
  }

  /// The offset after the last user event, if everything under way succeeds.
  private var projectedUserEnd: Offset {
    if gathering.userEnd > 0 { return published + UInt64(unwritten.count) + UInt64(inFlight.count) + UInt64(gathering.userEnd) }
    if inFlight.userEnd > 0 { return published + UInt64(inFlight.userEnd) }
    if unwritten.userEnd > 0 { return published + UInt64(unwritten.userEnd) }
    return userEnd
  }

  /// The size, if everything under way succeeds.
  private var projectedEnd: Offset { published + UInt64(unwritten.count) + UInt64(inFlight.count) + UInt64(gathering.count) }

  private func unexpected(_ size: Offset) -> LogError {
    if size > projectedEnd {
      return LogError(
        .unexpectedSize, "the log is shorter than expected", offsets: projectedEnd..<size,
        why: "size \(size) was expected, but the log ends at offset \(projectedEnd)", advice: "read what is there and decide again")
    }
    return LogError(
      .unexpectedSize, "the log has grown", offsets: size..<projectedUserEnd,
      why: "size \(size) was expected, but there are events up to \(projectedUserEnd)",
      advice: "read what is new and decide again")
  }

  // MARK: Repeats

  /// Which events of a batch are new, and where the others are already.
  struct Plan {
    /// By index in the batch: where it is already. Empty if no event has an id.
    private var known: [Int: Offset] = [:]
    /// By index in the batch: the index of the same event earlier in the batch.
    private var repeats: [Int: Int] = [:]
    private(set) var newCount = 0
    private(set) var answers: [Appended] = []

    func isNew(_ index: Int) -> Bool { known[index] == nil && repeats[index] == nil }
    func offset(_ index: Int) -> Offset? { known[index] }
    func earlier(_ index: Int) -> Int? { repeats[index] }
    /// Events that repeat a new one of the batch.
    var repeatsOfNew: [Int] { repeats.filter { known[$0.value] == nil }.map(\.key) }

    /// Looks every id up. Returns the ticket to wait for if one is being committed.
    mutating func fill(_ events: [NewEvent], _ core: LogCore) throws(LogError) -> CommitTicket? {
      var seen: [EventID: Int] = [:]
      for (index, event) in events.enumerated() {
        guard let id = event.id else {
          newCount += 1
          continue
        }
        if core.pendingIDs.contains(id) { return core.inFlight.ticket ?? core.gathering.ticket }
        if let first = seen[id] {
          if let conflict = core.conflict(event, events[first], id) { throw conflict.ofEvent(index, in: events.count) }
          repeats[index] = first
        } else if let found = try core.find(id) {
          if let conflict = core.conflict(event, found) { throw conflict.ofEvent(index, in: events.count) }
          known[index] = found.offset
          answers.append(Appended(offset: found.offset, id: id, isDuplicate: true))
        } else {
          newCount += 1
        }
        seen[id] = seen[id] ?? index
      }
      if newCount == 0 && answers.count < events.count {
        answers = events.indices.map { index in
          Appended(offset: known[repeats[index] ?? index] ?? 0, id: events[index].id ?? .zero, isDuplicate: true)
        }
      }
      return nil
    }
  }

  /// Nil if the event is the one that is there.
  fileprivate func conflict(_ event: NewEvent, _ found: Event) -> LogError? {
    let stored = ContentDigest.content(of: found.view)
    let offered = content(of: event)
    return stored == offered ? nil : conflict(found.id, stored, offered, "event \(found.offset)")
  }

  fileprivate func conflict(_ event: NewEvent, _ other: NewEvent, _ id: EventID) -> LogError? {
    let first = content(of: other)
    let second = content(of: event)
    return first == second ? nil : conflict(id, first, second, "an earlier event of the batch")
  }

  private func conflict(_ id: EventID, _ stored: [UInt8], _ offered: [UInt8], _ holder: String) -> LogError {
    let digest = [0, options.contentDigest.kind].contains(identity.contentDigestKind) ? options.contentDigest : .xxh3
    return LogError(
      .conflict, "id \(id) was used for another event",
      why: "\(holder) has digest \(digest.text(stored)), the new one \(digest.text(offered))",
      advice: "the first stays; give the new one an id of its own, or append a correction that supersedes it")
  }

  private func content(of event: NewEvent) -> [UInt8] {
    let length = (try? [event].recordLengths(maximum: Record.lengthLimit))?.first ?? 0
    var buffer = FrameBuffer(capacity: length + FrameHeader.byteCount + 8)
    let reading = ClockReading(time: Timestamp(nanoseconds: 0), elapsed: 0)
    buffer.append(
      [event], 0, RecordStamp(kind: .event, id: .zero, reading: reading, wasStepped: false, continuesBatch: false), length: length)
    return ContentDigest.content(of: EventView(record: buffer.records, offset: 0))
  }

  // MARK: Encoding. With the lock held.

  private func encode(
    _ events: [NewEvent], _ lengths: [Int], _ plan: Plan, _ reading: ClockReading, _ level: Durability, into target: inout Gathering
  ) -> [Appended] {
    let wasStepped = isStepped(reading)
    lastReading = reading
    lastAppend = reading.elapsed
    if target.isEmpty { begin(&target, reading) }
    var answers: [Appended] = []
    answers.reserveCapacity(events.count)
    var left = plan.newCount == 0 ? events.count : plan.newCount
    let everythingIsNew = left == events.count
    // A copy for the loop: each look at a property of a shared object costs as much as all the rest of it.
    var generator = ids
    for index in events.indices {
      if !everythingIsNew, let offset = plan.offset(index) {
        answers.append(Appended(offset: offset, id: events[index].id ?? .zero, isDuplicate: true))
        continue
      }
      if !everythingIsNew, let earlier = plan.earlier(index) {
        answers.append(answers[earlier])
        continue
      }
      left -= 1
      let given = events.id(index)
      let id = given ?? generator.next(reading.time, environment.random)
      if let given {
        target.ids.append(given)
        pendingIDs.insert(given)
      }
      let continues = left > 0 && !seeded(.batchFlagIgnored)
      let stamp = RecordStamp(
        kind: .event, id: id, reading: reading, wasStepped: wasStepped && answers.isEmpty, continuesBatch: continues)
      answers.append(Appended(offset: UInt64(target.count), id: id, isDuplicate: false))
      target.buffer.append(events, index, stamp, length: lengths[index])
      target.didAdd(isUser: true)
    }
    ids = generator
    target.didAddCaller(level)
    return answers
  }

  /// The first records of a frame: the session if it is new, and what modules have staged.
  func begin(_ target: inout Gathering, _ reading: ClockReading) {
    if needsSession {
      let session = makeSession(reading)
      self.session = session
      needsSession = false
      target.holdsSession = true
      addControl(StagedControl(kind: .session, data: session.encode()), reading, to: &target)
    }
    for control in staged { addControl(control, reading, to: &target) }
    target.staged = staged
    staged.removeAll()
  }

  func addControl(_ control: StagedControl, _ reading: ClockReading, to target: inout Gathering) {
    let event = NewEvent(type: "", data: control.data)
    let stamp = RecordStamp(
      kind: control.kind, id: ids.next(reading.time, environment.random), reading: reading, wasStepped: false, continuesBatch: false)
    target.buffer.append([event], 0, stamp, length: Record.fixedLength + control.data.count)
    target.didAdd(isUser: false)
  }

  private func makeSession(_ reading: ClockReading) -> Session {
    Session(
      bootID: environment.clock.bootID, start: reading.time, startElapsed: reading.elapsed, incarnation: incarnation,
      program: options.program,
      timeZoneName: environment.clock.timeZoneName, deviceIdentifier: options.deviceIdentifier)
  }

  /// Whether the wall clock was set since the last event: on one boot it runs with the boot-time clock but for slewing.
  ///
  /// ntpd slews at most 500 parts in a million, and steps above 128 milliseconds: more than both together is a step.
  private func isStepped(_ reading: ClockReading) -> Bool {
    guard let last = lastReading else { return false }
    let wall = reading.time.nanoseconds &- last.time.nanoseconds
    let elapsed = Int64(bitPattern: reading.elapsed &- last.elapsed)
    let difference = wall &- elapsed
    return difference.magnitude > 128_000_000 + elapsed.magnitude / 2000
  }
}
