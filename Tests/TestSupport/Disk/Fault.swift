/// The kinds of call that a simulated disk counts, as a set.
package struct Calls: OptionSet, Sendable, Hashable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let open = Calls(rawValue: 1 << 0)
  package static let create = Calls(rawValue: 1 << 1)
  package static let list = Calls(rawValue: 1 << 2)
  package static let status = Calls(rawValue: 1 << 3)
  package static let makeDirectory = Calls(rawValue: 1 << 4)
  package static let rename = Calls(rawValue: 1 << 5)
  package static let remove = Calls(rawValue: 1 << 6)
  package static let syncDirectory = Calls(rawValue: 1 << 7)
  package static let lock = Calls(rawValue: 1 << 8)
  package static let sharedPage = Calls(rawValue: 1 << 9)
  package static let read = Calls(rawValue: 1 << 10)
  package static let write = Calls(rawValue: 1 << 11)
  package static let sync = Calls(rawValue: 1 << 12)
  package static let byteCount = Calls(rawValue: 1 << 13)
  package static let makeReadOnly = Calls(rawValue: 1 << 14)

  package static let all = Calls(rawValue: (1 << 15) - 1)
  /// Calls that need write access, besides `open` for writing and a writable shared page.
  package static let writing: Calls = [.create, .makeDirectory, .rename, .remove, .lock, .write, .makeReadOnly]
  /// Calls after which a crash can leave another disk than before.
  package static let changing: Calls = [.create, .makeDirectory, .rename, .remove, .syncDirectory, .write, .sync]
}

/// One call as it was made, for tests of the order of steps.
package struct Call: Sendable, Equatable {
  package var kind: Calls
  package var path: String
  /// For reads and writes, in bytes.
  package var position: UInt64 = 0
  package var byteCount = 0
}

/// What goes wrong with a call. One that does not fit the call it meets does nothing.
package enum Fault: Sendable, Equatable {
  /// The machine stops: the call does not happen, but a write may have got so many bytes into the cache. Every later call throws.
  case cut(writing: Int = 0)
  /// Any call: throws, nothing happened. See ``DiskError`` for numbers.
  case error(Int32)
  /// A write: so many bytes are written, then it throws.
  case shortWrite(byteCount: Int, errno: Int32)
  /// A write: reports success and writes nothing at all.
  case lostWrite
  /// A write: reads show it, but the platter never gets it, and no sync tells.
  case lostWriteBack
  /// A write: reads show it where it belongs, but the platter gets it so many bytes further on (or back).
  case misdirectedWrite(by: Int)
  /// A write: reads show it, but one of its sectors (counted round) is garbage on the platter.
  case garbageWrite(sector: Int)
  /// A read: one bit of what was read is wrong (counted round), this time only.
  case flippedRead(bit: Int)
  /// A sync of a file: throws an I/O error. Bit i of `reaching` set: the i-th of the first 64 unsynced sectors reached the platter before.
  case failedSync(SyncFailure, reaching: UInt64 = 0)
  /// A sync of a file or directory: reports success and makes nothing durable.
  case lyingSync

  func fits(_ kind: Calls) -> Bool {
    switch self {
    case .cut, .error: true
    case .shortWrite, .lostWrite, .lostWriteBack, .misdirectedWrite, .garbageWrite: kind == .write
    case .flippedRead: kind == .read
    case .failedSync: kind == .sync
    case .lyingSync: kind == .sync || kind == .syncDirectory
    }
  }
}

/// What the kernel does with the pages that a sync could not write.
package enum SyncFailure: Sendable, Equatable, CaseIterable {
  /// They stay unsynced; another sync writes them.
  case keepsPages
  /// They count as clean: another sync succeeds and writes nothing, reads show what the disk never got.
  case marksPagesClean
  /// They are thrown away: reads show what the platter has.
  case dropsPages
}

/// Which calls of a run go wrong, by their numbers from 0 on.
package struct FaultPlan: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    package var calls: ClosedRange<Int>
    package var kinds: Calls
    package var fault: Fault
  }

  package private(set) var entries: [Entry] = []
  /// Calls outside this range need no look at the plan.
  private(set) var first = Int.max
  private(set) var last = Int.min

  package init() {}

  /// One fault at one call.
  package init(_ fault: Fault, at call: Int) { add(fault, at: call...call) }

  /// One fault for a while, at calls of the given kinds only.
  package init(_ fault: Fault, during calls: ClosedRange<Int>, only kinds: Calls = .all) { add(fault, at: calls, only: kinds) }

  package mutating func add(_ fault: Fault, at calls: ClosedRange<Int>, only kinds: Calls = .all) {
    entries.append(Entry(calls: calls, kinds: kinds, fault: fault))
    first = min(first, calls.lowerBound)
    last = max(last, calls.upperBound)
  }

  func fault(at call: Int, _ kind: Calls) -> Fault? {
    for entry in entries where entry.calls.contains(call) && entry.kinds.contains(kind) && entry.fault.fits(kind) { return entry.fault }
    return nil
  }
}
