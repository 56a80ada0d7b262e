extension LogCore {
  /// Makes the directory, its first segment, and last the identity: a log exists when its identity does.
  static func create(_ path: String, _ options: LogOptions, _ environment: Environment) throws(LogError) -> LogIdentity {
    let options = try options.validated()
    let directory = LogDirectory(path: path)
    let files = environment.fileSystem
    if let status = try files.status(path) {
      guard status.isDirectory else {
        throw LogError(.notADirectory, "a log is a directory", file: path, why: "this is a file", advice: "name a directory")
      }
      try checkIdentityIsMissing(directory, files)
    } else {
      try files.makeDirectory(path)
    }
    // Two who make it at the same moment would remove each other's segment.
    let taken = try files.lock(directory.lock, holder: holder(options))
    defer { taken.release() }
    try checkIdentityIsMissing(directory, files)
    // Also for a directory that was there: one who made it and died at once left a name that is not durable yet.
    try syncName(of: path, files)
    for part in [directory.segments, directory.index, directory.torn] where try files.status(part) == nil { try files.makeDirectory(part) }
    try removeBeginnings(directory, files)
    let identity = newIdentity(options, environment)
    let header = SegmentHeader(
      logID: identity.logID, epochID: identity.epochID, segmentID: environment.randomID(), base: 0, created: identity.created,
      incarnation: environment.random.next() | 1,
      trimFloor: 0, replaces: .zero, predecessor: .none, userEnd: 0, sessionOffset: SegmentHeader.noSession, session: [],
      durability: options.durability)
    try FreshSegment(environment: environment, directory: directory, options: options).make(header).file.close()
    try writeIdentity(identity, generation: 1, directory, files)
    return identity
  }

  static func newIdentity(_ options: LogOptions, _ environment: Environment) -> LogIdentity {
    let now = environment.clock.now().time
    let epoch = LogIdentity.Epoch(id: environment.randomID(), parent: nil, forkSize: 0, created: now, rootHash: nil)
    return LogIdentity(logID: environment.randomID(), created: now, contentDigestKind: options.contentDigest.kind, epochs: [epoch])
  }

  /// Makes the name of a log's directory durable.
  static func syncName(of path: String, _ files: any FileSystem) throws(LogError) {
    do throws(LogError) { try files.syncDirectory(parent(of: path)) } catch {
      // Nobody who may not read the directory above can have made one in it.
      if error.code != .permissionDenied { throw error }
    }
  }

  /// Who holds the lock, for others to read.
  private static func holder(_ options: LogOptions) -> String {
    options.program.isEmpty ? describeProcess() : "\(options.program), \(describeProcess())"
  }

  private static func checkIdentityIsMissing(_ directory: LogDirectory, _ files: any FileSystem) throws(LogError) {
    guard try files.status(directory.identity) != nil else { return }
    throw LogError(
      .alreadyExists, "a log is there already", file: directory.path, why: "it has an identity", advice: "open it, or choose another place")
  }

  /// Removes what an interrupted creation left: a first segment that holds nothing. Segments that hold something are a log that has lost
  /// its identity.
  private static func removeBeginnings(_ directory: LogDirectory, _ files: any FileSystem) throws(LogError) {
    let texts = try files.list(directory.segments)
    for name in texts.compactMap({ SegmentName($0) }) {
      let candidate = Analysis.Candidate(name: name, byteCount: try files.status(directory.segment(name.text))?.byteCount ?? 0)
      if name.base == 0, name.form == .open, try candidate.holdsNothing(directory, files) { continue }
      throw LogError(
        .alreadyExists, "a log is there already", file: directory.segment(name.text), why: "only its identity is missing",
        advice: "open it, which makes the identity again from the segments, or choose another place")
    }
    for text in texts where SegmentName(text) != nil || text.hasSuffix(LogDirectory.unfinished) {
      try files.remove(directory.segment(text))
    }
  }

  private static func parent(of path: String) -> String {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.last == "/" { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }

  /// Writes both slots into a new file and gives it its name.
  static func writeIdentity(_ identity: LogIdentity, generation: UInt64, _ directory: LogDirectory, _ files: any FileSystem)
    throws(LogError)
  {
    let unfinished = directory.identity + LogDirectory.unfinished
    if try files.status(unfinished) != nil { try files.remove(unfinished) }
    let file = try files.open(unfinished, .create)
    defer { file.close() }
    let slots = IdentityPages.encode(identity, generation: generation) + IdentityPages.encode(identity, generation: generation + 1)
    try file.write(slots.rawSpan, at: 0)
    try file.sync()
    // The identity comes last on the disk too: with it there, everything else is.
    try files.syncDirectory(directory.path)
    try files.rename(unfinished, to: directory.identity)
    try files.syncDirectory(directory.path)
  }

  static func openForWriting(_ path: String, _ options: LogOptions, _ environment: Environment) throws(LogError) -> LogCore {
    let options = try options.validated()
    let directory = LogDirectory(path: path)
    let core = LogCore(
      directory, options, environment, isWriter: true,
      identity: LogIdentity(logID: .zero, created: Timestamp(nanoseconds: 0), contentDigestKind: 1, epochs: []))
    try core.takeUp()
    return core
  }

  /// Takes the lock, recovers, and makes the log ready for appending: at opening, and again after ``suspend()``.
  func takeUp() throws(LogError) {
    let began = monotonicNow()
    guard let status = try files.status(directory.path) else {
      throw LogError(
        .notALog, "there is no log", file: directory.path, why: "nothing has that name", advice: "check the path, or make a log with init")
    }
    guard status.isDirectory else {
      throw LogError(
        .notADirectory, "a log is a directory", file: directory.path, why: "this is a file", advice: "name the log's directory")
    }
    let hasIdentity = try files.status(directory.identity) != nil
    let hasSegments = try files.status(directory.segments) != nil
    if !hasIdentity && !hasSegments {
      throw LogError(
        .notALog, "the directory holds no log", file: directory.path, why: "it has no identity",
        advice: "check the path, or make a log with init")
    }
    let taken = try files.lock(directory.lock, holder: Self.holder(options))
    do throws(LogError) {
      var analysis = try Analysis(directory, files, durableFloor: options.durableFloor)
      // One bad read must not cut anything off or give it up: what looks like loss is looked at again.
      if analysis.corruption != nil || analysis.findings.contains(where: { $0.kind == .tornTail }) {
        analysis = try Analysis(directory, files, durableFloor: options.durableFloor)
      }
      try check(analysis)
      fileLock = taken
      directoryStatus = status
      lock.withLock { incarnation = environment.random.next() | 1 }
      try recover(analysis)
      try startLivePage()
      lock.withLock {
        report.nanoseconds = monotonicNow() &- began
        isClosed = false
        acknowledged = published + UInt64(unwritten.count)
        needsSession = true
        lastReading = nil
      }
      startSealingIfNeeded()
    } catch {
      active?.file.close()
      active = nil
      fileLock = nil
      taken.release()
      throw error
    }
  }

  private func check(_ analysis: Analysis) throws(LogError) {
    if options.onCorruption == .refuse, let damage = try analysis.damage() { throw damage.error(in: directory.path) }
    let (kind, given) = (analysis.identity.contentDigestKind, options.contentDigest.kind)
    if kind != 0 && given != kind && given != ContentDigest.xxh3.kind {
      throw LogError(
        .invalidArgument, "the log was made with another content digest", file: directory.identity,
        why: "it has kind \(kind), the option has \(given)",
        advice: "open it with the one it was made with")
    }
    if let suspended {
      let end = analysis.end
      guard analysis.identity.logID == identity.logID, end >= suspended.size else {
        throw LogError(
          .directoryMoved, "another log is in this place now", file: directory.path,
          why: "it ends at offset \(end), this one had \(suspended.size) events",
          advice: "put the log back, or open what is there anew")
      }
    }
  }

  func startLivePage() throws(LogError) {
    guard let bootID = environment.clock.bootID else { return }
    let page: SharedPage?
    do throws(LogError) { page = try files.sharedPage(directory.live, writable: true) } catch {
      // It is only a hint: without space for it, readers go by what is recorded on the disk. That of the writer before stays as long as
      // what it tells is not recorded.
      guard error.code == .diskFull else { throw error }
      if remains == nil { try? files.remove(directory.live) }
      return
    }
    guard let page else { return }
    if remains != nil, let known = LivePage(reading: page, bootID: bootID) {
      // Until what was kept is written out again, readers have nothing but this page to go by: not for a moment may it show less.
      known.publish(max(known.published, published), durable: max(known.durable, durable))
      live = known
      return
    }
    live = LivePage(writing: page, incarnation: incarnation, bootID: bootID, published: published, durable: durable)
  }

  func fresh() -> FreshSegment { FreshSegment(environment: environment, directory: directory, options: options) }
}

extension Environment {
  func randomID() -> EventID { EventID(high: random.next(), low: random.next()) }
}
