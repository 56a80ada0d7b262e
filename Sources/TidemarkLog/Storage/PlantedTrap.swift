/// Checks that can be taken away, one at a time, to see that the fuzzers find what is behind them: each is named for the target that must
/// find it.
///
/// They exist only in builds with `TIDEMARK_PLANTED_TRAPS`; in every other build ``planted(_:)`` is false, and the compiler drops what it
/// guards.
package enum PlantedTrap: String, CaseIterable, Sendable {
  /// A record's fields may be longer than the record.
  case frame
  /// A frame for another offset than the next is not passed over.
  case recovery
  /// Two segments of one base that both hold something are one too many.
  case edits
  /// A name in an index may be longer than the index.
  case index
  /// An identity may have more epochs than it has room for.
  case identity

  #if TIDEMARK_PLANTED_TRAPS
    /// The one that is planted. Set before anything runs.
    package nonisolated(unsafe) static var active: PlantedTrap?
  #endif
}

/// Whether a check is taken away.
@inline(__always) func planted(_ trap: PlantedTrap) -> Bool {
  #if TIDEMARK_PLANTED_TRAPS
    unsafe PlantedTrap.active == trap
  #else
    false
  #endif
}
