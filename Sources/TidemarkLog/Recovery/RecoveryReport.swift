/// What opening a log found and did.
///
/// ```swift
/// let log = try Log.open(at: "captures")
/// if !log.recoveryReport.wasClean { print(log.recoveryReport) }
/// ```
public struct RecoveryReport: Sendable {
  /// Whether the log was closed in good order.
  public internal(set) var wasClean = true
  /// What was found, in the order of the files.
  public internal(set) var findings: [Finding] = []
  /// Offsets that can't be served.
  public internal(set) var gaps: [Range<Offset>] = []
  /// Events that were kept and written out again.
  public internal(set) var rewrittenEvents: UInt64 = 0
  /// Bytes that were cut away and kept under `torn/`.
  public internal(set) var preservedBytes: UInt64 = 0
  /// The files that hold them, relative to the log's directory.
  public internal(set) var preservedFiles: [String] = []
  /// Whether there was no room to write out again what was kept: reads work, and the next append takes it up again.
  public internal(set) var isDegraded = false
  /// How long opening took, in nanoseconds.
  public internal(set) var nanoseconds: UInt64 = 0
}

extension RecoveryReport: CustomStringConvertible {
  public var description: String {
    var lines = [wasClean ? "closed in good order" : "not closed in good order"]
    if rewrittenEvents > 0 { lines.append("\(rewrittenEvents) events kept and written out again") }
    if preservedBytes > 0 { lines.append("\(preservedBytes) bytes kept under torn/") }
    if isDegraded { lines.append("no space to finish: the next append takes it up again") }
    for finding in findings {
      var line = finding.kind.rawValue
      if let file = finding.file { line += " in \(file)" }
      if let position = finding.position { line += " at byte \(position)" }
      if let offsets = finding.offsets { line += ", offsets \(offsets.lowerBound)..<\(offsets.upperBound)" }
      lines.append("\(line): \(finding.message)")
    }
    return lines.joined(separator: "\n")
  }
}
