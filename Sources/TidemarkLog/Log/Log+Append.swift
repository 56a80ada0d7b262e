extension Log {
  /// Appends one event. When it returns, the event is as safe as the level promises: by default on the disk.
  ///
  /// The sync form blocks its thread; in async code the async form of the same name is used, which does not.
  ///
  /// - Parameters:
  ///   - event: what to append.
  ///   - size: append only if no event was appended since the log had this size (optimistic concurrency). Control events do not count.
  ///   - durability: ask for more than the log's own level; less is not given.
  ///
  /// Throws ``LogError/Code/diskFull``, ``LogError/Code/outcomeUnknown``, ``LogError/Code/conflict``, ``LogError/Code/unexpectedSize``,
  /// ``LogError/Code/tooLarge``, ``LogError/Code/stringTooLong``, ``LogError/Code/invalidEvent``, ``LogError/Code/closed`` and others of
  /// the file system.
  ///
  /// ```swift
  /// let appended = try log.append(NewEvent(type: "check-in", subject: "stock-12"))
  /// ```
  @discardableResult
  public func append(_ event: NewEvent, expecting size: Offset? = nil, durability: Durability? = nil) throws -> Appended {
    try core.append([event], expecting: size, durability)[0]
  }

  /// Appends one event without blocking the calling task's thread. See the sync form.
  @discardableResult
  public func append(_ event: NewEvent, expecting size: Offset? = nil, durability: Durability? = nil) async throws -> Appended {
    try await core.append([event], expecting: size, durability)[0]
  }

  /// Appends events together: all of them or none, whatever happens. One answer for each, in order.
  ///
  /// An event whose id the log has already is answered with its first offset if the content is the same; if it is not, the whole batch is
  /// refused with ``LogError/Code/conflict``.
  /// Throws as the form for one event does; where it is about one event, ``LogError/batchIndex`` says which.
  ///
  /// ```swift
  /// let answers = try log.append([NewEvent(type: "audit"), NewEvent(type: "photo")])
  /// ```
  @discardableResult
  public func append(_ batch: [NewEvent], expecting size: Offset? = nil, durability: Durability? = nil) throws -> [Appended] {
    try core.append(batch, expecting: size, durability)
  }

  /// Appends events together without blocking the calling task's thread. See the sync form.
  @discardableResult
  public func append(_ batch: [NewEvent], expecting size: Offset? = nil, durability: Durability? = nil) async throws -> [Appended] {
    try await core.append(batch, expecting: size, durability)
  }
}
