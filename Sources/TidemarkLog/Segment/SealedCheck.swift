/// Reads every byte of a sealed segment.
struct SealedCheck {
  private let file: any File
  private let footer: Footer
  private let name: String
  /// Frames that verify.
  private(set) var frameCount: UInt64 = 0
  /// What its frames hold, once it was read; damaged ranges count as gaps.
  private(set) var counted: SegmentSummary?
  /// Why the header does not serve, if it does not; the footer stands in for it.
  private(set) var headerTrouble: String?
  /// Ranges that an earlier recovery gave up.
  private(set) var gaps: [Finding] = []

  init(_ file: any File, _ footer: Footer, name: String) {
    self.file = file
    self.footer = footer
    self.name = name
  }

  /// What is wrong with it behind its header. Throws only if reading fails.
  mutating func run() throws(LogError) -> [Finding] {
    let own = try Sealer.header(file, footer)
    headerTrouble = own.trouble
    let header = own.header ?? footer.standIn
    var content = Content(header)
    var findings = try frames(header, &content)
    counted = content.summary
    if findings.isEmpty { findings += compare(content) }
    findings += try index(findings.isEmpty ? content : nil)
    if findings.isEmpty, headerTrouble == nil, try digest() != footer.fileDigest {
      findings.append(Finding(.damagedIndex, file: name, position: 0, "the file's digest does not match its footer"))
    }
    return findings
  }

  /// Whether header, id pages and index can be read: what is made again without them. The events are not looked at.
  func isSoundBesideEvents() throws(LogError) -> Bool {
    let own = try Sealer.header(file, footer)
    guard own.trouble == nil || own.isNewer else { return false }
    return try index(nil).isEmpty
  }

  /// What the frames hold, to compare with index and footer.
  private struct Content {
    var summary: SegmentSummary
    var builder: IndexBuilder

    init(_ header: SegmentHeader) {
      summary = SegmentSummary(header)
      builder = IndexBuilder(base: header.base)
    }
  }

  private mutating func frames(_ header: SegmentHeader, _ content: inout Content) throws(LogError) -> [Finding] {
    var findings: [Finding] = []
    var reader = FrameReader(file, seed: header.seed, limit: footer.idPagesPosition)
    while reader.position < footer.idPagesPosition {
      let at = reader.position
      var why = "zeros stand where a frame should"
      var start = at + 8
      switch try reader.next() {
      case .frame(let frame, _):
        guard let problem = take(frame, at: at, header, &content, &reader) else { continue }
        why = problem
        if frame.base > content.summary.end { start = at }
      case .bad(_, let problem): why = problem
      case .end: break
      }
      var next = try reader.search(from: start)
      while let frame = next, frame.header.base < content.summary.end || frame.header.canBeSkipped {
        next = try reader.search(from: frame.at + 8)
      }
      let end = next.map { min(max($0.header.base, content.summary.end), footer.end) } ?? footer.end
      findings.append(Finding(.damagedFrame, file: name, position: at, offsets: content.summary.end..<max(content.summary.end, end), why))
      if end > content.summary.end { content.summary.addGap(count: UInt32(clamping: end - content.summary.end)) }
      guard let next, next.header.base == content.summary.end else { break }
      reader.seek(to: next.at)
    }
    if content.summary.end != footer.end && findings.isEmpty {
      let range = min(content.summary.end, footer.end)..<max(content.summary.end, footer.end)
      findings.append(
        Finding(
          .damagedFrame, file: name, position: reader.position, offsets: range, "the frames end at another offset than the footer says"))
    }
    return findings
  }

  private mutating func take(
    _ frame: FrameHeader, at: UInt64, _ header: SegmentHeader, _ content: inout Content, _ reader: inout FrameReader
  ) -> String? {
    if frame.canBeSkipped { return nil }
    guard frame.base == content.summary.end else {
      return "a frame for offset \(frame.base) stands where \(content.summary.end) should follow"
    }
    guard frame.end <= footer.end else { return "a frame reaches beyond the segment's end" }
    guard reader.decode() else { return "a frame can't be decompressed" }
    switch FrameHeader.Kind(rawValue: frame.kind) {
    case .events:
      var trial = content.summary
      if let why = trial.add(reader.payload, count: frame.count) { return why }
      content.summary = trial
      content.builder.addFrame(reader.payload, base: frame.base, position: at)
    case .gap:
      content.summary.addGap(count: frame.count)
      content.builder.endFrame(base: frame.base, position: at)
      gaps.append(Finding(.gap, file: name, position: at, offsets: frame.base..<frame.end, reader.payload.text()))
    case .mark, .close, .index, nil: return "a frame of type \(frame.kind) does not belong here"
    }
    frameCount += 1
    return nil
  }

  private func compare(_ content: Content) -> [Finding] {
    let summary = content.summary
    var differing: [String] = []
    if summary.userCount != footer.userCount || summary.userEnd != footer.userEnd { differing.append("number of user events") }
    if summary.times != footer.times { differing.append("time range") }
    if summary.ids != footer.ids { differing.append("id range") }
    if summary.rawByteCount != footer.rawByteCount || summary.gapCount != footer.gapCount { differing.append("size") }
    if summary.trimFloor != footer.trimFloor || summary.sessionOffset != footer.sessionOffset { differing.append("trim floor or session") }
    if content.builder.frameCount != footer.frameCount { differing.append("number of frames") }
    var findings: [Finding] = []
    if summary.digest.value != footer.digest {
      findings.append(
        Finding(.pinMismatch, file: name, offsets: footer.base..<footer.end, "the records differ from the footer's record digest"))
    }
    if !differing.isEmpty {
      findings.append(
        Finding(
          .damagedIndex, file: name, position: footer.fileLength - UInt64(Footer.byteCount),
          "the footer is wrong about: " + differing.joined(separator: ", ")))
    }
    return findings
  }

  /// - Parameter content: what the frames hold; nil if that is not known, or not whole.
  private func index(_ content: Content?) throws(LogError) -> [Finding] {
    var findings: [Finding] = []
    let run = IDPageRun(file: file, position: footer.idPagesPosition, pageCount: Int(clamping: footer.idPageCount), seed: footer.seed)
    var page = [UInt8](repeating: 0, count: IDPages.pageByteCount)
    let entries = content?.builder.entries.sorted()
    for number in 0..<run.pageCount {
      let at = run.position + UInt64(number * IDPages.pageByteCount)
      do throws(LogError) { try run.load(number, into: &page) } catch {
        guard error.code == .damagedIndex else { throw error }
        findings.append(Finding(.damagedIndex, file: name, position: at, error.why))
        continue
      }
      let first = number * IDPages.entriesPerPage
      if let entries,
        IDPages.encode(
          entries[min(first, entries.count)..<min(entries.count, first + IDPages.entriesPerPage)], number: number, seed: footer.seed)
          != page
      {
        findings.append(Finding(.damagedIndex, file: name, position: at, "the id index does not match the events"))
      }
    }
    if let entries, IDPages.pageCount(entries: entries.count) != run.pageCount {
      findings.append(Finding(.damagedIndex, file: name, position: run.position, "the id index has the wrong number of pages"))
    }
    var reader = FrameReader(file, seed: footer.seed, from: footer.indexPosition, limit: footer.fileLength - UInt64(Footer.byteCount))
    guard footer.indexPosition == run.position + UInt64(run.pageCount * IDPages.pageByteCount),
      case .frame(let frame, _) = try reader.next(),
      frame.kind == FrameHeader.Kind.index.rawValue, reader.decode(), let stored = SegmentIndex(reader.payload),
      reader.position == footer.fileLength - UInt64(Footer.byteCount)
    else {
      findings.append(Finding(.damagedIndex, file: name, position: footer.indexPosition, "the index can't be read"))
      return findings
    }
    if let content, stored != content.builder.finish() {
      findings.append(Finding(.damagedIndex, file: name, position: footer.indexPosition, "the index does not match the events"))
    }
    return findings
  }

  private func digest() throws(LogError) -> Digest128 {
    let digest = StreamDigest()
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    var position: UInt64 = 0
    let end = footer.fileLength - UInt64(Footer.byteCount)
    while position < end {
      let got = try file.read(Int(clamping: min(UInt64(buffer.count), end - position)), at: position, into: &buffer, at: 0)
      if got == 0 { break }
      digest.update(buffer.rawSpan.slice(0, got))
      position += UInt64(got)
    }
    return digest.value
  }
}
