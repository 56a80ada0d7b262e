import Synchronization

/// A progress display that several threads report to.
final class SharedProgress: Sendable {
  private let display: Mutex<ProgressDisplay>

  init(_ display: sending ProgressDisplay) { self.display = Mutex(display) }

  func report(_ what: String, _ done: Int, _ total: Int?) {
    display.withLock { $0.update(done: UInt64(done), of: total.map(UInt64.init), "\(what): \(done)") }
  }

  func finish() { display.withLock { $0.finish() } }
}
