internal import TidemarkLog

/// How many requests a second a device may make: a bucket of tokens each, which fills at that rate and holds twice as many.
struct RateLimiter {
  private var buckets: [EventID: (tokens: Double, at: UInt64)] = [:]
  private let rate: Double

  init(rate: UInt64) { self.rate = Double(rate) }

  /// Takes a token; nil if there is one, otherwise the seconds until there is.
  ///
  /// - Parameters:
  ///   - now: nanoseconds since boot.
  ///   - takes: false to only look.
  mutating func refusal(of device: EventID, now: UInt64, takes: Bool = true) -> UInt64? {
    var bucket = buckets[device] ?? (2 * rate, now)
    let passed = Double(now &- min(now, bucket.at)) / 1e9
    bucket = (min(2 * rate, bucket.tokens + passed * rate), now)
    let isRefused = bucket.tokens < 1
    if takes && !isRefused { bucket.tokens -= 1 }
    buckets[device] = bucket
    return isRefused ? UInt64(((1 - bucket.tokens) / rate).rounded(.up)) : nil
  }
}
