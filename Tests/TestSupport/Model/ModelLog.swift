package import TidemarkLog

/// A log that needs no disk: what was submitted, what was answered, and so what may be read back after a crash.
///
/// ```swift
/// var model = ModelLog()
/// let batch = model.submit([40, 40])
/// do {
///   let appended = try log.append(model.events(of: batch).map { $0.newEvent() })
///   try model.acknowledge(batch, at: appended[0].offset, .synced)
/// } catch { model.leaveUnknown(batch) }
/// // power cut, recovery, reading
/// let violations = model.check(readBack, after: .powerCut)
/// model.settle(readBack)
/// ```
///
/// A copy is cheap, so a harness keeps one with each disk image it takes.
package struct ModelLog: Sendable {
  /// Names a submitted batch.
  package struct BatchID: Sendable, Hashable {
    let index: Int
  }

  enum State: UInt8, Sendable {
    /// Submitted and not answered, or answered with "unknown": may be there after a crash, whole.
    case unknown
    case acknowledged
    /// Must never be there: refused, failed before a later acknowledgement, or gone in an earlier recovery.
    case absent
    /// The same events were submitted again, and count as that batch.
    case superseded
  }

  struct Batch: Sendable {
    var firstNumber: Int
    var count: Int
    var state = State.unknown
    var durability = Durability.buffered
    /// Of its first event, once acknowledged.
    var offset: UInt64 = 0
    /// It lay in a gap when the log was read last, or may be gone: not one to ask for.
    var isHidden = false

    var offsets: Range<UInt64> { offset..<offset + UInt64(count) }
  }

  private(set) var batches: [Batch] = []
  /// By event number: the batch that it belongs to, and the length of its data.
  private(set) var owners: [Int32] = []
  private(set) var byteCounts: [Int32] = []
  /// Batches before it are acknowledged as synced, or absent.
  private var firstUnsettled = 0
  /// The lowest offset that the next acknowledged event may have.
  package private(set) var size: UInt64 = 0
  /// What `first` may be: the floor that is in force, up to the highest that was asked for.
  private(set) var floors: ClosedRange<UInt64> = 0...0

  private var lastUnknown: BatchID?

  package init() {}

  // MARK: Submitting

  /// Makes a batch of new events with so many bytes of data each. Until it is answered its outcome is unknown.
  package mutating func submit(_ dataByteCounts: [Int]) -> BatchID {
    batches.append(Batch(firstNumber: owners.count, count: dataByteCounts.count))
    for byteCount in dataByteCounts {
      owners.append(Int32(batches.count - 1))
      byteCounts.append(Int32(byteCount))
    }
    return BatchID(index: batches.count - 1)
  }

  /// Submits the events of a batch again that is not there, or may not be.
  package mutating func resubmit(_ batch: BatchID) -> BatchID {
    let old = batches[batch.index]
    batches[batch.index].state = .superseded
    batches.append(Batch(firstNumber: old.firstNumber, count: old.count))
    for number in old.firstNumber..<old.firstNumber + old.count { owners[number] = Int32(batches.count - 1) }
    return BatchID(index: batches.count - 1)
  }

  package func events(of batch: BatchID) -> [TestEvent] {
    let batch = batches[batch.index]
    return (batch.firstNumber..<batch.firstNumber + batch.count).map {
      TestEvent(number: UInt64($0), dataByteCount: Int(byteCounts[$0]))
    }
  }

  // MARK: Answers

  /// The append returned. Throws if the offset was given before or lies below what is there already (I5).
  package mutating func acknowledge(_ batch: BatchID, at offset: UInt64, _ durability: Durability) throws(Violation) {
    if offset < size { throw Violation(.i5, "offset \(offset) was given though the size was \(size)") }
    // A failed append can't come back once a later one is acknowledged (I6); one that is only in memory proves nothing.
    if durability > .buffered { giveUpUnknown(before: batch.index) }
    batches[batch.index].state = .acknowledged
    batches[batch.index].offset = offset
    batches[batch.index].durability = durability
    size = batches[batch.index].offsets.upperBound
    if durability == .synced { markSynced() }
  }

  /// The append failed in a way that says the events are not there and never will be: a conflict, a wrong expected size, too large.
  package mutating func refuse(_ batch: BatchID) { batches[batch.index].state = .absent }

  /// The append failed, or never returned.
  package mutating func leaveUnknown(_ batch: BatchID) {
    batches[batch.index].state = .unknown
    lastUnknown = batch
  }

  /// A duplicate was answered. Throws if it got another offset than the first time.
  package func acknowledgeDuplicate(_ event: TestEvent, at offset: UInt64, isDuplicate: Bool) throws(Violation) {
    let batch = batches[Int(owners[Int(event.number)])]
    let expected = batch.offset + event.number - UInt64(batch.firstNumber)
    if !isDuplicate || offset != expected {
      throw Violation(.i2, "a repeat of the event at \(expected) was answered with offset \(offset)\(isDuplicate ? "" : " as a new one")")
    }
  }

  private mutating func giveUpUnknown(before end: Int) {
    for index in firstUnsettled..<max(firstUnsettled, end) where batches[index].state == .unknown { batches[index].state = .absent }
  }

  /// A sync, a roll or a close returned: all acknowledged events are durable.
  package mutating func markSynced() {
    if let last = batches.lastIndex(where: { $0.state == .acknowledged }) { giveUpUnknown(before: last) }
    for index in firstUnsettled..<batches.count where batches[index].state == .acknowledged { batches[index].durability = .synced }
    while firstUnsettled < batches.count, batches[firstUnsettled].state != .unknown { firstUnsettled += 1 }
  }

  /// A trim is about to be asked for.
  package mutating func willTrim(below floor: UInt64) { floors = floors.lowerBound...max(floors.upperBound, floor) }

  /// It returned the lowest offset that is kept.
  package mutating func didTrim(first: UInt64) throws(Violation) {
    if !floors.contains(first) { throw Violation(.i5, "trimming below \(floors.upperBound) left \(first) as the first offset") }
    floors = first...first
  }

  // MARK: Choosing events again

  /// The event that was acknowledged `back` events before the last one and is still kept; only those with an id of their own.
  package func acknowledgedEvent(back: Int) -> TestEvent? {
    var left = back
    for batch in batches.reversed() where batch.state == .acknowledged && !batch.isHidden && batch.offset >= floors.upperBound {
      for number in (batch.firstNumber..<batch.firstNumber + batch.count).reversed() {
        let event = TestEvent(number: UInt64(number), dataByteCount: Int(byteCounts[number]))
        guard event.hasOwnID else { continue }
        if left == 0 { return event }
        left -= 1
      }
    }
    return nil
  }

  /// The batch whose outcome was last left unknown, if it is worth a retry: all its events have ids of their own, and they are not
  /// trimmed. If ``isAcknowledged(_:)`` says that it was found after a restart, a retry must be answered as a duplicate; else it is to be
  /// resubmitted.
  package func retryableBatch() -> BatchID? {
    guard let lastUnknown, batches[lastUnknown.index].state != .superseded, !batches[lastUnknown.index].isHidden else { return nil }
    if isAcknowledged(lastUnknown) && batches[lastUnknown.index].offset < floors.upperBound { return nil }
    return events(of: lastUnknown).allSatisfy { $0.hasOwnID } ? lastUnknown : nil
  }

  /// Whether the batch was found in the log after all.
  package func isAcknowledged(_ batch: BatchID) -> Bool { batches[batch.index].state == .acknowledged }

  // MARK: Disks that lie

  /// A disk that reports success for what it never did can lose, and nobody can tell, what was acknowledged from an offset on. With it may
  /// go
  /// a trim: then the log begins at `first` again.
  package mutating func doubt(from offset: UInt64, first: UInt64) {
    for index in batches.indices where batches[index].state == .acknowledged && batches[index].offsets.upperBound > offset {
      batches[index].durability = .buffered
      batches[index].isHidden = true
    }
    floors = min(first, floors.lowerBound)...floors.upperBound
  }

  // MARK: Recovery

  /// After a recovery for writing was checked: what was served is a promise from now on, what was not is gone for good. What lies in a gap
  /// may show again: a gap can be filled, or was a bad reading.
  package mutating func settle(_ read: ReadBack) {
    let scan = Scan(self, read)
    for index in batches.indices where batches[index].state != .superseded {
      batches[index].isHidden = Int(scan.counts[index]) < batches[index].count
      if scan.counts[index] > 0 {
        batches[index].state = .acknowledged
        batches[index].durability = .synced
        batches[index].offset = scan.starts[index]
      } else if batches[index].state == .unknown
        || (batches[index].state == .acknowledged && batches[index].offset >= read.first && !read.isInGap(batches[index].offsets))
      {
        batches[index].state = .absent
      }
    }
    firstUnsettled = batches.count
    size = read.size
    floors = read.first...read.first
  }
}
