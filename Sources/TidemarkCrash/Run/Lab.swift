internal import TidemarkLog

/// Where a run works, and what all of its faults share.
package final class Lab: Sendable {
  /// An empty directory that the run was given.
  let directory: String
  let seed: UInt64
  /// How many lanes work side by side.
  let laneCount: Int
  private let isStopRequested: @Sendable () -> Bool
  private let progress: @Sendable (String, Int, Int?) -> Void
  private let mountState = Locked<MountState>(.unknown)

  private enum MountState {
    case unknown, ready
    case impossible(String)
  }

  /// - Parameters:
  ///   - progress: called often with what is done, how many injections there were, and how many there will be, if that is known.
  package init(
    directory: String, seed: UInt64, laneCount: Int = 2, isStopRequested: @escaping @Sendable () -> Bool,
    progress: @escaping @Sendable (String, Int, Int?) -> Void
  ) throws {
    self.directory = try Self.claim(directory)
    self.seed = seed
    self.laneCount = laneCount
    self.isStopRequested = isStopRequested
    self.progress = progress
    Libc.prepare()
  }

  /// Makes the directory, or refuses one that is not empty or on which something else is mounted.
  ///
  /// - Parameter marker: a file in it by which it may be known, and then need not be empty.
  static func claim(_ path: String, marker: String? = nil) throws(CrashError) -> String {
    switch Libc.kind(of: Libc.resolved(path) ?? path) {
    case nil: try Libc.makeDirectory(path)
    case .directory?: break
    default: throw CrashError(.usage, "can't work there", place: path, why: "it is no directory; name an empty or a new one")
    }
    guard let resolved = Libc.resolved(path) else { throw Libc.failure("can't work there", path) }
    if Libc.isMountPoint(resolved) {
      throw CrashError(.usage, "can't work there", place: path, why: "a file system is mounted on it; name a directory inside it")
    }
    if let marker, Libc.kind(of: "\(resolved)/\(marker)") == .file { return resolved }
    guard Libc.names(in: resolved)?.isEmpty == true else {
      throw CrashError(.usage, "can't work there", place: path, why: "the directory is not empty; name an empty or a new one")
    }
    return resolved
  }

  var isStopped: Bool { isStopRequested() }

  func report(_ what: String, _ done: Int, of total: Int?) { progress(what, done, total) }

  /// Gives this process mounts of its own and memory below the directory for images; throws why that can't be.
  func prepareMounts() throws(CrashError) {
    let why: String? = mountState.withLock { state in
      if case .unknown = state {
        do {
          guard Libc.isRoot else { throw CrashError(.environment, "can't mount", why: "this needs root") }
          try Mounts.makePrivate()
          try Libc.makeDirectory(memory)
          try Mounts.mount("tidemark-memory", at: memory, type: "tmpfs", options: "size=3g,mode=700")
          state = .ready
        } catch { state = .impossible("\((error as? CrashError)?.why ?? "\(error)")") }
      }
      if case .impossible(let why) = state { return why }
      return nil
    }
    if let why { throw CrashError(.environment, "can't mount", why: why) }
  }

  /// A file system in memory, for images.
  var memory: String { directory + "/memory" }

  /// A new directory on the file system that the run was given.
  func folder(_ name: String) throws(CrashError) -> String {
    let path = "\(directory)/\(name)"
    Libc.remove(path)
    try Libc.makeDirectory(path)
    return path
  }

  /// A new directory in memory.
  func memoryFolder(_ name: String) throws(CrashError) -> String {
    let path = "\(memory)/\(name)"
    Libc.remove(path)
    try Libc.makeDirectory(path)
    return path
  }

  /// Takes away what the run has made.
  package func cleanUp() {
    for name in Libc.names(in: memory) ?? [] { Libc.remove("\(memory)/\(name)") }
    if Libc.isMountPoint(memory) { try? Mounts.unmount(memory) }
    for name in Libc.names(in: directory) ?? [] { Libc.remove("\(directory)/\(name)") }
  }
}

/// How long a fault goes on.
package enum Budget: Sendable {
  case count(Int)
  case seconds(Double)
}

/// Hands out injections to lanes until the budget is used up.
final class Meter: Sendable {
  private let lab: Lab
  private let label: String
  private let budget: Budget
  private let start = Libc.now()
  private let taken = Locked(0)

  init(_ lab: Lab, _ label: String, _ budget: Budget) {
    self.lab = lab
    self.label = label
    self.budget = budget
  }

  /// Whether there is one more to do.
  ///
  /// - Parameter isBegun: whether it belongs to work that is done to its end although the time is up.
  func next(isBegun: Bool = false) -> Bool {
    if lab.isStopped { return false }
    let (number, isDue) = taken.withLock { taken -> (Int, Bool) in
      switch budget {
      case .count(let count) where taken >= count: return (taken, false)
      case .seconds(let seconds) where elapsed >= seconds && !isBegun: return (taken, false)
      default:
        taken += 1
        return (taken, true)
      }
    }
    if case .count(let count) = budget { lab.report(label, number, of: count) } else { lab.report(label, number, of: nil) }
    return isDue
  }

  /// How many there will be, if that is known.
  var limit: Int? { if case .count(let count) = budget { count } else { nil } }

  /// Whether the budget is used up, without taking from it.
  var isOver: Bool {
    if lab.isStopped { return true }
    switch budget {
    case .count(let count): return taken.withLock { $0 } >= count
    case .seconds(let seconds): return elapsed >= seconds
    }
  }

  var elapsed: Double { Double(Libc.now() - start) / 1e9 }
}

/// One fault on one engine, on several lanes at once.
struct Series: Sendable {
  let lab: Lab
  let subject: Subject
  let fault: Fault
  let meter: Meter

  /// Tells runs of the same fault and engine apart, so that another one makes other choices.
  private let attempt: Int

  init(_ lab: Lab, _ subject: Subject, _ fault: Fault, _ budget: Budget, attempt: Int = 0) {
    self.lab = lab
    self.attempt = attempt
    self.subject = subject
    self.fault = fault
    meter = Meter(lab, "\(fault.title), \(subject.name)", budget)
  }

  /// Runs `body` once in each lane, with a generator of its own, and adds up what they found.
  func run(lanes: Int, _ body: @escaping @Sendable (Int, inout SplitMix64, inout Cell) throws -> Void) -> Cell {
    let total = Locked(Cell(subject, fault))
    let series = self
    Threads.run(lanes) { lane in
      var cell = Cell(series.subject, series.fault)
      var generator = series.generator(lane)
      do { try body(lane, &generator, &cell) } catch {
        cell.stopped = (error as? CrashError)?.description ?? "\(error)"
      }
      let found = cell
      total.withLock { $0.merge(found) }
    }
    var cell = total.withLock { $0 }
    cell.seconds = meter.elapsed
    return cell
  }

  /// Random numbers that follow from the seed, the fault, the engine and the lane.
  func generator(_ lane: Int) -> SplitMix64 {
    var state = lab.seed
    for byte in "\(fault.rawValue)/\(subject.name)/\(lane)/\(attempt)".utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return SplitMix64(state: state)
  }
}
