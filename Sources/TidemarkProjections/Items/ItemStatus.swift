/// Where an item stands that so many persons have to acknowledge in time.
public enum ItemStatus: String, Sendable, CaseIterable {
  /// There is time.
  case open
  /// The last quarter of the time has begun.
  case atRisk = "at-risk"
  /// So many have acknowledged it.
  case met
  /// The time is over. An acknowledgement that arrives later makes it met all the same.
  case missed
  /// The office says that it need not be acknowledged any more.
  case waived
}

/// What an item asks for. Server and device decide its status by the same code.
package struct ItemTerms: Sendable, Equatable {
  /// When the version in force was published, in seconds since 1970.
  package var since: UInt64
  /// In seconds since 1970; 0 if nothing is asked for.
  package var due: UInt64
  /// How many persons have to acknowledge it; 0 if nothing is asked for.
  package var required: UInt64
  package var isWaived: Bool

  package init(since: UInt64, due: UInt64, required: UInt64, isWaived: Bool = false) {
    self.since = since
    self.due = due
    self.required = required
    self.isWaived = isWaived
  }

  /// What is so at a time, in seconds since 1970; nil if nothing is asked for.
  ///
  /// - Parameter acknowledged: how many persons have acknowledged the newest material version, or a later one.
  package func status(acknowledged: UInt64, at seconds: UInt64) -> ItemStatus? {
    guard due > 0, required > 0 else { return nil }
    if isWaived { return .waived }
    if acknowledged >= required { return .met }
    if seconds > due { return .missed }
    return seconds > riskFrom ? .atRisk : .open
  }

  /// When time alone changes a status, in seconds since 1970; nil if it does not.
  package func end(of status: ItemStatus?) -> UInt64? {
    switch status {
    case .open: riskFrom + 1
    case .atRisk: due + 1
    default: nil
    }
  }

  /// The end of the first three quarters of the time before it is due.
  private var riskFrom: UInt64 { due - (due - min(due, since)) / 4 }
}
