import TestSupport
import TidemarkLog

/// What must be true of a log, whatever the machine does to it: a value that is copied with each disk image.
struct History: Sendable {
  var model = ModelLog()
  /// Whether making the log was ever acknowledged.
  var exists = false
  /// The highest offset that `recordDurable` returned: it may have left the device (I7).
  var recorded: UInt64 = 0
  /// The offset after the last user event that is known to be there; 0 if none is.
  var userEnd: UInt64 = 0

  /// Of a log that is there, and of which nothing is known.
  static var ofSomeLog: History {
    var history = History()
    history.exists = true
    return history
  }

  /// Takes a recovery for final: what was served is a promise from now on.
  mutating func settle(_ read: ReadBack) {
    model.settle(read)
    exists = true
    recorded = min(recorded, read.size)
    userEnd = read.entries.last { !$0.isControl }.map { $0.offset + 1 } ?? 0
  }

  /// Everything that what was read breaks.
  func check(_ read: ReadBack, after crash: Crash, gapsAllowed: Bool = false) -> Violation? {
    if let violation = model.check(read, after: crash, gapsAllowed: gapsAllowed).first { return violation }
    if read.size < recorded, !read.gaps.contains(where: { $0.lowerBound <= read.size && recorded <= $0.upperBound }) {
      return Violation(.i7, "offset \(recorded) was recorded as durable, but the log ends at \(read.size)")
    }
    return nil
  }
}

extension Crash {
  /// What two crashes together are: the second one hits what the first one left before it was settled.
  func and(_ other: Crash) -> Crash { severity >= other.severity ? self : other }

  private var severity: Int {
    switch self {
    case .none: 0
    case .close: 1
    case .kill: 2
    case .powerCut: 3
    }
  }
}

extension ReadBack {
  /// Everything that a log serves, read from end to end. Every byte is checked; damage is passed over and noted as gaps.
  init(_ log: Log) throws {
    var cursor = try log.read(Query(includesControlEvents: true, onDamage: .skip))
    self.init()
    while let event = try cursor.next() { add(event) }
    gaps = cursor.gaps.compactMap(\.offsets)
    first = log.first
    size = log.size
  }

  /// The first event that `earlier` showed and that is not served any more, though nothing trimmed it.
  func firstLost(of earlier: ReadBack) -> UInt64? {
    var index = 0
    for entry in earlier.entries where entry.offset >= first {
      while index < entries.count, entries[index].offset < entry.offset { index += 1 }
      if index == entries.count || entries[index] != entry { return entry.offset }
    }
    return nil
  }
}
