/// The engine behind ``Log``.
///
/// Fields are grouped by who may touch them. Unchecked, because the compiler can't see these groups:
/// - constants: anybody;
/// - *guarded*: only with `lock` held;
/// - *the turn's*: only by whoever holds the writer's turn (`turn.isTaken`), which is one thread at a time.
final class LogCore: @unchecked Sendable {
  // MARK: Constants

  let directory: LogDirectory
  let options: LogOptions
  let environment: Environment
  let isWriter: Bool
  /// Whether a reader takes what nothing records as durable, too.
  let isSalvaging: Bool
  let lock = Lock()
  /// Raised to wake the committer thread.
  let committerWord = WaitWord()
  /// Raised when the turn becomes free and somebody waits for it.
  let turnWord = WaitWord()
  /// How many callers the gathering frame has: what the committer thread looks at without the lock.
  let arrivals = WaitWord()
  /// Held while segments are sealed, merged or removed, so that these do not meet.
  let maintenance = Lock()
  let readers = SegmentReaders()
  var files: any FileSystem { environment.fileSystem }

  // MARK: Guarded

  var identity: LogIdentity
  /// All segments but the newest, in order.
  var closed: [ClosedSegment] = []
  /// Where the newest segment is read from; nil while there is none.
  var newest: NewestSegment?
  /// Events below it are visible: acknowledged, or found at opening.
  var published: Offset = 0
  /// The offset after the last event that was acknowledged in memory. Below ``published`` once it is written.
  var acknowledged: Offset = 0
  var durable: Offset = 0
  var userEnd: Offset = 0
  var trimFloor: Offset = 0
  var gaps: [Range<Offset>] = []
  var findings: [Finding] = []
  var report = RecoveryReport()
  var counters = Counters()
  var isClosed = false
  /// Being closed or suspended: what was taken in is committed, nothing more is taken in.
  var isClosing = false
  var turn = CommitTurn()
  var gathering: Gathering
  /// Acknowledged at the `.buffered` level, not yet written. Written before anything else.
  var unwritten: Gathering
  var spare: Gathering?
  /// The frame that is being written, as far as others must know of it.
  var inFlight: (count: UInt32, userEnd: UInt32, ticket: CommitTicket?) = (0, 0, nil)
  /// Ids that callers gave for events that are not yet published.
  var pendingIDs: Set<EventID> = []
  var staged: [StagedControl] = []
  var needsSession = true
  var ids = EventIDGenerator()
  var lastReading: ClockReading?
  var openIDs = OpenIDs()
  /// Callers of the last frame: so many are likely to come back at once.
  var lastCallers = 0
  var handedOver = false
  /// When events were first left unsynced, on the boot-time clock; nil if all are synced.
  var dirtySince: UInt64?
  var idIndex: IDIndex
  var continuations: [CheckedContinuation<Void, Never>] = []
  var committerIsRunning = false
  var sealerIsRunning = false
  var sealerIsPaced = true
  var sealingTrouble: LogError?
  var watcherIsRunning = false
  /// Why the watcher could not look for more, until a tail has told it.
  var watcherTrouble: LogError?
  var lastAppend: UInt64 = 0
  var suspended: Suspension?
  /// Sealed segments whose header, index or id pages turned out to be damaged: packed again by the next maintenance.
  var damagedIndexes: Set<SegmentName> = []
  /// Those in which they were looked at by this process, or made by it.
  var soundIndexes: Set<SegmentName> = []

  // MARK: The turn's

  var fileLock: (any FileLock)?
  var active: ActiveSegment?
  /// What recovery could not yet write out again, for lack of space.
  var remains: Remains?
  /// What the first segment behind the known history is to begin with, while there is no space for it.
  var missingNewest: SegmentHeader?
  var incarnation: UInt64 = 0
  var session: Session?
  var directoryStatus: FileStatus?
  var live: LivePage?

  init(
    _ directory: LogDirectory, _ options: LogOptions, _ environment: Environment, isWriter: Bool, isSalvaging: Bool = false,
    identity: LogIdentity
  ) {
    self.directory = directory
    self.options = options
    self.environment = environment
    self.isWriter = isWriter
    self.isSalvaging = isSalvaging
    self.identity = identity
    gathering = Gathering(capacity: 256)
    unwritten = Gathering(capacity: 256)
    idIndex = IDIndex()
  }

  /// A log that was let go without `close()` gives its lock up; what was acknowledged is safe either way.
  deinit {
    fileLock?.release()
    committerWord.increment()
  }

  struct Counters {
    var commits: UInt64 = 0
    var syncs: UInt64 = 0
    var appendedEvents: UInt64 = 0
    var appendedBytes: UInt64 = 0
    var writtenBytes: UInt64 = 0
  }

  /// Where a suspended log stood.
  struct Suspension {
    var size: Offset
  }
}

/// A segment that is no longer written.
final class ClosedSegment: Sendable {
  let name: SegmentName
  let end: Offset
  /// Sealed segments have one, unless it is damaged.
  let footer: Footer?
  /// The digest that the next segment names, where it is known.
  let digest: Digest128?
  /// Where to start reading in an open form.
  let checkpoints: Checkpoints?
  let sessions: [SegmentIndex.SessionEntry]?
  let counts: Counts?
  let byteCount: UInt64
  /// Why it can't be sealed.
  let damage: Finding?

  struct Counts: Sendable {
    var user: UInt64
    var rawBytes: UInt64
    var gaps: UInt64
  }

  init(
    name: SegmentName, end: Offset, footer: Footer?, digest: Digest128?, checkpoints: Checkpoints? = nil,
    sessions: [SegmentIndex.SessionEntry]? = nil,
    counts: Counts? = nil, byteCount: UInt64, damage: Finding? = nil
  ) {
    self.name = name
    self.end = end
    self.footer = footer
    self.digest = digest
    self.checkpoints = checkpoints
    self.sessions = sessions
    self.counts = counts
    self.byteCount = byteCount
    self.damage = damage
  }

  /// The same, with what a scan of it found.
  func scanned(_ checkpoints: Checkpoints?, _ sessions: [SegmentIndex.SessionEntry], counts: Counts? = nil) -> ClosedSegment {
    ClosedSegment(
      name: name, end: end, footer: footer, digest: digest, checkpoints: checkpoints, sessions: sessions, counts: counts ?? self.counts,
      byteCount: byteCount, damage: damage)
  }

  func damaged(_ finding: Finding) -> ClosedSegment {
    ClosedSegment(
      name: name, end: end, footer: footer, digest: digest, checkpoints: checkpoints, sessions: sessions, counts: counts,
      byteCount: byteCount, damage: finding)
  }
}

/// The newest segment as readers see it.
struct NewestSegment {
  var name: SegmentName
  var seed: UInt64
  var checkpoints: Checkpoints
  var headerSession: [UInt8]
  var sessions: [SegmentIndex.SessionEntry]
  var counts: ClosedSegment.Counts
  /// Stands in for a damaged one, when salvaging: the frames behind it verify without it.
  var header: SegmentHeader?
}

/// What must be written out again before anything can be appended.
struct Remains {
  var name: SegmentName
  var header: SegmentHeader
  var scan: SegmentScan
  /// Where new events must start: beyond the scan's end if history is known to be longer than what was found.
  var end: Offset

  /// Whether part of it is lost: then its bytes are kept whole.
  var isDamaged: Bool { scan.findings.contains { !$0.isHarmless && $0.kind != .gap } }
}

/// UUIDv7s that rise within one millisecond (RFC 9562, section 6.2, method 2).
struct EventIDGenerator {
  private var last = EventID.zero

  mutating func next(_ time: Timestamp, _ random: any RandomSource) -> EventID {
    let milliseconds = UInt64(max(0, time.nanoseconds / 1_000_000)) & 0xFFFF_FFFF_FFFF
    if last.high >> 16 == milliseconds && last.low & 0x3FFF_FFFF_FFFF_FFFF < 0x3FFF_FFFF_0000_0000 {
      last = EventID(high: last.high, low: last.low + 1 + (last.low &* 0x9E37_79B9) >> 48)
    } else {
      last = EventID(time: time, random: (random.next(), random.next()))
    }
    return last
  }
}
