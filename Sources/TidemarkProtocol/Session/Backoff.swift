/// How long to wait before the next attempt: a random time up to a limit that doubles with each attempt (full jitter), or what the server
/// says.
///
/// ```swift
/// var backoff = Backoff()
/// let nanoseconds = backoff.failed(isMetered: false, retryAfter: nil, random: random.next())
/// ```
package struct Backoff: Sendable, Equatable {
  /// Since the last success.
  package private(set) var attempts: UInt64 = 0

  package init() {}

  private static let second: UInt64 = 1_000_000_000
  private static let retryAfterLimit: UInt64 = 24 * 3_600

  /// Notes a failure, and returns the nanoseconds to wait.
  ///
  /// - Parameters:
  ///   - retryAfter: seconds, as the server asked for; at most a day counts.
  ///   - random: uniformly distributed over all values.
  package mutating func failed(isMetered: Bool, retryAfter: UInt64?, random: UInt64) -> UInt64 {
    attempts += 1
    if let retryAfter { return min(retryAfter, Self.retryAfterLimit) * Self.second }
    let limit = (isMetered ? 15 : 5) * 60 * Self.second
    let bound = min(limit, Self.second << min(attempts - 1, 20))
    return random.multipliedFullWidth(by: bound + 1).high
  }

  package mutating func succeeded() { attempts = 0 }
}
