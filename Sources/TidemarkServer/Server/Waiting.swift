internal import TidemarkLog

/// Requests that are held until there is news, or their time is over.
final class Waiting: Sendable {
  private struct Held {
    /// Nanoseconds since boot.
    let deadline: UInt64
    /// Answers if there is news, or at the end; false if it goes on waiting.
    let answer: @Sendable (_ isOver: Bool) -> Bool
  }

  private let held = Locked([Held]())
  private let clock: any DeviceClock
  private static let limit = 4_096

  init(_ clock: any DeviceClock) { self.clock = clock }

  /// Holds a request. False if there are too many: then it is to be answered at once.
  ///
  /// - Parameters:
  ///   - nanoseconds: for so long at most.
  ///   - answer: answers if there is news, or at the end; returns false if it goes on waiting.
  func hold(for nanoseconds: UInt64, answer: @escaping @Sendable (_ isOver: Bool) -> Bool) -> Bool {
    let deadline = clock.now().elapsed + nanoseconds
    return held.withLock { held in
      guard held.count < Self.limit else { return false }
      held.append(Held(deadline: deadline, answer: answer))
      return true
    }
  }

  /// Answers those for whom there is news, and those whose time is over. Returns the nanoseconds until the next one's is; nil if none wait.
  func look() -> UInt64? {
    let now = clock.now().elapsed
    let waiting = held.withLock { held in
      defer { held.removeAll() }
      return held
    }
    let left = waiting.filter { !$0.answer($0.deadline <= now) }
    return held.withLock { held in
      held += left
      return held.map(\.deadline).min().map { $0 - min($0, now) }
    }
  }

  /// Answers all.
  func end() {
    let waiting = held.withLock { held in
      defer { held.removeAll() }
      return held
    }
    for request in waiting { _ = request.answer(true) }
  }
}
