/// Of several files that begin at one offset, which one counts: the verdict on interrupted seals, recoveries, rolls and first commits.
struct Doubles {
  /// Those that count.
  private(set) var candidates: [Analysis.Candidate]
  /// Those that serve nothing any more, and why.
  private(set) var leftovers: [(candidate: Analysis.Candidate, why: String)] = []
  private(set) var findings: [Finding] = []
  private let directory: LogDirectory
  private let files: any FileSystem

  /// `candidates` are in the order of their names.
  init(_ candidates: [Analysis.Candidate], _ directory: LogDirectory, _ files: any FileSystem) throws(LogError) {
    self.candidates = candidates
    self.directory = directory
    self.files = files
    for group in Dictionary(grouping: candidates, by: \.name.base).values.sorted(by: { $0[0].name.base < $1[0].name.base })
    where group.count > 1 {
      var group = group
      dropTwins(&group)
      try dropReplaced(&group)
      try dropAttempts(&group)
      try dropEmpty(&group)
      try report(group)
    }
  }

  private mutating func leave(_ candidate: Analysis.Candidate, _ why: String, _ group: inout [Analysis.Candidate]) {
    guard contains(group, candidate) else { return }
    leftovers.append((candidate, why))
    group.removeAll { $0.name == candidate.name }
    candidates.removeAll { $0.name == candidate.name }
  }

  private func contains(_ group: [Analysis.Candidate], _ candidate: Analysis.Candidate) -> Bool {
    group.contains { $0.name == candidate.name }
  }

  /// An interrupted seal: the sealed form counts if its footer verifies.
  private mutating func dropTwins(_ group: inout [Analysis.Candidate]) {
    for sealed in group where sealed.name.form == .sealed {
      guard let open = group.first(where: { $0.name.form == .open && $0.name.segmentID == sealed.name.segmentID }) else { continue }
      if sealed.footer != nil {
        leave(open, "an interrupted seal", &group)
      } else if open.header != nil {
        leave(sealed, "an interrupted seal", &group)
      }
    }
  }

  /// An interrupted recovery, or a failed first commit: one names another as replaced.
  private mutating func dropReplaced(_ group: inout [Analysis.Candidate]) throws(LogError) {
    var replaced: Set<EventID> = []
    for candidate in group { if let id = try header(candidate)?.replaces, id != .zero { replaced.insert(id) } }
    // Those first that no other replaces: they tell of all the others in their line.
    let isReplaced = { (candidate: Analysis.Candidate) in replaced.contains(candidate.name.segmentID) }
    for candidate in group.filter({ !isReplaced($0) }) + group.filter(isReplaced) {
      guard contains(group, candidate), let id = try header(candidate)?.replaces, id != .zero,
        let old = group.first(where: { $0.name.segmentID == id })
      else { continue }
      guard try counts(candidate, insteadOf: old) else {
        leave(candidate, "an interrupted recovery", &group)
        continue
      }
      // What the replaced one has replaced itself goes with it, whatever it holds.
      var next: Analysis.Candidate? = old
      while let gone = next {
        let id = try header(gone)?.replaces ?? .zero
        leave(gone, "an interrupted recovery", &group)
        next = group.first { $0.name.segmentID == id && $0.name != candidate.name }
      }
    }
  }

  /// A segment gets its name when it is whole, so one that replaces another counts. Only where the disk has lost part of it, and the other
  /// one still reaches further, does the other count.
  ///
  /// How far they reach says nothing where both are whole: a commit that failed may lie whole in the old one, and must not come back.
  private func counts(_ new: Analysis.Candidate, insteadOf old: Analysis.Candidate) throws(LogError) -> Bool {
    guard let newScan = try scan(new), let oldScan = try scan(old) else { return true }
    let isDamaged = newScan.findings.contains { !$0.isHarmless && $0.kind != .gap }
    let isEmptied = newScan.frameCount == 0 && oldScan.recordedDurable > old.name.base
    return !(isDamaged || isEmptied || seeded(.replacedByReach)) || newScan.summary.end >= oldScan.summary.end
  }

  /// Several attempts to replace one segment, of which some failed and could not be removed: the one that goes furthest counts.
  private mutating func dropAttempts(_ group: inout [Analysis.Candidate]) throws(LogError) {
    for candidate in group {
      guard let id = try header(candidate)?.replaces, id != .zero, contains(group, candidate) else { continue }
      for other in group where other.name != candidate.name {
        guard try header(other)?.replaces == id else { continue }
        let isShorter = try reach(candidate) < reach(other)
        leave(isShorter ? candidate : other, "an attempt to replace a segment, made again later", &group)
        if isShorter { break }
      }
    }
  }

  /// One that holds nothing is what a roll leaves that failed or was cut, and was done again.
  private mutating func dropEmpty(_ group: inout [Analysis.Candidate]) throws(LogError) {
    for candidate in group where group.count > 1 && candidate.name.form == .open {
      if try candidate.holdsNothing(directory, files) {
        leave(candidate, candidate.trouble ?? "it holds nothing, and another segment begins at its offset", &group)
      }
    }
  }

  /// Of several that hold something, the one that can be read and goes furthest counts, of equals the first: the others may be the damaged
  /// rest that a writer had to go on behind.
  private mutating func report(_ group: [Analysis.Candidate]) throws(LogError) {
    guard group.count > 1 else { return }
    precondition(!planted(.edits))
    var best: (name: SegmentName, reach: Offset)?
    for candidate in group where candidate.logID != nil {
      let reach = try reach(candidate)
      if best.map({ reach > $0.reach }) ?? true { best = (candidate.name, reach) }
    }
    guard let counting = best?.name ?? group.first?.name else { return }
    for candidate in group where candidate.name != counting {
      findings.append(Finding(.doubledSegment, file: candidate.path, "another segment begins at offset \(candidate.name.base) too"))
      candidates.removeAll { $0.name == candidate.name }
    }
  }

  /// A sealed segment with a sound footer has it too, but it was not read yet.
  private func header(_ candidate: Analysis.Candidate) throws(LogError) -> SegmentHeader? {
    guard candidate.header == nil, let footer = candidate.footer else { return candidate.header }
    let file = try files.open(directory.segment(candidate.name.text), .read)
    defer { file.close() }
    return try Sealer.header(file, footer).header
  }

  /// The offset after its last event.
  private func reach(_ candidate: Analysis.Candidate) throws(LogError) -> Offset {
    if let footer = candidate.footer { return footer.end }
    return try scan(candidate)?.summary.end ?? candidate.name.base
  }

  /// What an open segment holds; nil without a sound header.
  private func scan(_ candidate: Analysis.Candidate) throws(LogError) -> SegmentScan? {
    guard let header = candidate.header else { return nil }
    let file = try files.open(directory.segment(candidate.name.text), .read)
    defer { file.close() }
    return try SegmentScan(file, header, name: candidate.path)
  }
}

extension Analysis.Candidate {
  /// Whether an open segment has nothing but zeros behind its header: one that was cut in rolling, or not used yet.
  func holdsNothing(_ directory: LogDirectory, _ files: any FileSystem) throws(LogError) -> Bool {
    guard byteCount > UInt64(SegmentHeader.byteCount) else { return true }
    let file = try files.open(directory.segment(name.text), .read)
    defer { file.close() }
    var reader = FrameReader(file, seed: 0, limit: byteCount)
    return try reader.endOfNonZero() == nil
  }
}
