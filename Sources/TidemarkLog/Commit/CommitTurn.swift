/// Who may write, as a pure state machine: calls in, actions out. One thread at a time has the turn.
///
/// A caller who finds nobody at it commits its own frame; otherwise it joins the frame that gathers, and the committer thread takes that
/// one next.
/// So a lone caller pays no thread switch, and many callers share one sync.
struct CommitTurn {
  enum Action: Equatable {
    /// The caller commits the gathered frame itself.
    case commit
    /// Somebody else will: wait for the ticket.
    case wait
    /// The committer thread takes the turn over.
    case handOver
    /// The turn is free, and nobody wants it.
    case rest
    /// The turn is free, and others wait for it.
    case wakeOthers
  }

  private(set) var isTaken = false
  /// Who waits for the turn to do other work: sync, roll, mark, trim, close.
  private(set) var waiting = 0

  /// A batch was gathered. An async caller must not block its thread, so it never commits itself.
  mutating func didGather(canCommit: Bool) -> Action {
    if isTaken { return .wait }
    isTaken = true
    return canCommit ? .commit : .handOver
  }

  /// The holder has done its work. Others who wait come before the next frame, and pass the turn on after.
  mutating func release(hasMore: Bool) -> Action {
    if waiting > 0 {
      isTaken = false
      return .wakeOthers
    }
    if hasMore { return .handOver }
    isTaken = false
    return .rest
  }

  mutating func take() -> Bool {
    if isTaken { return false }
    isTaken = true
    return true
  }

  mutating func beginWaiting() { waiting += 1 }
  mutating func endWaiting() { waiting -= 1 }
}
