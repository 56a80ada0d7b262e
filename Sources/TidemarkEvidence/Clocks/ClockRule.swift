/// What a review looks for in the clocks of a log. `Specs/clocks.md` has each as a formula, with the reasons.
///
/// The raw value is the rule's stable id, such as `wall-went-back`. Cases stand in the order in which the flags of one event are given.
///
/// ```swift
/// let rule = ClockRule(rawValue: "wall-stepped")
/// ```
public enum ClockRule: String, Sendable, CaseIterable {
  /// The wall clock shows less than at the event before.
  case wallWentBack = "wall-went-back"
  /// The wall clock advanced by far more than the time since boot accounts for.
  case wallJumpedForward = "wall-jumped-forward"
  /// The wall clock was set within one boot, in either direction: measured against the time since boot, or noted at appending.
  case wallStepped = "wall-stepped"
  /// The device was started anew. Informational.
  case reboot = "reboot"
  /// The wall clock shows a time before the program existed.
  case wallBeforeBuild = "wall-before-build"
  /// The wall clock shows a time that had not come: after the policy's latest date, or after a server already had the event.
  case wallInFuture = "wall-in-future"
  /// The time of a location fix and the wall clock do not agree.
  case fixDiffers = "fix-differs"
  /// A receipt's server time is earlier than that of the receipt before it.
  case receiptWentBack = "receipt-went-back"
  /// The wall clock, where a receipt was put into the log, shows less than the server's time in it.
  case receiptAheadOfWall = "receipt-ahead-of-wall"
  /// The time since boot shows less than at the event before, in one boot.
  case elapsedWentBack = "elapsed-went-back"
  /// A time that the caller stated lies outside the event's ``TimeBracket``.
  case claimOutsideBracket = "claim-outside-bracket"

  /// Whether it tells of something ordinary that explains other flags. All other rules tell of what a sound clock does not do.
  public var isInformational: Bool { self == .reboot }

  /// Whether it looks at receipts only: without any it finds nothing. ``wallInFuture`` looks at them too.
  public var needsReceipts: Bool {
    switch self {
    case .receiptWentBack, .receiptAheadOfWall, .claimOutsideBracket: true
    default: false
    }
  }
}
