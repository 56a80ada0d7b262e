/// What keeps the laboratory from working: not a finding about an engine.
package struct CrashError: Error, Sendable, CustomStringConvertible {
  /// Whose fault it is, which decides the exit code.
  package enum Kind: Sendable {
    /// Wrong use.
    case usage
    /// The system, a missing tool or privilege.
    case environment
    /// The user asked to stop.
    case stopped
  }

  package var kind: Kind
  package var what: String
  package var place: String?
  package var why: String

  package init(_ kind: Kind, _ what: String, place: String? = nil, why: String) {
    self.kind = kind
    self.what = what
    self.place = place
    self.why = why
  }

  package var description: String { what + (place.map { " (\($0))" } ?? "") + ": " + why }
}
