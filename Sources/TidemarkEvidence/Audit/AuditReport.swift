public import TidemarkLog

/// What an audit of a log found.
public struct AuditReport: Sendable {
  /// The answer to what was asked.
  public enum Verdict: String, Sendable {
    /// Every event that was asked about is covered by a receipt that the policy accepts, and nothing contradicts it.
    case proven
    /// Nothing contradicts it, but not all is proven.
    case unproven
    /// Something contradicts it.
    case refuted
  }

  /// An event that corrects another.
  public struct Correction: Sendable, Hashable {
    /// Where it stands.
    public let offset: Offset
    /// The event that it stands for.
    public let superseded: EventID
  }

  /// More than so many of a kind are counted only.
  public static let listLimit = 500

  /// A receipt that counts.
  public struct ReceiptFact: Sendable, Hashable {
    /// Of its event in the log; nil for one that stands in the notes only.
    public let offset: Offset?
    /// How many events it covers.
    public let size: Offset
    /// By the server's clock.
    public let time: Timestamp
    /// The names, in the policy, of who signed.
    public let signers: [String]
  }

  /// Of the log.
  public let identity: LogIdentity
  /// The first offset that is kept.
  public let first: Offset
  /// The history as it was read.
  public let head: TreeHead
  /// How many events were asked about, from the first one on.
  public let asked: Offset
  /// Events below it are covered by a receipt that counts.
  public internal(set) var covered: Offset = 0
  /// Events of callers.
  public internal(set) var userEventCount: UInt64 = 0
  /// Events of the engine and of modules.
  public internal(set) var controlEventCount: UInt64 = 0
  /// Events that correct another.
  public internal(set) var correctionCount: UInt64 = 0
  /// The first of them, at most ``listLimit``.
  public internal(set) var corrections: [Correction] = []
  /// Offsets of erasure events.
  public internal(set) var erasures: [Offset] = []
  /// The keys that signed.
  public internal(set) var keys: KeyChain
  /// In the order of their sizes.
  public internal(set) var receipts: [ReceiptFact] = []
  /// How many checkpoints the device signed, as far as they are kept and verify.
  public internal(set) var checkpointCount = 0
  /// What contradicts, is missing, or was not checked.
  public internal(set) var findings: [AuditFinding] = []

  init(identity: LogIdentity, first: Offset, head: TreeHead, asked: Offset) {
    self.identity = identity
    self.first = first
    self.head = head
    self.asked = asked
    keys = KeyChain(of: identity)
  }

  /// Refuted if anything contradicts; proven if nothing that bears on the events that were asked about is missing.
  public var verdict: Verdict {
    if findings.contains(where: { $0.weight == .refuted }) { return .refuted }
    return covered >= asked && !findings.contains { $0.weight == .unproven } ? .proven : .unproven
  }

  /// The verdict as a sentence.
  package var verdictLine: String {
    switch verdict {
    case .proven where first > 0:
      "proven: a receipt that the policy accepts covers all events from offset \(first) to \(asked); those below \(first) were removed, "
        + "and are proven elsewhere only"
    case .proven: "proven: a receipt that the policy accepts covers all \(asked) events that were asked about"
    case .unproven where covered < asked:
      "unproven: nothing contradicts the log, but receipts that count cover only \(covered) of \(asked) events"
    case .unproven: "unproven: nothing contradicts the log, but a signature that is there does not count"
    case .refuted: "refuted: \(findings.count { $0.weight == .refuted }) findings contradict the log"
    }
  }

  /// The receipts for time brackets. One that stands in the notes only counts as behind the end.
  public var receiptTimes: [ReceiptTime] {
    receipts.map { ReceiptTime(offset: $0.offset ?? head.size, size: $0.size, time: $0.time) }
  }

  /// When a range of events was appended, by the server's clock.
  public struct Bracket: Sendable, Hashable {
    /// The range.
    public let offsets: Range<Offset>
    /// The time of the last receipt that stands before them in the log.
    public let after: Timestamp?
    /// The time of the first receipt that covers them.
    public let before: Timestamp?
  }

  /// For all events that are kept, in order.
  public var brackets: [Bracket] {
    let times = TimeBrackets(receiptTimes)
    let bounds = Set(receiptTimes.flatMap { [$0.size, $0.offset + 1] } + [first, head.size]).filter { $0 >= first && $0 <= head.size }
      .sorted()
    return zip(bounds, bounds.dropFirst()).map { start, end in
      let bracket = times.bracket(of: start)
      return Bracket(offsets: start..<end, after: bracket.lower, before: bracket.upper)
    }
  }

  /// What evidence is worth, for every report.
  package static let promises = [
    "Events that a receipt covers can't be altered, reordered, added to in the middle or removed by the device alone or by the server "
      + "alone without this showing.",
    "Both together could, unless an outside witness holds a checkpoint.",
    "Events that no receipt covers can be dropped by whoever holds the device.",
    "An older copy of the log, and a second device with the same keys, show only against a later receipt or the server's own record.",
    "A receipt shows when an event was appended. When it was captured, and that it is true, no log can prove.",
  ]
}
