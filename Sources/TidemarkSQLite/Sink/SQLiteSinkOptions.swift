public import TidemarkProjections

/// How a ``SQLiteSink`` works.
///
/// ```swift
/// var options = SQLiteSinkOptions()
/// options.onUnreadable = .skip
/// options.eventsPerTransaction = 1_000
/// ```
public struct SQLiteSinkOptions: Sendable {
  /// What becomes of events that the definition can't read. Default: the sink stops before them.
  public var onUnreadable: ProjectionOptions.UnreadablePolicy = .fail
  /// The most events between two commits, from 1. More is faster on long ways, and keeps the database locked for longer at a time. Each key
  /// is written once a transaction, however many of its events are in it. Default 65,536.
  public var eventsPerTransaction = 65_536
  /// How long another connection's transaction is waited for. Default 5,000.
  public var busyTimeoutMilliseconds = 5_000
  /// Where snapshots of the projection are looked for, and kept on long ways: see `ProjectionOptions`.
  public var snapshotDirectory: String?

  /// Stops at what can't be read.
  public init() {}
}
