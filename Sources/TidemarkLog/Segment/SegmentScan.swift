/// Everything that reading an open segment from end to end tells.
struct SegmentScan {
  /// What to keep, in order.
  enum Piece: Equatable {
    /// Whole frames from one position up to another.
    case frames(from: UInt64, to: UInt64)
    case gap(offsets: Range<Offset>, why: String)
  }

  /// A place to start reading from.
  struct Checkpoint: Equatable {
    var base: Offset
    var position: UInt64
  }

  private(set) var summary: SegmentSummary
  /// The highest durable offset that a valid frame records.
  private(set) var recordedDurable: Offset
  private(set) var pieces: [Piece] = []
  private(set) var checkpoints = Checkpoints()
  /// Where the next frame would go.
  private(set) var endPosition = UInt64(SegmentHeader.byteCount)
  /// Whether the last frame is a close frame and nothing but zeros follows.
  private(set) var isClean: Bool
  /// The bytes that are cut away, if any: a torn tail.
  private(set) var tail: Range<UInt64>?
  private(set) var findings: [Finding] = []
  private(set) var frameCount: UInt64 = 0
  let fileLength: UInt64

  private let name: String
  private let pinnedEnd: Offset?
  private var knownDurable: Offset

  /// Scans `file`. With `pinnedEnd`, what lies behind it is abandoned, and anything that lacks before it is damage; without, the segment is
  /// the newest.
  /// Throws ``LogError/Code/unsupportedVersion`` for frames of a later version, and errors of reading.
  init(_ file: any File, _ header: SegmentHeader, name: String, pinnedEnd: Offset? = nil, knownDurable: Offset = 0) throws(LogError) {
    self.name = name
    self.pinnedEnd = pinnedEnd
    self.knownDurable = knownDurable
    summary = SegmentSummary(header)
    recordedDurable = header.base
    isClean = false
    fileLength = try file.byteCount()
    var reader = FrameReader(file, seed: header.seed, limit: fileLength)
    var isClosed = false
    while pinnedEnd.map({ summary.end < $0 }) ?? true {
      switch try reader.next() {
      case .frame(let frame, let at):
        if let why = accept(frame, at: at, &reader) {
          // One for later offsets counts itself, behind what is missing before it.
          if try !passOver(at, why, from: frame.base > summary.end ? at : at + 8, &reader) { return }
        } else {
          isClosed = frame.kind == FrameHeader.Kind.close.rawValue
        }
      case .bad(let at, let why):
        if try !passOver(at, why, &reader) { return }
      case .end(let at):
        if let nonZero = try reader.endOfNonZero() {
          reader.seek(to: at)
          if try !passOver(at, "there are bytes behind the end", nonZero: nonZero, &reader) { return }
        } else if let pinnedEnd, !seeded(.pinNotChecked) {
          lose(summary.end..<pinnedEnd, at: at, "the segment ends before the offset that its successor names")
        } else {
          isClean = isClosed && findings.allSatisfy { $0.kind == .gap }
          return
        }
      }
    }
  }

  /// Takes a valid frame in, or says why it does not fit.
  private mutating func accept(_ frame: FrameHeader, at: UInt64, _ reader: inout FrameReader) -> String? {
    if frame.canBeSkipped {
      keep(at, frame)
      return nil
    }
    guard frame.base == summary.end else {
      precondition(!planted(.recovery))
      return "a frame for offset \(frame.base) stands where \(summary.end) should follow"
    }
    if let pinnedEnd, frame.end > pinnedEnd { return "a frame reaches beyond the end that the successor names" }
    switch FrameHeader.Kind(rawValue: frame.kind) {
    case .events:
      guard frame.count > 0, reader.decode() else { return "a frame can't be decompressed" }
      var trial = summary
      if let why = trial.add(reader.payload, count: frame.count) { return why }
      summary = trial
    case .gap:
      guard frame.count > 0 else { return "a gap of no offsets" }
      let why = reader.payload.text()
      findings.append(Finding(.gap, file: name, position: at, offsets: frame.base..<frame.end, why))
      summary.addGap(count: frame.count)
    case .mark, .close:
      guard frame.count == 0 else { return "a mark with events" }
    case .index, nil: return "a frame of type \(frame.kind) does not belong into an open segment"
    }
    checkpoints.add(base: frame.base, position: at)
    recordedDurable = max(recordedDurable, frame.durable)
    frameCount += 1
    keep(at, frame)
    return nil
  }

  private mutating func keep(_ at: UInt64, _ frame: FrameHeader) {
    let end = at + UInt64(frame.frameLength)
    if case .frames(let from, let to)? = pieces.last, to == at {
      pieces[pieces.count - 1] = .frames(from: from, to: end)
    } else {
      pieces.append(.frames(from: at, to: end))
    }
    endPosition = end
  }

  /// Decides what a bad frame means. True if scanning goes on behind it.
  private mutating func passOver(
    _ at: UInt64, _ why: String, from start: UInt64? = nil, nonZero: UInt64? = nil, _ reader: inout FrameReader
  ) throws(LogError) -> Bool {
    let lost = summary.end
    // Valid frames behind the bad one count for what is recorded as durable.
    var next: (header: FrameHeader, at: UInt64)?
    var furthest = lost
    var durable = max(recordedDurable, knownDurable)
    var from = start ?? at + 8
    while let found = try reader.search(from: from) {
      from = found.at + UInt64(found.header.frameLength)
      if found.header.canBeSkipped { continue }
      if next == nil, found.header.base >= lost, found.header.kind != FrameHeader.Kind.index.rawValue { next = found }
      if found.header.base >= lost { furthest = max(furthest, found.header.end) }
      durable = max(durable, found.header.durable)
    }
    guard let pinnedEnd else {
      recordedDurable = durable
      if durable <= lost || seeded(.damageTakenForTail) {
        reader.seek(to: at)
        var end = nonZero
        if end == nil { end = try reader.endOfNonZero() }
        tail = at..<max(at, end ?? at)
        findings.append(
          Finding(
            .tornTail, file: name, position: at, offsets: lost..<furthest,
            "\(why); nothing from here on is recorded as durable, it may have been acknowledged"))
        return false
      }
      return passDamage(at, why, next, otherwise: durable, &reader)
    }
    return passDamage(at, why, next, otherwise: pinnedEnd, &reader)
  }

  private mutating func passDamage(
    _ at: UInt64, _ why: String, _ next: (header: FrameHeader, at: UInt64)?, otherwise end: Offset, _ reader: inout FrameReader
  ) -> Bool {
    var bound = end
    if let next, pinnedEnd == nil || next.header.base <= end { bound = next.header.base }
    lose(summary.end..<max(summary.end, bound), at: at, why)
    guard let next, next.header.base == summary.end else { return false }
    reader.seek(to: next.at)
    return true
  }

  private mutating func lose(_ offsets: Range<Offset>, at: UInt64, _ why: String) {
    findings.append(Finding(.damagedFrame, file: name, position: at, offsets: offsets, why))
    if pinnedEnd == nil && seeded(.offsetsReusedAfterDamage) { return }
    var first = offsets.lowerBound
    while first < offsets.upperBound {
      let count = UInt32(min(UInt64(UInt32.max), offsets.upperBound - first))
      pieces.append(.gap(offsets: first..<(first + UInt64(count)), why: why))
      summary.addGap(count: count)
      first += UInt64(count)
    }
  }
}

/// Where to start reading in an open segment: one place for every 64 KiB.
struct Checkpoints {
  private(set) var places: [SegmentScan.Checkpoint] = []

  mutating func add(base: Offset, position: UInt64) {
    if let last = places.last, position < last.position + 65536 { return }
    places.append(SegmentScan.Checkpoint(base: base, position: position))
  }

  /// The last place at or before an offset.
  func position(for offset: Offset) -> UInt64 {
    var low = 0
    var high = places.count
    while low < high {
      let middle = (low + high) / 2
      if places[middle].base <= offset { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? UInt64(SegmentHeader.byteCount) : places[low - 1].position
  }
}
