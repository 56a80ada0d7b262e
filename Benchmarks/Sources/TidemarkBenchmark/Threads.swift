import BenchmarkSupport
import CBaseline
import Synchronization
import TidemarkLog

/// Threads that append durable events to one log until a moment is reached.
private final class Appenders: Sendable {
  let log: Log
  let events: [NewEvent]
  let end: UInt64
  let count = Atomic<Int>(0)
  let failure = Mutex<String?>(nil)

  init(log: Log, events: [NewEvent], end: UInt64) {
    self.log = log
    self.events = events
    self.end = end
  }

  func run(_ thread: Int) {
    do {
      var done = 0
      while baseline_now() < end {
        try log.append(events[(thread + done) % events.count])
        done += 1
      }
      count.add(done, ordering: .relaxed)
    } catch {
      failure.withLock { $0 = "\(error)" }
    }
  }
}

/// Events a second that `threadCount` threads append together.
private func rate(_ log: Log, _ events: [NewEvent], threadCount: Int, milliseconds: UInt64) throws -> Double {
  let start = baseline_now()
  let appenders = Appenders(log: log, events: events, end: start + milliseconds * 1_000_000)
  try withExtendedLifetime(appenders) {
    let body: @convention(c) (UnsafeMutableRawPointer?, Int) -> Void = { context, index in
      guard let context else { return }
      Unmanaged<Appenders>.fromOpaque(context).takeUnretainedValue().run(index)
    }
    let context = Unmanaged.passUnretained(appenders).toOpaque()
    try check(baseline_run_threads(threadCount, body, context), "starting threads")
  }
  if let failure = appenders.failure.withLock({ $0 }) { throw BenchmarkFailure(description: failure) }
  return Double(appenders.count.load(ordering: .relaxed)) * 1e9 / Double(baseline_now() - start)
}

/// Many threads on one log, against one thread.
func measureThreads(_ bench: Bench) throws -> [Measurement] {
  let path = try bench.fresh("threads")
  try Log.create(at: path)
  let log = try Log.open(at: path)
  let events = makeEvents(1000)
  let milliseconds = UInt64(bench.scaled(300, quick: 100))
  var sixteen: [Double] = [], sixtyFour: [Double] = [], two: [Double] = [], alone: [Double] = []
  for round in -1..<bench.rounds {
    let counts = round.isMultiple(of: 2) ? [1, 2, 16, 64] : [64, 16, 2, 1]
    var rates: [Int: Double] = [:]
    for count in counts {
      rates[count] = try rate(log, events, threadCount: count, milliseconds: milliseconds)
      // What this phase left to seal must not weigh on the next.
      try log.waitForSealing()
    }
    guard round >= 0, let one = rates[1] else { continue }
    alone.append(one)
    two.append((rates[2] ?? 0) / one)
    sixteen.append((rates[16] ?? 0) / one)
    sixtyFour.append((rates[64] ?? 0) / one)
  }
  try log.close()
  try bench.remove(path)
  return [
    Measurement(
      group: "threads", name: "16 threads against one", samples: sixteen, target: .atLeast(8),
      note: "one thread: " + medianText(alone, "durable events a second")),
    Measurement(group: "threads", name: "64 threads against one", samples: sixtyFour, target: .atLeast(18)),
    Measurement(group: "threads", name: "2 threads against one", samples: two),
  ]
}
