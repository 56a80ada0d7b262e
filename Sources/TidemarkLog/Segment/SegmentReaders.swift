/// What is needed to find an offset in a segment file.
struct SegmentMap: Sendable {
  let seed: UInt64
  /// Where its frames end at the latest; nil: ask the file, which grows.
  let limit: UInt64?
  /// The frame table of a sealed segment; nil for open ones, and if the index is damaged.
  let frames: [SegmentIndex.Frame]?
  let headerSession: [UInt8]
  /// Sessions in it: of a sealed segment from its index, of an open one as far as it was scanned.
  let sessions: [SegmentIndex.SessionEntry]
  /// Where to start reading in an open form that was scanned.
  let checkpoints: Checkpoints?
  /// Set if the index, or the header of a sealed segment, could not be read.
  let damagedIndex: Bool

  /// - Parameter scannedTo: for an open form of which nothing is known yet: scan it up to that offset.
  ///
  /// Throws ``LogError/Code/corrupt`` if the header is damaged, so that nothing in the file can be verified.
  init(
    of file: any File, _ name: SegmentName, footer: Footer?, header known: SegmentHeader? = nil, scannedTo end: Offset? = nil
  ) throws(LogError) {
    guard let footer else {
      let header: SegmentHeader
      if let known { header = known } else { header = try Sealer.header(file) }
      var scan: SegmentScan?
      if let end { scan = try SegmentScan(file, header, name: name.text, pinnedEnd: end) }
      seed = header.seed
      headerSession = header.session
      limit = nil
      frames = nil
      sessions = scan?.summary.sessions ?? []
      checkpoints = scan?.checkpoints
      damagedIndex = false
      return
    }
    // The footer is enough to read by; the header only adds the session.
    let own = try? Sealer.header(file, footer)
    let header = own?.header
    seed = footer.seed
    headerSession = header?.session ?? []
    limit = footer.idPagesPosition
    var reader = FrameReader(file, seed: footer.seed, from: footer.indexPosition, limit: footer.fileLength - UInt64(Footer.byteCount))
    if case .frame(let frame, _) = try reader.next(), frame.kind == FrameHeader.Kind.index.rawValue, reader.decode(),
      let index = SegmentIndex(reader.payload)
    {
      frames = index.frames
      sessions = index.sessions
      checkpoints = nil
      damagedIndex = own?.trouble != nil && own?.isNewer == false
    } else {
      let scan = try SegmentScan(file, header ?? footer.standIn, name: name.text, pinnedEnd: footer.end)
      frames = nil
      sessions = scan.summary.sessions
      checkpoints = scan.checkpoints
      damagedIndex = true
    }
  }

  /// Where to begin reading to meet `offset`.
  func position(for offset: Offset, _ known: Checkpoints?) -> UInt64 {
    if let frames {
      guard let at = frames.firstIndexHolding(offset) else { return UInt64(SegmentHeader.byteCount) }
      return frames[at].position
    }
    return (known ?? checkpoints)?.position(for: offset) ?? UInt64(SegmentHeader.byteCount)
  }
}

/// A segment file opened for reading.
final class SegmentAccess: Sendable {
  let name: SegmentName
  let file: any File
  let map: SegmentMap

  init(_ name: SegmentName, _ file: any File, _ map: SegmentMap) {
    self.name = name
    self.file = file
    self.map = map
  }
}

extension [SegmentIndex.Frame] {
  /// The last frame that begins at or below an offset.
  func firstIndexHolding(_ offset: Offset) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].base <= offset { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : low - 1
  }
}

/// The segment files that were read last stay open; the maps of more of them stay in memory, and so do the frames that were decoded last.
final class SegmentReaders: Sendable {
  static let openLimit = 12
  /// A map has 40 bytes for each frame: some 10 KiB for a segment of 8 MiB.
  static let mapLimit = 512
  static let frameLimit = 4
  /// Look-ups by id visit all segments that the merged index does not cover: seldom more than twice its fan-out.
  static let idLimit = 2 * IDIndex.fanOut

  private struct State {
    var accesses: [SegmentAccess] = []
    /// Of sealed segments, which don't change.
    var maps: [SegmentName: SegmentMap] = [:]
    var frames: [DecodedFrame] = []
    var idPages: [(name: SegmentName, run: IDPageRun)] = []
  }

  /// One frame's records, or the first of them, decompressed.
  struct DecodedFrame {
    var name: SegmentName
    var base: Offset
    var end: Offset
    var records: [UInt8]
  }

  private let state = Locked(State())

  func access(
    _ name: SegmentName, footer: Footer?, header: SegmentHeader? = nil, scannedTo end: Offset? = nil, _ directory: LogDirectory,
    _ files: any FileSystem
  ) throws(LogError) -> SegmentAccess {
    let known = state.withLock { state -> SegmentAccess? in
      guard let index = state.accesses.firstIndex(where: { $0.name == name }) else { return nil }
      let found = state.accesses.remove(at: index)
      if end != nil && found.map.checkpoints == nil { return nil }
      state.accesses.append(found)
      return found
    }
    if let known { return known }
    let file = try files.open(directory.segment(name.text), .read)
    let mapped = footer == nil ? nil : state.withLock { $0.maps[name] }
    let opened: SegmentAccess
    if let mapped {
      opened = SegmentAccess(name, file, mapped)
    } else {
      opened = SegmentAccess(name, file, try SegmentMap(of: file, name, footer: footer, header: header, scannedTo: end))
    }
    state.withLock { state in
      if footer != nil, !opened.map.damagedIndex {
        // Any one of them: where many are in use, none is more likely to be wanted next.
        if state.maps.count >= Self.mapLimit, let victim = state.maps.keys.first { state.maps[victim] = nil }
        state.maps[name] = opened.map
      }
      if state.accesses.count >= Self.openLimit { state.accesses.removeFirst() }
      state.accesses.append(opened)
    }
    return opened
  }

  /// The id pages of a sealed segment. Nothing else of the file is read for them.
  func idPages(_ name: SegmentName, _ footer: Footer, _ directory: LogDirectory, _ files: any FileSystem) throws(LogError) -> IDPageRun {
    if let known = state.withLock({ $0.idPages.first { $0.name == name } }) { return known.run }
    let file = try files.open(directory.segment(name.text), .read)
    let run = IDPageRun(file: file, position: footer.idPagesPosition, pageCount: Int(clamping: footer.idPageCount), seed: footer.seed)
    state.withLock { state in
      if state.idPages.count >= Self.idLimit { state.idPages.removeFirst() }
      state.idPages.append((name, run))
    }
    return run
  }

  func frame(holding offset: Offset) -> DecodedFrame? {
    state.withLock { state in
      guard let index = state.frames.firstIndex(where: { $0.base <= offset && offset < $0.end }) else { return nil }
      let found = state.frames.remove(at: index)
      state.frames.append(found)
      return found
    }
  }

  /// Whether a frame, or its beginning, is here.
  func hasFrame(_ name: SegmentName, _ base: Offset) -> Bool {
    state.withLock { $0.frames.contains { $0.name == name && $0.base == base } }
  }

  func keep(_ frame: DecodedFrame) {
    state.withLock { state in
      state.frames.removeAll { $0.name == frame.name && $0.base == frame.base }
      if state.frames.count >= Self.frameLimit { state.frames.removeFirst() }
      state.frames.append(frame)
    }
  }

  /// The file has gone or was replaced.
  func forget(_ name: SegmentName) {
    state.withLock { state in
      state.accesses.removeAll { $0.name == name }
      state.maps[name] = nil
      state.frames.removeAll { $0.name == name }
      state.idPages.removeAll { $0.name == name }
    }
  }

  func forgetAll() {
    state.withLock { state in
      state.accesses.removeAll()
      state.maps.removeAll()
      state.frames.removeAll()
      state.idPages.removeAll()
    }
  }
}
