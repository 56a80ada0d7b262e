internal import TidemarkLog

/// Mistakes that can be switched on, one at a time, to see that the campaign of `tools/exactly_once.py` finds them.
///
/// They exist only in builds with `TIDEMARK_SEEDED_BUGS`, where the variable `TIDEMARK_SERVER_BUG` names one; in every other build
/// ``seeded(_:)`` is false, and the compiler drops what it guards.
enum ServerBug: String {
  /// The key of an event is not looked for among those that are known.
  case duplicateKeyForgotten
  /// A receipt is signed for other events.
  case receiptOfOtherEvents
  /// What a commit changes in the rows, the applied offset and change numbers too, is committed before the log has it.
  case rowsBeforeLog

  #if TIDEMARK_SEEDED_BUGS
    static let active = environmentValue("TIDEMARK_SERVER_BUG").flatMap { ServerBug(rawValue: $0) }
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
