public import TidemarkLog

/// A server's countersigned checkpoint, verified: the tidemark. What lies below its size is the server's too, and can't be changed any more
/// by the device alone or by the server alone.
public struct Receipt: Sendable, Hashable {
  /// The checkpoint with all signatures.
  public let note: SignedNote
  /// What was countersigned.
  public let checkpoint: Checkpoint
  /// By the server's clock; of several servers the latest.
  public let time: Timestamp

  /// How many events it covers.
  public var size: Offset { checkpoint.head.size }

  /// Throws `LogError.Code.notProven` if the policy is not met, and `LogError.Code.invalidText` for what is no checkpoint.
  public init(_ note: SignedNote, _ policy: Policy) throws {
    checkpoint = try Checkpoint(note.text)
    let seconds = policy.cosignatures(of: note).map(\.cosignature.seconds).max()
    guard policy.isMet(by: note), let seconds else {
      throw LogError(
        .notProven, "a receipt does not count", why: "the signatures that the policy asks for are not there, or do not verify",
        advice: "check the policy, and that the receipt is from the server named there")
    }
    guard let time = Timestamp(seconds: seconds) else {
      throw LogError(
        .timeOutOfRange, "a receipt's time is out of range", why: "\(seconds) seconds since 1970", advice: "check the server's clock")
    }
    self.note = note
    self.time = time
  }
}

extension Timestamp {
  /// Nil beyond the year 2262.
  init?(seconds: UInt64) {
    guard let seconds = Int64(exactly: seconds) else { return nil }
    let (nanoseconds, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard !isOver else { return nil }
    self.init(nanoseconds: nanoseconds)
  }
}
