internal import TidemarkLog

/// Requests that are held until there is news, or their time is over; with a thread that looks after them, so that whoever commits need
/// not.
final class Waiting: Sendable {
  private struct Held {
    /// Nanoseconds since boot.
    let deadline: UInt64
    /// Answers if there is news, or at the end; false if it goes on waiting.
    let answer: @Sendable (_ isOver: Bool) -> Bool
  }

  private struct State {
    var held: [Held] = []
    var isRunning = false
    var isStopping = false
  }

  private let state = Locked(State())
  private let word = WaitWord()
  private let environment: Environment
  private static let limit = 4_096

  init(_ environment: Environment) { self.environment = environment }

  /// Throws if there is no thread to be had.
  func start() throws {
    try environment.startThread("waiting", false) { [self] in run() }
    state.withLock { $0.isRunning = true }
  }

  /// Holds a request. False if there are too many: then it is to be answered at once.
  ///
  /// - Parameters:
  ///   - nanoseconds: for so long at most.
  ///   - answer: answers if there is news, or at the end; returns false if it goes on waiting.
  func hold(for nanoseconds: UInt64, answer: @escaping @Sendable (_ isOver: Bool) -> Bool) -> Bool {
    let deadline = environment.clock.now().elapsed + nanoseconds
    let isHeld = state.withLock { state in
      guard state.held.count < Self.limit, !state.isStopping else { return false }
      state.held.append(Held(deadline: deadline, answer: answer))
      return true
    }
    if isHeld { word.increment() }
    return isHeld
  }

  /// There may be news.
  func wake() { word.increment() }

  /// Answers all, and ends.
  func stop() {
    state.withLock { $0.isStopping = true }
    word.increment()
    while state.withLock({ $0.isRunning }) { word.wait(while: word.value, nanoseconds: 10_000_000) }
  }

  private func run() {
    while true {
      let seen = word.value
      let (waiting, isOver) = state.withLock { state in
        defer { state.held.removeAll() }
        return (state.held, state.isStopping)
      }
      let now = environment.clock.now().elapsed
      let left = waiting.filter { !$0.answer(isOver || $0.deadline <= now) }
      if isOver { break }
      let next = state.withLock { state in
        state.held += left
        return state.held.map(\.deadline).min()
      }
      word.wait(while: seen, nanoseconds: next.map { Int64(clamping: $0 - min($0, now) + 1) } ?? -1)
    }
    state.withLock { $0.isRunning = false }
    word.increment()
  }
}
