public import TidemarkLog

/// Checks all that a log's history claims: every byte, the tree over all events, each checkpoint and receipt, the keys, against a policy
/// that the auditor brings along. It fails closed: what is not proven is never called proven.
///
/// ```swift
/// let report = try Auditor(policy).audit(at: "captures")
/// print(report.verdict, report.covered)
/// ```
public struct Auditor: Sendable {
  private let policy: Policy?
  private let asked: Asked

  /// Which events an audit is asked about.
  public enum Asked: Sendable {
    /// All.
    case all
    /// Those below a size.
    case below(Offset)
    /// Those that the newest receipt covers.
    case receipted
  }

  /// - Parameters:
  ///   - policy: whose signatures count; nil proves nothing.
  ///   - asked: which events have to be proven.
  public init(_ policy: Policy?, asked: Asked = .all) {
    self.policy = policy
    self.asked = asked
  }

  /// Reads all of a log; it may be in use. Nothing is changed.
  ///
  /// Throws errors of the file system, and `LogError.Code.notALog`; what is wrong with the log is not an error but a finding.
  public func audit(at path: String, progress: ((Progress) -> Bool)? = nil) throws -> AuditReport {
    var options = LogOptions()
    options.onCorruption = .salvage
    let log = try Log.openForReading(at: path, options: options)
    defer { try? log.close() }
    return try audit(log) { try Log.verify(at: path, progress: progress) }
  }

  package func audit(at path: String, environment: Environment) throws -> AuditReport {
    var options = LogOptions()
    options.onCorruption = .salvage
    let log = try Log.openForReading(at: path, options: options, environment: environment)
    defer { try? log.close() }
    return try audit(log) { try Log.verify(at: path, options: options, environment: environment) }
  }

  private func audit(_ log: Log, verify: () throws -> VerificationReport) throws -> AuditReport {
    var work = try AuditWork(log, policy)
    work.checkStorage(try verify())
    try work.readEvents()
    work.checkLost()
    work.checkSalvages()
    work.checkEpochs()
    try work.checkKeptTree()
    try work.checkNotes()
    work.checkKeys()
    let asked: Offset =
      switch asked {
      case .all: work.history.head.size
      case .below(let size): size
      case .receipted: work.covered
      }
    return work.report(asked)
  }
}
