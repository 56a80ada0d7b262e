import TestSupport
import TidemarkLog

/// The smallest log that keeps its promises on a simulated disk: one file `/toy/<n>` of hashed frames, written again by each recovery
/// under the next number. It stands in for the engine to show that disk and model catch what they are there to catch.
final class ToyLog {
  /// What can be left out, each of which must be caught.
  enum Bug: CaseIterable, Sendable {
    case noSync
    case acknowledgesBeforeSync
    case noDirectorySync
    case renamesBeforeSync
    case noHash
    case tornBatch
    case writesOnAfterTornTail
    case removesOldFirst
    case trustsSecondSync
    case doublesOnRetry
  }

  private let disk: SimulatedDisk
  private let bug: Bug?
  private var file: any File
  private var end = 0
  private(set) var events: [TestEvent] = []
  private(set) var batchStarts: Set<Int> = []
  private var isBroken = false

  /// Opens, recovering what is there.
  init(_ disk: SimulatedDisk, _ bug: Bug? = nil) throws {
    self.disk = disk
    self.bug = bug
    if try disk.status("/toy") == nil { try disk.makeDirectory("/toy") }
    try disk.syncDirectory("/")
    for name in try disk.list("/toy") where name.hasSuffix(".tmp") { try disk.remove("/toy/" + name) }
    let numbers = try disk.list("/toy").compactMap { Int($0) }.sorted()
    file = try disk.open("/toy/\((numbers.last ?? 0) + 1).tmp", .create)
    var kept: [UInt8] = []
    if let last = numbers.last {
      let old = try disk.open("/toy/\(last)", .write)
      var bytes = [UInt8](repeating: 0, count: Int(try old.byteCount()))
      _ = try old.read(bytes.count, at: 0, into: &bytes, at: 0)
      end = scan(bytes)
      if bug == .writesOnAfterTornTail {
        file = old
        return
      }
      kept = Array(bytes[..<end])
    }
    if bug == .removesOldFirst { for number in numbers { try disk.remove("/toy/\(number)") } }
    let number = (numbers.last ?? 0) + 1
    try file.write(kept.rawSpan, at: 0)
    if bug != .renamesBeforeSync { try file.sync() }
    try disk.rename("/toy/\(number).tmp", to: "/toy/\(number)")
    if bug == .renamesBeforeSync { try file.sync() }
    if bug != .noDirectorySync { try disk.syncDirectory("/toy") }
    if bug != .removesOldFirst { for number in numbers { try disk.remove("/toy/\(number)") } }
    if bug != .noDirectorySync { try disk.syncDirectory("/toy") }
  }

  /// Appends a batch, all or nothing; `willAnswer` marks the moment of acknowledgement. Returns the offset.
  func append(_ batch: [TestEvent], willAnswer: (UInt64) -> Void) throws -> UInt64 {
    if isBroken { throw LogError(.outcomeUnknown, "the toy log is broken until it is opened again") }
    let offset = UInt64(events.count)
    let frames = bug == .tornBatch ? batch.map { [$0] } : bug == .doublesOnRetry && batch.count == 1 ? [batch, batch] : [batch]
    do {
      if bug == .acknowledgesBeforeSync { willAnswer(offset) }
      for frame in frames {
        let bytes = Self.encode(frame, continues: bug == .tornBatch && frame.first != batch.last)
        try file.write(bytes.rawSpan, at: UInt64(end))
        end += bytes.count
        batchStarts.insert(events.count)
        events += frame
      }
      if bug != .noSync { try sync() }
    } catch {
      events.removeLast(events.count - Int(offset))
      isBroken = true
      throw error
    }
    willAnswer(offset)
    return offset
  }

  private func sync() throws {
    do { try file.sync() } catch {
      guard bug == .trustsSecondSync, !disk.isCut else { throw error }
      try file.sync()
    }
  }

  var readBack: ReadBack {
    var read = ReadBack(first: 0, size: UInt64(events.count))
    for (index, event) in events.enumerated() {
      let isLast = index + 1 == events.count || batchStarts.contains(index + 1)
      read.add(ReadBack.Entry(offset: UInt64(index), event: event, continuesBatch: !isLast))
    }
    return read
  }

  // MARK: Frames: u64 hash, u32 length, u32 count, then for each event u64 number, u64 length, data

  private static func encode(_ batch: [TestEvent], continues: Bool) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 16)
    for event in batch {
      bytes.add(event.number)
      bytes.add(UInt64(event.dataByteCount))
      bytes += event.data
    }
    bytes.store(UInt32(bytes.count), at: 8)
    bytes.store(UInt32(batch.count), at: 12)
    bytes.store(hash(bytes.rawSpan), at: 0)
    return bytes
  }

  private static func hash(_ bytes: RawSpan) -> UInt64 {
    var sum: UInt64 = 1
    for position in 8..<bytes.byteCount { sum = (sum ^ UInt64(bytes.u8(position))) &* 0x100_0000_01B3 }
    return splitMix(sum)
  }

  /// Takes in the frames up to the first bad one, and returns where that is.
  private func scan(_ bytes: [UInt8]) -> Int {
    let bytes = bytes.rawSpan
    var at = 0
    while at + 16 <= bytes.byteCount {
      let length = Int(bytes.u32(at + 8))
      guard length >= 16, at + length <= bytes.byteCount else { break }
      if bug != .noHash, Self.hash(bytes.slice(at, length)) != bytes.u64(at) { break }
      batchStarts.insert(events.count)
      var position = at + 16
      for _ in 0..<bytes.u32(at + 12) {
        guard position + 16 <= at + length else { break }
        let event = TestEvent(number: bytes.u64(position), dataByteCount: Int(truncatingIfNeeded: bytes.u64(position + 8) & 0xFF_FFFF))
        position += 16
        let isWhole = position + event.dataByteCount <= at + length && event.data.rawSpan.equals(bytes.slice(position, event.dataByteCount))
        events.append(isWhole ? event : TestEvent(number: .max, dataByteCount: 0))
        position += isWhole ? event.dataByteCount : 0
      }
      at += length
    }
    return at
  }
}
