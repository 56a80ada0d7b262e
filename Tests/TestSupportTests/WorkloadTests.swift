import TestSupport
import Testing
import TidemarkLog

@Suite("Seeded workloads, events, clocks and random bits")
struct WorkloadTests {
  @Test("follow from the seed, and have every kind of operation")
  func workloads() {
    let first = OperationMix.everything.workload(seed: 7, count: 500)
    #expect(first == OperationMix.everything.workload(seed: 7, count: 500))
    #expect(first != OperationMix.everything.workload(seed: 8, count: 500))
    let kinds = Set(first.map { String("\($0)".prefix { $0 != "(" }) })
    #expect(kinds.count == 16)
  }

  @Test("count and name every workload of up to a length, each once")
  func everyWorkload() {
    let all = EveryWorkload(of: [.sync, .roll, .reopen], upTo: 3)
    #expect(all.count == 3 + 9 + 27)
    #expect(Set(all).count == all.count)
    #expect(Array(all).map(\.count) == [Int](repeating: 1, count: 3) + [Int](repeating: 2, count: 9) + [Int](repeating: 3, count: 27))
    #expect(all[0] == [.sync] && all[2] == [.reopen] && all[38] == [.reopen, .reopen, .reopen])
  }

  @Test("make events whose content follows from number and length")
  func events() {
    var types: Set<String> = []
    var withoutID = 0
    for number in 0..<64 as Range<UInt64> {
      for byteCount in [0, 1, 7, 8, 9, 100, 3000] {
        let event = TestEvent(number: number, dataByteCount: byteCount)
        let new = event.newEvent()
        #expect(new == event.newEvent() && new.data.count == byteCount)
        #expect(new != event.newEvent(isConflicting: true) && new.id == event.newEvent(isConflicting: true).id)
        types.insert(new.type)
        if new.id == nil { withoutID += 1 }
      }
    }
    #expect(types.count == 6 && withoutID == 8 * 4)
  }

  @Test("read an event back from a record, and refuse it with any bit of it changed")
  func readingBack() throws {
    for number in [3, 7, 10, 25] as [UInt64] {
      let event = TestEvent(number: number, dataByteCount: 43)
      let record = Self.record(event)
      #expect(TestEvent(EventView(record: record.rawSpan, offset: 0)) == event)
      // From the id on, but not the clock readings and the engine's own id, which are not the caller's.
      let fixed = (8..<24).filter { _ in event.hasOwnID }
      for byte in fixed + Array(48..<record.count) {
        for bit in 0..<8 {
          var changed = record
          changed[byte] ^= 1 << UInt8(bit)
          #expect(TestEvent(EventView(record: changed.rawSpan, offset: 0)) != event, "byte \(byte) bit \(bit) of event \(number)")
        }
      }
    }
  }

  /// A record by the layout of Specs/format.md.
  static func record(_ event: TestEvent) -> [UInt8] {
    let new = event.newEvent()
    var extensions: [UInt8] = []
    for case .correlation(let id) in new.extensions {
      extensions.add(UInt16(1))
      extensions.add(UInt16(16))
      extensions.add(id)
    }
    var record = [UInt8](repeating: 0, count: 48)
    record[4] = 1
    record[5] = new.time == nil ? 0 : 2
    record[7] = UInt8(new.type.utf8.count)
    record.store(new.id ?? EventID(high: 1, low: 2), at: 8)
    record.store(new.time?.nanoseconds ?? 5, at: 24)
    record[42] = UInt8(new.actor?.utf8.count ?? 0)
    record[43] = UInt8(new.contentType?.utf8.count ?? 0)
    record.store(UInt16(new.subject?.utf8.count ?? 0), at: 44)
    record.store(UInt16(extensions.count), at: 46)
    for text in [new.type, new.subject ?? "", new.actor ?? "", new.contentType ?? ""] { record += Array(text.utf8) }
    record += extensions + new.data
    record.store(UInt32(record.count), at: 0)
    return record
  }

  @Test("draw the same numbers from the same seed, evenly")
  func randomness() {
    var first = SeededRandom(seed: 5)
    var second = SeededRandom(seed: 5)
    var counts = [Int](repeating: 0, count: 10)
    for _ in 0..<10_000 {
      let number = first.number(below: 10)
      #expect(number == second.number(below: 10))
      counts[number] += 1
    }
    #expect(counts.allSatisfy { (850...1150).contains($0) })
    var ranged = SeededRandom(seed: 6)
    #expect(Set((0..<100).map { _ in ranged.number(in: 3...5) }) == [3, 4, 5])
    let source = SeededRandomSource(seed: 1)
    let other = SeededRandomSource(seed: 1)
    let words = (0..<100).map { _ in source.next() }
    #expect(words == (0..<100).map { _ in other.next() } && Set(words).count == 100)
  }

  @Test("run clocks that stand, step, jump and boot again as told")
  func clocks() {
    #expect(FixedClock().now() == FixedClock().now())
    let clock = SteppingClock(nanoseconds: 1000, stepNanoseconds: 10)
    #expect(clock.now() == ClockReading(time: Timestamp(nanoseconds: 1010), elapsed: 10))
    clock.setWallClock(byNanoseconds: -500)
    #expect(clock.now() == ClockReading(time: Timestamp(nanoseconds: 520), elapsed: 20))
    clock.setWallClock(to: Timestamp(nanoseconds: 0))
    #expect(clock.now() == ClockReading(time: Timestamp(nanoseconds: 10), elapsed: 30))
    let boot = clock.bootID
    clock.reboot()
    #expect(clock.bootID != boot)
    #expect(clock.now() == ClockReading(time: Timestamp(nanoseconds: 20), elapsed: 10))
  }
}
