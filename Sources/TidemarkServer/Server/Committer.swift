internal import TidemarkLog

/// One thread that commits what many requests want written: whatever has come while it was at work goes together, with one sync.
final class Committer: Sendable {
  /// What a request wants written.
  struct Submission: Sendable {
    let write: Write
    /// What it weighs, in bytes.
    let byteCount: Int
    /// Throws if it may not be written any more. Called right before it is.
    let check: @Sendable () throws -> Void
    /// Told what became of it, on the committer's thread.
    let done: @Sendable ((any Error)?) -> Void
  }

  private struct State {
    var queue: [Submission] = []
    var isRunning = false
    var isStopping = false
    /// Whether the last commit failed as a whole.
    var isFailing = false
  }

  private let state = Locked(State())
  private let word = WaitWord()
  private let environment: Environment
  private let commit: @Sendable ([Write]) -> [(any Error)?]
  /// Called after each commit, and when its time has come. Returns in how many nanoseconds to call again; nil: only after a commit.
  private let afterwards: @Sendable () -> UInt64?

  /// Of shipments in one commit, in bytes: the log takes 64 MiB at once.
  private static let byteLimit = 24 << 20

  init(
    environment: Environment, commit: @escaping @Sendable ([Write]) -> [(any Error)?], afterwards: @escaping @Sendable () -> UInt64?
  ) {
    self.environment = environment
    self.commit = commit
    self.afterwards = afterwards
  }

  /// Throws if there is no thread to be had.
  func start() throws {
    state.withLock { $0.isRunning = true }
    do {
      try environment.startThread("ingest", false) { [self] in run() }
    } catch {
      state.withLock { $0.isRunning = false }
      throw error
    }
  }

  /// Takes a write in; false if it is about to stop.
  func submit(_ submission: Submission) -> Bool {
    let isTaken = state.withLock { state in
      if state.isStopping { return false }
      state.queue.append(submission)
      return true
    }
    if isTaken { word.increment() }
    return isTaken
  }

  /// Whether what comes next is likely to be written.
  var isReady: Bool { state.withLock { $0.isRunning && !$0.isStopping && !$0.isFailing } }

  /// Commits what was taken in, and ends.
  func stop() {
    state.withLock { $0.isStopping = true }
    word.increment()
    while state.withLock({ $0.isRunning }) { word.wait(while: word.value, nanoseconds: 10_000_000) }
  }

  private func run() {
    while true {
      let seen = word.value
      let (batch, isOver) = state.withLock { (Self.take(&$0.queue), $0.isStopping && $0.queue.isEmpty) }
      if !batch.isEmpty { work(batch) }
      let pause = afterwards()
      if batch.isEmpty {
        if isOver { break }
        word.wait(while: seen, nanoseconds: pause.map { Int64(clamping: max(1, $0)) } ?? -1)
      }
    }
    state.withLock { $0.isRunning = false }
    word.increment()
  }

  private static func take(_ queue: inout [Submission]) -> [Submission] {
    var bytes = 0
    let count = queue.firstIndex { submission in
      defer { bytes += submission.byteCount }
      return bytes > byteLimit
    }
    let batch = Array(queue[..<(count ?? queue.count)])
    queue.removeFirst(batch.count)
    return batch
  }

  private func work(_ batch: [Submission]) {
    var allowed: [Submission] = []
    for submission in batch {
      do {
        try submission.check()
        allowed.append(submission)
      } catch {
        submission.done(error)
      }
    }
    if allowed.isEmpty { return }
    let results = commit(allowed.map(\.write))
    state.withLock { $0.isFailing = results.allSatisfy { $0 is LogError } }
    for (submission, error) in zip(allowed, results) { submission.done(error) }
  }
}
