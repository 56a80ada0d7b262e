internal import TidemarkLog
internal import TidemarkSQLite

/// Mistakes that can be switched on, one at a time, to see that the simulated power cuts (`tidemark-simulate --bugs`) and the campaign of
/// `tools/exactly_once.py` find them.
///
/// They exist only in builds with `TIDEMARK_SEEDED_BUGS`, where the variable `TIDEMARK_SERVER_BUG` names one; in every other build
/// ``seeded(_:)`` is false, and the compiler drops what it guards.
package enum ServerBug: String, CaseIterable, Sendable {
  /// The key of an event is not looked for among those that are known.
  case duplicateKeyForgotten
  /// A receipt is signed for other events.
  case receiptOfOtherEvents
  /// What a commit changes in the rows, the applied offset and change numbers too, is committed before the log has it.
  case rowsBeforeLog
  /// Events are acknowledged when they are written, before the log has synced them.
  case acknowledgedBeforeSync
  /// The name of the server's directory is not made durable.
  case serverDirectoryNotSynced
  /// The change numbers of a commit are taken in a transaction of their own, before the log has what they are given to.
  case changeNumberBeforeCommit

  #if TIDEMARK_SEEDED_BUGS
    /// The one that is switched on.
    package static var active: ServerBug? {
      get { switchedOn.withLock { $0 } }
      set { switchedOn.withLock { $0 = newValue } }
    }
    private static let switchedOn = Locked(environmentValue("TIDEMARK_SERVER_BUG").flatMap { ServerBug(rawValue: $0) })
  #endif
}

/// Whether a mistake is switched on.
@inline(__always) func seeded(_ bug: ServerBug) -> Bool {
  #if TIDEMARK_SEEDED_BUGS
    ServerBug.active == bug
  #else
    false
  #endif
}

extension Derived {
  /// Ends the open transaction as if it had not been, but for the change numbers, and opens another one that gives the same numbers again:
  /// for ``ServerBug/changeNumberBeforeCommit``. Whatever was decided has to be decided again.
  func keepOnlyChangeNumbers() throws {
    let after = try throughs()
    try rows.execute("ROLLBACK")
    let before = try throughs()
    for (tenant, through) in after { try set(through, of: tenant) }
    try rows.execute("BEGIN IMMEDIATE")
    for (tenant, through) in before { try set(through, of: tenant) }
  }

  private func throughs() throws -> [(tenant: Int64, through: UInt64)] {
    try rows.all("SELECT number, through FROM tenants") { ($0.integer(0), $0.unsigned(1)) }
  }

  private func set(_ through: UInt64, of tenant: Int64) throws {
    try rows.run("UPDATE tenants SET through = ? WHERE number = ?", RowValue(through), .number(tenant))
  }
}
