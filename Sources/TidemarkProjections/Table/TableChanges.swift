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
  /// To be told before a key changes.
  mutating func note<Value>(_ key: String, in values: [String: Value]) {
    if changes != nil { changes?.note(key, in: values) }
  }

  /// The keys whose rows differ, and those that are spelled otherwise.
  package static func changes(from old: Self, to new: Self) -> TableChanges {
    switch (old.values, new.values) {
    case (.counts(let old), .counts(let new)): TableChanges(from: old, to: new)
    case (.sums(let old), .sums(let new)): TableChanges(from: old, to: new)
    case (.extremes(let old), .extremes(let new)): TableChanges(from: old, to: new)
    case (.latest(let old), .latest(let new)): TableChanges(from: old, to: new)
    default: TableChanges()
    }
  }

  /// As if every row had changed.
  package static func everything(in state: Self) -> TableChanges {
    switch state.values {
    case .counts(let values): TableChanges(all: values)
    case .sums(let values): TableChanges(all: values)
    case .extremes(let values): TableChanges(all: values)
    case .latest(let values): TableChanges(all: values)
    }
  }

  /// How many keys there are.
  package var keyCount: Int {
    switch values {
    case .counts(let values): values.count
    case .sums(let values): values.count
    case .extremes(let values): values.count
    case .latest(let values): values.count
    }
  }
}

extension TableChanges {
  fileprivate init<Value: Equatable>(from old: [String: Value], to new: [String: Value]) {
    for (key, value) in old where new[key] != value { note(key, in: old) }
    for index in new.indices {
      let key = new.keys[index]
      guard let known = old.index(forKey: key), old.keys[known].utf8.elementsEqual(key.utf8) else {
        note(key, in: old)
        continue
      }
    }
  }

  fileprivate init<Value>(all values: [String: Value]) { for key in values.keys { note(key, in: values) } }
}
