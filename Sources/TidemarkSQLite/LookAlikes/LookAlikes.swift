public import TidemarkLog
public import TidemarkProjections

/// Finds events that say the same at the same time under different ids: what a device captured twice, or a program sent again under
/// another name. They are listed, and nothing else happens to them.
///
/// Alike are events with equal type, subject, actor, content type, extensions, data and time. The index of what was seen lies in a SQLite
/// database, so that memory does not grow with the log. What was found, the index and the offset up to which they reach change in one
/// transaction. `Specs/projections.md` has the schema.
///
/// ```swift
/// let alike = try LookAlikes(of: log, file: "look-alikes.sqlite")
/// try alike.catchUp()
/// for group in try alike.groups() { print(group.first, group.others) }
/// ```
///
/// All methods may be called from any thread or task; one works at a time, and blocks its thread while it does. Those that throw, throw a
/// `LogError`, with the codes that ``SQLiteSink`` has for databases.
public final class LookAlikes: Sendable {
  /// Events that are alike.
  public struct Group: Sendable, Equatable {
    /// The offset of the first of them.
    public var first: Offset
    /// The offsets of the others, in order.
    public var others: [Offset]

    package init(first: Offset, others: [Offset]) {
      self.first = first
      self.others = others
    }
  }

  /// The log that it reads.
  public let log: Log
  /// The database, as a path.
  public let file: String
  private let core: Locked<LookAlikeIndex>

  /// Opens the database, or makes it. One that is of another log or epoch, or of a history that the log has lost, is begun anew. On a
  /// trimmed log it begins with the first event that is left.
  ///
  /// ```swift
  /// let alike = try LookAlikes(of: log, file: "look-alikes.sqlite")
  /// ```
  public init(of log: Log, file: String) throws {
    self.log = log
    self.file = file
    core = Locked(try LookAlikeIndex(log, file))
  }

  /// All events below it were looked at.
  public var position: Offset { core.withLock { $0.position } }

  /// Offsets that damage in the log hides, and that were passed over.
  public var damagedOffsetCount: UInt64 { core.withLock { $0.damagedOffsetCount } }

  /// Looks at what was appended since the last time, and returns the offset up to which that is. In a log opened for reading that is as far
  /// as its events are durable; a writer's are made durable. Damaged ranges are passed over and
  /// counted.
  ///
  /// - Parameter progress: told after each 1,024 events; returning false stops the work. It must not call this.
  ///
  /// Throws `LogError.Code.cancelled`, errors of the database and of the file system. What was found before stays.
  ///
  /// ```swift
  /// let position = try alike.catchUp()
  /// ```
  @discardableResult
  public func catchUp(progress: ((FoldProgress) -> Bool)? = nil) throws -> Offset {
    let end = log.isWriter ? try log.recordDurable() : min(try log.refresh(), log.durable)
    return try core.withLock { index in
      try index.advance(log, to: end, progress)
      return index.position
    }
  }

  /// How many events have one that is alike before them.
  ///
  /// ```swift
  /// if try alike.count() > 0 { warn("some events are there twice") }
  /// ```
  public func count() throws -> UInt64 { try core.withLock { (index) throws(LogError) in try index.count() } }

  /// Groups of events that are alike, by the offset of their first.
  ///
  /// - Parameters:
  ///   - offset: only groups whose first event lies there or later.
  ///   - limit: at most so many.
  ///
  /// ```swift
  /// let groups = try alike.groups(from: 1000, limit: 50)
  /// ```
  public func groups(from offset: Offset = 0, limit: Int = 1000) throws -> [Group] {
    try core.withLock { (index) throws(LogError) in try index.groups(from: offset, limit: limit) }
  }
}
