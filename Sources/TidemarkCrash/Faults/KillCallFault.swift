/// kill -9 at the entry of each system call that changes files, one after the other, of small workloads. The first ones make a store; each
/// later one opens what a kill in the one before has left, so that recovery is killed at each of its calls as well. A workload that was
/// begun is killed at all of its calls, even if the time is up meanwhile.
enum KillCallFault {
  /// After so many workloads on one store another is begun.
  private static let depth = 6

  static func run(_ series: Series) -> Cell {
    series.run(lanes: series.lab.laneCount) { lane, generator, cell in
      let folder = try series.lab.folder("kill-call-\(lane)")
      defer { Libc.remove(folder) }
      var number = lane
      while !series.meter.isOver {
        var start = Start(rounds: Rounds(series.subject, in: folder, roundLimit: .max))
        for _ in 0..<depth where !series.meter.isOver {
          // Single events and batches in turn, and the lanes begin with different ones.
          let workload = Workload(batch: number % 2 == 0 ? 1 : 4, count: number % 2 == 0 ? 3 : 8, size: 8 + generator.below(400))
          number += 1
          guard let left = try killAtEachCall(series, workload, start, folder, &generator, &cell) else { break }
          start = left
        }
        if let files = start.files { Libc.remove(files) }
      }
    }
  }

  /// A few events, appended and closed.
  private struct Workload {
    var batch: UInt64
    var count: UInt64
    var size: Int
  }

  /// What a workload begins with: a store as a kill left it, not opened since, and what it owes.
  private struct Start {
    var rounds: Rounds
    /// A copy of the store; nil if there is none yet.
    var files: String?
  }

  /// Runs a workload again and again, and kills it at the first call, the second, and so on until it comes to its end. Returns what one
  /// of the kills left, each with the same chance; nil if it was not killed to the end.
  private static func killAtEachCall(
    _ series: Series, _ workload: Workload, _ start: Start, _ folder: String, _ generator: inout SplitMix64, _ cell: inout Cell
  ) throws(CrashError) -> Start? {
    var left: Start?
    // The two copies take turns.
    let copy = folder + (start.files?.hasSuffix("/left-0") == true ? "/left-1" : "/left-0")
    var call: UInt64 = 0
    while series.meter.next(isBegun: call > 0) {
      call += 1
      var rounds = start.rounds
      Libc.remove(rounds.path)
      if let files = start.files { try Libc.copy(files, to: rounds.path) }
      let writer = try Writer(
        series.subject, rounds.path, first: rounds.next, batch: workload.batch, size: workload.size, count: workload.count, killAtCall: call
      )
      writer.drain()
      let cut = Libc.now()
      guard writer.isAtEnd else {
        writer.kill()
        throw CrashError(.environment, "the engine does not come to an end", place: series.subject.name, why: "it was traced for 10 s")
      }
      let code = writer.child.wait()
      if code == KillCallProgram.failureCode { throw CrashError(.environment, "can't kill at a call", why: writer.complaint()) }
      rounds.note(writer, acknowledged: writer.acknowledged)
      let isKept = code == -9 && Libc.kind(of: rounds.path) != nil && generator.oneIn(Int(clamping: call))
      if isKept {
        Libc.remove(copy)
        try Libc.copy(rounds.path, to: copy)
      }
      let path = rounds.path
      let place = "\(workload.count) events, \(workload.batch) at once, from \(writer.first), killed at call \(call)"
      if let judgement = try rounds.verify(into: &cell, place) { cell.keepTimeline(writer, judgement, cut: cut) }
      // Where something was wrong, the store is not gone on with.
      if isKept { left = rounds.path == path ? Start(rounds: rounds, files: copy) : nil }
      if code == -9 { continue }
      if code == 0 { cell.wholeWorkloads += 1 } else { cell.addWriterError(writer.complaint()) }
      if code < 0 { cell.addUnopenable(atRisk: 0, "\(place): the writer ended by signal \(-code)") }
      if let files = start.files { Libc.remove(files) }
      return code == 0 ? left : nil
    }
    return nil
  }
}
