/// Makes a new open segment: for rolling, after a failed write, and to write out again what recovery keeps.
///
/// The file gets its name only when it is whole and synced, and is used only when that name is durable.
struct FreshSegment {
  /// What is to be written again, and where it stands now.
  struct Source {
    var file: any File
    var seed: UInt64
    var pieces: [SegmentScan.Piece]
    /// The offset after the last piece.
    var end: Offset
  }

  let environment: Environment
  let directory: LogDirectory
  let options: LogOptions

  /// Makes the segment and returns it ready for appending. Nothing stays behind if it fails, as far as the file system allows.
  ///
  /// - Parameters:
  ///   - willName: called before the segment gets its name. From then on it may be there after a crash, whether this succeeds or not.
  ///   - lost: told of ranges that could not be read again.
  func make(
    _ header: SegmentHeader, from source: Source? = nil, willName: () -> Void = {}, lost: (Finding) -> Void = { _ in }
  ) throws(LogError) -> ActiveSegment {
    let name = SegmentName(base: header.base, segmentID: header.segmentID, form: .open).text
    let path = directory.segment(name)
    let unfinished = seeded(.namedBeforeWhole) ? path : path + LogDirectory.unfinished
    let files = environment.fileSystem
    var renamed = false
    do throws(LogError) {
      let file = try files.open(unfinished, .create)
      defer { file.close() }
      let written = try write(header, source, to: file, name: name, lost)
      let zeroedEnd = try ActiveSegment.writeZeros(
        file, from: written.position, ahead: options.zerosAheadByteCount, limit: options.segmentByteCount)
      if !seeded(.headerNotSynced) || header.predecessor == .none { try file.sync() }
      // It says that its events are durable, and readers see it before its name is. Without that name, after a power cut, they must still
      // be in what it replaces. Nothing else rests on this sync, and it comes last: what it fails to write may be gone from memory too.
      if let source { try? source.file.sync() }
      willName()
      try files.rename(unfinished, to: path)
      renamed = true
      if !seeded(.directoryNotSynced) || header.predecessor == .none { try files.syncDirectory(directory.segments) }
      return ActiveSegment(
        header: header, file: try files.open(path, .write), summary: written.summary, checkpoints: written.checkpoints,
        position: written.position,
        fileLength: zeroedEnd, recordedDurable: written.summary.end, options: options)
    } catch {
      try? files.remove(renamed ? path : unfinished)
      throw error
    }
  }

  private struct Written {
    var summary: SegmentSummary
    var checkpoints = Checkpoints()
    var position: UInt64
  }

  private func write(
    _ header: SegmentHeader, _ source: Source?, to file: any File, name: String, _ lost: (Finding) -> Void
  ) throws(LogError) -> Written {
    var output = FrameOutput(file, seed: header.seed, at: 0)
    try output.append(header.encode().rawSpan)
    var written = Written(summary: SegmentSummary(header), position: output.position)
    if let source {
      var reader = FrameReader(source.file, seed: source.seed, limit: try source.file.byteCount())
      for piece in source.pieces {
        switch piece {
        case .frames(let from, let to): try copy(from, to, &reader, header, &output, &written, end: source.end, lost)
        case .gap(let offsets, let why): try gap(offsets, why, header, &output, &written)
        }
      }
      if written.summary.end < source.end {
        let range = written.summary.end..<source.end
        lost(Finding(.damagedFrame, file: directory.relative(source.file.path), offsets: range, "could not be read again"))
        try gap(range, "could not be read again", header, &output, &written)
      }
      // Everything in here is synced before it counts: say so, that later damage is not taken for a torn tail.
      let mark = FrameHeader(.mark, base: written.summary.end, durable: written.summary.end, incarnation: header.incarnation)
      try output.append(mark, stored: RawSpan())
    }
    try output.flush()
    written.position = output.position
    return written
  }

  private func copy(
    _ from: UInt64, _ to: UInt64, _ reader: inout FrameReader, _ header: SegmentHeader, _ output: inout FrameOutput,
    _ written: inout Written,
    end: Offset, _ lost: (Finding) -> Void
  ) throws(LogError) {
    reader.seek(to: from)
    while reader.position < to {
      guard let (frame, at) = try next(&reader) else {
        guard let next = try reader.search(from: reader.position + 8), next.at < to, next.header.base >= written.summary.end else { return }
        let range = written.summary.end..<next.header.base
        lost(
          Finding(
            .damagedFrame, file: directory.relative(reader.path), position: reader.position, offsets: range, "could not be read again")
        )
        try gap(range, "could not be read again", header, &output, &written)
        reader.seek(to: next.at)
        continue
      }
      switch FrameHeader.Kind(rawValue: frame.kind) {
      case .events:
        guard frame.base == written.summary.end else { return }
        var copy = frame
        copy.isCompressed = false
        copy.storedLength = frame.rawLength
        written.checkpoints.add(base: frame.base, position: output.position)
        try output.append(copy, stored: reader.payload)
        if written.summary.add(reader.payload, count: frame.count) != nil {
          throw LogError(
            .corrupt, "a frame changed while it was copied", file: reader.path, position: at, advice: "check the memory and the disk")
        }
      case .gap: try gap(frame.base..<frame.end, reader.payload.text(), header, &output, &written)
      case .mark, .close, .index: break
      case nil: try output.append(frame, stored: reader.payload)
      }
    }
  }

  /// The next frame, decoded; nil if it can't be read. What looks bad is read twice: nothing may get lost by one bad read.
  private func next(_ reader: inout FrameReader) throws(LogError) -> (frame: FrameHeader, at: UInt64)? {
    let start = reader.position
    if case .frame(let frame, let at) = try reader.next(), reader.decode() { return (frame, at) }
    reader.reread(from: start)
    if case .frame(let frame, let at) = try reader.next(), reader.decode() { return (frame, at) }
    return nil
  }

  private func gap(_ offsets: Range<Offset>, _ why: String, _ header: SegmentHeader, _ output: inout FrameOutput, _ written: inout Written)
    throws(LogError)
  {
    var first = offsets.lowerBound
    let text = Array(why.utf8)
    while first < offsets.upperBound {
      let count = UInt32(min(UInt64(UInt32.max), offsets.upperBound - first))
      let frame = FrameHeader(
        .gap, storedLength: text.count, rawLength: text.count, base: first, count: count, durable: first, incarnation: header.incarnation)
      try output.append(frame, stored: text.rawSpan)
      written.summary.addGap(count: count)
      first += UInt64(count)
    }
  }
}
