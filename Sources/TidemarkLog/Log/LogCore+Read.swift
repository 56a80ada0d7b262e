/// Where a range of events is read from.
struct ReadPlace {
  var access: SegmentAccess
  /// Where to begin.
  var position: UInt64
  /// Where its frames end at the latest.
  var limit: UInt64
  /// The offset after its last event.
  var end: Offset
  var sessions: [SegmentIndex.SessionEntry]

  /// The session that an event belongs to.
  func session(for offset: Offset) -> SharedSession? {
    let data = sessions.last { $0.offset <= offset }?.data ?? access.map.headerSession
    return data.isEmpty ? nil : SharedSession(data.rawSpan)
  }
}

extension LogCore {
  static let noSuchFile: Int32 = 2

  /// Below it nothing is kept: what was trimmed. An oldest part that is missing or damaged is a gap, not trimmed. With the lock held.
  var firstOffset: Offset { min(closed.first?.name.base ?? newest?.name.base ?? published, gaps.first?.lowerBound ?? .max) }

  /// The offset of the next event, those included that are only in memory. With the lock held.
  var size: Offset { max(published, acknowledged) }

  /// Finds where `offset` is stored. `offset` must be below ``published``.
  func place(for offset: Offset) throws(LogError) -> ReadPlace {
    var attempt = 0
    while true {
      attempt += 1
      do throws(LogError) { return try findPlace(for: offset) } catch {
        // The file was sealed or trimmed in this moment: look again.
        guard error.errno == Self.noSuchFile, attempt < 5 else { throw error }
        if !isWriter { try look(isFirst: false) }
      }
    }
  }

  private func findPlace(for offset: Offset) throws(LogError) -> ReadPlace {
    let found = lock.withLock { listing(of: offset) }
    let place = try open(found, offset)
    if !found.isKnown { lock.withLock { didScan(place.access) } }
    return place
  }

  /// Keeps what a scan of a closed segment found, so that it is scanned once. With the lock held.
  private func didScan(_ access: SegmentAccess) {
    guard let index = closed.firstIndex(where: { $0.name == access.name }), closed[index].sessions == nil else { return }
    closed[index] = closed[index].scanned(access.map.checkpoints, access.map.sessions)
  }

  /// What the list of segments says of an offset.
  struct Listing {
    var name: SegmentName?
    var footer: Footer?
    var end: Offset = 0
    var checkpoints: Checkpoints?
    var sessions: [SegmentIndex.SessionEntry]?
    var header: SegmentHeader?
    /// Where the log begins.
    var first: Offset
    /// The gap that the offset is in, if it is in one.
    var gap: Range<Offset>?

    /// Of a closed segment that an earlier process left unsealed nothing is known until it is scanned.
    var isKnown: Bool { footer != nil || sessions != nil }
  }

  /// With the lock held.
  func listing(of offset: Offset) -> Listing {
    if let newest, offset >= newest.name.base {
      return Listing(
        name: newest.name, end: published, checkpoints: newest.checkpoints, sessions: newest.sessions, header: newest.header,
        first: firstOffset)
    }
    guard let index = closedIndex(holding: offset) else { return Listing(first: firstOffset, gap: gaps.first { $0.contains(offset) }) }
    let segment = closed[index]
    return Listing(
      name: segment.name, footer: segment.footer, end: segment.end, checkpoints: segment.checkpoints, sessions: segment.sessions,
      first: firstOffset)
  }

  /// With or without the lock.
  func open(_ found: Listing, _ offset: Offset) throws(LogError) -> ReadPlace {
    guard offset >= found.first else { throw Self.trimmed(offset, first: found.first) }
    guard let name = found.name else {
      throw LogError(
        .corrupt, "event \(offset) is missing", file: directory.segments, offsets: found.gap ?? offset..<(offset + 1),
        why: "no segment holds it",
        advice: "read on behind the gap, or get it back from the server")
    }
    let access = try readers.access(
      name, footer: found.footer, header: found.header, scannedTo: found.isKnown ? nil : found.end, directory, files)
    var limit = access.map.limit
    if limit == nil { limit = try access.file.byteCount() }
    return ReadPlace(
      access: access, position: access.map.position(for: offset, found.checkpoints), limit: limit ?? 0, end: found.end,
      sessions: found.sessions ?? access.map.sessions)
  }

  static func trimmed(_ offset: Offset, first: Offset) -> LogError {
    LogError(
      .trimmed, "event \(offset) is no longer kept", offsets: offset..<first, why: "the log begins at offset \(first)",
      advice: "begin there, or get it back from the server")
  }

  /// The index of the closed segment that holds an offset. With the lock held.
  func closedIndex(holding offset: Offset) -> Int? {
    var low = 0
    var high = closed.count
    while low < high {
      let middle = (low + high) / 2
      if closed[middle].name.base <= offset { low = middle + 1 } else { high = middle }
    }
    guard low > 0, offset < closed[low - 1].end else { return nil }
    return low - 1
  }

  /// Where reading can go on after a damaged or missing range that begins at `offset`: the base of the next segment, or the end.
  func nextReadable(after offset: Offset) -> Offset {
    lock.withLock {
      for segment in closed where segment.name.base > offset { return segment.name.base }
      if let newest, newest.name.base > offset { return newest.name.base }
      return max(published, offset)
    }
  }

  /// What is the matter where no segment can be opened for an offset.
  func kindOfLoss(at offset: Offset) -> FindingKind {
    lock.withLock {
      if let finding = findings.first(where: { !$0.isHarmless && $0.offsets?.contains(offset) ?? false }) { return finding.kind }
      return closedIndex(holding: offset) == nil && offset < newest?.name.base ?? .max ? .missingSegment : .damagedHeader
    }
  }

  /// For a reader that has come to `end`: what is known to be missing behind it. A writer goes on there itself.
  func missing(behind end: Offset) -> Finding? {
    guard !isWriter else { return nil }
    return lock.withLock {
      if end < published { return nil }
      return findings.first { $0.kind == .missingNewest && ($0.offsets.map { $0.isEmpty || $0.upperBound > end } ?? true) }
    }
  }

  // MARK: One event

  func event(at offset: Offset) throws(LogError) -> Event {
    try flushForReading()
    let end = lock.withLock { published }
    guard offset < end else {
      throw LogError(
        .offsetOutOfRange, "there is no event \(offset)", offsets: end..<end, why: "the log ends at offset \(end)",
        advice: "read below that, or follow the log")
    }
    return try event(offset, at: try place(for: offset))
  }

  func event(_ offset: Offset, at place: ReadPlace) throws(LogError) -> Event {
    let frame = try decodedFrame(holding: offset, place)
    return try Self.event(offset, in: frame, session: place.session(for: offset), file: place.access.file.path)
  }

  private func decodedFrame(holding offset: Offset, _ place: ReadPlace) throws(LogError) -> SegmentReaders.DecodedFrame {
    if let kept = readers.frame(holding: offset) { return kept }
    var reader = FrameReader(place.access.file, seed: place.access.map.seed, from: place.position, limit: place.limit, window: 32 << 10)
    while true {
      switch try reader.next() {
      case .frame(let frame, let at):
        guard frame.count > 0, frame.end > offset else { continue }
        let isEvents = frame.kind == FrameHeader.Kind.events.rawValue && frame.base <= offset
        guard frame.end <= place.end || place.access.map.limit != nil || !isEvents else {
          throw damaged(offset..<(offset + 1), at, "a frame reaches beyond the segment's end", place)
        }
        if isEvents, let beginning = beginning(of: frame, holding: offset, &reader, place) {
          readers.keep(beginning)
          return beginning
        }
        guard isEvents, reader.decode() else { throw gapError(offset, at, frame, reader, place) }
        let decoded = SegmentReaders.DecodedFrame(
          name: place.access.name, base: frame.base, end: min(frame.end, place.end), records: reader.payload.array())
        // The newest frame of a growing file is final too: frames are written once.
        readers.keep(decoded)
        return decoded
      case .bad(let at, let why): throw lost(offset, at, why, place)
      case .end(let at): throw lost(offset, at, "the segment ends before this offset", place)
      }
    }
  }

  /// What was known of the segment may be of a file that was repaired since: who asks again has it looked at anew.
  private func lost(_ offset: Offset, _ at: UInt64, _ why: String, _ place: ReadPlace) -> LogError {
    readers.forget(place.access.name)
    return damaged(offset..<(offset + 1), at, why, place)
  }

  /// A frame's records up to an offset: who looks up one event of it need not wait for all. Nil where it is better to have all: in a frame
  /// that was looked at a moment ago, or where the offset is near its end.
  private func beginning(
    of frame: FrameHeader, holding offset: Offset, _ reader: inout FrameReader, _ place: ReadPlace
  ) -> SegmentReaders.DecodedFrame? {
    guard frame.isCompressed, !readers.hasFrame(place.access.name, frame.base) else { return nil }
    // Records are about as long as each other; a sixteenth more for those that are not.
    let share = frame.rawLength / Int(frame.count) * Int(offset - frame.base + 1)
    let byteCount = share + frame.rawLength / 16 + 256
    guard byteCount < frame.rawLength * 3 / 4, reader.decode(first: byteCount) else { return nil }
    let records = reader.payload
    var end = frame.base
    var position = 0
    while end <= offset, let length = Record.length(at: position, in: records) {
      position += length
      end += 1
    }
    guard end > offset else { return nil }
    return SegmentReaders.DecodedFrame(name: place.access.name, base: frame.base, end: end, records: records.slice(0, position).array())
  }

  private func gapError(_ offset: Offset, _ at: UInt64, _ frame: FrameHeader, _ reader: FrameReader, _ place: ReadPlace) -> LogError {
    if frame.kind == FrameHeader.Kind.gap.rawValue, frame.base <= offset {
      return damaged(frame.base..<frame.end, at, "lost earlier: \(reader.payload.text())", place)
    }
    return damaged(offset..<(offset + 1), at, "a frame for other offsets stands here", place)
  }

  func damaged(_ offsets: Range<Offset>, _ at: UInt64, _ why: String, _ place: ReadPlace) -> LogError {
    LogError(
      .corrupt, "history is damaged", file: place.access.file.path, position: at, offsets: offsets, why: why,
      advice: "read on behind it, or run verify for the whole list")
  }

  static func event(_ offset: Offset, in frame: SegmentReaders.DecodedFrame, session: SharedSession?, file: String) throws(LogError)
    -> Event
  {
    var position = 0
    var at = frame.base
    let records = frame.records.rawSpan
    while let length = Record.length(at: position, in: records) {
      if at == offset { return Event(bytes: frame.records, position: position, length: length, offset: offset, session: session) }
      position += length
      at += 1
    }
    throw LogError(.corrupt, "a record is malformed", file: file, offsets: offset..<(offset + 1), advice: "run verify")
  }

  /// Whether what was acknowledged may be in memory alone.
  var keepsInMemory: Bool { options.durability == .buffered || options.durability == .written && seeded(.acknowledgedBeforeWrite) }

  /// In a `.buffered` log, what this process has appended is written before this process reads.
  func flushForReading() throws(LogError) {
    guard isWriter, keepsInMemory else { return }
    let hasUnwritten = lock.withLock { !unwritten.isEmpty }
    if hasUnwritten { try write() }
  }
}
