/// Which keys of a table changed, and how each was spelled before.
///
/// Texts that look alike are one key (Unicode's canonical equivalence), of which the first spelling is kept. Where bytes are compared, they
/// are two, so whoever writes rows there must remove the old spelling.
package struct TableChanges: Sendable, Equatable {
  /// The spelling that a key had; nil: it was not there.
  package struct Before: Sendable, Equatable {
    package var spelling: String?
  }

  package private(set) var keys: [String: Before] = [:]

  package init() {}

  mutating func note<Value>(_ key: String, in values: [String: Value]) {
    if keys.index(forKey: key) != nil { return }
    keys[key] = Before(spelling: values.index(forKey: key).map { values.keys[$0] })
  }
}

extension DefinedProjection.State {
  /// The keys whose rows differ, and those that are spelled otherwise.
  package static func changes(from old: Self, to new: Self) -> TableChanges {
    var changes = TableChanges()
    changes.note(from: old.counts, to: new.counts)
    changes.note(from: old.sums, to: new.sums)
    changes.note(from: old.extremes, to: new.extremes)
    changes.note(from: old.latest, to: new.latest)
    return changes
  }

  /// As if every row had changed.
  package static func everything(in state: Self) -> TableChanges {
    var changes = TableChanges()
    for key in state.counts.keys { changes.note(key, in: state.counts) }
    for key in state.sums.keys { changes.note(key, in: state.sums) }
    for key in state.extremes.keys { changes.note(key, in: state.extremes) }
    for key in state.latest.keys { changes.note(key, in: state.latest) }
    return changes
  }

  /// How many keys there are.
  package var keyCount: Int { counts.count + sums.count + extremes.count + latest.count }
}

extension TableChanges {
  fileprivate mutating func note<Value: Equatable>(from old: [String: Value], to new: [String: Value]) {
    for (key, value) in old where new[key] != value { note(key, in: old) }
    for key in new.keys {
      guard let known = old.index(forKey: key), old.keys[known].utf8.elementsEqual(key.utf8) else {
        note(key, in: old)
        continue
      }
    }
  }
}
