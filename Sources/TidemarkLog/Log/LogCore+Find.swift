extension LogCore {
  /// The event that has an id, if the log has it.
  func event(id: EventID) throws(LogError) -> Event? {
    if isWriter { try flushForReading() } else { try refresh() }
    var attempt = 0
    while true {
      attempt += 1
      do throws(LogError) { return try lock.withLock { () throws(LogError) in try find(id) } } catch {
        // A file was sealed or trimmed in this moment: look again.
        guard error.errno == Self.noSuchFile, attempt < 5 else { throw error }
        if !isWriter { try look(isFirst: false) }
      }
    }
  }

  /// The event that has an id, if the log has it. With the lock held.
  func find(_ id: EventID) throws(LogError) -> Event? {
    for offset in try candidates(id) where offset < published {
      let event = try event(offset, at: try open(listing(of: offset), offset))
      if event.id == id { return event }
    }
    return nil
  }

  /// Offsets of events that may have an id: all that have it, and rarely another one. With the lock held.
  private func candidates(_ id: EventID) throws(LogError) -> [Offset] {
    var found = try mergedCandidates(id)
    if let newest {
      found += try openTable(newest.name, end: published, isNewest: true).candidates(id).map { newest.name.base + UInt64($0) }
    }
    for segment in closed.reversed() {
      if segment.footer != nil && segment.end <= idIndex.end { break }
      found += try candidates(id, in: segment)
    }
    if idIndex.hasHoles {
      for segment in closed where segment.end <= idIndex.end && !idIndex.covers(segment.name.base) {
        found += try candidates(id, in: segment)
      }
    }
    return found
  }

  /// From the merged runs. One that turns out to be damaged is forgotten: its segments are asked one by one, until it is made again.
  private func mergedCandidates(_ id: EventID) throws(LogError) -> [Offset] {
    var found: [Offset] = []
    for run in idIndex.runs where run.low <= id && id <= run.high {
      do throws(LogError) { found += try run.pages.candidates(id).map { run.first + UInt64($0) } } catch {
        guard error.code == .damagedIndex else { throw error }
        idIndex.remove(run)
        noteHoles()
      }
    }
    return found
  }

  private func candidates(_ id: EventID, in segment: ClosedSegment) throws(LogError) -> [Offset] {
    if segment.footer != nil && seeded(.duplicatesMissedInSealed) { return [] }
    if let footer = segment.footer { return try sealedCandidates(id, footer, segment) }
    return try openTable(segment.name, end: segment.end, isNewest: false).candidates(id).map { segment.name.base + UInt64($0) }
  }

  private func sealedCandidates(_ id: EventID, _ footer: Footer, _ segment: ClosedSegment) throws(LogError) -> [Offset] {
    guard footer.ids.low <= id && id <= footer.ids.high else { return [] }
    do throws(LogError) {
      return try readers.idPages(segment.name, footer, directory, files).candidates(id).map { segment.name.base + UInt64($0) }
    } catch {
      // The index is only a short cut: the events themselves tell.
      guard error.code == .damagedIndex else { throw error }
      didFindDamagedIndex(segment.name)
      let access = try readers.access(segment.name, footer: footer, directory, files)
      return try scanTable(segment.name, access, end: segment.end).candidates(id).map { segment.name.base + UInt64($0) }
    }
  }

  private func openTable(_ name: SegmentName, end: Offset, isNewest: Bool) throws(LogError) -> IDTable {
    if isWriter, let table = openIDs.table(name) { return table }
    let access = try readers.access(name, footer: nil, directory, files)
    let table = try scanTable(name, access, end: end)
    openIDs.keep(table, for: name, isNewest: isNewest)
    return table
  }

  private func scanTable(_ name: SegmentName, _ access: SegmentAccess, end: Offset) throws(LogError) -> IDTable {
    let first = try scanOnce(name, access, end: end)
    // The table is kept for long: what may have been one bad read is looked at again.
    return first.isWhole ? first.table : try scanOnce(name, access, end: end).table
  }

  private func scanOnce(_ name: SegmentName, _ access: SegmentAccess, end: Offset) throws(LogError) -> (table: IDTable, isWhole: Bool) {
    var limit = access.map.limit
    if limit == nil { limit = try access.file.byteCount() }
    var table = IDTable()
    var isWhole = true
    var next = name.base
    var reader = FrameReader(access.file, seed: access.map.seed, limit: limit ?? 0)
    while next < end {
      guard case .frame(let frame, let at) = try reader.next(), reader.decode() else {
        // Damage hides ids as it hides events; both are reported by reading.
        isWhole = false
        guard let behind = try reader.search(from: reader.position + 8), behind.header.base >= next else { break }
        reader.seek(to: behind.at)
        next = behind.header.base
        continue
      }
      _ = at
      guard frame.base == next else { break }
      if frame.kind == FrameHeader.Kind.events.rawValue {
        table.add(reader.payload, first: UInt32(truncatingIfNeeded: frame.base - name.base))
      }
      next = max(next, frame.end)
    }
    return (table, isWhole && next >= end)
  }
}
