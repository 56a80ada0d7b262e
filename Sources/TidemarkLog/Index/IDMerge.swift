/// Merges sorted id pages of several sources into one run, a page of each in memory at a time.
struct IDMerge {
  /// A sorted source of entries.
  struct Source {
    private let pages: IDPageRun
    /// What to add to its offsets.
    private let shift: UInt64
    private var page = [UInt8](repeating: 0, count: IDPages.pageByteCount)
    private var number = 0
    private var index = 0

    init(_ pages: IDPageRun, shift: UInt64) throws(LogError) {
      self.pages = pages
      self.shift = shift
      if pages.pageCount > 0 { try pages.load(0, into: &page) }
    }

    /// The next entry, or nil at the end.
    var head: UInt64? {
      guard number < pages.pageCount else { return nil }
      let entry = IDPages.entry(page.rawSpan, index)
      // A sum that does not fit comes from an index that is wrong; the event there will have another id.
      let offset = UInt32(truncatingIfNeeded: entry &+ shift)
      return entry == IDPages.filler ? nil : entry & ~UInt64(UInt32.max) | UInt64(offset)
    }

    mutating func advance() throws(LogError) {
      index += 1
      if index == IDPages.entriesPerPage {
        index = 0
        number += 1
        if number < pages.pageCount { try pages.load(number, into: &page) }
      }
    }
  }

  /// Writes the merged pages behind the header page and returns their number.
  static func write(_ sources: [Source], to file: any File, seed: UInt64, pace: () throws(LogError) -> Void) throws(LogError) -> UInt64 {
    var sources = sources
    var entries: [UInt64] = []
    var number = 0
    while true {
      var best: (index: Int, entry: UInt64)?
      for (index, source) in sources.enumerated() {
        if let head = source.head, best.map({ head < $0.entry }) ?? true { best = (index, head) }
      }
      if let best {
        entries.append(best.entry)
        try sources[best.index].advance()
      }
      if entries.count == IDPages.entriesPerPage || (best == nil && !entries.isEmpty) {
        let page = IDPages.encode(entries[...], number: number, seed: seed)
        try pace()
        try file.write(page.rawSpan, at: UInt64(IDIndexHeader.byteCount + number * IDPages.pageByteCount))
        number += 1
        entries.removeAll(keepingCapacity: true)
      }
      if best == nil { return UInt64(number) }
    }
  }
}
