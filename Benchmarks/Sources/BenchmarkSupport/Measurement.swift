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

  /// Whether even the interval's favourable bound misses it: then chance is no excuse.
  public func isSurelyMissed(by interval: Interval) -> Bool {
    switch self {
    case .atLeast(let bound): interval.upper < bound
    case .atMost(let bound): interval.lower > bound
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
  /// One value a round. Empty if it could not be measured: the note then says why.
  public var samples: [Double]
  /// Nil for figures that are there for information.
  public var target: Target?
  /// What the samples were made of, in words.
  public var note: String
  /// Where it is drawn; nil for what is in the tables only.
  public var place: ChartPlace?

  public init(
    group: String, name: String, unit: String = "", samples: [Double], target: Target? = nil, note: String = "", place: ChartPlace? = nil
  ) {
    self.group = group
    self.name = name
    self.unit = unit
    self.samples = samples
    self.target = target
    self.note = note
    self.place = place
  }

  /// Nil where nothing was measured.
  public var interval: Interval? { samples.isEmpty ? nil : Interval(of: samples) }
  /// Nil without a target. What was not measured meets none.
  public var isMet: Bool? { target.map { target in interval.map { target.isMet(by: $0) } ?? false } }
}
