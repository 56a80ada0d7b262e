internal import TidemarkLog

/// Values by key. Keys are compared by their bytes of UTF-8, as events hold them: two spellings of a text that Unicode calls equivalent are
/// two keys.
///
/// It gives keys in the order in which they came; one that went and came again may stand at either place.
///
/// ```swift
/// let scans = try runner.state()
/// print(scans["gate-7"] ?? 0)
/// for (gate, count) in scans { print(gate, count) }
/// ```
public struct ValuesByKey<Value: Sendable>: Sendable {
  // An open table over the keys' bytes, which lie one behind the other: each slot leads to an entry. The entry of a key that was removed
  // stays until the table is built anew, so that slots behind it are still found.
  private var bytes: [UInt8] = []
  private var entries: [Entry] = []
  private var slots: [Slot] = []
  private let seed = hashSeed
  /// How many keys there are.
  public private(set) var count = 0

  private struct Entry {
    /// Where its key lies in `bytes`.
    var start: Int
    var byteCount: UInt32
    var isRemoved = false
    var value: Value
  }

  private struct Slot {
    var hash: UInt32
    /// 0: free, otherwise the entry's index and 1.
    var number: UInt32
  }

  /// No keys.
  public init() {}

  /// - Parameter count: how many keys will come.
  init(minimumCapacity count: Int) { makeSlots(for: count) }

  /// Whether there are no keys.
  public var isEmpty: Bool { count == 0 }

  /// The value of a key; nil if it is not there. Setting nil removes the key.
  public subscript(key: String) -> Value? {
    get { self[key.rawSpan] }
    set { self[key.rawSpan] = newValue }
  }

  /// The value of a key, or another, with which the key comes in if that is changed.
  ///
  /// ```swift
  /// state[gate, default: 0] += 1
  /// ```
  public subscript(key: String, default initial: @autoclosure () -> Value) -> Value {
    get { self[key] ?? initial() }
    _modify { yield &self[key.rawSpan, default: initial()] }
  }

  subscript(key: RawSpan) -> Value? {
    get {
      guard let index = find(key, hash(key)), !entries[index].isRemoved else { return nil }
      return entries[index].value
    }
    set {
      if let newValue { self[key, default: newValue] = newValue } else { remove(key) }
    }
  }

  subscript(key: RawSpan, default initial: @autoclosure () -> Value) -> Value {
    get { self[key] ?? initial() }
    _modify {
      let index = entry(key, initial)
      yield &entries[index].value
    }
  }

  // MARK: Entries

  private mutating func entry(_ key: RawSpan, _ initial: () -> Value) -> Int {
    let hash = hash(key)
    guard let index = find(key, hash) else { return add(key, hash, initial()) }
    if entries[index].isRemoved {
      entries[index].isRemoved = false
      entries[index].value = initial()
      count += 1
    }
    return index
  }

  @inline(never) private mutating func add(_ key: RawSpan, _ hash: UInt32, _ value: Value) -> Int {
    if (entries.count + 1) * 4 > slots.count * 3 { rebuild() }
    entries.append(Entry(start: bytes.count, byteCount: UInt32(key.byteCount), value: value))
    bytes.add(key)
    count += 1
    var at = Int(hash) & (slots.count - 1)
    while slots[at].number != 0 { at = (at + 1) & (slots.count - 1) }
    slots[at] = Slot(hash: hash, number: UInt32(entries.count))
    return entries.count - 1
  }

  private mutating func remove(_ key: RawSpan) {
    guard let index = find(key, hash(key)), !entries[index].isRemoved else { return }
    entries[index].isRemoved = true
    count -= 1
  }

  /// Makes room, without what was removed.
  private mutating func rebuild() {
    var fresh = ValuesByKey(minimumCapacity: count * 2)
    for index in entries.indices {
      if !entries[index].isRemoved { _ = fresh.add(key(index), hash(key(index)), entries[index].value) }
    }
    self = fresh
  }

  private mutating func makeSlots(for count: Int) {
    var capacity = 8
    while capacity * 3 < (count + 1) * 4 { capacity *= 2 }
    slots = Array(repeating: Slot(hash: 0, number: 0), count: capacity)
  }

  private func find(_ key: RawSpan, _ hash: UInt32) -> Int? {
    if slots.isEmpty { return nil }
    let mask = slots.count - 1
    var at = Int(hash) & mask
    while true {
      let slot = slots[at]
      if slot.number == 0 { return nil }
      let index = Int(slot.number) - 1
      if slot.hash == hash, self.key(index).equals(key) { return index }
      at = (at + 1) & mask
    }
  }

  @_lifetime(borrow self) private func key(_ index: Int) -> RawSpan {
    bytes.rawSpan.slice(entries[index].start, Int(entries[index].byteCount))
  }

  private func hash(_ key: RawSpan) -> UInt32 { UInt32(truncatingIfNeeded: xxh3(key, seed: seed)) }

  /// The keys in the order of their bytes.
  public var sortedKeys: [String] {
    // The first bytes decide nearly always, and lie beside each other.
    let order = entries.indices.filter { !entries[$0].isRemoved }.map { (first: Self.firstBytes(key($0)), index: $0) }.sorted {
      $0.first == $1.first ? key($0.index).precedes(key($1.index)) : $0.first < $1.first
    }
    return order.map { key($0.index).text() }
  }

  /// Its first eight bytes, the first the highest; zeros behind its end.
  private static func firstBytes(_ key: RawSpan) -> UInt64 {
    if key.byteCount >= 8 { return key.u64(0).byteSwapped }
    return (0..<key.byteCount).reduce(0) { $0 | UInt64(key.u8($1)) << UInt64(56 - 8 * $1) }
  }

  /// Shows each key, as its bytes, with its value.
  func forEach(_ body: (RawSpan, Value) -> Void) {
    for index in entries.indices where !entries[index].isRemoved { body(key(index), entries[index].value) }
  }
}

/// Keys come from outside, and who knows how they are hashed could choose ones that all meet in one slot. So that differs from process to
/// process. XXH3 is no cryptographic hash: keys that meet under any seed would make a fold slow, not wrong. What is seen of a table does
/// not follow from the seed.
private let hashSeed = UInt64.random(in: .min ... .max)

extension ValuesByKey: Equatable where Value: Equatable {
  /// The order of keys makes no difference.
  public static func == (first: ValuesByKey, second: ValuesByKey) -> Bool {
    guard first.count == second.count else { return false }
    for index in first.entries.indices where !first.entries[index].isRemoved {
      if second[first.key(index)] != first.entries[index].value { return false }
    }
    return true
  }
}

extension ValuesByKey: ExpressibleByDictionaryLiteral {
  /// Of a key that is there twice, the last value counts.
  public init(dictionaryLiteral elements: (String, Value)...) {
    self.init(minimumCapacity: elements.count)
    for (key, value) in elements { self[key] = value }
  }
}

extension ValuesByKey: Sequence {
  /// Gives keys and values.
  public struct Iterator: IteratorProtocol {
    fileprivate let values: ValuesByKey
    fileprivate var index = 0

    public mutating func next() -> (key: String, value: Value)? {
      while index < values.entries.count {
        defer { index += 1 }
        if !values.entries[index].isRemoved { return (values.key(index).text(), values.entries[index].value) }
      }
      return nil
    }
  }

  /// Keys and values, in the order in which the keys came.
  public func makeIterator() -> Iterator { Iterator(values: self) }
  public var underestimatedCount: Int { count }
}

extension ValuesByKey: CustomStringConvertible {
  /// As a dictionary is shown.
  public var description: String {
    isEmpty ? "[:]" : "[\(map { "\($0.key.debugDescription): \($0.value)" }.joined(separator: ", "))]"
  }
}

extension String {
  /// Whether it comes first in the order of bytes, which is that of code points.
  func precedes(_ other: String) -> Bool { rawSpan.precedes(other.rawSpan) }

  /// Whether it is spelled alike.
  func hasBytes(of other: String) -> Bool { rawSpan.equals(other.rawSpan) }
}
