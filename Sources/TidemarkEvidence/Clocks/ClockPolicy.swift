public import TidemarkLog

/// The thresholds that a review of clocks goes by, with a version that each flag names. A value is flagged when it is *more* than its
/// threshold, a date when it is passed.
///
/// ```swift
/// var policy = ClockPolicy.standard
/// policy.version = 2
/// policy.buildDate = Timestamp(nanoseconds: 1_790_000_000_000_000_000)
/// var review = ClockReview(policy: policy)
/// ```
///
/// `Specs/clocks.md` gives the reason for each value of ``standard``; `Specs/clock-policy.json` is the same as a file.
public struct ClockPolicy: Sendable, Equatable {
  /// Which policy it is. Whoever changes a threshold raises it, so that flags of different policies are told apart.
  public var version: UInt32 = 1
  /// A wall clock that shows less is wrong: the program did not exist. 2026-01-01T00:00:00Z.
  public var buildDate = Timestamp(nanoseconds: 1_767_225_600_000_000_000)
  /// A wall clock that shows more is wrong. 2100-01-01T00:00:00Z.
  public var latestDate = Timestamp(nanoseconds: 4_102_444_800_000_000_000)
  /// How far the wall clock may go back from one event to the next. 1 s.
  public var wallWentBackNanoseconds: UInt64 = 1_000_000_000
  /// How far the wall clock may advance beyond what the time since boot accounts for. 180 days.
  public var wallJumpedForwardNanoseconds: UInt64 = 15_552_000_000_000_000
  /// By how much the wall clock may change against the time since boot within one boot, beyond slewing. 128 ms.
  public var wallStepNanoseconds: UInt64 = 128_000_000
  /// How fast the wall clock may be slewed, in parts in a million of the time since boot. 500.
  public var slewPartsPerMillion: UInt32 = 500
  /// How far the time of a location fix and the wall clock may differ. 60 s.
  public var fixDifferenceNanoseconds: UInt64 = 60_000_000_000
  /// How far the server's time may go back from one receipt to the next. 0.
  public var receiptWentBackNanoseconds: UInt64 = 0
  /// How far the wall clock and a server's time may contradict each other. 5 minutes.
  public var receiptDifferenceNanoseconds: UInt64 = 300_000_000_000
  /// How far the time since boot may go back within one boot. 0.
  public var elapsedWentBackNanoseconds: UInt64 = 0
  /// How far outside its bracket a time that the caller stated may lie. 5 minutes.
  public var claimDifferenceNanoseconds: UInt64 = 300_000_000_000

  /// The built-in policy, version 1.
  public static let standard = ClockPolicy()

  private init() {}
}
