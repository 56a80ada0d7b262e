/// How many bytes of events a request carries: more while requests are quick, half after each failure.
package struct BatchSize: Sendable, Equatable {
  package private(set) var byteCount: UInt64

  package static let smallest: UInt64 = 16 << 10
  private static let first: UInt64 = 128 << 10
  private static let largest: UInt64 = 4 << 20
  private static let quick: UInt64 = 2_000_000_000
  private static let slow: UInt64 = 8_000_000_000

  package init() { byteCount = Self.first }

  /// A request of this size took so many nanoseconds.
  package mutating func succeeded(in nanoseconds: UInt64) {
    if nanoseconds < Self.quick { byteCount = min(Self.largest, byteCount * 2) }
    if nanoseconds > Self.slow { halve() }
  }

  package mutating func failed() { halve() }

  private mutating func halve() { byteCount = max(Self.smallest, byteCount / 2) }
}
