/// Checks that can be taken away, one at a time, to see that the fuzzers find what is behind them: each is named for the target that must
/// find it. Only in builds with `TIDEMARK_PLANTED_TRAPS`.
package enum PlantedTrap: String, CaseIterable, Sendable {
  /// An escape may reach beyond the text.
  case jsonLines = "json-lines"
  /// A row may have too few fields.
  case csv
  /// Base64 may end in the middle of four characters.
  case cloudEvents = "cloudevents"
  /// A character of UTF-8 may reach beyond the text.
  case values
  /// A length in a saved state may reach beyond the state.
  case definitions
  /// Base64 of a note may end in the middle of four characters, too.
  case notes
  /// What a shipment says of lost events may reach beyond its frame.
  case shipments
  /// The range of a shipment's answer may end before it begins.
  case messages

  #if TIDEMARK_PLANTED_TRAPS
    // Set before anything runs.
    /// The one that is planted.
    package nonisolated(unsafe) static var active: PlantedTrap?
  #endif
}

/// Whether a check is taken away.
@inline(__always) package func planted(_ trap: PlantedTrap) -> Bool {
  #if TIDEMARK_PLANTED_TRAPS
    PlantedTrap.active == trap
  #else
    false
  #endif
}
