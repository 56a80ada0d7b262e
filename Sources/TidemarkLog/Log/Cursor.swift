/// Walks events in offset order without copying them.
///
/// Each event lies in the cursor's buffer until the next call: copy what you keep. Checksums are verified frame by frame.
///
/// ```swift
/// var cursor = try log.read()
/// var total = 0
/// while let event = try cursor.next() {
///   total += event.data.byteCount
/// }
/// ```
///
/// Walk it in a synchronous function: Swift 6.3.1 fails to compile such a loop in an `async` function when it optimises for testing
/// (`swift test -c release`).
public struct Cursor: ~Copyable {
  private let core: LogCore
  private let query: Query
  /// The offset of the next event to look at.
  private var offset: Offset
  private var end: Offset
  private let isBounded: Bool
  private var place: ReadPlace?
  private var reader: FrameReader
  private var record = 0
  private var recordsEnd = 0
  /// The offset of the record at `record`.
  private var recordOffset: Offset = 0
  /// The offset after the last event of the frame that belongs to the segment.
  private var frameEnd: Offset = 0
  private var currentSession: SharedSession?
  /// Whether the end of the range is the end of the log, of which nothing was said yet.
  private var mayEndEarly: Bool
  /// What ``nextBlock()`` met behind the records that it gave.
  private var delayed: (any Error)?

  /// What was passed over so far, with ``Query/DamageHandling/skip``: damaged and missing ranges, and at the end of a log that is known to
  /// have been longer, what is missing there.
  public private(set) var gaps: [Finding] = []

  init(_ core: LogCore, _ query: Query) throws(LogError) {
    let range = try Self.range(core, query)
    self.core = core
    self.query = query
    offset = range.lowerBound
    end = range.upperBound
    isBounded = query.offsets.map { $0.upperBound != .max } ?? false
    mayEndEarly = !isBounded
    reader = FrameReader.empty
  }

  /// What the query asks for, checked against what is there.
  private static func range(_ core: LogCore, _ query: Query) throws(LogError) -> Range<Offset> {
    try core.flushForReading()
    let (first, published) = core.lock.withLock { (core.firstOffset, core.published) }
    guard let range = query.offsets else { return first..<max(first, published) }
    if range.upperBound > published && range.upperBound != .max {
      throw LogError(
        .offsetOutOfRange, "there are no events up to offset \(range.upperBound)", offsets: published..<range.upperBound,
        why: "the log ends at offset \(published)", advice: "read up to that, or follow the log")
    }
    if range.lowerBound < first && !range.isEmpty { throw LogCore.trimmed(range.lowerBound, first: first) }
    return range.lowerBound..<max(range.lowerBound, min(range.upperBound, published))
  }

  /// The session of the event that ``next()`` gave last.
  public var session: Session? { currentSession?.session }
  /// The data of that session's record; empty without one.
  package var sessionData: [UInt8] { currentSession?.data ?? [] }

  /// How far reading has come: the offset after the last event that was looked at.
  public var position: Offset { max(offset, recordOffset) }

  /// The next event, or nil at the end of the range. Throws ``LogError/Code/corrupt`` at a damaged range, and once at the end of a log
  /// that is known to have been longer; called again, it goes on behind it.
  @_lifetime(&self)
  public mutating func next() throws -> EventView? {
    while true {
      while record < recordsEnd {
        let start = record
        let at = recordOffset
        let (length, isControl) = look(start)
        guard length > 0 else {
          try passMalformed()
          break
        }
        record = start &+ length
        recordOffset = at &+ 1
        if at < offset {
          // Records of the first frame that are not asked for may begin a session, too.
          if isControl { _ = isHidden(start, length) }
          continue
        }
        if at >= min(end, frameEnd) {
          if at < end {
            // The frame holds more than it says.
            skipRest()
            break
          }
          stop()
          return nil
        }
        if (isControl || query.times != nil) && isHidden(start, length) { continue }
        return EventView(record: reader.payload.slice(start, length), offset: at)
      }
      guard try nextFrame() else {
        try tellOfEnd()
        return nil
      }
    }
  }

  /// Where events behind the last one are known to be missing, that is told like other damage. Who follows a log goes on waiting instead.
  @inline(never) private mutating func tellOfEnd() throws(LogError) {
    guard mayEndEarly, let finding = core.missing(behind: end) else { return }
    mayEndEarly = false
    if !passesOver { throw finding.error(in: core.directory.path) }
    gaps.append(finding)
  }

  private var passesOver: Bool { query.onDamage == .skip || core.options.onCorruption == .salvage }

  /// The length of the record at a place, 0 if there is none, and whether it is a control event.
  @inline(__always) private func look(_ start: Int) -> (length: Int, isControl: Bool) {
    let payload = reader.payload
    guard let length = Record.length(at: start, in: payload) else { return (0, false) }
    return (length, payload.u8(start + 4) != 1)
  }

  /// The rest of the frame lies beyond the end.
  @inline(never) private mutating func stop() {
    record = recordsEnd
    recordOffset = end
    offset = end
  }

  /// Goes on behind a frame that verifies and yet holds something else than records.
  @inline(never) private mutating func passMalformed() throws(LogError) {
    offset = max(offset, recordOffset)
    let error = LogError(
      .corrupt, "history is damaged", file: place?.access.file.path, offsets: offset..<max(offset, frameEnd), why: "a record is malformed",
      advice: "read on behind it, or run verify for the whole list")
    skipRest()
    try pass(error, otherwise: frameEnd)
  }

  @inline(never) private mutating func skipRest() {
    record = recordsEnd
    recordOffset = min(recordOffset, frameEnd)
  }

  @inline(never) private mutating func isHidden(_ start: Int, _ length: Int) -> Bool {
    let kind = reader.payload.u8(start + 4)
    if kind != 1 {
      if kind == EventKind.session.rawValue {
        currentSession = SharedSession(EventView(record: reader.payload.slice(start, length), offset: 0).data)
      }
      return !query.includesControlEvents || query.times != nil
    }
    guard let times = query.times else { return false }
    let time = Timestamp(nanoseconds: reader.payload.i64(start + 24))
    return !times.contains(time)
  }

  /// Brings the next frame of events up. False at the end of the range.
  @inline(never) private mutating func nextFrame() throws(LogError) -> Bool {
    if recordsEnd > 0 {
      offset = max(offset, recordOffset)
      record = 0
      recordsEnd = 0
    }
    while offset < end {
      if let place, offset < place.end {
        if try frame(in: place) { return true }
      } else {
        do throws(LogError) { try enter() } catch { try pass(error, otherwise: nil, core.kindOfLoss(at: offset)) }
      }
    }
    return false
  }

  /// Opens the segment that holds the next offset.
  private mutating func enter() throws(LogError) {
    let next = try core.place(for: offset)
    if next.access.map.damagedIndex { core.noteDamagedIndex(next.access.name) }
    place = next
    reader.point(at: next.access.file, seed: next.access.map.seed, from: next.position, limit: next.limit)
    currentSession = next.session(for: offset)
  }

  /// True if a frame with events from ``offset`` on was brought up; false if looking must go on.
  private mutating func frame(in place: ReadPlace) throws(LogError) -> Bool {
    if let times = query.times, skipsByTime(place, times) { return false }
    let step = try reader.next()
    switch step {
    case .frame(let frame, let at):
      if frame.count == 0 || frame.end <= offset {
        if frame.kind == FrameHeader.Kind.events.rawValue && frame.count > 0 && place.access.map.frames == nil { noteSessions() }
        return false
      }
      guard frame.base <= offset else {
        let error = core.damaged(offset..<frame.base, at, "a frame for other offsets stands here", place)
        reader.seek(to: at)
        try pass(error, otherwise: frame.base)
        return false
      }
      if frame.kind == FrameHeader.Kind.gap.rawValue {
        try pass(core.damaged(frame.base..<frame.end, at, "lost earlier: \(reader.payload.text())", place), otherwise: frame.end, .gap)
        return false
      }
      guard frame.kind == FrameHeader.Kind.events.rawValue, reader.decode() else {
        try pass(core.damaged(offset..<frame.end, at, "a frame can't be decompressed", place), otherwise: frame.end)
        return false
      }
      // As checking has it: of a closed segment that is not sealed, such a frame does not count.
      guard frame.end <= place.end || place.access.map.limit != nil else {
        try pass(core.damaged(offset..<place.end, at, "a frame reaches beyond the segment's end", place), otherwise: place.end)
        return false
      }
      record = 0
      recordsEnd = reader.payload.byteCount
      recordOffset = frame.base
      frameEnd = min(frame.end, place.end)
      return true
    case .bad(let at, let why): try skipDamage(at, why, place)
    case .end(let at): try skipDamage(at, "the segment ends before this offset", place)
    }
    return false
  }

  /// Passes over frames whose time range lies outside, where the index tells.
  private mutating func skipsByTime(_ place: ReadPlace, _ times: ClosedRange<Timestamp>) -> Bool {
    guard let frames = place.access.map.frames, let index = frames.firstIndexHolding(offset) else { return false }
    let frame = frames[index]
    guard frame.times.high < times.lowerBound || frame.times.low > times.upperBound else {
      // Forward only: an index that is wrong must not lead back.
      if frame.position > reader.position { reader.seek(to: frame.position) }
      return false
    }
    if index + 1 < frames.count {
      offset = max(offset, frames[index + 1].base)
      reader.seek(to: frames[index + 1].position)
    } else {
      offset = place.end
    }
    return true
  }

  /// Frames that are passed over on the way to the first event may begin a session.
  private mutating func noteSessions() {
    guard reader.decode() else { return }
    var at = 0
    while let length = Record.length(at: at, in: reader.payload) {
      if reader.payload.u8(at + 4) == EventKind.session.rawValue {
        currentSession = SharedSession(EventView(record: reader.payload.slice(at, length), offset: 0).data)
      }
      at += length
    }
  }

  private mutating func skipDamage(_ at: UInt64, _ why: String, _ place: ReadPlace) throws(LogError) {
    var found = try reader.search(from: at + 8)
    // Sectors that were exchanged can bring older frames up again.
    while let frame = found, frame.header.base < offset || frame.header.canBeSkipped { found = try reader.search(from: frame.at + 8) }
    if let found, found.header.base < place.end {
      reader.seek(to: found.at)
      try pass(core.damaged(offset..<max(found.header.base, offset), at, why, place), otherwise: found.header.base)
    } else {
      try pass(core.damaged(offset..<place.end, at, why, place), otherwise: place.end)
    }
  }

  /// Goes on behind a damaged range: quietly or by throwing, as the query says. Other errors are thrown as they are.
  private mutating func pass(_ error: LogError, otherwise next: Offset?, _ kind: FindingKind = .damagedFrame) throws(LogError) {
    guard error.code == .corrupt else { throw error }
    let bound = min(max(next ?? core.nextReadable(after: offset), offset), end)
    let range = offset..<bound
    let isEmpty = range.isEmpty && next != nil
    offset = bound
    if next == nil { place = nil }
    if isEmpty { return }
    if passesOver {
      gaps.append(
        Finding(
          kind, file: error.file.map(core.directory.relative), position: error.position, offsets: range,
          error.why.isEmpty ? error.what : error.why))
      return
    }
    var told = error
    told.offsets = range
    throw told
  }

  /// Takes in what was published since; for following a log. False if there is nothing new.
  mutating func extend() throws(LogError) -> Bool {
    guard !isBounded else { return false }
    let published = core.lock.withLock { core.published }
    guard published > end else { return false }
    end = published
    if place?.access.map.limit != nil {
      // The last frame of a sealed segment may have been read in part: it is brought up again.
      place = nil
    } else if let known = place {
      // The newest segment has grown, or is no longer the newest.
      let fresh = try core.place(for: min(offset, published - 1))
      if fresh.access.name == known.access.name {
        place?.end = fresh.end
        reader.extend(limit: fresh.limit)
      } else if offset >= known.end {
        place = nil
      }
    }
    return true
  }

  /// Copies the rest of the current frame out, and small frames that follow it. Nil at the end. For queries without times.
  mutating func nextBlock() throws -> EventBlock? {
    if let error = delayed.take() { throw error }
    while record >= recordsEnd { guard try nextFrame() else { return nil } }
    var block = EventBlock(
      records: [], offset: recordOffset, session: currentSession, from: offset, includesControlEvents: query.includesControlEvents)
    while try takeRecords(into: &block) && block.records.count < Self.blockByteCount {
      let session = currentSession
      do {
        while record >= recordsEnd { guard try nextFrame() else { return block } }
      } catch {
        delayed = error
        return block
      }
      // Behind a gap, and in another segment, another block begins.
      if recordOffset != block.end || currentSession !== session { return block }
    }
    return block
  }

  private static let blockByteCount = 32 << 10

  /// Copies the records of the current frame as far as they are asked for and well-formed. True if that is all of them.
  private mutating func takeRecords(into block: inout EventBlock) throws -> Bool {
    let start = record
    while record < recordsEnd && recordOffset < min(end, frameEnd) {
      let (length, isControl) = look(record)
      if length == 0 { break }
      if isControl { _ = isHidden(record, length) }
      record += length
      recordOffset += 1
    }
    block.add(reader.payload.slice(start, record - start), end: recordOffset)
    if record == recordsEnd { return true }
    if recordOffset >= end {
      stop()
    } else if recordOffset >= frameEnd {
      skipRest()
      return true
    } else if record == start {
      try passMalformed()
    }
    return false
  }
}
