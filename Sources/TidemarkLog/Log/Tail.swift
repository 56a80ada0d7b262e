/// Events as they come: first the history from an offset on, then what is appended, without a gap and without an end.
///
/// The next events are read only when they are asked for, so a slow reader slows nobody. The sequence ends when the log is closed or the
/// task is cancelled.
///
/// ```swift
/// for try await event in log.tail(from: lastSeen) {
///   show(event)
/// }
/// ```
public struct Tail: AsyncSequence, Sendable {
  public typealias Element = Event
  public typealias Failure = any Error

  let core: LogCore
  let first: Offset
  let includesControlEvents: Bool

  public func makeAsyncIterator() -> Iterator { Iterator(core, from: first, includesControlEvents) }

  /// Not to be shared between tasks.
  public struct Iterator: AsyncIteratorProtocol {
    private let state: State
    private var block = EventBlock()

    init(_ core: LogCore, from first: Offset, _ includesControlEvents: Bool) {
      state = State(core, from: first, includesControlEvents)
    }

    /// The next event; nil when the log is closed or the task is cancelled.
    public mutating func next() async throws -> Event? { try await next(isolation: #isolation) }

    /// The same, without leaving the caller's actor while there are events at hand.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
      while true {
        if let event = block.next() { return event }
        guard let more = try await state.nextBlock() else { return nil }
        block = more
      }
    }
  }

  /// The cursor behind an iterator, which can't be copied while iterators can.
  ///
  /// Unchecked: one iterator is used by one task at a time.
  final class State: @unchecked Sendable {
    private let core: LogCore
    private var next: Offset
    private let includesControlEvents: Bool
    private var cursor: Cursor?

    init(_ core: LogCore, from first: Offset, _ includesControlEvents: Bool) {
      self.core = core
      next = first
      self.includesControlEvents = includesControlEvents
    }

    /// What comes next, which may be hidden control events only; nil at the end.
    func nextBlock() async throws -> EventBlock? {
      while !Task.isCancelled {
        // Looked at first, so that what was appended before the closing is not missed.
        let isOver = core.lock.withLock { core.isClosed && core.suspended == nil }
        if let block = try read() { return block }
        if isOver { return nil }
        if let trouble = core.takeWatcherTrouble() { throw trouble }
        let wanted = cursor?.position ?? next
        await withTaskCancellationHandler {
          await core.waitForEvents(from: wanted)
        } onCancel: {
          core.wakeWaiting()
        }
      }
      return nil
    }

    private func read() throws -> EventBlock? {
      if cursor == nil {
        let published = core.lock.withLock { core.published }
        guard next < published || next == 0 else { return nil }
        cursor = try Cursor(core, Query(offsets: next..<Offset.max, includesControlEvents: includesControlEvents))
      }
      if let block = try cursor?.nextBlock() { return block }
      guard try cursor?.extend() ?? false else { return nil }
      return try cursor?.nextBlock()
    }
  }
}

extension Log {
  /// Whether it was closed, so that no more events come.
  package var isOver: Bool { core.lock.withLock { core.isClosed && core.suspended == nil } }

  /// Waits until an event at `offset` can be read, the log is closed, or the task is cancelled. Throws what keeps a reader
  /// from seeing more.
  package func waitForEvents(from offset: Offset) async throws {
    if let trouble = core.takeWatcherTrouble() { throw trouble }
    await withTaskCancellationHandler {
      await core.waitForEvents(from: offset)
    } onCancel: {
      core.wakeWaiting()
    }
  }
}
