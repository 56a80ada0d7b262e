/// Repacks a closed open segment into its sealed form: merged frames, compressed, indexed, read back, then renamed.
struct Sealer {
  static let blockByteCount = 32 << 10
  private static let chunkByteCount = 16 << 10

  let environment: Environment
  let directory: LogDirectory
  let logID: EventID
  let compression: Compression
  /// Called before each write of one block at most: waits if appends are going on, throws to stop.
  let pace: () throws(LogError) -> Void

  /// Seals the segment `name`, of which everything up to `end` counts. Returns the footer, or the finding if the segment turns out to be
  /// damaged:
  /// then it is left as it is.
  ///
  /// - Parameter standIn: for a sealed segment, what to put in the place of its header if that is damaged.
  func seal(_ name: SegmentName, end: Offset, digest: Digest128?, standIn: SegmentHeader? = nil) throws(LogError) -> Result {
    let files = environment.fileSystem
    let path = directory.segment(name.text)
    let source = try files.open(path, .read)
    defer { source.close() }
    let header: SegmentHeader
    if let standIn { header = standIn } else { header = try Self.header(source) }
    // A page of another file that verifies would make this one a file of another log.
    guard header.logID == logID, header.segmentID == name.segmentID, header.base == name.base else {
      return .damaged(
        Finding(
          .damagedHeader, file: directory.relative(path), position: 0, offsets: name.base..<max(name.base, end),
          "its header is that of another segment"))
    }
    let scan = try SegmentScan(source, header, name: directory.relative(path), pinnedEnd: end)
    if let damage = Self.damage(in: scan, end: end, digest, file: directory.relative(path)) { return .damaged(damage) }
    let sealedName = SegmentName(base: name.base, segmentID: name.segmentID, form: .sealed)
    let sealedPath = directory.segment(sealedName.text)
    let unfinished = sealedPath + LogDirectory.unfinished
    if try files.status(unfinished) != nil { try files.remove(unfinished) }
    do throws(LogError) {
      let target = try files.open(unfinished, .create)
      defer { target.close() }
      let footer = try write(source, header, scan, to: target)
      try target.sync()
      try Self.verify(target, footer, expected: scan.summary.digest.value)
      try target.makeReadOnly()
      if seeded(.openFormRemovedFirst) { try files.remove(path) }
      try files.rename(unfinished, to: sealedPath)
      try files.syncDirectory(directory.segments)
      return .sealed(footer)
    } catch {
      try? files.remove(unfinished)
      throw error
    }
  }

  /// Why a segment can't be sealed: its frames up to `end` are damaged, or others than the next segment names.
  static func damage(in scan: SegmentScan, end: Offset, _ digest: Digest128?, file: String) -> Finding? {
    if let damage = scan.findings.first(where: { $0.kind != .gap }) { return damage }
    guard let digest, scan.summary.digest.value != digest else { return nil }
    return Finding(
      .pinMismatch, file: file, offsets: scan.summary.base..<end, "the records differ from the digest that the next segment names")
  }

  enum Result {
    case sealed(Footer)
    case damaged(Finding)
  }

  static func header(_ file: any File) throws(LogError) -> SegmentHeader {
    var page = [UInt8](repeating: 0, count: SegmentHeader.byteCount)
    let got = try file.read(page.count, at: 0, into: &page, at: 0)
    func damaged(_ why: String) -> LogError {
      LogError(.corrupt, "a segment's header is damaged", file: file.path, position: 0, why: why, advice: "run verify")
    }
    switch got == page.count ? Page.check(page.rawSpan, .segmentHeader) : .damaged("the file is shorter than a header") {
    case .sound:
      guard let header = SegmentHeader(page.rawSpan) else { throw damaged("it names an offset that no log reaches") }
      return header
    case .damaged(let why): throw damaged(why)
    case .unsupported(let why):
      throw LogError(
        .unsupportedVersion, "the log is newer than this program", file: file.path, position: 0, why: why,
        advice: "use the version that wrote it")
    }
  }

  /// The header of a sealed segment with a sound footer, or why it does not serve. A newer one is left as it is.
  static func header(_ file: any File, _ footer: Footer) throws(LogError) -> (header: SegmentHeader?, trouble: String?, isNewer: Bool) {
    do throws(LogError) {
      let header = try Self.header(file)
      return footer.matches(header) ? (header, nil, false) : (nil, "header and footer contradict each other", false)
    } catch {
      guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
      return (nil, error.why, error.code == .unsupportedVersion)
    }
  }

  private func write(_ source: any File, _ header: SegmentHeader, _ scan: SegmentScan, to target: any File) throws(LogError) -> Footer {
    let digest = StreamDigest()
    var packer = SegmentPacker(
      header, end: scan.summary.end,
      output: FrameOutput(target, seed: header.seed, at: 0, chunkByteCount: Self.chunkByteCount, digest: digest, beforeWrite: pace),
      compression)
    try packer.begin()
    var reader = FrameReader(source, seed: header.seed, limit: scan.endPosition)
    while reader.position < scan.endPosition {
      guard case .frame(let frame, let at) = try reader.next(), reader.decode() else {
        throw LogError(.io, "a segment changed while it was sealed", file: source.path, position: reader.position, advice: "run verify")
      }
      switch FrameHeader.Kind(rawValue: frame.kind) {
      case .events: try packer.add(reader.payload, at: at)
      case .gap: try packer.addGap(frame, reader.payload)
      default: break
      }
    }
    return try packer.finish(scan.summary)
  }

  /// Reads a sealed file back from end to end and compares it with what it should hold.
  static func verify(_ file: any File, _ footer: Footer, expected digest: Digest128) throws(LogError) {
    var check = SealedCheck(file, footer, name: file.path)
    let findings = try check.run()
    guard findings.isEmpty, check.headerTrouble == nil, footer.digest == digest else {
      throw LogError(
        .io, "a sealed segment reads back differently from what was written", file: file.path, position: findings.first?.position,
        why: findings.first?.message ?? check.headerTrouble ?? "the record digest differs",
        advice: "check the memory and the disk; the open form is still there")
    }
  }
}

/// Merges records into frames of 32 KiB, compresses them, and adds id pages, index and footer.
struct SegmentPacker {
  private let header: SegmentHeader
  private let end: Offset
  private var output: FrameOutput
  private let compressor: LZ4Compressor
  private var block: [UInt8] = []
  private var blockCount: UInt32 = 0
  private var next: Offset
  private var builder: IndexBuilder

  init(_ header: SegmentHeader, end: Offset, output: FrameOutput, _ compression: Compression) {
    self.header = header
    self.end = end
    self.output = output
    compressor = LZ4Compressor(compression)
    next = header.base
    builder = IndexBuilder(base: header.base)
  }

  mutating func begin() throws(LogError) { try output.append(header.encode().rawSpan) }

  /// Adds the records of one frame.
  mutating func add(_ records: RawSpan, at position: UInt64) throws(LogError) {
    var at = 0
    while at < records.byteCount {
      guard let length = Record.length(at: at, in: records) else {
        throw LogError(.corrupt, "a record is malformed", file: output.file.path, position: position, advice: "run verify")
      }
      if blockCount > 0 && block.count + length > Sealer.blockByteCount { try flushBlock() }
      builder.add(EventView(record: records.slice(at, length), offset: next))
      block.add(records.slice(at, length))
      blockCount += 1
      next += 1
      at += length
    }
  }

  mutating func addGap(_ frame: FrameHeader, _ why: RawSpan) throws(LogError) {
    try flushBlock()
    builder.endFrame(base: next, position: output.position)
    var gap = frame
    gap.durable = end
    gap.incarnation = header.incarnation
    try output.append(gap, stored: why)
    next += UInt64(frame.count)
  }

  private mutating func flushBlock() throws(LogError) {
    guard blockCount > 0 else { return }
    let base = next - UInt64(blockCount)
    builder.endFrame(base: base, position: output.position)
    try append(.events, block, base: base, count: blockCount)
    block.removeAll(keepingCapacity: true)
    blockCount = 0
  }

  private mutating func append(_ kind: FrameHeader.Kind, _ raw: [UInt8], base: Offset, count: UInt32) throws(LogError) {
    var compressed: [UInt8] = []
    let length = compressor.compress(raw.rawSpan, into: &compressed)
    let frame = FrameHeader(
      kind, isCompressed: length != nil, storedLength: length ?? raw.count, rawLength: raw.count, base: base, count: count, durable: end,
      incarnation: header.incarnation)
    if length == nil { return try output.append(frame, stored: raw.rawSpan) }
    try output.append(frame, stored: compressed.rawSpan.slice(0, frame.storedLength))
  }

  /// Writes id pages, index and footer.
  mutating func finish(_ summary: SegmentSummary) throws(LogError) -> Footer {
    try flushBlock()
    var footer = Footer(header, summary)
    footer.frameCount = builder.frameCount
    footer.idPagesPosition = output.position
    let entries = builder.entries.sorted()
    for number in 0..<IDPages.pageCount(entries: entries.count) {
      let first = number * IDPages.entriesPerPage
      let page = IDPages.encode(entries[first..<min(entries.count, first + IDPages.entriesPerPage)], number: number, seed: header.seed)
      try output.append(page.rawSpan)
      footer.idPageCount += 1
    }
    footer.indexPosition = output.position
    try append(.index, builder.finish().encode(), base: end, count: 0)
    try output.flush()
    footer.fileDigest = output.digest?.value ?? .zero
    footer.fileLength = output.position + UInt64(Footer.byteCount)
    try output.append(footer.encode().rawSpan)
    try output.flush()
    return footer
  }
}
