/// Which keys of a table changed: their rows are another's now, or gone.
package struct TableChanges: Sendable {
  private var noted = ValuesByKey<Void>()

  package init() {}

  /// Whether nothing changed.
  package var isEmpty: Bool { noted.isEmpty }
  /// The keys in the order of their bytes.
  package var keys: [String] { noted.sortedKeys }

  mutating func note(_ key: RawSpan) { noted[key] = () }
}

extension DefinedProjection.State {
  /// The keys whose rows differ.
  package static func changes(from old: Self, to new: Self) -> TableChanges {
    var changes = TableChanges()
    changes.note(from: old.counts, to: new.counts)
    changes.note(from: old.sums, to: new.sums)
    changes.note(from: old.extremes, to: new.extremes)
    changes.note(from: old.latest, to: new.latest)
    return changes
  }

  /// As if every row had changed.
  package static func everything(in state: Self) -> TableChanges { changes(from: Self(), to: state) }

  /// How many keys there are.
  package var keyCount: Int { counts.count + sums.count + extremes.count + latest.count }
}

extension TableChanges {
  fileprivate mutating func note<Value: Equatable>(from old: ValuesByKey<Value>, to new: ValuesByKey<Value>) {
    old.forEach { key, value in if new[key] != value { note(key) } }
    new.forEach { key, _ in if old[key] == nil { note(key) } }
  }
}
