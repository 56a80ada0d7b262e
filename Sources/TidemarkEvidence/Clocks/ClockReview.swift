public import TidemarkLog

/// Goes over the events of a log in order and flags what its clocks did. It reads nothing and keeps nothing but the event before and the
/// receipts that it was given: the same events always give the same flags.
///
/// ```swift
/// var review = ClockReview()
/// var cursor = try log.read(Query(includesControlEvents: true))
/// while let event = try cursor.next()?.copy() {
///   for flag in review.review(event.view, session: cursor.session) { print(flag.offset, flag.explanation) }
/// }
/// ```
///
/// A review may begin anywhere: what the first event follows is then not known, and it is compared with nothing.
public struct ClockReview: Sendable {
  /// What it goes by.
  public let policy: ClockPolicy
  let brackets: TimeBrackets
  /// The event before.
  private(set) var last: ObservedEvent?
  /// The last one with the device's own time.
  private(set) var lastTimed: ObservedEvent?
  /// The last boot id that was known.
  private(set) var lastBoot: EventID?
  var drift = DriftSum()

  /// Begins a review.
  ///
  /// - Parameters:
  ///   - policy: the thresholds.
  ///   - receipts: those of the whole log, in any order, also of what is not reviewed. Without them, rules that need a server's time find
  ///     nothing (``ClockRule/needsReceipts``).
  public init(policy: ClockPolicy = .standard, receipts: [ReceiptTime] = []) {
    self.policy = policy
    brackets = TimeBrackets(receipts)
  }

  /// Flags one event. To be called for every event, control events too, in the order of offsets.
  ///
  /// - Parameters:
  ///   - event: the next one.
  ///   - session: the opening that the event belongs to, that of a session record being its own; nil if it is not known. Without it nothing
  ///     is said about boots, steps or the time since boot.
  /// - Returns: the event's flags, in the order of ``ClockRule``; at most one for a rule, but for each location fix one.
  public mutating func review(_ event: EventView, session: Session?) -> [ClockFlag] {
    review(ObservedEvent(event, session: session))
  }

  package mutating func review(_ event: ObservedEvent) -> [ClockFlag] {
    var flags: [ClockFlag] = []
    func add(_ flag: ClockFlag?) { if let flag { flags.append(flag) } }
    add(wallWentBack(event))
    add(wallJumpedForward(event))
    add(wallStepped(event))
    add(reboot(event))
    add(wallBeforeBuild(event))
    add(wallInFuture(event))
    for fix in event.fixes { add(fixDiffers(event, fix)) }
    if let (receipt, previous) = brackets.receipt(at: event.offset) {
      add(receiptWentBack(event, receipt, after: previous))
      add(receiptAheadOfWall(event, receipt))
    }
    add(elapsedWentBack(event))
    add(claimOutsideBracket(event))
    last = event
    if event.wall != nil { lastTimed = event }
    if let boot = event.boot { lastBoot = boot }
    return flags
  }

  func flag(_ rule: ClockRule, _ event: ObservedEvent, _ facts: [ClockFlag.Fact], _ explanation: String) -> ClockFlag {
    ClockFlag(
      rule: rule, policyVersion: policy.version, offset: event.offset, eventID: event.id, facts: facts, explanation: explanation)
  }

  /// One clock less another, which may take more than 64 bits.
  static func difference(_ left: Timestamp, _ right: Timestamp) -> Int128 { Int128(left.nanoseconds) - Int128(right.nanoseconds) }
}
