import Testing
import TidemarkEvidence
import TidemarkLog

let millisecond: Int64 = 1_000_000
let second: Int64 = 1_000_000_000
let hour: Int64 = 3600 * second
let day: Int64 = 24 * hour

/// A device's clocks, moved by hand, and the events that a log holds of them.
struct ClockStory {
  /// 2026-06-01T00:00:00Z.
  static let start: Int64 = 1_780_272_000 * second

  var wall = Self.start
  var elapsed: UInt64 = 60_000_000_000
  var boot: EventID? = EventID(high: 0xB007, low: 1)
  var incarnation: UInt64? = 1
  private(set) var events: [ObservedEvent] = []

  /// Begins with one event.
  init() { append() }

  /// Both clocks go on, the wall clock by so much more or less.
  mutating func pass(_ nanoseconds: Int64, wallGains gain: Int64 = 0) {
    wall += nanoseconds + gain
    elapsed += UInt64(nanoseconds)
  }

  /// Another boot, some time after the last, with the wall clock at some moment.
  mutating func reboot(wall: Int64, elapsed: UInt64 = 60_000_000_000) {
    self.wall = wall
    self.elapsed = elapsed
    boot = EventID(high: 0xB007, low: (boot?.low ?? 0) + 1)
    reopen()
  }

  /// Another opening in the same boot.
  mutating func reopen() { incarnation = (incarnation ?? 0) + 1 }

  mutating func append(claim: Int64? = nil, isStepNoted: Bool = false, fixes: [EventExtension.LocationFix] = []) {
    let offset = Offset(events.count)
    events.append(
      ObservedEvent(
        offset: offset, id: EventID(high: 1, low: offset), wall: claim == nil ? Timestamp(nanoseconds: wall) : nil,
        claim: claim.map(Timestamp.init(nanoseconds:)), elapsed: elapsed, isStepNoted: isStepNoted, fixes: fixes, boot: boot,
        incarnation: incarnation))
  }

  /// An event some time after the last one.
  mutating func append(after nanoseconds: Int64, wallGains gain: Int64 = 0) {
    pass(nanoseconds, wallGains: gain)
    append()
  }

  func flags(_ policy: ClockPolicy = .standard, receipts: [ReceiptTime] = []) -> [ClockFlag] {
    TidemarkEvidenceTests.flags(events, policy, receipts: receipts)
  }

  /// Each flag as `offset rule`.
  func found(_ policy: ClockPolicy = .standard, receipts: [ReceiptTime] = []) -> [String] {
    flags(policy, receipts: receipts).map { "\($0.offset) \($0.rule.rawValue)" }
  }
}

func flags(_ events: [ObservedEvent], _ policy: ClockPolicy = .standard, receipts: [ReceiptTime] = []) -> [ClockFlag] {
  var review = ClockReview(policy: policy, receipts: receipts)
  return events.flatMap { review.review($0) }
}

extension [ClockFlag] {
  /// One of them; fails the test if there are fewer.
  func flag(_ index: Int) throws -> ClockFlag { try #require(dropFirst(index).first) }
}

/// A policy with one thing changed.
func policy(_ change: (inout ClockPolicy) -> Void) -> ClockPolicy {
  var policy = ClockPolicy.standard
  change(&policy)
  return policy
}

func time(_ nanoseconds: Int64) -> Timestamp { Timestamp(nanoseconds: nanoseconds) }
