package import TidemarkLog

/// What a log served, reduced to what the model compares.
package struct ReadBack: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    package var offset: UInt64
    /// Nil for control events, and for what no test event is.
    package var event: TestEvent?
    package var isControl = false
    package var continuesBatch = false

    package init(offset: UInt64, event: TestEvent?, isControl: Bool = false, continuesBatch: Bool = false) {
      self.offset = offset
      self.event = event
      self.isControl = isControl
      self.continuesBatch = continuesBatch
    }
  }

  /// The lowest offset that is kept, and the next to be given.
  package var first: UInt64
  package var size: UInt64
  package private(set) var entries: [Entry] = []
  /// Offsets that the log itself reported as lost.
  package var gaps: [Range<UInt64>]

  package init(first: UInt64 = 0, size: UInt64 = 0, gaps: [Range<UInt64>] = []) {
    self.first = first
    self.size = size
    self.gaps = gaps
  }

  /// Takes the next event in, control events too. Every byte of it is checked.
  package mutating func add(_ view: borrowing EventView) {
    entries.append(
      Entry(
        offset: view.offset, event: view.isControl ? nil : TestEvent(view), isControl: view.isControl, continuesBatch: view.continuesBatch))
  }

  package mutating func add(_ entry: Entry) { entries.append(entry) }

  func isInGap(_ offsets: Range<UInt64>) -> Bool {
    var next = offsets.lowerBound
    var found = true
    while next < offsets.upperBound && found {
      found = false
      for gap in gaps where gap.contains(next) {
        next = gap.upperBound
        found = true
      }
    }
    return next >= offsets.upperBound
  }
}

/// A broken invariant of Specs/recovery.md.
package struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Invariant: String, Sendable {
    case i1 = "I1"
    case i2 = "I2"
    case i3 = "I3"
    case i4 = "I4"
    case i5 = "I5"
    case i6 = "I6"
    case i7 = "I7"
    case i9 = "I9"
    case i10 = "I10"
    case i11 = "I11"
    // Of replication, in `Specs/protocol.md`.
    case r1 = "R1"
    case r3 = "R3"
    case r5 = "R5"
    case r6 = "R6"
    case r9 = "R9"
    case r12 = "R12"
    /// An operation ended otherwise than its contract says.
    case operation = "operation"
  }

  package let invariant: Invariant
  package let message: String

  package init(_ invariant: Invariant, _ message: String) {
    self.invariant = invariant
    self.message = message
  }

  package var description: String { "\(invariant.rawValue): \(message)" }
}

/// What happened between the last append and the reading.
package enum Crash: Sendable, Equatable {
  /// Nothing: the same process reads.
  case none
  /// The log was closed and opened.
  case close
  case kill
  case powerCut

  /// Whether an event that was acknowledged so must be there after it.
  func spares(_ durability: Durability) -> Bool {
    switch self {
    case .none, .close: true
    case .kill: durability >= .written
    case .powerCut: durability >= .synced
    }
  }
}
