/// An append-only log of events in one directory: one writer, any number of readers.
///
/// ```swift
/// try Log.create(at: "captures")
/// let log = try Log.open(at: "captures")
/// let appended = try log.append(NewEvent(type: "scan", subject: "gate-7"))
/// print(appended.offset)
/// try log.close()
/// ```
///
/// All methods may be called from any thread or task. Those that throw, throw a ``LogError``.
public final class Log: Sendable {
  let core: LogCore

  private init(_ core: LogCore) { self.core = core }

  // MARK: Opening

  /// Makes a log. The directory is made if it is not there; one above it must exist.
  ///
  /// Throws ``LogError/Code/alreadyExists``, also for a log that has lost its identity, ``LogError/Code/notADirectory``,
  /// ``LogError/Code/locked`` if somebody else is making it at this moment, and errors of the file system.
  ///
  /// ```swift
  /// let identity = try Log.create(at: "captures")
  /// ```
  @discardableResult
  public static func create(at path: String, options: LogOptions = LogOptions()) throws -> LogIdentity {
    try create(at: path, options: options, environment: environment(options))
  }

  /// Opens a log for writing: takes the lock, recovers what a crash left, and is ready for the first append.
  ///
  /// Throws ``LogError/Code/locked`` if somebody else writes to it, ``LogError/Code/notALog``, ``LogError/Code/unsupportedVersion``,
  /// with the policy ``CorruptionPolicy/refuse`` also ``LogError/Code/corrupt``, and errors of the file system.
  ///
  /// ```swift
  /// let log = try Log.open(at: "captures")
  /// ```
  public static func open(at path: String, options: LogOptions = LogOptions()) throws -> Log {
    try open(at: path, options: options, environment: environment(options))
  }

  /// Opens a log for reading only, beside a writer in this or another process, or without one. Takes no lock and writes nothing.
  ///
  /// Throws ``LogError/Code/notALog``, ``LogError/Code/unsupportedVersion``, with the policy ``CorruptionPolicy/refuse`` also
  /// ``LogError/Code/corrupt``,
  /// and errors of the file system.
  ///
  /// ```swift
  /// let log = try Log.openForReading(at: "captures")
  /// ```
  public static func openForReading(at path: String, options: LogOptions = LogOptions()) throws -> Log {
    try openForReading(at: path, options: options, environment: environment(options))
  }

  private static func environment(_ options: LogOptions) -> Environment {
    Environment(clock: options.clock)
  }

  @discardableResult
  package static func create(at path: String, options: LogOptions, environment: Environment) throws -> LogIdentity {
    try LogCore.create(path, options, environment)
  }

  package static func open(at path: String, options: LogOptions, environment: Environment) throws -> Log {
    Log(try LogCore.openForWriting(path, options, environment))
  }

  package static func openForReading(at path: String, options: LogOptions, environment: Environment) throws -> Log {
    Log(try LogCore.openForReading(path, options, environment))
  }

  // MARK: What it is

  /// The directory, as it was given.
  public var path: String { core.directory.path }
  /// Id, epochs and parameters.
  public var identity: LogIdentity { core.lock.withLock { core.identity } }
  package var environment: Environment { core.environment }
  /// Where evidence of the current epoch is kept.
  package var evidencePath: String { core.lock.withLock { core.evidencePath } }
  package var isWriter: Bool { core.isWriter }
  /// Another one each time that a log is opened for writing.
  package var incarnation: UInt64 { core.lock.withLock { core.incarnation } }
  /// What opening found and did.
  public var recoveryReport: RecoveryReport { core.lock.withLock { core.report } }
  /// The offset of the next event. In a log opened for reading, as far as was looked: see ``refresh()``.
  public var size: Offset { core.lock.withLock { core.size } }
  /// All events below it survive a power cut.
  public var durable: Offset { core.lock.withLock { core.durable } }
  /// The first offset that is kept.
  public var first: Offset { core.lock.withLock { core.firstOffset } }
  /// Figures. Throws errors of the file system.
  public func statistics() throws -> LogStatistics { try core.statistics() }

  /// Looks whether a writer in another process has published more, and returns the new ``size``. Throws errors of the file system.
  @discardableResult
  public func refresh() throws -> Offset {
    if !core.isWriter { try core.refresh() }
    return size
  }

  // MARK: Maintenance

  /// Makes everything acknowledged so far durable. Throws ``LogError/Code/outcomeUnknown`` if the disk refuses; nothing acknowledged is
  /// forgotten, the next append writes it again.
  public func sync() throws {
    try core.withTurn { () throws(LogError) in
      try core.checkWriter()
      try core.flush()
    }
  }

  /// Makes sure that a frame on the disk names the durable offset, and returns it. Call it before an offset leaves the device. Throws as
  /// ``sync()`` does.
  @discardableResult
  public func recordDurable() throws -> Offset {
    try core.recordDurable()
  }

  /// Keeps an opaque control record for the next commit, where it stands before the caller's events. Alone it causes no commit and no sync;
  /// it is lost if the process ends before.
  ///
  /// - Parameters:
  ///   - kind: ``EventKind/receipt``, ``EventKind/keyRotation``, ``EventKind/erasure``, or 16 to 255.
  ///   - data: opaque to the engine.
  ///
  /// Throws ``LogError/Code/invalidEvent`` for other kinds, ``LogError/Code/tooLarge`` for a record above
  /// ``LogOptions/maximumEventByteCount`` and when more than 16 MiB would wait.
  ///
  /// ```swift
  /// try log.stage(control: .receipt, data: receipt)
  /// ```
  public func stage(control kind: EventKind, data: [UInt8]) throws { try core.stage(StagedControl(kind: kind, data: data)) }

  /// Commits an opaque control record at once, and returns its offset once it is on the disk, whatever level of durability the log has.
  /// What is staged goes before it.
  ///
  /// - Parameters:
  ///   - kind: as in ``stage(control:data:)``.
  ///   - data: opaque to the engine.
  ///
  /// Throws as ``stage(control:data:)`` and ``sync()`` do. If the outcome is unknown, the record may be there all the same.
  ///
  /// ```swift
  /// let offset = try log.commit(control: .erasure, data: erasure)
  /// ```
  package func commit(control kind: EventKind, data: [UInt8]) throws -> Offset { try core.commit(StagedControl(kind: kind, data: data)) }

  /// Goes on in a new epoch: from here on this log's history is another one than that which its copies elsewhere may have, though both are
  /// the same up to the fork. Nothing that was written changes.
  ///
  /// - Parameters:
  ///   - fork: the size up to which both are the same.
  ///   - rootHash: of the history tree there, 32 bytes; nil if it is not known.
  ///
  /// Throws ``LogError/Code/offsetOutOfRange`` for a fork beyond the end, and as ``sync()`` does.
  @discardableResult
  package func beginEpoch(fork: Offset, rootHash: [UInt8]?) throws -> LogIdentity.Epoch {
    try core.beginEpoch(fork: fork, rootHash: rootHash)
  }

  /// Appends records that another copy of this history holds behind this log's end, byte for byte, and syncs them. Returns the new size.
  ///
  /// - Parameters:
  ///   - records: whole records, one behind the other, at most 64 MiB. Their ids must not be in the log.
  ///   - base: the offset of the first, which must be this log's size.
  ///
  /// Throws ``LogError/Code/corrupt`` for a malformed record, ``LogError/Code/unexpectedSize`` if the log ends elsewhere, and as ``sync()``
  /// does.
  @discardableResult
  package func restore(_ records: [UInt8], at base: Offset) throws -> Offset { try core.restore(records.rawSpan, at: base) }

  /// Begins a new segment, unless the newest is empty. Throws errors of the file system.
  public func roll() throws {
    try core.roll()
  }

  /// Begins a new segment and seals all others now, at full speed. Sealed segments whose header, index or id pages are damaged are made
  /// again. Throws errors of the file system.
  public func seal() throws {
    try roll()
    try core.checkIndexes()
    try core.waitForSealing()
  }

  /// Seals all segments that are full, at full speed. Throws errors of the file system.
  public func waitForSealing() throws { try core.waitForSealing() }

  /// Removes whole segments below `floor`, oldest first, after an event that says so is durable. Returns the first offset that is kept.
  ///
  /// Never more than asked for, often less: the segment that holds `floor` stays. Throws ``LogError/Code/offsetOutOfRange`` beyond the end,
  /// ``LogError/Code/evidenceNeedsHistory`` for a log with evidence, which `Evidence.trim(below:)` of `TidemarkEvidence` trims, and errors
  /// of the file system.
  ///
  /// ```swift
  /// let first = try log.trim(below: settled)
  /// ```
  @discardableResult
  public func trim(below floor: Offset) throws -> Offset { try core.trim(below: floor) }

  /// As ``trim(below:)``, with what the record is to say of the history that goes. It is left out if the log begins elsewhere then.
  package func trim(below floor: Offset, evidence: TrimEvidence) throws -> Offset { try core.trim(below: floor, evidence: evidence) }

  /// Where the log would begin.
  package func firstOffset(afterTrimmingBelow floor: Offset) -> Offset {
    core.lock.withLock { max(core.firstOffset, core.trimPoint(below: floor) ?? 0) }
  }

  /// Checks every byte on the disk. Reads only; appends may go on meanwhile.
  ///
  /// - Parameter progress: told after each segment; returning false stops the work.
  ///
  /// Throws ``LogError/Code/unsupportedVersion`` and errors of the file system; damage is not an error but a finding.
  public func verify(progress: ((Progress) -> Bool)? = nil) throws -> VerificationReport {
    try Verification.run(core.directory, core.files, durableFloor: core.options.durableFloor, progress: progress)
  }

  /// Checks every byte of a log that need not be open. See ``verify(progress:)``.
  public static func verify(at path: String, options: LogOptions = LogOptions(), progress: ((Progress) -> Bool)? = nil) throws
    -> VerificationReport
  {
    try Verification.run(LogDirectory(path: path), POSIXFileSystem(), durableFloor: options.durableFloor, progress: progress)
  }

  package static func verify(at path: String, options: LogOptions, environment: Environment) throws -> VerificationReport {
    try Verification.run(LogDirectory(path: path), environment.fileSystem, durableFloor: options.durableFloor, progress: nil)
  }

  /// Copies what can be read of a damaged log into a new one, at the same offsets, and an event behind them that says which log they are
  /// of. The old one is only read.
  ///
  /// The new one is built beside `newPath` and gets that name when it is whole, so whatever has that name is never a part of it.
  /// Throws ``LogError/Code/alreadyExists`` if something but an empty directory is there, and errors of the file system.
  ///
  /// ```swift
  /// let report = try Log.salvage(from: "captures", to: "captures-salvaged")
  /// ```
  public static func salvage(from path: String, to newPath: String, progress: ((Progress) -> Bool)? = nil) throws -> SalvageReport {
    try Salvage.run(path, to: newPath, environment(LogOptions()), progress: progress)
  }

  package static func salvage(
    from path: String, to newPath: String, environment: Environment, progress: ((Progress) -> Bool)? = nil
  ) throws -> SalvageReport {
    try Salvage.run(path, to: newPath, environment, progress: progress)
  }

  /// Syncs, and gives up the lock and all descriptors, as a phone's app does when it goes to the background. The next append takes them
  /// again.
  ///
  /// Throws as ``sync()`` does; the lock is given up all the same.
  public func suspend() throws { try core.suspend() }

  /// Syncs and closes in good order. Closing twice is harmless. A log that is let go without it loses nothing that was acknowledged at its
  /// level of durability.
  public func close() throws { try core.close() }
}
