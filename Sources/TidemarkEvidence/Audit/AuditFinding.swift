public import TidemarkLog

/// One thing that an audit found, or could not find.
public struct AuditFinding: Sendable, Hashable {
  /// How it bears on the verdict.
  public enum Weight: String, Sendable {
    /// It contradicts what was signed or stored.
    case refuted
    /// Nothing contradicts it, and nothing proves it.
    case unproven
    /// It was not looked at.
    case notChecked = "not-checked"
  }

  /// The kinds, as stable names.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A stored byte is not what its checksum says, or a segment is missing.
    public static let storage = Kind(rawValue: "storage")
    /// The events do not lead to a root that was signed.
    public static let rootDiffers = Kind(rawValue: "root-differs")
    /// The events do not lead to the tree that was kept of them, which no signature covers.
    public static let treeDiffers = Kind(rawValue: "tree-differs")
    /// The log ends before a size that was signed.
    public static let shorter = Kind(rawValue: "shorter")
    /// A note is not signed by the key that was in force at its size.
    public static let signature = Kind(rawValue: "signature")
    /// A note, a receipt event or a file can't be read.
    public static let unreadable = Kind(rawValue: "unreadable")
    /// A note is of another log or epoch.
    public static let otherHistory = Kind(rawValue: "other-history")
    /// A receipt stands before events that it covers, or sizes or times of receipts fall.
    public static let order = Kind(rawValue: "order")
    /// A key event does not follow from those before it.
    public static let keyRecord = Kind(rawValue: "key-record")
    /// The policy names no key of this device, or one that never signed.
    public static let deviceKey = Kind(rawValue: "device-key")
    /// A receipt lacks the signatures that the policy asks for.
    public static let policy = Kind(rawValue: "policy")
    /// Events that were lost before they were signed.
    public static let lost = Kind(rawValue: "lost")
    /// Events that no receipt covers.
    public static let uncovered = Kind(rawValue: "uncovered")
    /// Events that were removed after a receipt.
    public static let trimmed = Kind(rawValue: "trimmed")
    /// Events that were salvaged from another log.
    public static let salvaged = Kind(rawValue: "salvaged")
    /// Something that only somebody else can check.
    public static let elsewhere = Kind(rawValue: "elsewhere")
  }

  /// What was found.
  public let kind: Kind
  /// How it bears on the verdict.
  public let weight: Weight
  /// The offsets concerned.
  public let offsets: Range<Offset>?
  /// A sentence for people.
  public let message: String

  init(_ kind: Kind, _ weight: Weight, _ offsets: Range<Offset>? = nil, _ message: String) {
    self.kind = kind
    self.weight = weight
    self.offsets = offsets
    self.message = message
  }
}
