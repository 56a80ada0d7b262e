/// What a log's directory holds, judged by the rules of `Specs/recovery.md`. Reads only; opening, reading, verifying and trimming share it.
struct Analysis {
  /// One segment that counts.
  struct Segment {
    var name: SegmentName
    /// Known for sealed segments.
    var footer: Footer?
    /// Known for open ones.
    var header: SegmentHeader?
    /// For all but the newest: where it ends.
    var end: Offset
    var predecessor: Pin
    /// The digest that its successor names.
    var digest: Digest128?
    var byteCount: UInt64

    /// Whether it is a sealed one without a sound footer: to be packed again.
    var lacksFooter: Bool { name.form == .sealed && footer == nil && end > name.base }
  }

  /// The newest segment, which was being written.
  struct Newest {
    var name: SegmentName
    var header: SegmentHeader
    var scan: SegmentScan
    /// Whether the file's own header is damaged, and this one stands in for it.
    var lacksHeader: Bool
  }

  private(set) var identity: LogIdentity
  private(set) var identityGeneration: UInt64 = 1
  /// Slots of the identity that must be written again.
  private(set) var damagedSlots: [Int] = []
  /// In order, without the newest.
  private(set) var segments: [Segment] = []
  private(set) var newest: Newest?
  /// Where new events go: the end of what is known, gaps included.
  private(set) var end: Offset = 0
  private(set) var findings: [Finding] = []
  /// Files in `segments/` that serve nothing any more.
  private(set) var leftovers: [String] = []
  private(set) var trimFloor: Offset = 0
  /// Ranges that can't be served.
  private(set) var gaps: [Range<Offset>] = []
  /// The highest offset that anything records as durable.
  private(set) var recordedDurable: Offset = 0

  private let directory: LogDirectory
  private let files: any FileSystem
  private let durableFloor: Offset
  /// The base of a newest segment that was discarded: everything below it was durable when the segment got its name.
  private var discardedBase: Offset = 0

  var corruption: Finding? { findings.first { !$0.isHarmless && $0.kind != .gap } }

  /// The first damage to history. A sealed segment without a sound footer, which is packed again, is read for it.
  func damage() throws(LogError) -> Finding? {
    if let corruption { return corruption }
    for segment in segments where segment.lacksFooter {
      let file = try files.open(directory.segment(segment.name.text), .read)
      defer { file.close() }
      let path = "segments/\(segment.name.text)"
      let scan = try SegmentScan(file, try Sealer.header(file), name: path, pinnedEnd: segment.end)
      if let damage = Sealer.damage(in: scan, end: segment.end, segment.digest, file: path) { return damage }
    }
    return nil
  }

  /// Throws ``LogError/Code/notADirectory``, ``LogError/Code/notALog``, ``LogError/Code/unsupportedVersion``, and errors of reading.
  init(_ directory: LogDirectory, _ files: any FileSystem, durableFloor: Offset) throws(LogError) {
    self.directory = directory
    self.files = files
    self.durableFloor = durableFloor
    identity = LogIdentity(logID: .zero, created: Timestamp(nanoseconds: 0), contentDigestKind: 1, epochs: [])
    guard let status = try files.status(directory.path) else {
      throw LogError(
        .notALog, "there is no log", file: directory.path, why: "nothing has that name", advice: "check the path, or make a log with init")
    }
    guard status.isDirectory else {
      throw LogError(
        .notADirectory, "a log is a directory", file: directory.path, why: "this is a file", advice: "name the log's directory")
    }
    let isKnown = try readIdentity()
    var candidates = try readSegments(takeIdentityFromSegments: !isKnown)
    try resolveDoubles(&candidates)
    try chain(candidates)
  }

  private mutating func readIdentity() throws(LogError) -> Bool {
    guard try files.status(directory.identity) != nil else {
      // Unfinished work is all that a crash leaves of a log that was being made: it never had an identity.
      guard try files.status(directory.segments) != nil,
        try files.list(directory.segments).contains(where: { !$0.hasSuffix(LogDirectory.unfinished) })
      else {
        throw LogError(
          .notALog, "the directory holds no log", file: directory.path, why: "it has no identity",
          advice: "check the path, or make a log with init")
      }
      findings.append(Finding(.damagedIdentity, file: "identity", "the file is missing"))
      damagedSlots = [0, 1]
      return false
    }
    let file = try files.open(directory.identity, .read)
    defer { file.close() }
    let byteCount = Int(clamping: min(try file.byteCount(), UInt64(3 * IdentityPages.pageByteCount)))
    var bytes = [UInt8](repeating: 0, count: byteCount)
    let got = try file.read(bytes.count, at: 0, into: &bytes, at: 0)
    bytes.removeLast(bytes.count - got)
    switch IdentityPages.read(bytes) {
    case .identity(let found, let generation, let damaged):
      identity = found
      identityGeneration = generation
      for (slot, why) in damaged {
        damagedSlots.append(slot)
        findings.append(Finding(.damagedIdentity, file: "identity", position: UInt64(slot * IdentityPages.pageByteCount), why))
      }
      return true
    case .unsupported(let slot, let why):
      throw LogError(
        .unsupportedVersion, "the log is newer than this program", file: directory.identity,
        position: UInt64(slot * IdentityPages.pageByteCount), why: why,
        advice: "use the version that wrote it")
    case .damaged(let why):
      findings.append(Finding(.damagedIdentity, file: "identity", position: 0, "no slot serves: \(why)"))
      damagedSlots = [0, 1]
      return false
    }
  }

  /// A file that may be a segment, as far as footer or header tell.
  struct Candidate {
    var name: SegmentName
    var footer: Footer?
    var header: SegmentHeader?
    /// Why neither can be read.
    var trouble: String?
    /// Set if it is another segment than its name says.
    var otherName: String?
    var byteCount: UInt64

    var logID: EventID? { footer?.logID ?? header?.logID }
    var path: String { "segments/\(name.text)" }
  }

  private mutating func readSegments(takeIdentityFromSegments: Bool) throws(LogError) -> [Candidate] {
    guard try files.status(directory.segments) != nil else { return [] }
    var candidates: [Candidate] = []
    for text in try files.list(directory.segments).sorted() {
      if text.hasSuffix(LogDirectory.unfinished) {
        leftovers.append(text)
        findings.append(Finding(.leftover, file: "segments/\(text)", "unfinished work"))
      } else if let name = SegmentName(text) {
        candidates.append(try read(name))
      }
    }
    if takeIdentityFromSegments { try adoptIdentity(candidates) }
    candidates.removeAll { candidate in
      if let logID = candidate.logID, logID != identity.logID {
        findings.append(Finding(.foreignSegment, file: candidate.path, position: 0, "it belongs to log \(logID.hexadecimal)"))
      } else if let otherName = candidate.otherName {
        findings.append(Finding(.foreignSegment, file: candidate.path, position: 0, otherName))
      } else {
        return false
      }
      return true
    }
    return candidates
  }

  private func read(_ name: SegmentName) throws(LogError) -> Candidate {
    let file = try files.open(directory.segment(name.text), .read)
    defer { file.close() }
    var candidate = Candidate(name: name, byteCount: try file.byteCount())
    if name.form == .sealed {
      let start = candidate.byteCount - min(candidate.byteCount, UInt64(Footer.byteCount))
      var page = [UInt8](repeating: 0, count: Footer.byteCount)
      let got = try file.read(page.count, at: start, into: &page, at: 0)
      switch got == page.count ? Page.check(page.rawSpan, .footer) : .damaged("the file is too short for a footer") {
      case .sound:
        candidate.footer = Footer(page.rawSpan, fileLength: candidate.byteCount)
        if candidate.footer == nil { candidate.trouble = "the footer contradicts itself, or the file's length" }
      case .damaged(let why): candidate.trouble = why
      case .unsupported(let why):
        throw LogError(
          .unsupportedVersion, "the log is newer than this program", file: file.path, position: start, why: why,
          advice: "use the version that wrote it")
      }
    }
    if candidate.footer == nil {
      do throws(LogError) {
        let header = try Sealer.header(file)
        candidate.header = header
      } catch {
        guard error.code == .corrupt else { throw error }
        candidate.trouble = error.why
      }
    }
    let ids = (candidate.footer?.segmentID ?? candidate.header?.segmentID, candidate.footer?.base ?? candidate.header?.base)
    if let id = ids.0, let base = ids.1, id != name.segmentID || base != name.base {
      candidate.otherName = "it is segment \(id.hexadecimal) with base \(base), not what its name says"
    }
    return candidate
  }

  private mutating func adoptIdentity(_ candidates: [Candidate]) throws(LogError) {
    let named = candidates.compactMap { $0.logID }
    guard let logID = named.first, named.allSatisfy({ $0 == logID }) else {
      throw LogError(
        .corrupt, "the log has lost its identity", file: directory.identity,
        why: named.isEmpty ? "no segment tells it" : "the segments belong to several logs",
        advice: "salvage what can be read into a new log")
    }
    var epochs: [LogIdentity.Epoch] = []
    for candidate in candidates {
      guard let id = candidate.footer?.epochID ?? candidate.header?.epochID, id != epochs.last?.id else { continue }
      let created = try created(candidate)
      epochs.append(
        .init(id: id, parent: epochs.last?.id, forkSize: epochs.isEmpty ? 0 : candidate.name.base, created: created, rootHash: nil))
    }
    identity = LogIdentity(
      logID: logID, created: epochs.first?.created ?? Timestamp(nanoseconds: 0), contentDigestKind: 0,
      epochs: epochs.suffix(IdentityPages.epochLimit))
  }

  /// When a segment was made. Only the header tells, which is not read where the footer is sound.
  private func created(_ candidate: Candidate) throws(LogError) -> Timestamp {
    guard candidate.header == nil, let footer = candidate.footer else { return candidate.header?.created ?? Timestamp(nanoseconds: 0) }
    let file = try files.open(directory.segment(candidate.name.text), .read)
    defer { file.close() }
    return try Sealer.header(file, footer).header?.created ?? Timestamp(nanoseconds: 0)
  }
}

// MARK: Which files count

extension Analysis {
  private mutating func resolveDoubles(_ candidates: inout [Candidate]) throws(LogError) {
    let doubles = try Doubles(candidates, directory, files)
    candidates = doubles.candidates
    for (candidate, why) in doubles.leftovers { leave(candidate, why) }
    findings += doubles.findings
  }

  private mutating func leave(_ candidate: Candidate, _ why: String) {
    leftovers.append(candidate.name.text)
    findings.append(Finding(.leftover, file: candidate.path, why))
  }
}

// MARK: The chain

extension Analysis {
  private mutating func chain(_ all: [Candidate]) throws(LogError) {
    var candidates = all.sorted { ($0.name.base, $0.name.form == .open ? 1 : 0) < ($1.name.base, $1.name.form == .open ? 1 : 0) }
    for candidate in candidates { trimFloor = max(trimFloor, candidate.footer?.trimFloor ?? candidate.header?.trimFloor ?? 0) }
    let last = try takeNewest(&candidates)
    dropTrimmed(&candidates, end: last)
    try link(candidates)
    judgeOldest(candidates.first)
    judgeEnd()
    // Behind a damaged header of the newest segment the frames are sound.
    let served = newest.map { "segments/\($0.name.text)" }
    let lost = findings.filter { !$0.isHarmless && !($0.kind == .damagedHeader && $0.file == served) }
    gaps += lost.compactMap { $0.offsets }.filter { !$0.isEmpty }
    gaps.sort { $0.lowerBound < $1.lowerBound }
  }

  /// Scans the newest segment if it is an open one, and takes it out of the candidates. Returns its base.
  private mutating func takeNewest(_ candidates: inout [Candidate]) throws(LogError) -> Offset? {
    while let candidate = candidates.last, candidate.name.form == .open {
      candidates.removeLast()
      let file = try files.open(directory.segment(candidate.name.text), .read)
      defer { file.close() }
      let known = max(durableFloor, trimFloor, discardedBase, candidates.compactMap { $0.footer?.end }.max() ?? 0)
      // Segments get their name only when header and first frames are synced; so a file with frames behind a bad header is damaged, not
      // torn.
      if candidate.header == nil, known <= candidate.name.base, try candidate.holdsNothing(directory, files) {
        leave(candidate, "a crash while rolling: \(candidate.trouble ?? "")")
        discardedBase = max(discardedBase, candidate.name.base)
        continue
      }
      // Frames verify without the header: what they are hashed with follows from the names.
      let header: SegmentHeader
      if let own = candidate.header { header = own } else { header = try standIn(for: candidate, after: candidates.last) }
      let scan = try SegmentScan(file, header, name: candidate.path, knownDurable: known)
      if candidate.header == nil {
        let range = header.base..<scan.summary.end
        findings.append(Finding(.damagedHeader, file: candidate.path, position: 0, offsets: range, candidate.trouble ?? "it can't be read"))
      }
      findings += scan.findings
      trimFloor = max(trimFloor, scan.summary.trimFloor)
      recordedDurable = max(recordedDurable, scan.recordedDurable, known)
      end = scan.summary.end
      newest = Newest(name: candidate.name, header: header, scan: scan, lacksHeader: candidate.header == nil)
      return header.base
    }
    return nil
  }

  /// A header for a segment whose own is damaged: from the identity, the name, and the segment before.
  private func standIn(for candidate: Candidate, after last: Candidate?) throws(LogError) -> SegmentHeader {
    var header = SegmentHeader(
      logID: identity.logID, epochID: identity.epochID, segmentID: candidate.name.segmentID, base: candidate.name.base,
      created: Timestamp(nanoseconds: 0), incarnation: 1, trimFloor: trimFloor, replaces: .zero, predecessor: .none, userEnd: 0,
      sessionOffset: SegmentHeader.noSession, session: [], durability: .synced)
    guard let last else { return header }
    if let footer = last.footer {
      header.predecessor = footer.pin
      header.userEnd = footer.userEnd
    } else if let before = last.header {
      let file = try files.open(directory.segment(last.name.text), .read)
      defer { file.close() }
      let scan = try SegmentScan(file, before, name: last.path, pinnedEnd: candidate.name.base)
      header.trimFloor = max(trimFloor, scan.summary.trimFloor)
      header.predecessor = scan.summary.pin(before)
      header.userEnd = scan.summary.userEnd
      header.sessionOffset = scan.summary.sessionOffset
      header.session = scan.summary.session
    }
    return header
  }

  private mutating func dropTrimmed(_ candidates: inout [Candidate], end newestBase: Offset?) {
    var kept: [Candidate] = []
    for (index, candidate) in candidates.enumerated() {
      let end = candidate.footer?.end ?? (index + 1 < candidates.count ? candidates[index + 1].name.base : newestBase)
      if let end, end <= trimFloor {
        leave(candidate, "an interrupted trim: everything below offset \(trimFloor) may go")
      } else {
        kept.append(candidate)
      }
    }
    candidates = kept
  }

  private mutating func link(_ candidates: [Candidate]) throws(LogError) {
    var expected: Offset?
    for (index, candidate) in candidates.enumerated() {
      let following: (base: Offset, pin: Pin?)? =
        index + 1 < candidates.count
        ? (candidates[index + 1].name.base, candidates[index + 1].footer?.predecessor ?? candidates[index + 1].header?.predecessor)
        : newest.map { ($0.header.base, $0.header.predecessor) } ?? (discardedBase > candidate.name.base ? (discardedBase, nil) : nil)
      if let expected, candidate.name.base > expected { miss(expected..<candidate.name.base) }
      if let expected, candidate.name.base < expected {
        findings.append(
          Finding(
            .doubledSegment, file: candidate.path, "it begins at offset \(candidate.name.base), before its predecessor's end \(expected)"))
        continue
      }
      guard let predecessor = candidate.footer?.predecessor ?? candidate.header?.predecessor else {
        let range = candidate.name.base..<max(candidate.name.base, following?.base ?? candidate.name.base)
        findings.append(Finding(.damagedHeader, file: candidate.path, position: 0, offsets: range, candidate.trouble ?? "it can't be read"))
        expected = range.upperBound
        continue
      }
      let pin = following?.pin
      var end = candidate.footer?.end ?? following?.base ?? candidate.name.base
      if candidate.footer == nil, let trouble = candidate.trouble, candidate.name.form == .sealed {
        end = try rebuild(candidate, trouble, following?.base)
      }
      if let header = candidate.header, candidate.footer == nil, let pin, pin.segmentID != candidate.name.segmentID {
        // Nobody says where it ends but its own frames. Some may be abandoned, so they count at most up to the base of the one that is
        // missing.
        let file = try files.open(directory.segment(candidate.name.text), .read)
        defer { file.close() }
        end = try min(end, SegmentScan(file, header, name: candidate.path).summary.end)
        let missing = pin.end - min(pin.end, pin.count)
        if missing > candidate.name.base { end = min(end, missing) }
      }
      // One that claims more than its successor leaves it: the successor's events were acknowledged at these offsets.
      if let pin, pin.segmentID == candidate.name.segmentID, let base = following?.base { end = min(end, max(base, candidate.name.base)) }
      if let footer = candidate.footer, let pin, pin.segmentID == candidate.name.segmentID,
        pin.end != footer.end || pin.count != footer.end - footer.base || pin.digest != footer.digest
      {
        findings.append(
          Finding(
            .pinMismatch, file: candidate.path, offsets: candidate.name.base..<end, "it is not what the next segment says it should be"))
      } else if let pin, pin.segmentID != candidate.name.segmentID, let base = following?.base, base <= end {
        findings.append(
          Finding(
            .pinMismatch, file: candidate.path, offsets: candidate.name.base..<end,
            "the next segment follows another one (\(pin.segmentID.hexadecimal))"))
      }
      segments.append(
        Segment(
          name: candidate.name, footer: candidate.footer, header: candidate.header, end: end, predecessor: predecessor,
          digest: pin?.segmentID == candidate.name.segmentID ? pin?.digest : nil, byteCount: candidate.byteCount))
      expected = end
    }
    if let newest {
      if let expected, newest.header.base > expected { miss(expected..<newest.header.base) }
    } else {
      end = max(end, expected ?? trimFloor)
      if leftovers.allSatisfy({ SegmentName($0)?.form != .open }) {
        findings.append(
          Finding(
            .missingNewest, file: "segments", offsets: end..<max(end, durableFloor), "the newest segment is gone; what it held is unknown"))
      }
    }
    recordedDurable = max(recordedDurable, newest?.header.base ?? end)
  }

  private mutating func miss(_ range: Range<Offset>) {
    findings.append(Finding(.missingSegment, file: "segments", offsets: range, "no segment holds these offsets"))
  }

  /// A sealed segment without a sound footer: its end comes from what follows, and the footer is made again from the frames.
  private mutating func rebuild(_ candidate: Candidate, _ trouble: String, _ following: Offset?) throws(LogError) -> Offset {
    var end = following ?? candidate.name.base
    if following == nil, let header = candidate.header {
      // Nothing names its end: the frames do.
      let file = try files.open(directory.segment(candidate.name.text), .read)
      defer { file.close() }
      end = try SegmentScan(file, header, name: candidate.path).summary.end
    }
    findings.append(
      Finding(
        .damagedIndex, file: candidate.path, position: candidate.byteCount - min(candidate.byteCount, UInt64(Footer.byteCount)), trouble))
    return end
  }

  private mutating func judgeOldest(_ oldest: Candidate?) {
    if let first = oldest?.name.base ?? newest?.header.base, first > trimFloor {
      findings.append(
        Finding(
          .missingOldest, file: "segments", offsets: trimFloor..<first, "the oldest segment is gone, and no trim event says that it may be")
      )
    }
  }

  private mutating func judgeEnd() {
    let known = max(durableFloor, discardedBase, recordedDurable)
    if known > end {
      findings.append(
        Finding(
          .missingNewest, file: "segments", offsets: end..<known, "events up to offset \(known) are known to have been durable"))
      end = known
    }
    recordedDurable = max(recordedDurable, known)
  }
}
