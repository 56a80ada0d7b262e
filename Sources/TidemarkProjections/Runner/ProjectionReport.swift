public import TidemarkLog

/// What a fold met besides values. Nothing is left out of a value without being counted here.
///
/// ```swift
/// if runner.report.unreadableCount > 0 { warn("\(runner.report.unreadableCount) events could not be read") }
/// ```
public struct ProjectionReport: Sendable, Equatable {
  /// An event that was put by because it can't be read.
  public struct Parked: Sendable, Equatable {
    /// Its position in the log.
    public var offset: Offset
    /// Why it can't be read.
    public var why: String
  }

  /// A snapshot that was not used.
  public struct DiscardedSnapshot: Sendable, Equatable {
    /// The file, as a path.
    public var file: String
    /// Why it does not serve.
    public var why: String
  }

  /// A family of events that correct each other.
  public struct Correction: Sendable, Equatable {
    /// Where it counts.
    public var place: Place
    /// The event whose content counts.
    public var standing: EventID
    /// All events of the family that are in the log, in offset order: the history of the correction.
    public var history: [Offset]
    /// Whether the original, which corrects nothing, is in the log.
    public var hasOriginal: Bool
    /// Whether it left the value as it was, because what it replaces was trimmed.
    public var isSetAside: Bool
  }

  /// Events that count in the value now but can't be read: those parked, or skipped.
  public internal(set) var unreadableCount: UInt64 = 0
  /// Those of them that were parked, in offset order.
  public internal(set) var parked: [Parked] = []
  /// Offsets that damage in the log hides, and that were passed over as the policy says.
  public internal(set) var damagedOffsetCount: UInt64 = 0
  /// The value lacks all events below this offset: it was begun again on a trimmed log, see ``ProjectionOptions/restartsWhereTrimmed``.
  /// 0 for a value of the whole history.
  public internal(set) var missingBelow: Offset = 0
  /// Corrections that left the value as it was, because what they replace was trimmed.
  public internal(set) var setAsideCount = 0
  /// Snapshots that did not serve, since the runner was made.
  public internal(set) var discardedSnapshots: [DiscardedSnapshot] = []
  /// Why the last snapshot could not be saved; nil if it was. The value is right all the same.
  public internal(set) var savingTrouble: LogError?
}

/// How far a fold has come, told now and then; see ``ProjectionRunner/catchUp(progress:)``.
public struct FoldProgress: Sendable, Equatable {
  /// The next event to fold.
  public var position: Offset
  /// Where the fold ends.
  public var end: Offset

  package init(position: Offset, end: Offset) {
    self.position = position
    self.end = end
  }
}

/// A state, and of which events it is the value.
///
/// ```swift
/// let evening = try runner.state(asOf: 120_000)
/// print(evening.state, evening.position)
/// ```
public struct Projected<State: Sendable>: Sendable {
  /// The value.
  public var state: State
  /// All events below it are in the value, as far as the question asked for them.
  public var position: Offset
  /// What was met besides.
  public var report: ProjectionReport
}
extension Projected: Equatable where State: Equatable {}

/// How a projection is run.
///
/// ```swift
/// var options = ProjectionOptions()
/// options.onUnreadable = .park
/// ```
public struct ProjectionOptions: Sendable {
  /// What becomes of events that a projection can't read, and of damaged ranges of the log.
  public enum UnreadablePolicy: Sendable {
    /// They are passed over and counted.
    case skip
    /// The same, and each event's offset and reason are kept in ``ProjectionReport/parked``.
    case park
    /// The fold stops there with `LogError.Code.unreadableEvent` or `LogError.Code.corrupt`, at each call,
    /// until a later event corrects that one.
    case fail
  }

  /// Where snapshots are kept; nil: in `projections` in the log's directory. Who may only read the log names another place. Of two runners
  /// of one name that save there at the same moment, one may fail; neither spoils the other's values.
  public var directory: String?
  /// Default ``UnreadablePolicy/fail``.
  public var onUnreadable: UnreadablePolicy = .fail
  /// Whether a projection that needs trimmed events begins again with the first event that is left. Its values then lack what came
  /// before, now and after the log was opened again: ``ProjectionReport/missingBelow`` says so. Otherwise it is refused with
  /// `LogError.Code.historyTrimmed`. Default: refused.
  public var restartsWhereTrimmed = false
  /// Snapshots lie no closer than so many events, but for those that are asked for: folding fewer is cheaper than saving.
  package var finestSpacing: Offset = 16_384

  /// Snapshots beside the log, and no unreadable events.
  public init() {}
}
