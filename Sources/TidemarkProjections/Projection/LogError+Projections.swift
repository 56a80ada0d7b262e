public import TidemarkLog

extension LogError.Code {
  /// A projection needs events that were trimmed, and has no snapshot that reaches to where the log begins: `LogError.offsets` ends
  /// there. It never folds from the middle as if that were the beginning; get the history, or a snapshot, back.
  public static let historyTrimmed = LogError.Code(rawValue: "historyTrimmed")
  /// Trimming would take from a projection what it needs to go on: see `Log.trimKeepingProjections(below:in:)`.
  public static let projectionsNeedHistory = LogError.Code(rawValue: "projectionsNeedHistory")
  /// An event can't be read and the policy is to fail: `LogError.offsets` says which.
  public static let unreadableEvent = LogError.Code(rawValue: "unreadableEvent")
  /// The caller, or the cancelled task, stopped a fold. What was folded stays; the next call goes on there.
  public static let cancelled = LogError.Code(rawValue: "cancelled")
  /// A number has more digits than ``ExactDecimal`` takes.
  public static let numberTooLong = LogError.Code(rawValue: "numberTooLong")
  /// The time zone database has no zone of that name, or there is no database.
  public static let unknownTimeZone = LogError.Code(rawValue: "unknownTimeZone")
  /// A file of the time zone database is damaged, or of a kind that can't be used.
  public static let damagedTimeZone = LogError.Code(rawValue: "damagedTimeZone")
}

extension LogError {
  static func historyTrimmed(_ name: String, position: Offset, first: Offset) -> LogError {
    LogError(
      .historyTrimmed, "the projection \(name) needs events that are no longer kept", offsets: position..<max(first, position),
      why: "the log begins at offset \(first), and no snapshot reaches there",
      advice: "get the trimmed events back, or a snapshot at offset \(first) or later")
  }
}
