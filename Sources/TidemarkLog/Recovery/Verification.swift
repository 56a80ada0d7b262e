/// Checks every byte of a log by the rules of `Specs/recovery.md`. Reads only.
struct Verification {
  private let directory: LogDirectory
  private let files: any FileSystem
  private let analysis: Analysis
  private var report = VerificationReport()
  private var done: UInt64 = 0
  private let total: UInt64

  /// Judges the whole log. `progress` is told after each segment and may stop the work by returning false: then ``LogError/Code/closed`` is
  /// thrown.
  static func run(
    _ directory: LogDirectory, _ files: any FileSystem, durableFloor: Offset, progress: ((Progress) -> Bool)?
  ) throws(LogError) -> VerificationReport {
    var attempt = 0
    while true {
      attempt += 1
      do throws(LogError) {
        var verification = Verification(directory, files, try Analysis(directory, files, durableFloor: durableFloor))
        return try verification.run(progress)
      } catch {
        // A writer at work seals and trims: look again.
        guard error.errno == LogCore.noSuchFile, attempt < 8 else { throw error }
      }
    }
  }

  private init(_ directory: LogDirectory, _ files: any FileSystem, _ analysis: Analysis) {
    self.directory = directory
    self.files = files
    self.analysis = analysis
    total = analysis.segments.reduce(analysis.newest?.scan.fileLength ?? 0) { $0 + $1.byteCount }
  }

  private mutating func run(_ progress: ((Progress) -> Bool)?) throws(LogError) -> VerificationReport {
    report.findings = analysis.findings
    for segment in analysis.segments {
      let file = try files.open(directory.segment(segment.name.text), .read)
      defer { file.close() }
      if let footer = segment.footer { try sealed(file, footer, segment) } else { try open(file, segment) }
      done += segment.byteCount
      if let progress, !progress(Progress(done: done, total: total)) {
        throw LogError(.closed, "verification was stopped", file: directory.path, advice: "run it again for a verdict")
      }
    }
    if let newest = analysis.newest, !newest.lacksHeader {
      count(newest.scan.summary)
      report.frameCount += newest.scan.frameCount
    }
    try indexRuns()
    report.segmentCount = analysis.segments.count + (analysis.newest.map { !$0.lacksHeader } ?? false ? 1 : 0)
    report.findings.sort { left, right in
      (left.offsets?.lowerBound ?? 0, left.file ?? "", left.position ?? 0, left.kind.rawValue) < (
        right.offsets?.lowerBound ?? 0, right.file ?? "", right.position ?? 0, right.kind.rawValue
      )
    }
    return report
  }

  private mutating func sealed(_ file: any File, _ footer: Footer, _ segment: Analysis.Segment) throws(LogError) {
    let name = directory.relative(file.path)
    var check = SealedCheck(file, footer, name: name)
    let findings = try check.run()
    report.findings += findings
    if let trouble = check.headerTrouble { report.findings.append(Finding(.damagedIndex, file: name, position: 0, "header: \(trouble)")) }
    report.frameCount += check.frameCount
    if let summary = check.counted { count(summary) }
    if footer.gapCount > 0 { report.findings += check.gaps }
  }

  /// A closed segment that is not sealed yet, or whose footer is damaged.
  private mutating func open(_ file: any File, _ segment: Analysis.Segment) throws(LogError) {
    let name = directory.relative(file.path)
    let header: SegmentHeader
    do throws(LogError) { header = try Sealer.header(file) } catch {
      guard error.code == .corrupt else { throw error }
      return
    }
    let scan = try SegmentScan(file, header, name: name, pinnedEnd: segment.end)
    report.findings += scan.findings
    report.frameCount += scan.frameCount
    count(scan.summary)
    if let digest = segment.digest, scan.findings.allSatisfy({ $0.kind == .gap }), scan.summary.digest.value != digest,
      !seeded(.pinNotChecked)
    {
      report.findings.append(
        Finding(
          .pinMismatch, file: name, offsets: segment.name.base..<segment.end,
          "the records differ from the digest that the next segment names"))
    }
  }

  private mutating func count(_ summary: SegmentSummary) {
    report.eventCount += summary.userCount
    report.controlEventCount += summary.end - summary.base - summary.userCount - summary.gapCount
  }

  private mutating func indexRuns() throws(LogError) {
    guard try files.status(directory.index) != nil else { return }
    for name in try files.list(directory.index).sorted() where name.hasSuffix(".ids") {
      let file = try files.open("\(directory.index)/\(name)", .read)
      defer { file.close() }
      if let why = try problem(of: file, name) {
        report.findings.append(Finding(.damagedIndex, file: "index/\(name)", position: why.position, why.text))
      }
    }
  }

  private func problem(of file: any File, _ name: String) throws(LogError) -> (position: UInt64, text: String)? {
    var page = [UInt8](repeating: 0, count: IDIndexHeader.byteCount)
    let got = try file.read(page.count, at: 0, into: &page, at: 0)
    guard got == page.count, let header = IDIndexHeader(page.rawSpan), header.logID == analysis.identity.logID else {
      return (0, "its header can't be read")
    }
    if name != IDIndex.name(header.first, header.end) { return (0, "it covers other offsets than its name says") }
    // One that covers other segments than there are is not damaged, only of no use.
    guard try file.byteCount() == UInt64(IDIndexHeader.byteCount) + header.pageCount * UInt64(IDPages.pageByteCount)
    else { return (UInt64(IDIndexHeader.byteCount), "its length is not what its header says") }
    let run = IDPageRun(
      file: file, position: UInt64(IDIndexHeader.byteCount), pageCount: Int(clamping: header.pageCount),
      seed: IDIndex.seed(header.logID, header.coverage))
    for number in 0..<run.pageCount {
      do throws(LogError) { try run.load(number, into: &page) } catch {
        guard error.code == .damagedIndex else { throw error }
        return (error.position ?? 0, error.why)
      }
    }
    return nil
  }
}
