/// A moment on a wall clock: nanoseconds since 1970-01-01T00:00:00Z without leap seconds. Years 1677 to 2262.
///
/// ```swift
/// let time = Timestamp(nanoseconds: 1_357_016_400_000_000_000)
/// ```
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Since 1970-01-01T00:00:00Z.
  public var nanoseconds: Int64
  /// The moment so many nanoseconds after 1970-01-01T00:00:00Z.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static let earliest = Timestamp(nanoseconds: .min)
  package static let latest = Timestamp(nanoseconds: .max)

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.nanoseconds < right.nanoseconds }
}
