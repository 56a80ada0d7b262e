/// What must be there after a fault.
package struct Expectation: Sendable {
  /// Events below it were acknowledged before the fault.
  package var acknowledged: UInt64 = 0
  /// Events below it were given out by an earlier opening of the store: a promise, acknowledged or not.
  package var served: UInt64 = 0
  /// No event at or above it was ever handed to the engine.
  package var attempted: UInt64 = 0
  /// What was appended together.
  package var runs: [Run] = []

  /// One writer's events: `batch` at a time from `first` on.
  package struct Run: Sendable {
    package var first: UInt64
    package var end: UInt64
    package var batch: UInt64

    package init(first: UInt64, end: UInt64, batch: UInt64) {
      self.first = first
      self.end = end
      self.batch = batch
    }
  }

  package init() {}
}

/// What came of one injection.
package struct Judgement: Sendable, Equatable {
  /// Acknowledged before the fault and not there.
  package var lost = 0
  /// The first and the last of them.
  package var lostRange: ClosedRange<UInt64>?
  /// Given out once, never acknowledged, and not there.
  package var retracted = 0
  /// There, though nobody appended it.
  package var phantoms = 0
  /// There with other content than it was given.
  package var damaged = 0
  /// There once more than it should.
  package var duplicates = 0
  /// Missing though a later one is there.
  package var gaps = 0
  /// Behind a later one.
  package var disordered = 0
  /// Batches of which a part is there.
  package var tornBatches = 0

  package init() {}

  /// Whether what is there is what was appended, up to some batch: nothing false, nothing twice, nothing left out.
  package var isWhole: Bool { phantoms + damaged + duplicates + gaps + disordered + tornBatches == 0 }

  /// Compares what was found with what must be there.
  package static func of(_ found: Found, _ expectation: Expectation) -> Judgement {
    var result = Judgement()
    let limit = Int(clamping: expectation.attempted)
    var times = [UInt8](repeating: 0, count: limit)
    var highest = -1
    for event in found.events {
      guard event.number < expectation.attempted else {
        if event.isRight { result.phantoms += 1 } else { result.damaged += 1 }
        continue
      }
      let number = Int(event.number)
      guard event.isRight else {
        result.damaged += 1
        continue
      }
      if times[number] > 0 { result.duplicates += 1 } else if number < highest { result.disordered += 1 }
      times[number] = min(200, times[number] + 1)
      highest = max(highest, number)
    }
    for number in 0..<limit where times[number] == 0 {
      if number < highest { result.gaps += 1 }
      let event = UInt64(number)
      if event < expectation.acknowledged {
        result.lost += 1
        result.lostRange = (result.lostRange?.lowerBound ?? event)...event
      } else if event < expectation.served {
        result.retracted += 1
      }
    }
    for run in expectation.runs where run.batch > 1 {
      var start = run.first
      while start < run.end {
        let end = min(run.end, start + run.batch)
        let there = (start..<end).count { $0 < expectation.attempted && times[Int($0)] > 0 }
        if there > 0 && there < Int(end - start) { result.tornBatches += 1 }
        start = end
      }
    }
    return result
  }
}
