import BenchmarkSupport
import CBaseline
import Glibc
import TidemarkLog

private let chart = Chart("wake-up", title: "From an append's return to a tailer that has the event", unit: "us")

/// `child-tail LOG COUNT`: tails a log from where it ends, prints a line when it is ready, and at last when it had each event.
func childTail(_ path: String, count: Int) async throws {
  let log = try Log.openForReading(at: path)
  let first = log.size
  write("ready\n", to: 1)
  write(try await tail(log, from: first, count: count).map { "\($0)" }.joined(separator: "\n") + "\n", to: 1)
  try log.close()
}

/// When each of so many events was had, in nanoseconds of the monotonic clock.
private func tail(_ log: Log, from first: Offset, count: Int) async throws -> [UInt64] {
  var times: [UInt64] = []
  for try await event in log.tail(from: first) where !event.isControl {
    times.append(baseline_now())
    if times.count == count { break }
  }
  return times
}

/// Appends events at a pace, a millisecond apart; when each append began and returned.
private func appendPaced(_ log: Log, count: Int) throws -> (began: [UInt64], returned: [UInt64]) {
  let events = makeEvents(100)
  var began: [UInt64] = [], returned: [UInt64] = []
  for index in 0..<count {
    usleep(1000)
    began.append(baseline_now())
    try log.append(events[index % events.count])
    returned.append(baseline_now())
  }
  return (began, returned)
}

/// How long after a durable append a tailer has the event: in this process, and in another one.
func measureWakeUp(_ bench: Bench) async throws -> [Measurement] {
  let path = try bench.fresh("wake-up")
  try Log.create(at: path)
  let log = try Log.open(at: path)
  let count = bench.scaled(200, quick: 60)
  var figures = Figures(chart)
  for round in -1..<bench.rounds {
    let first = log.size
    async let inProcess = tail(log, from: first, count: count)
    usleep(20_000)
    let own = try appendPaced(log, count: count)
    let ownTimes = try await inProcess
    let child = try Child(["child-tail", path, "\(count)"])
    _ = child.waitForOutput("ready\n".utf8.count)
    usleep(20_000)
    let other = try appendPaced(log, count: count)
    let text = String(decoding: readAll(child.output), as: UTF8.self)
    let otherTimes = text.split(separator: "\n").compactMap { UInt64($0) }
    try child.kill()
    if round < 0 { continue }
    for (name, appended, times) in [("same process", own, ownTimes), ("another process", other, otherTimes)] {
      guard times.count == count else { throw BenchmarkFailure(description: "a tailer had \(times.count) of \(count) events") }
      // A tailer may have it before the append has returned: that counts as nothing.
      let late = zip(times, appended.returned).map { Double(Int64($0) - Int64($1)) / 1000 }.map { max(0, $0) }
      let all = zip(times, appended.began).map { Double($0 - $1) / 1000 }
      figures.add(percentile(0.5, of: late), "tidemark, " + name, "p50")
      figures.add(percentile(0.99, of: late), "tidemark, " + name, "p99")
      figures.add(percentile(0.5, of: all), "tidemark, \(name), with the append", "p50")
      figures.add(percentile(0.99, of: all), "tidemark, \(name), with the append", "p99")
    }
  }
  try log.close()
  try bench.remove(path)
  return figures.measurements(group: "wake-up") + [
    Measurement(
      group: "wake-up", name: "the other engines", samples: [],
      note: "none of them tells another process of a commit; an app would have to poll, and its interval would be the figure")
  ]
}
