extension DefinedProjection {
  /// A key whose row is not the same in two states.
  public struct Difference: Sendable, Equatable {
    /// The key.
    public var key: String
    /// Its row in the first state; nil if it has none.
    public var before: Row?
    /// Its row in the second state; nil if it has none.
    public var after: Row?
  }

  /// The keys whose rows differ between two states, in the order of the keys' bytes.
  ///
  /// ```swift
  /// let evening = try runner.state(asOf: 120_000).state
  /// for change in projection.differences(from: evening, to: try runner.current().state) { print(change.key) }
  /// ```
  public func differences(from before: State, to after: State) -> [Difference] {
    var found: [Difference] = []
    var old = rows(of: before)[...]
    var new = rows(of: after)[...]
    while let key = [old.first?.key, new.first?.key].compactMap({ $0 }).min(by: { $0.precedes($1) }) {
      let left = old.first?.key.hasBytes(of: key) ?? false ? old.removeFirst() : nil
      let right = new.first?.key.hasBytes(of: key) ?? false ? new.removeFirst() : nil
      if left != right { found.append(Difference(key: key, before: left, after: right)) }
    }
    return found
  }
}
