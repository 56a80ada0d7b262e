/// What a measurement should come to.
public enum Target: Sendable, Equatable {
  /// Met if the interval's lower bound is at least this.
  case atLeast(Double)
  /// Met if the interval's upper bound is at most this.
  case atMost(Double)

  public func isMet(by interval: Interval) -> Bool {
    switch self {
    case .atLeast(let bound): interval.lower >= bound
    case .atMost(let bound): interval.upper <= bound
    }
  }
}

/// One line of the report: a ratio or another figure, measured once in each round.
public struct Measurement: Sendable {
  /// The case it belongs to, such as `append`.
  public var group: String
  public var name: String
  /// Empty for a ratio, else the unit of the samples.
  public var unit: String
  /// One value a round.
  public var samples: [Double]
  /// Nil for figures that are there for information.
  public var target: Target?
  /// What the samples were made of, in words.
  public var note: String

  public init(group: String, name: String, unit: String = "", samples: [Double], target: Target? = nil, note: String = "") {
    self.group = group
    self.name = name
    self.unit = unit
    self.samples = samples
    self.target = target
    self.note = note
  }

  public var interval: Interval { Interval(of: samples) }
  /// Nil without a target.
  public var isMet: Bool? { target.map { $0.isMet(by: interval) } }
}
