/// Which events to read.
///
/// ```swift
/// var query = Query()
/// query.offsets = 100..<200
/// var cursor = try log.read(query)
/// ```
public struct Query: Sendable {
  /// What to do where history is damaged.
  public enum DamageHandling: Sendable {
    /// Throw ``LogError/Code/corrupt``, once for each damaged range; reading can go on behind it.
    case fail
    /// Pass over it; ``Cursor/gaps`` lists what was passed over.
    case skip
  }

  /// Default nil: everything that is kept, up to what is visible now.
  public var offsets: Range<Offset>?
  /// Only events whose own time lies in the range. Clocks jump, so these need not be neighbours; order stays that of appending.
  public var times: ClosedRange<Timestamp>?
  /// Whether events of the engine and of modules are shown too. Default false.
  public var includesControlEvents = false
  /// Default ``DamageHandling/fail``: never a shorter list as if it were complete.
  public var onDamage: DamageHandling = .fail

  /// Everything that is kept, unless it is narrowed.
  public init(
    offsets: Range<Offset>? = nil, times: ClosedRange<Timestamp>? = nil, includesControlEvents: Bool = false,
    onDamage: DamageHandling = .fail
  ) {
    self.offsets = offsets
    self.times = times
    self.includesControlEvents = includesControlEvents
    self.onDamage = onDamage
  }
}
