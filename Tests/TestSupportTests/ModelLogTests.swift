import TestSupport
import Testing
import TidemarkLog

@Suite("The model of a log")
struct ModelLogTests {
  /// Three batches: 0 alone, 1 and 2 together, 3 alone; all acknowledged with the given durability.
  func model(_ durability: Durability = .synced) throws -> ModelLog {
    var model = ModelLog()
    for (offset, byteCounts) in [(0, [10]), (1, [20, 30]), (3, [40])] {
      try model.acknowledge(model.submit(byteCounts), at: UInt64(offset), durability)
    }
    return model
  }

  /// A read-back with test events of these numbers from offset 0 on.
  func read(_ numbers: [Int], gaps: [Range<UInt64>] = [], size: Int? = nil) -> ReadBack {
    let lengths = [10, 20, 30, 40, 50, 60]
    var read = ReadBack(size: UInt64(size ?? numbers.count), gaps: gaps)
    for (offset, number) in numbers.enumerated() where number >= 0 {
      read.add(
        ReadBack.Entry(
          offset: UInt64(offset), event: TestEvent(number: UInt64(number), dataByteCount: lengths[number]), continuesBatch: number == 1))
    }
    return read
  }

  func invariants(_ violations: [Violation]) -> [String] { Array(Set(violations.map(\.invariant.rawValue))).sorted() }

  @Test("accepts what was acknowledged")
  func complete() throws {
    for crash in [Crash.none, .close, .kill, .powerCut] { #expect(try model().check(read([0, 1, 2, 3]), after: crash) == []) }
  }

  @Test("misses a synced event after any crash, a written one after a kill, a buffered one after neither")
  func lostEvents() throws {
    let short = read([0, 1, 2])
    #expect(invariants(try model(.synced).check(short, after: .powerCut)) == ["I1"])
    #expect(invariants(try model(.written).check(short, after: .kill)) == ["I1"])
    #expect(try model(.written).check(short, after: .powerCut) == [])
    #expect(try model(.buffered).check(short, after: .kill) == [])
    #expect(invariants(try model(.buffered).check(short, after: .close)) == ["I1"])
    var synced = try model(.written)
    synced.markSynced()
    #expect(invariants(synced.check(short, after: .powerCut)) == ["I1"])
    // A synced event vouches for the written ones before it.
    var mixed = ModelLog()
    try mixed.acknowledge(mixed.submit([10]), at: 0, .written)
    try mixed.acknowledge(mixed.submit([20]), at: 1, .synced)
    #expect(mixed.check(read([]), after: .powerCut).filter { $0.invariant == .i1 }.count == 2)
  }

  @Test("sees a hole, a stranger, a changed event, and one that is there twice")
  func wrongEvents() throws {
    #expect(invariants(try model(.written).check(read([0, -1, -1, 3]), after: .powerCut)).contains("I2"))
    #expect(invariants(try model().check(read([0, 1, 2, 3, 4]), after: .powerCut)) == ["I2"])
    #expect(invariants(try model().check(read([0, 1, 2, 3, 3]), after: .powerCut)).contains("I2"))
    #expect(invariants(try model(.written).check(read([1, 2, 0]), after: .powerCut)).contains("I2"))
    var changed = read([0, 1, 2])
    changed.add(ReadBack.Entry(offset: 3, event: TestEvent(number: 3, dataByteCount: 41)))
    changed.size = 4
    #expect(invariants(try model().check(changed, after: .powerCut)).contains("I2"))
    var spoiled = read([0, 1, 2, 3])
    spoiled.add(ReadBack.Entry(offset: 4, event: nil))
    spoiled.size = 5
    #expect(invariants(try model().check(spoiled, after: .powerCut)) == ["I2"])
  }

  @Test("sees a torn batch")
  func tornBatch() throws {
    #expect(invariants(try model(.written).check(read([0, 1]), after: .powerCut)) == ["I3"])
    var joined = read([0, 1, 2])
    joined.add(ReadBack.Entry(offset: 3, event: TestEvent(number: 3, dataByteCount: 40), continuesBatch: true))
    joined.size = 4
    #expect(invariants(try self.model().check(joined, after: .powerCut)) == ["I3"], "a mark that the batch goes on, where it ends")
    var model = ModelLog()
    try model.acknowledge(model.submit([10]), at: 0, .synced)
    _ = model.submit([20, 30])
    #expect(model.check(read([0]), after: .powerCut) == [])
    #expect(model.check(read([0, 1, 2]), after: .powerCut) == [])
    #expect(invariants(model.check(read([0, 1]), after: .powerCut)) == ["I3"])
  }

  @Test("accepts a gap only where one was allowed and reported")
  func gaps() throws {
    let holed = read([0, -1, -1, 3], gaps: [1..<3])
    #expect(try model().check(holed, after: .powerCut, gapsAllowed: true) == [])
    #expect(invariants(try model().check(holed, after: .powerCut)) == ["I5"])
    #expect(invariants(try model().check(read([0, -1, -1, 3], gaps: [1..<2]), after: .powerCut, gapsAllowed: true)).contains("I5"))
    #expect(invariants(try model().check(read([0, 1, 2, 3], gaps: [1..<3]), after: .powerCut, gapsAllowed: true)) == ["I5"])
    #expect(try model().check(read([0], gaps: [1..<3, 3..<4], size: 4), after: .powerCut, gapsAllowed: true) == [])
    #expect(invariants(try model().check(read([0], size: 4), after: .powerCut, gapsAllowed: true)).contains("I5"))
  }

  @Test("lets a failed append appear after the process died, whole, but never before and never behind a later acknowledgement")
  func failedAppends() throws {
    var model = ModelLog()
    try model.acknowledge(model.submit([10]), at: 0, .synced)
    let failed = model.submit([20, 30])
    model.leaveUnknown(failed)
    #expect(invariants(model.check(read([0, 1, 2]), after: .none)) == ["I6"])
    #expect(model.check(read([0, 1, 2]), after: .kill) == [])
    #expect(model.check(read([0]), after: .kill) == [])
    try model.acknowledge(model.submit([40]), at: 1, .synced)
    #expect(model.check(read([0, 3]), after: .powerCut) == [])
    var both = read([0, 1, 2])
    both.add(ReadBack.Entry(offset: 3, event: TestEvent(number: 3, dataByteCount: 40)))
    both.size = 4
    #expect(invariants(model.check(both, after: .powerCut)).contains("I6"))
    let refused = model.submit([50])
    model.refuse(refused)
    #expect(invariants(model.check(read([0, 3, 4]), after: .powerCut)) == ["I6"])
  }

  @Test("takes what was served after a recovery as a promise, and what was not as gone")
  func settling() throws {
    var model = try model(.written)
    let unknown = model.submit([50])
    model.settle(read([0, 1, 2]))
    #expect(!model.isAcknowledged(unknown) && model.size == 3)
    #expect(model.check(read([0, 1, 2]), after: .powerCut) == [])
    #expect(invariants(model.check(read([0]), after: .powerCut)) == ["I1"])
    #expect(invariants(model.check(read([0, 1, 2, 3]), after: .powerCut)) == ["I6"])
    #expect(invariants(model.check(read([0, 1, 2, 4]), after: .powerCut)) == ["I6"])
    var found = try self.model()
    let late = found.submit([50])
    found.settle(read([0, 1, 2, 3, 4]))
    #expect(found.isAcknowledged(late))
    #expect(invariants(found.check(read([0, 1, 2, 3]), after: .powerCut)) == ["I1"])
  }

  @Test("follows a retry, which counts once")
  func retries() throws {
    var model = ModelLog()
    try model.acknowledge(model.submit([10]), at: 0, .synced)
    let failed = model.submit([20, 30])
    model.leaveUnknown(failed)
    let retried = try #require(model.retryableBatch())
    #expect(retried == failed)
    let again = model.resubmit(failed)
    #expect(model.events(of: again) == model.events(of: failed))
    try model.acknowledge(again, at: 1, .synced)
    #expect(model.check(read([0, 1, 2]), after: .powerCut) == [])
    #expect(invariants(model.check(read([0]), after: .powerCut)) == ["I1"])
    try model.acknowledgeDuplicate(TestEvent(number: 2, dataByteCount: 30), at: 2, isDuplicate: true)
    #expect(throws: Violation.self) { try model.acknowledgeDuplicate(TestEvent(number: 2, dataByteCount: 30), at: 3, isDuplicate: false) }
  }

  @Test("never lets an offset be given twice, or an event move")
  func offsets() throws {
    var model = try model()
    let batch = model.submit([50])
    #expect(throws: Violation.self) { try model.acknowledge(batch, at: 3, .synced) }
    #expect(invariants(try self.model().check(read([-1, 0, 1, 2, 3], gaps: [0..<1]), after: .powerCut, gapsAllowed: true)) == ["I5"])
  }

  @Test("knows what a trim may leave")
  func trimming() throws {
    var model = try model()
    model.willTrim(below: 3)
    var trimmed = ReadBack(first: 3, size: 4)
    trimmed.add(ReadBack.Entry(offset: 3, event: TestEvent(number: 3, dataByteCount: 40)))
    #expect(model.check(trimmed, after: .powerCut) == [])
    #expect(model.check(read([0, 1, 2, 3]), after: .powerCut) == [])
    var settled = model
    settled.settle(trimmed)
    #expect(settled.check(trimmed, after: .powerCut) == [])
    #expect(invariants(settled.check(read([0, 1, 2, 3]), after: .powerCut)).contains("I5"), "what was trimmed came back")
    try model.didTrim(first: 3)
    #expect(invariants(model.check(read([0, 1, 2, 3]), after: .powerCut)).contains("I5"))
    #expect(invariants(model.check(ReadBack(first: 4, size: 4), after: .powerCut)).contains("I5"))
    #expect(throws: Violation.self) { try model.didTrim(first: 4) }
  }

  @Test("passes over control events, which take offsets")
  func controlEvents() throws {
    var model = ModelLog()
    try model.acknowledge(model.submit([10]), at: 1, .synced)
    var read = ReadBack(size: 2)
    read.add(ReadBack.Entry(offset: 0, event: nil, isControl: true))
    read.add(ReadBack.Entry(offset: 1, event: TestEvent(number: 0, dataByteCount: 10)))
    #expect(model.check(read, after: .powerCut) == [])
  }
}
