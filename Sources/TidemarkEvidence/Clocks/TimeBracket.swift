public import TidemarkLog

/// Between which server times an event was appended, whatever the device's clock said. Appended, not captured: when something happened in
/// the world, no receipt says.
///
/// ```swift
/// let bracket = TimeBrackets(receipts).bracket(of: 41)
/// print(bracket)                          // appended after 2026-03-01T06:00:00.000Z and before 2026-03-02T06:00:00.000Z
/// ```
public struct TimeBracket: Sendable, Hashable {
  /// The time of the last receipt that lies in the log before the event: it was appended after that. Nil: no receipt says after when.
  public var lower: Timestamp?
  /// The time of the first receipt that covers the event: it was appended before that. Nil: no receipt covers it.
  public var upper: Timestamp?

  /// Makes a bracket of its ends.
  public init(lower: Timestamp? = nil, upper: Timestamp? = nil) {
    self.lower = lower
    self.upper = upper
  }
}

extension TimeBracket: CustomStringConvertible {
  /// One line for people.
  public var description: String {
    switch (lower, upper) {
    case (let lower?, let upper?): "appended after \(ClockText.short(lower)) and before \(ClockText.short(upper))"
    case (let lower?, nil): "appended after \(ClockText.short(lower)); no receipt covers it"
    case (nil, let upper?): "appended before \(ClockText.short(upper)); no receipt lies before it"
    case (nil, nil): "no receipt lies before it or covers it"
    }
  }
}
