/// How one frame's commit ended, for all who wait for it.
///
/// Unchecked: the result is written once, before the word is set, and read after it was seen set.
final class CommitTicket: @unchecked Sendable {
  private let done = WaitWord()
  private var result: Result<Offset, LogError> = .success(0)
  /// Async callers; guarded by the log's lock.
  var continuations: [CheckedContinuation<Void, Never>] = []

  /// Waits without burning time until the commit has ended.
  func wait() {
    while done.value == 0 { done.wait(while: 0) }
  }

  /// The base offset of the frame. Only after the commit has ended.
  func base() throws(LogError) -> Offset { try result.get() }

  /// Guarded by the log's lock.
  private(set) var isOver = false

  /// Whether a thread waits; guarded by the log's lock.
  var hasWaiters = false

  /// Whether somebody waited when it ended.
  private var wasAwaited = false

  /// With the log's lock held. ``wake()`` must follow.
  func finish(_ result: Result<Offset, LogError>) {
    self.result = result
    isOver = true
    wasAwaited = hasWaiters
    done.set(1)
  }

  /// Wakes those who wait: best without the log's lock, which they want first thing.
  func wake() {
    if wasAwaited { done.wakeAll() }
  }
}

/// Batches of concurrent callers, gathered for the next frame.
struct Gathering: ~Copyable {
  var buffer: FrameBuffer
  private(set) var ticket = CommitTicket()
  /// Offsets that the frame will take.
  private(set) var count: UInt32 = 0
  /// Callers in it.
  private(set) var callers = 0
  var level = Durability.buffered
  /// What came from the staging area, to be put back if the commit fails.
  var staged: [StagedControl] = []
  var holdsSession = false
  /// Ids that callers gave, to be recognised while the commit is under way.
  var ids: [EventID] = []
  /// The last user event in it, counted from its beginning, plus one.
  var userEnd: UInt32 = 0

  init(capacity: Int) { buffer = FrameBuffer(capacity: capacity) }

  var isEmpty: Bool { count == 0 }

  /// Counts one more record.
  mutating func didAdd(isUser: Bool) {
    count += 1
    if isUser { userEnd = count }
  }

  mutating func didAddCaller(_ level: Durability) {
    callers += 1
    self.level = max(self.level, level)
  }

  /// Counts records that are there as they are.
  mutating func didRestore(count: UInt32, userEnd: UInt32) {
    self.count = count
    self.userEnd = userEnd
    level = .synced
  }

  /// Makes it ready for the next frame.
  mutating func reset() {
    buffer.reset()
    ticket = CommitTicket()
    count = 0
    callers = 0
    level = .buffered
    staged.removeAll()
    holdsSession = false
    ids.removeAll(keepingCapacity: true)
    userEnd = 0
  }
}

/// An opaque control record of a module, waiting for the next commit.
struct StagedControl: Sendable {
  var kind: EventKind
  var data: [UInt8]
}
