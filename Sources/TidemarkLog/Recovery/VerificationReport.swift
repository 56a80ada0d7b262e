/// What checking every byte of a log found.
///
/// ```swift
/// let report = try Log.verify(at: "captures")
/// for finding in report.findings { print(finding.kind.rawValue, finding.message) }
/// ```
public struct VerificationReport: Sendable {
  /// Whether history is whole. Harmless findings do not count.
  public var isOK: Bool { findings.allSatisfy(\.isHarmless) }
  /// Events that callers appended and that can be read.
  public internal(set) var eventCount: UInt64 = 0
  /// Events of the engine and of modules.
  public internal(set) var controlEventCount: UInt64 = 0
  /// Frames that verify.
  public internal(set) var frameCount: UInt64 = 0
  /// Segment files that count.
  public internal(set) var segmentCount = 0
  /// In the order of offsets.
  public internal(set) var findings: [Finding] = []
}

/// How far long work has come.
public struct Progress: Sendable, Equatable {
  /// Bytes of segment files done.
  public let done: UInt64
  /// Bytes of segment files in all.
  public let total: UInt64
}

/// What salvaging brought over.
public struct SalvageReport: Sendable {
  /// Events of callers in the new log.
  public internal(set) var eventCount: UInt64 = 0
  /// Events of the engine and of modules in the new log.
  public internal(set) var controlEventCount: UInt64 = 0
  /// Ranges that could not be read; gaps in the new log, too.
  public internal(set) var gaps: [Finding] = []
}
