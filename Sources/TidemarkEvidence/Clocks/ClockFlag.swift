public import TidemarkLog

/// Something about an event's clocks that a person should look at. Derived from the log, never stored in it: a flag changes no event, and
/// is no verdict.
///
/// ```swift
/// for flag in review.review(event, session: session) { print(flag.offset, flag.rule.rawValue, flag.explanation) }
/// ```
public struct ClockFlag: Sendable, Equatable {
  /// A named value that the rule went by.
  public struct Fact: Sendable, Equatable {
    /// What it is, with the unit last, such as `difference_ns`. Times are UTC with nine digits of the second's fraction.
    public let name: String
    /// How much, or which.
    public let value: Value

    init(_ name: String, _ number: some BinaryInteger) {
      self.name = name
      value = .number(Int128(number))
    }

    init(_ name: String, _ text: String) {
      self.name = name
      value = .text(text)
    }

    init(_ name: String, _ time: Timestamp) { self.init(name, ClockText.exact(time)) }
  }

  /// What a fact says.
  public enum Value: Sendable, Equatable {
    /// A time, an id, a word.
    case text(String)
    /// A whole number. Differences of two clocks take up to 67 bits.
    case number(Int128)
  }

  /// Which rule found it.
  public let rule: ClockRule
  /// ``ClockPolicy/version`` of the policy that the rule went by.
  public let policyVersion: UInt32
  /// The event's position in the log.
  public let offset: Offset
  /// The event's id.
  public let eventID: EventID
  /// What the rule went by, always in the same order.
  public let facts: [Fact]
  /// One line for people, without a full stop.
  public let explanation: String

  /// The fact of a name, such as `difference_ns`; nil if the flag has none.
  public func fact(_ name: String) -> Value? { facts.first { $0.name == name }?.value }
}
