/// Event ids of an open segment, in memory: fingerprints with the offsets they stand for. 16 bytes an event at most.
struct IDTable {
  /// Zero is free; else fingerprint and relative offset plus one.
  private var slots: [UInt64]
  private var count = 0

  init() { slots = [UInt64](repeating: 0, count: 64) }

  mutating func insert(_ id: EventID, _ relativeOffset: UInt32) {
    if count * 4 >= slots.count * 3 { grow() }
    place(UInt64(IDPages.fingerprint(id)) << 32 | UInt64(relativeOffset &+ 1))
    count += 1
  }

  private mutating func place(_ entry: UInt64) {
    let mask = slots.count - 1
    var at = Self.start(UInt32(truncatingIfNeeded: entry >> 32), mask)
    while slots[at] != 0 { at = (at + 1) & mask }
    slots[at] = entry
  }

  private static func start(_ fingerprint: UInt32, _ mask: Int) -> Int {
    Int(truncatingIfNeeded: (UInt64(fingerprint) &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    for entry in old where entry != 0 { place(entry) }
  }

  /// The relative offsets that may belong to an id.
  func candidates(_ id: EventID) -> [UInt32] {
    let wanted = IDPages.fingerprint(id)
    let mask = slots.count - 1
    var at = Self.start(wanted, mask)
    var found: [UInt32] = []
    while slots[at] != 0 {
      if UInt32(truncatingIfNeeded: slots[at] >> 32) == wanted { found.append(UInt32(truncatingIfNeeded: slots[at]) &- 1) }
      at = (at + 1) & mask
    }
    return found
  }

  /// Adds all records of a frame, which have been checked.
  mutating func add(_ records: RawSpan, first relativeOffset: UInt32) {
    var position = 0
    var offset = relativeOffset
    while position < records.byteCount, let length = Record.length(at: position, in: records) {
      insert(records.id(position + 8), offset)
      position += length
      offset &+= 1
    }
  }
}
