/// What a check can find.
public struct FindingKind: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// An unsynced tail: what a crash leaves. May have been acknowledged if it was the last commit, which nothing records.
  public static let tornTail = FindingKind(rawValue: "torn-tail")
  /// An interrupted seal, recovery, roll or trim.
  public static let leftover = FindingKind(rawValue: "leftover")
  /// An index, id pages, the footer of a sealed segment or, where its footer is sound, its header; or the merged id index. Made again by
  /// sealing.
  public static let damagedIndex = FindingKind(rawValue: "damaged-index")
  /// One or both identity slots; rebuilt.
  public static let damagedIdentity = FindingKind(rawValue: "damaged-identity")
  /// A frame does not verify.
  public static let damagedFrame = FindingKind(rawValue: "damaged-frame")
  /// A segment's header does not verify, and nothing serves in its place.
  public static let damagedHeader = FindingKind(rawValue: "damaged-header")
  /// No segment holds a range of offsets.
  public static let missingSegment = FindingKind(rawValue: "missing-segment")
  /// The log begins above its trim floor.
  public static let missingOldest = FindingKind(rawValue: "missing-oldest")
  /// The log ends below what is known to have been durable.
  public static let missingNewest = FindingKind(rawValue: "missing-newest")
  /// A segment is not what its successor says it should be.
  public static let pinMismatch = FindingKind(rawValue: "pin-mismatch")
  /// A segment of another log.
  public static let foreignSegment = FindingKind(rawValue: "foreign-segment")
  /// Two segments claim the same offsets.
  public static let doubledSegment = FindingKind(rawValue: "doubled-segment")
  /// A range that an earlier recovery had to give up.
  public static let gap = FindingKind(rawValue: "gap")

  /// Whether no event is lost by it.
  public var isHarmless: Bool { self == .tornTail || self == .leftover || self == .damagedIndex || self == .damagedIdentity }
}

/// One thing that a check found.
public struct Finding: Sendable, Equatable {
  /// What was found.
  public let kind: FindingKind
  /// Relative to the log's directory.
  public let file: String?
  /// The byte position in the file.
  public let position: UInt64?
  /// The offsets concerned.
  public let offsets: Range<Offset>?
  /// A sentence for people.
  public let message: String

  /// Whether no event is lost by it.
  public var isHarmless: Bool { kind.isHarmless }

  init(_ kind: FindingKind, file: String? = nil, position: UInt64? = nil, offsets: Range<Offset>? = nil, _ message: String) {
    self.kind = kind
    self.file = file
    self.position = position
    self.offsets = offsets
    self.message = message
  }

  /// The error that refuses to go on because of it.
  func error(in directory: String) -> LogError {
    LogError(
      .corrupt, "the log is damaged: \(kind.rawValue)", file: file.map { "\(directory)/\($0)" } ?? directory, position: position,
      offsets: offsets,
      why: message, advice: "run verify for the whole list; open with the quarantine policy to go on, or salvage what can be read")
  }
}
