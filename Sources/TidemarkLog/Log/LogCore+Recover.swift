extension LogCore {
  /// Carries out what the analysis says. On an error nothing is lost, and doing it again gives the same result.
  func recover(_ analysis: Analysis) throws(LogError) {
    lock.lock()
    identity = analysis.identity
    // What the segments do not tell, a writer with a digest of its own does.
    if identity.contentDigestKind == 0, options.contentDigest.kind != ContentDigest.xxh3.kind {
      identity.contentDigestKind = options.contentDigest.kind
    }
    trimFloor = analysis.trimFloor
    gaps = analysis.gaps
    findings = analysis.findings
    report = RecoveryReport()
    report.findings = analysis.findings
    report.gaps = analysis.gaps
    closed = analysis.segments.map { Self.closedSegment($0) }
    damagedIndexes = []
    soundIndexes = []
    newest = nil
    openIDs = OpenIDs()
    lock.unlock()
    for part in [directory.index, directory.torn] where try files.status(part) == nil { try files.makeDirectory(part) }
    if !seeded(.doublesRemovedLast) { try removeLeftovers(analysis, trimmed: false) }
    try rebuildFooters(analysis)
    try openNewest(analysis)
    if seeded(.doublesRemovedLast) { try removeLeftovers(analysis, trimmed: false) }
    try removeLeftovers(analysis, trimmed: true)
    // Last, because a log with an identity is whole.
    if !analysis.damagedSlots.isEmpty || identity != analysis.identity {
      do throws(LogError) {
        try Self.writeIdentity(identity, generation: analysis.identityGeneration + 1, directory, files)
      } catch {
        // One slot, or the segments, serve until there is space.
        guard error.code == .diskFull else { throw error }
      }
    }
    loadIDIndex()
  }

  private static func closedSegment(_ segment: Analysis.Segment) -> ClosedSegment {
    ClosedSegment(
      name: segment.name, end: segment.end, footer: segment.footer, digest: segment.digest ?? segment.footer?.digest,
      counts: segment.footer.map { .init(user: $0.userCount, rawBytes: $0.rawByteCount, gaps: $0.gapCount) }, byteCount: segment.byteCount)
  }

  /// A sealed segment with a damaged footer is packed again from its frames.
  private func rebuildFooters(_ analysis: Analysis) throws(LogError) {
    for (index, segment) in analysis.segments.enumerated() where segment.lacksFooter {
      do throws(LogError) {
        try repack(closed[index], at: index)
      } catch {
        guard error.code == .diskFull else { throw error }
        // It can be read without; sealing does it when there is space.
        noteDamagedIndex(segment.name)
        continue
      }
      guard let damage = closed[index].damage else { continue }
      if options.onCorruption == .refuse { throw damage.error(in: directory.path) }
      lock.withLock {
        report.findings.append(damage)
        report.gaps = gaps
      }
    }
  }

  /// Packs a closed segment, open or sealed, into a new sealed file. A damaged one stays as it is and is listed as a gap.
  func repack(_ segment: ClosedSegment, at index: Int? = nil, pace: @escaping () throws(LogError) -> Void = {}) throws(LogError) {
    let sealer = Sealer(environment: environment, directory: directory, logID: identity.logID, compression: options.compression, pace: pace)
    let result = try sealer.seal(segment.name, end: segment.end, digest: segment.digest, standIn: try standIn(for: segment))
    lock.lock()
    defer { lock.unlock() }
    guard let index = closed.firstIndex(where: { $0.name == segment.name }) else { return }
    switch result {
    case .damaged(let finding):
      closed[index] = segment.damaged(finding)
      findings.append(finding)
      if let range = finding.offsets, !range.isEmpty { gaps.append(range) }
    case .sealed(let footer):
      var name = segment.name
      name.form = .sealed
      closed[index] = ClosedSegment(
        name: name, end: footer.end, footer: footer, digest: footer.digest,
        counts: .init(user: footer.userCount, rawBytes: footer.rawByteCount, gaps: footer.gapCount), byteCount: footer.fileLength)
      readers.forget(segment.name)
      openIDs.forget(segment.name)
      soundIndexes.insert(name)
    }
  }

  /// A header for a sealed segment whose own is damaged: from its footer, its first frame, and the segment before. Nil if it has its own.
  private func standIn(for segment: ClosedSegment) throws(LogError) -> SegmentHeader? {
    guard let footer = segment.footer else { return nil }
    let file = try files.open(directory.segment(segment.name.text), .read)
    defer { file.close() }
    let own = try Sealer.header(file, footer)
    if own.header != nil || own.isNewer { return nil }
    var header = footer.standIn
    header.userEnd = min(footer.userEnd, footer.base)
    header.sessionOffset = SegmentHeader.noSession
    var reader = FrameReader(file, seed: footer.seed, limit: footer.idPagesPosition)
    if case .frame(let frame, _) = try reader.next() { header.incarnation = frame.incarnation }
    let before = lock.withLock { closed.first { $0.end == footer.base } }
    if let before, let known = before.footer, let place = try? place(for: footer.base - 1) {
      header.sessionOffset = known.sessionOffset
      header.session = place.sessions.last?.data ?? place.access.map.headerSession
    } else if footer.sessionOffset < footer.base {
      header.sessionOffset = footer.sessionOffset
    }
    return header
  }

  private func openNewest(_ analysis: Analysis) throws(LogError) {
    guard let newest = analysis.newest else {
      // Nothing to go on in: start a segment where the known history ends.
      lock.withLock { report.wasClean = analysis.findings.isEmpty }
      let header = header(base: analysis.end, after: analysis.segments.last)
      do throws(LogError) { use(try fresh().make(header), durableEnd: analysis.end) } catch {
        guard error.code == .diskFull else { throw error }
        missingNewest = header
        lock.withLock {
          report.isDegraded = true
          published = analysis.end
          durable = analysis.end
          userEnd = header.userEnd
        }
      }
      return
    }
    let scan = newest.scan
    let isFresh = scan.frameCount == 0 && scan.tail == nil && scan.findings.isEmpty
    let isTrusted = scan.tail == nil ? seeded(.foundFramesTrusted) && scan.findings.isEmpty : seeded(.tornTailNotCut)
    if (scan.isClean || isFresh || isTrusted) && !newest.lacksHeader && analysis.end == scan.summary.end {
      if seeded(.tornTailNotCut) { try preserve(Remains(name: newest.name, header: newest.header, scan: scan, end: analysis.end)) }
      // One who rolled and died at once may have left a name that is not durable yet; one whose roll failed has taken a name back that
      // the disk may still have, and that would end this segment here.
      if !seeded(.foundNameTrusted) { try files.syncDirectory(directory.segments) }
      let file = try files.open(directory.segment(newest.name.text), .write)
      var close: [UInt8]?
      if scan.isClean {
        var frame = [UInt8](repeating: 0, count: FrameHeader.byteCount)
        _ = try file.read(frame.count, at: scan.endPosition - UInt64(frame.count), into: &frame, at: 0)
        close = frame
      }
      // That a frame names the durable offset is known only of frames that this process has synced.
      let segment = ActiveSegment(
        header: newest.header, file: file, summary: scan.summary, checkpoints: scan.checkpoints, position: scan.endPosition,
        fileLength: scan.fileLength, recordedDurable: isFresh ? scan.recordedDurable : 0, foundClose: close, options: options)
      use(segment, durableEnd: scan.summary.end)
      return
    }
    lock.withLock { report.wasClean = false }
    let remains = Remains(name: newest.name, header: newest.header, scan: scan, end: analysis.end)
    do throws(LogError) { try writeOutAgain(remains) } catch {
      guard error.code == .diskFull else { throw error }
      // Reads work; what is not known to be durable waits until it can be written out. What a writer of this boot has shown is known.
      self.remains = remains
      let page = openLivePage()
      lock.withLock {
        report.isDegraded = true
        published =
          options.durability == .synced ? min(max(analysis.recordedDurable, page?.published ?? 0), scan.summary.end) : scan.summary.end
        durable = min(max(analysis.recordedDurable, page?.durable ?? 0), scan.summary.end)
        userEnd = scan.summary.userEnd
        self.newest = NewestSegment(
          name: newest.name, seed: newest.header.seed, checkpoints: scan.checkpoints, headerSession: newest.header.session,
          sessions: scan.summary.sessions,
          counts: .init(user: scan.summary.userCount, rawBytes: scan.summary.rawByteCount, gaps: scan.summary.gapCount))
      }
    }
  }

  /// Writes what recovery keeps into a fresh segment, once what it rejects is preserved.
  func writeOutAgain(_ remains: Remains) throws(LogError) {
    let scan = remains.scan
    // A roll that failed may have taken a name back that the disk still has. It pins the id that is about to change, and would follow
    // nothing after a power cut.
    try files.syncDirectory(directory.segments)
    try preserve(remains)
    if remains.isDamaged { try preserveWhole(remains) }
    var header = remains.header
    header.segmentID = environment.randomID()
    header.replaces = remains.header.segmentID
    header.incarnation = incarnation
    header.created = environment.clock.now().time
    header.epochID = identity.epochID
    header.durability = options.durability
    var pieces = scan.pieces
    var end = scan.summary.end
    if remains.end > end {
      pieces.append(.gap(offsets: end..<remains.end, why: "known to have been durable, but gone"))
      end = remains.end
    }
    let old = try files.open(directory.segment(remains.name.text), .write)
    defer { old.close() }
    let source = FreshSegment.Source(file: old, seed: remains.header.seed, pieces: pieces, end: end)
    var lost: [Finding] = []
    let segment = try fresh().make(header, from: source, lost: { lost.append($0) })
    // What could be read a moment ago, and not any more, is kept for another try.
    if !lost.isEmpty && !remains.isDamaged { try preserveWhole(remains) }
    removeReplaced(remains.name, remains.header)
    try files.syncDirectory(directory.segments)
    self.remains = nil
    lock.withLock {
      report.rewrittenEvents = scan.summary.end - scan.summary.base
      report.isDegraded = false
      report.findings += lost
      findings += lost
      gaps += lost.compactMap(\.offsets)
      readers.forget(remains.name)
      openIDs = OpenIDs()
    }
    use(segment, durableEnd: segment.end)
  }

  /// Removes a segment that another has replaced, once the one that it has replaced itself is gone for good: while that is there, only this
  /// one says that it does not count. If it fails, the next recovery finds them all named as replaced.
  func removeReplaced(_ name: SegmentName, _ header: SegmentHeader) {
    do throws(LogError) {
      let older = directory.segment(SegmentName(base: name.base, segmentID: header.replaces, form: .open).text)
      if header.replaces != .zero, !seeded(.doublesRemovedLast), try files.status(older) != nil {
        try files.remove(older)
        try files.syncDirectory(directory.segments)
      }
      try files.remove(directory.segment(name.text))
    } catch { return }
  }

  /// Keeps what is cut away: the bytes, and why.
  private func preserve(_ remains: Remains) throws(LogError) {
    guard let tail = remains.scan.tail, !tail.isEmpty, !seeded(.tornTailNotPreserved) else { return }
    let source = try files.open(directory.segment(remains.name.text), .read)
    defer { source.close() }
    let finding = remains.scan.findings.last { $0.kind == .tornTail }
    try preserve(
      tail, of: source, remains.name, why: finding?.message ?? "",
      offsets: finding?.offsets ?? remains.scan.summary.end..<remains.scan.summary.end)
  }

  /// Keeps the header of a segment that is discarded because it is torn and nothing stands behind it.
  private func preserveHeader(_ text: String) throws(LogError) {
    guard let name = SegmentName(text), name.form == .open else { return }
    let file = try files.open(directory.segment(text), .read)
    defer { file.close() }
    let why: String
    do throws(LogError) {
      _ = try Sealer.header(file)
      return
    } catch {
      guard error.code == .corrupt else { throw error }
      why = error.why
    }
    let byteCount = try file.byteCount()
    guard try Analysis.Candidate(name: name, byteCount: byteCount).holdsNothing(directory, files) else { return }
    var page = [UInt8](repeating: 0, count: SegmentHeader.byteCount)
    page.removeLast(page.count - (try file.read(page.count, at: 0, into: &page, at: 0)))
    guard let last = page.lastIndex(where: { $0 != 0 }) else { return }
    try preserve(0..<UInt64(last + 1), of: file, name, why: "its header is torn: \(why)", offsets: name.base..<name.base)
  }

  private func preserve(
    _ range: Range<UInt64>, of source: any File, _ segment: SegmentName, why: String, offsets: Range<Offset>
  ) throws(LogError) {
    var bytes = [UInt8](repeating: 0, count: Int(clamping: range.upperBound - range.lowerBound))
    let got = try source.read(bytes.count, at: range.lowerBound, into: &bytes, at: 0)
    let name = "torn/\(segment.text)-\(range.lowerBound)"
    let reason =
      "Cut from segments/\(segment.text) at byte \(range.lowerBound) when the log was opened: \(why)\n"
      + "Offsets \(offsets.lowerBound)..<\(offsets.upperBound).\n"
    try writeWhole(bytes.rawSpan.slice(0, got), to: "\(directory.path)/\(name).bin")
    try writeWhole(Array(reason.utf8).rawSpan, to: "\(directory.path)/\(name).txt")
    try files.syncDirectory(directory.torn)
    lock.withLock {
      if report.preservedFiles.contains(name + ".bin") { return }
      report.preservedBytes += UInt64(got)
      report.preservedFiles.append(name + ".bin")
    }
  }

  /// Keeps a copy of a damaged segment.
  private func preserveWhole(_ remains: Remains) throws(LogError) {
    let kept = "torn/\(remains.name.text)"
    let path = "\(directory.path)/\(kept)"
    if try files.status(path) != nil { try files.remove(path) }
    let source = try files.open(directory.segment(remains.name.text), .read)
    defer { source.close() }
    let target = try files.open(path, .create)
    defer { target.close() }
    var buffer = [UInt8](repeating: 0, count: Int(min(remains.scan.fileLength, 256 << 10)))
    var position: UInt64 = 0
    while position < remains.scan.fileLength {
      let got = try source.read(buffer.count, at: position, into: &buffer, at: 0)
      guard got > 0 else { break }
      try target.write(buffer.rawSpan.slice(0, got), at: position)
      position += UInt64(got)
    }
    try target.sync()
    try files.syncDirectory(directory.torn)
    lock.withLock { report.preservedFiles.append(kept) }
  }

  private func writeWhole(_ bytes: RawSpan, to path: String) throws(LogError) {
    if try files.status(path) != nil { try files.remove(path) }
    let file = try files.open(path, .create)
    defer { file.close() }
    try file.write(bytes, at: 0)
    try file.sync()
  }

  /// Removes what serves nothing any more.
  ///
  /// Doubles go before the newest segment is written out again: once the one that replaced them is gone too, nothing tells which of the
  /// others counts.
  /// Trimmed segments go after it, when the record that lets them go is durable. So do open ones if there is no newest segment, once there
  /// is one again: they alone say that none is missing.
  private func removeLeftovers(_ analysis: Analysis, trimmed: Bool) throws(LogError) {
    let names = analysis.leftovers.filter { name in
      guard let segment = SegmentName(name) else { return !trimmed && name.hasSuffix(LogDirectory.unfinished) }
      let isLast = segment.form == .open && analysis.newest == nil
      return (isLast ? trimmed && missingNewest == nil : (segment.base < analysis.trimFloor) == trimmed)
    }
    guard !names.isEmpty else { return }
    // What counts instead may have got its name a moment before the crash.
    try files.syncDirectory(directory.segments)
    for name in names where try files.status(directory.segment(name)) != nil {
      do throws(LogError) { try preserveHeader(name) } catch {
        // It stays until there is space.
        guard error.code == .diskFull else { throw error }
        continue
      }
      try files.remove(directory.segment(name))
    }
    try files.syncDirectory(directory.segments)
    guard !trimmed else { return }
    for unfinished in [directory.identity + LogDirectory.unfinished] where try files.status(unfinished) != nil {
      try files.remove(unfinished)
    }
  }

  /// The header of a new segment behind a segment of the analysis.
  private func header(base: Offset, after last: Analysis.Segment?) -> SegmentHeader {
    let pin =
      last.map { Pin(segmentID: $0.name.segmentID, end: base, count: base - $0.name.base, digest: $0.footer?.digest ?? $0.digest ?? .zero) }
      ?? .none
    return SegmentHeader(
      logID: identity.logID, epochID: identity.epochID, segmentID: environment.randomID(), base: base,
      created: environment.clock.now().time,
      incarnation: incarnation, trimFloor: trimFloor, replaces: .zero, predecessor: pin,
      userEnd: last?.footer?.userEnd ?? last?.header?.userEnd ?? 0,
      sessionOffset: SegmentHeader.noSession, session: [], durability: options.durability)
  }

  /// Goes on in a segment that is whole and durable.
  func use(_ segment: ActiveSegment, durableEnd: Offset) {
    active = segment
    lock.withLock {
      published = segment.end
      durable = durableEnd
      userEnd = segment.summary.userEnd
      showNewest(segment)
    }
  }

  /// Tells readers of the newest segment. With the lock held.
  func showNewest(_ segment: ActiveSegment) {
    newest = NewestSegment(
      name: segment.name, seed: segment.seed, checkpoints: segment.checkpoints, headerSession: segment.header.session,
      sessions: segment.summary.sessions,
      counts: .init(user: segment.summary.userCount, rawBytes: segment.summary.rawByteCount, gaps: segment.summary.gapCount))
  }
}
