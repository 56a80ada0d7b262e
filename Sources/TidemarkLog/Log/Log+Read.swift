extension Log {
  /// The event at an offset, control events included.
  ///
  /// Throws ``LogError/Code/offsetOutOfRange``, ``LogError/Code/trimmed``, ``LogError/Code/corrupt`` and errors of the file system.
  ///
  /// ```swift
  /// let event = try log.event(at: 41)
  /// ```
  public func event(at offset: Offset) throws -> Event { try core.event(at: offset) }

  /// The event with an id, or nil if the log has none. In a log opened for reading it looks for new ones first.
  ///
  /// Throws ``LogError/Code/corrupt`` and errors of the file system.
  ///
  /// ```swift
  /// if let event = try log.event(id: id) { print(event.offset) }
  /// ```
  public func event(id: EventID) throws -> Event? { try core.event(id: id) }

  /// A cursor over the events that match. In a log opened for reading it looks for new ones first.
  ///
  /// Throws ``LogError/Code/offsetOutOfRange`` and ``LogError/Code/trimmed`` for a range that is not there, and errors of the file system.
  ///
  /// ```swift
  /// var cursor = try log.read(Query(offsets: 0..<100))
  /// while let event = try cursor.next() { print(event.type) }
  /// ```
  public func read(_ query: Query = Query()) throws -> Cursor {
    try refresh()
    return try Cursor(core, query)
  }

  /// A cursor over events that were seen: it does not look for new ones first, which takes a while where there is no writer.
  package func read(seen query: Query) throws -> Cursor { try Cursor(core, query) }

  /// The data of the last session record before an offset, as far as its segment tells; empty if there is none.
  package func sessionData(before offset: Offset) throws -> [UInt8] { try core.sessionData(before: offset) }

  /// The events of a range, to keep. Control events are left out. For long ranges use ``read(_:)``.
  ///
  /// Throws as ``read(_:)`` and ``Cursor/next()`` do.
  ///
  /// ```swift
  /// let events = try log.events(in: 0..<10)
  /// ```
  public func events(in range: Range<Offset>) throws -> [Event] {
    var cursor = try read(Query(offsets: range))
    var events: [Event] = []
    while var block = try cursor.nextBlock() {
      while let event = block.next() { events.append(event) }
    }
    return events
  }

  /// The history from an offset on, then what is appended: see ``Tail``. Works in the writer's process and in any other.
  ///
  /// ```swift
  /// for try await event in log.tail(from: log.size) { show(event) }
  /// ```
  public func tail(from offset: Offset, includesControlEvents: Bool = false) -> Tail {
    Tail(core: core, first: offset, includesControlEvents: includesControlEvents)
  }
}
