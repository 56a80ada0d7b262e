/// Sorted fingerprints of event ids with the offsets they stand for, in pages that are checked one by one: a look-up reads one or two.
///
/// ```
///   0             4                8                                4088    4096
///   +-------------+----------------+-- - - 511 entries in all - - --+-------+
///   | fingerprint | offset - base  |                                | hash  |
///   +-------------+----------------+-- - - - - - - - - - - - - - - -+-------+
/// ```
enum IDPages {
  static let pageByteCount = 4096
  static let entriesPerPage = 511

  /// Spread evenly, whatever the ids are like.
  static func fingerprint(_ id: EventID) -> UInt32 {
    var words = (id.high.bigEndian, id.low.bigEndian)
    return unsafe withUnsafeBytes(of: &words) { unsafe UInt32(truncatingIfNeeded: xxh3($0.bytes)) }
  }

  /// One entry as a number that sorts as entries do.
  static func entry(_ id: EventID, _ relativeOffset: UInt32) -> UInt64 { UInt64(fingerprint(id)) << 32 | UInt64(relativeOffset) }

  static func pageCount(entries: Int) -> Int { (entries + entriesPerPage - 1) / entriesPerPage }

  /// Makes the page numbered `number` from at most 511 sorted entries.
  static func encode(_ entries: ArraySlice<UInt64>, number: Int, seed: UInt64) -> [UInt8] {
    var page = [UInt8](repeating: 0xFF, count: pageByteCount)
    var position = 0
    for entry in entries {
      page.store(UInt32(truncatingIfNeeded: entry >> 32), at: position)
      page.store(UInt32(truncatingIfNeeded: entry), at: position + 4)
      position += 8
    }
    page.store(xxh3(page.rawSpan.slice(0, pageByteCount - 8), seed: seed &+ UInt64(number)), at: pageByteCount - 8)
    return page
  }

  static func isSound(_ page: RawSpan, number: Int, seed: UInt64) -> Bool {
    page.byteCount == pageByteCount && page.u64(pageByteCount - 8) == xxh3(page.slice(0, pageByteCount - 8), seed: seed &+ UInt64(number))
  }

  static func entry(_ page: RawSpan, _ index: Int) -> UInt64 { UInt64(page.u32(index * 8)) << 32 | UInt64(page.u32(index * 8 + 4)) }

  /// Fills up the last page; no entry of an event is like it, because no segment has 2^32 events.
  static let filler = UInt64.max
}

/// A run of id pages in a file, and how to find something in it.
struct IDPageRun: Sendable {
  let file: any File
  let position: UInt64
  let pageCount: Int
  let seed: UInt64

  /// The relative offsets that may belong to an id: mostly none or one. Throws ``LogError/Code/damagedIndex`` if a page does not verify.
  ///
  /// Fingerprints are spread evenly, so the place of one is guessed from its value and found within a page or two.
  func candidates(_ id: EventID) throws(LogError) -> [UInt32] {
    guard pageCount > 0 else { return [] }
    let wanted = IDPages.fingerprint(id)
    var page = [UInt8](repeating: 0, count: IDPages.pageByteCount)
    var at = min(pageCount - 1, Int((UInt64(wanted) * UInt64(pageCount)) >> 32))
    try load(at, into: &page)
    while at > 0, UInt32(truncatingIfNeeded: IDPages.entry(page.rawSpan, 0) >> 32) >= wanted {
      at -= 1
      try load(at, into: &page)
    }
    return try collect(wanted, from: at, &page)
  }

  private func collect(_ wanted: UInt32, from first: Int, _ page: inout [UInt8]) throws(LogError) -> [UInt32] {
    var found: [UInt32] = []
    for number in first..<pageCount {
      try load(number, into: &page)
      let span = page.rawSpan
      var low = 0
      var high = IDPages.entriesPerPage
      while low < high {
        let middle = (low + high) / 2
        if UInt32(truncatingIfNeeded: IDPages.entry(span, middle) >> 32) < wanted { low = middle + 1 } else { high = middle }
      }
      while low < IDPages.entriesPerPage {
        let entry = IDPages.entry(span, low)
        guard UInt32(truncatingIfNeeded: entry >> 32) == wanted else { return found }
        if entry != IDPages.filler { found.append(UInt32(truncatingIfNeeded: entry)) }
        low += 1
      }
    }
    return found
  }

  func load(_ number: Int, into page: inout [UInt8]) throws(LogError) {
    let at = position + UInt64(number * IDPages.pageByteCount)
    let got = try file.read(IDPages.pageByteCount, at: at, into: &page, at: 0)
    guard got == IDPages.pageByteCount, IDPages.isSound(page.rawSpan, number: number, seed: seed) else {
      throw LogError(
        .damagedIndex, "the id index is damaged", file: file.path, position: at, why: "a page's checksum does not match",
        advice: "it is rebuilt from the events when the log is opened for writing")
    }
  }
}
