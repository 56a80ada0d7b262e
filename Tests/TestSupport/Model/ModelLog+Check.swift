import TidemarkLog

extension ModelLog {
  /// Where each batch was found: how many of its events in their order, and the offset of the first one.
  struct Scan {
    var counts: [Int32]
    var starts: [UInt64]

    init(_ model: ModelLog, _ read: ReadBack) {
      counts = [Int32](repeating: 0, count: model.batches.count)
      starts = [UInt64](repeating: 0, count: model.batches.count)
      for entry in read.entries {
        guard let event = entry.event, event.number < UInt64(model.owners.count) else { continue }
        let index = Int(model.owners[Int(event.number)])
        let place = event.number - UInt64(model.batches[index].firstNumber)
        if counts[index] == 0 { starts[index] = entry.offset &- place }
        counts[index] += 1
      }
    }
  }

  /// Compares what a log served with what it may serve: invariants I1, I2, I3, I5 and I6. Empty if all hold.
  ///
  /// `gapsAllowed`: whether something happened that can destroy what was durable, so that a reported gap is an honest answer. Control
  /// events must be part of what was read; without them offsets have holes.
  package func check(_ read: ReadBack, after crash: Crash, gapsAllowed: Bool = false) -> [Violation] {
    var violations: [Violation] = []
    checkOffsets(read, gapsAllowed, &violations)
    checkEvents(read, crash, &violations)
    checkBatches(read, crash, &violations)
    return violations
  }

  /// Offsets without a hole that no gap explains; the size never goes back.
  private func checkOffsets(_ read: ReadBack, _ gapsAllowed: Bool, _ violations: inout [Violation]) {
    // A disk that lost the trim record leaves a log that reports what lies below the floor as lost, and so begins below it.
    let isReported = gapsAllowed && read.first < floors.lowerBound && read.isInGap(read.first..<floors.lowerBound)
    if !floors.contains(read.first) && !isReported {
      violations.append(Violation(.i5, "the first offset is \(read.first), it must be in \(floors)"))
    }
    if !gapsAllowed && !read.gaps.isEmpty { violations.append(Violation(.i5, "gaps \(read.gaps) though nothing can have caused any")) }
    var next = read.first
    for entry in read.entries {
      if entry.offset < next {
        violations.append(Violation(.i5, "offset \(entry.offset) is served where \(next) must be"))
      } else if entry.offset > next, !read.isInGap(next..<entry.offset) {
        violations.append(Violation(.i5, "offsets \(next)..<\(entry.offset) are missing, and no gap says so"))
      }
      if !read.gaps.isEmpty, read.isInGap(entry.offset..<entry.offset + 1) {
        violations.append(Violation(.i5, "offset \(entry.offset) is served and reported as lost"))
      }
      next = entry.offset &+ 1
    }
    if read.size < next {
      violations.append(Violation(.i5, "the size is \(read.size), but offset \(next &- 1) is served"))
    } else if read.size > next, !read.isInGap(next..<read.size) {
      violations.append(Violation(.i5, "offsets \(next)..<\(read.size) are missing at the end, and no gap says so"))
    }
  }

  /// Each event was submitted, is there once, in order, where it was acknowledged, and may be there.
  private func checkEvents(_ read: ReadBack, _ crash: Crash, _ violations: inout [Violation]) {
    var lastNumber = -1
    var lastBatch = -1
    for entry in read.entries where !entry.isControl {
      let offset = entry.offset
      guard let event = entry.event else {
        violations.append(Violation(.i2, "the event at \(offset) was never submitted, or not with this content"))
        continue
      }
      guard event.number < UInt64(owners.count), event.dataByteCount == Int(byteCounts[Int(event.number)]) else {
        violations.append(Violation(.i2, "event number \(event.number) at \(offset) was never submitted"))
        continue
      }
      let number = Int(event.number)
      let index = Int(owners[number])
      let batch = batches[index]
      let place = number - batch.firstNumber
      switch batch.state {
      case .absent, .superseded:
        violations.append(Violation(.i6, "event number \(number) at \(offset) was refused, failed for good, or gone before"))
      case .unknown where crash == .none:
        violations.append(Violation(.i6, "event number \(number) at \(offset) failed in this process, and is visible"))
      case .acknowledged where batch.offset + UInt64(place) != offset:
        violations.append(Violation(.i5, "event number \(number) was acknowledged at \(batch.offset + UInt64(place)) and is at \(offset)"))
      default: break
      }
      if index < lastBatch || (index == lastBatch && number <= lastNumber) {
        violations.append(Violation(.i2, "event number \(number) at \(offset) comes twice or out of order"))
      } else if entry.continuesBatch != (place + 1 < batch.count) {
        violations.append(Violation(.i3, "event number \(number) at \(offset) has another place in its batch"))
      }
      lastBatch = index
      lastNumber = number
    }
  }

  /// Each batch is whole or not there; what must be there is; nothing is there behind something lost.
  private func checkBatches(_ read: ReadBack, _ crash: Crash, _ violations: inout [Violation]) {
    let scan = Scan(self, read)
    var lost: Int?
    for (index, batch) in batches.enumerated() where batch.state != .superseded && batch.state != .absent {
      let found = Int(scan.counts[index])
      if found == batch.count {
        if let lost {
          violations.append(Violation(.i2, "batch \(index) is there, but not batch \(lost) before it"))
        }
      } else if found > 0 {
        let offsets = scan.starts[index]..<scan.starts[index] &+ UInt64(batch.count)
        let missing = read.gaps.contains { $0.overlaps(offsets) }
        if !missing { violations.append(Violation(.i3, "\(found) of the \(batch.count) events of batch \(index) at \(offsets) are there")) }
      } else if batch.state == .acknowledged, batch.offsets.upperBound > read.first, !read.isInGap(batch.offsets) {
        if crash.spares(batch.durability) {
          violations.append(Violation(.i1, "batch \(index), acknowledged at \(batch.offsets) as \(batch.durability), is gone"))
        }
        lost = lost ?? index
      }
    }
  }
}
