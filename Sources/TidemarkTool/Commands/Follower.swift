import Synchronization
import TidemarkLog
import TidemarkText

/// Prints events as they are appended, each at once.
enum Follower {
  /// Returns when the selection is done or Ctrl-C came.
  static func run(
    _ log: Log, from offset: Offset, _ selection: EventSelection, _ formatter: some EventFormatter
  ) throws {
    try untilInterrupted { try await follow(log, from: offset, selection, formatter) }
  }

  /// Runs work that waits for events until it ends, or until Ctrl-C, which cancels it.
  static func untilInterrupted(_ work: @escaping @Sendable () async throws -> Void) throws {
    let outcome = Outcome()
    let task = Task.detached {
      do {
        try await work()
        outcome.set(nil)
      } catch {
        outcome.set(error)
      }
      Interrupt.wake()
    }
    Interrupt.wait()
    task.cancel()
    // What is being printed is printed whole.
    while !outcome.isKnown { System.sleep(milliseconds: 2) }
    if let error = outcome.error { throw error }
  }

  private static func follow(
    _ log: Log, from offset: Offset, _ selection: EventSelection, _ formatter: some EventFormatter
  ) async throws {
    var selection = selection
    var formatter = formatter
    let output = Output()
    for try await event in log.tail(from: offset, includesControlEvents: selection.control) {
      if let to = selection.to, event.offset >= to { return }
      if selection.takesLive(event.view) {
        try formatter.append(event.view, event.session, to: &output.bytes)
        try output.flush()
      }
      if selection.isDone { return }
      if let to = selection.to, event.offset + 1 >= to { return }
    }
  }

  /// How the task ended.
  private final class Outcome: Sendable {
    private let state = Mutex<(isKnown: Bool, error: (any Error)?)>((false, nil))

    var isKnown: Bool { state.withLock { $0.isKnown } }
    var error: (any Error)? { state.withLock { $0.error } }
    func set(_ error: (any Error)?) { state.withLock { $0 = (true, error) } }
  }
}
