import TestSupport
import TidemarkLog

/// Everything that a log served, record by record as a hash of all its bytes: nothing of it may ever be different.
struct Served: Equatable {
  struct Entry: Equatable {
    var offset: UInt64
    var hash: UInt64
    /// Of the session that the event is said to belong to; nil if none is known.
    var incarnation: UInt64?
  }

  var entries: [Entry] = []
  var gaps: [Range<UInt64>] = []
  var first: UInt64
  var size: UInt64

  init(_ log: Log) throws {
    var cursor = try log.read(Query(includesControlEvents: true, onDamage: .skip))
    while var entry = try Self.next(&cursor) {
      entry.incarnation = cursor.session?.incarnation
      entries.append(entry)
    }
    gaps = cursor.gaps.compactMap(\.offsets)
    first = log.first
    size = log.size
  }

  /// The cursor can't be asked for the session before its event is let go.
  private static func next(_ cursor: inout Cursor) throws -> Entry? {
    guard let event = try cursor.next() else { return nil }
    return Entry(offset: event.offset, hash: xxh3(event.record))
  }

  /// What is served and was not there, or is there otherwise.
  func firstWrong(against clean: Served) -> UInt64? {
    var index = 0
    for entry in entries where entry.offset < clean.size {
      while index < clean.entries.count, clean.entries[index].offset < entry.offset { index += 1 }
      guard index < clean.entries.count, clean.entries[index].offset == entry.offset, clean.entries[index].hash == entry.hash else {
        return entry.offset
      }
      if let incarnation = entry.incarnation, incarnation != clean.entries[index].incarnation { return entry.offset }
    }
    return nil
  }

  /// Offsets of events that are not served any more.
  func lost(of clean: Served) -> [UInt64] {
    var lost: [UInt64] = []
    var index = 0
    for entry in clean.entries {
      while index < entries.count, entries[index].offset < entry.offset { index += 1 }
      if index == entries.count || entries[index].offset != entry.offset { lost.append(entry.offset) }
    }
    return lost
  }
}
