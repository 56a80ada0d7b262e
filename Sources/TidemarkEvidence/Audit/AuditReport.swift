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

  public let identity: LogIdentity
  /// The first offset that is kept.
  public let first: Offset
  /// The history as it was read.
  public let head: TreeHead
  /// How many events were asked about, from the first one on.
  public let asked: Offset
  /// Events below it are covered by a receipt that counts.
  public internal(set) var covered: Offset = 0
  public internal(set) var userEventCount: UInt64 = 0
  public internal(set) var controlEventCount: UInt64 = 0
  /// Events that correct another.
  public internal(set) var correctionCount: UInt64 = 0
  /// Offsets of erasure events.
  public internal(set) var erasures: [Offset] = []
  public internal(set) var keys = KeyChain()
  /// In the order of their sizes.
  public internal(set) var receipts: [ReceiptFact] = []
  /// How many checkpoints the device signed, as far as they are kept and verify.
  public internal(set) var checkpointCount = 0
  public internal(set) var findings: [AuditFinding] = []

  init(identity: LogIdentity, first: Offset, head: TreeHead, asked: Offset) {
    self.identity = identity
    self.first = first
    self.head = head
    self.asked = asked
  }

  /// Refuted if anything contradicts; proven if nothing that bears on the events that were asked about is missing.
  public var verdict: Verdict {
    if findings.contains(where: { $0.weight == .refuted }) { return .refuted }
    return covered >= asked && !findings.contains { $0.weight == .unproven } ? .proven : .unproven
  }

  /// The receipts that stand in the log, for time brackets.
  public var receiptTimes: [ReceiptFact] { receipts.filter { $0.offset != nil } }
}
