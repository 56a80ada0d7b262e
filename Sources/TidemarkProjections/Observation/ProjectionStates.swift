internal import TidemarkLog

/// The states of a projection as they come: first the current one, then each that differs from the one given before.
///
/// The log is folded when the next state is asked for, so a slow reader gets fewer states, and the last one always; nobody waits for it.
/// The sequence ends when the log is closed or the task is cancelled, after the state of all that was appended before. Any number of
/// tasks may observe one runner. A state that is still held is copied when an event changes the next, which takes as long as it is large.
///
/// ```swift
/// for try await inside in runner.states() {
///   show(inside.totals)
/// }
/// ```
public struct ProjectionStates<P: Projection>: AsyncSequence, Sendable where P.State: Equatable {
  public typealias Element = P.State
  public typealias Failure = any Error

  let runner: ProjectionRunner<P>

  public func makeAsyncIterator() -> Iterator { Iterator(runner: runner) }

  /// Not to be shared between tasks.
  public struct Iterator: AsyncIteratorProtocol {
    let runner: ProjectionRunner<P>
    private var last: P.State?

    init(runner: ProjectionRunner<P>) { self.runner = runner }

    /// The next state; nil when the log is closed or the task is cancelled. Throws as ``ProjectionRunner/catchUp(progress:)`` does.
    public mutating func next() async throws -> P.State? {
      while !Task.isCancelled {
        // Looked at first, so that what was appended before the closing is not missed.
        let isOver = runner.log.isOver
        let now: Projected<P.State>
        do { now = try await Self.current(runner) } catch {
          if Task.isCancelled { return nil }
          throw error
        }
        if now.state != last {
          last = now.state
          return now.state
        }
        if isOver { return nil }
        try await runner.log.waitForEvents(from: now.position)
      }
      return nil
    }

    /// Off the caller's actor, which a long fold would hold up.
    @concurrent private static func current(_ runner: ProjectionRunner<P>) async throws -> Projected<P.State> { try runner.current() }
  }
}

extension ProjectionRunner where P.State: Equatable {
  /// The state now, and again whenever it changes. See ``ProjectionStates``.
  ///
  /// ```swift
  /// for try await count in runner.states() { print(count) }
  /// ```
  public func states() -> ProjectionStates<P> { ProjectionStates(runner: self) }
}
