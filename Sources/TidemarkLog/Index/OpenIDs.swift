/// Ids of the segments that are not sealed yet. Built when the first look-up asks for it, kept up to date from then on.
struct OpenIDs {
  private var tables: [SegmentName: IDTable] = [:]
  private var newest: SegmentName?

  /// Adds a frame that was committed to the newest segment.
  mutating func didAppend(_ records: RawSpan, base: Offset, to name: SegmentName) {
    guard newest == name else { return }
    tables[name]?.add(records, first: UInt32(truncatingIfNeeded: base - name.base))
  }

  /// Another segment is the newest now. A replaced one has gone.
  mutating func didRoll(replacing: Bool) {
    if replacing, let newest { tables[newest] = nil }
    newest = nil
  }

  mutating func forget(_ name: SegmentName) { tables[name] = nil }

  func table(_ name: SegmentName) -> IDTable? { tables[name] }

  mutating func keep(_ table: IDTable, for name: SegmentName, isNewest: Bool) {
    tables[name] = table
    if isNewest { newest = name }
  }
}
