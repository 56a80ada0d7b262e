import TestSupport
import Testing
import TidemarkLog

@Suite struct ReadingTests {
  @Test func `reads by range, from any place in open and sealed segments`() throws {
    let fixture = try Fixture()
    for number in 0..<300 { try fixture.log.append(event("event \(number)")) }
    try fixture.log.seal()
    for number in 300..<330 { try fixture.log.append(event("event \(number)")) }
    let all = try fixture.texts()
    #expect(all == (0..<330).map { "event \($0)" })
    for first in stride(from: 1, to: 331, by: 13) {
      let range = UInt64(first)..<UInt64(min(first + 29, 331))
      #expect(try fixture.log.events(in: range).map(\.offset) == Array(range))
      #expect(try fixture.log.event(at: UInt64(first)).data == Array("event \(first - 1)".utf8))
    }
  }

  @Test(arguments: [[1], [2_000, 1], [1, 2_000], [1, 1, 1, 1, 1, 1, 1, 9_000], [70_000, 3, 40]])
  func `looks up any event of large compressed frames, in any order, whatever the lengths`(lengths: [Int]) throws {
    let fixture = try Fixture { $0.segmentByteCount = 1 << 20 }
    let texts = (0..<300).map { number in String(repeating: "\(number) ", count: 1 + lengths[number % lengths.count] / 4) }
    for start in stride(from: 0, to: texts.count, by: 30) { try fixture.log.append(texts[start..<start + 30].map { event($0) }) }
    try fixture.log.seal()
    var generator = SeededRandom(seed: 3)
    for order in [Array(0..<300), (0..<300).reversed(), (0..<300).shuffled(using: &generator)] {
      let reader = try fixture.reader()
      for number in order { #expect(try reader.event(at: UInt64(number + 1)).data == Array(texts[number].utf8)) }
    }
    // The beginning of a frame, then what lies behind it, then the beginning again.
    for number in stride(from: 0, to: 290, by: 31) {
      let reader = try fixture.reader()
      for offset in [number, number + 9, number + 1, number] {
        #expect(try reader.event(at: UInt64(offset + 1)).data == Array(texts[offset].utf8))
      }
    }
  }

  @Test func `looks up events in more segments than are kept open or in mind`() throws {
    let fixture = try Fixture()
    let texts = (0..<600).map { "\($0) " + String(repeating: "x", count: 40) }
    for text in texts {
      try fixture.log.append(event(text))
      try fixture.log.seal()
    }
    let reader = try fixture.reader()
    #expect(fixture.segmentFiles.count > 600)
    var generator = SeededRandom(seed: 4)
    for number in (0..<600).shuffled(using: &generator) + [0, 599, 0] {
      #expect(try reader.event(at: UInt64(number + 1)).data == Array(texts[number].utf8))
    }
  }

  @Test func `control events are hidden unless asked for, and counted apart`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.reopen()
    try fixture.log.append(event("b"))
    var cursor = try fixture.log.read(Query(includesControlEvents: true))
    var kinds: [EventKind] = []
    while let event = try cursor.next() { kinds.append(event.kind) }
    #expect(kinds == [.session, .event, .session, .event])
    let statistics = try fixture.log.statistics()
    #expect(statistics.userEventCount == 2 && statistics.controlEventCount == 2)
  }

  @Test func `a range of times finds events where they say they are, in the order of appending`() throws {
    let fixture = try Fixture()
    // 1970, 1999, 2038, an hour back, four hours on.
    let times: [Int64] = [0, 938_000_000, 2_147_483_648, 2_147_480_048, 2_147_494_448, 5, 938_000_001].map { $0 * 1_000_000_000 }
    for (number, time) in times.enumerated() {
      try fixture.log.append(event("\(number)", time: time))
      try fixture.log.append((0..<20).map { event("filler \($0)", time: 9_000_000_000_000_000_000 + Int64($0)) })
      if number % 2 == 0 { try fixture.log.seal() }
    }
    func found(_ low: Int64, _ high: Int64) throws -> [String] {
      try fixture.texts(Query(times: Timestamp(nanoseconds: low)...Timestamp(nanoseconds: high)))
    }
    #expect(try found(0, 5_000_000_000) == ["0", "5"])
    #expect(try found(938_000_000_000_000_000, 938_000_001_000_000_000) == ["1", "6"])
    #expect(try found(times[3], times[4]) == ["2", "3", "4"])
    #expect(try found(1, 2) == [])
  }

  @Test func `what can't be read is said by its kind`() throws {
    let fixture = try Fixture()
    for number in 0..<200 { try fixture.log.append(event("event \(number)")) }
    let size = fixture.log.size
    #expect(code { _ = try fixture.log.event(at: size) } == .offsetOutOfRange)
    #expect(code { _ = try fixture.log.events(in: 0..<(size + 1)) } == .offsetOutOfRange)
    try fixture.log.seal()
    let first = try fixture.log.trim(below: 100)
    #expect(first > 0 && first <= 100)
    #expect(code { _ = try fixture.log.event(at: first - 1) } == .trimmed)
    #expect(code { _ = try fixture.log.events(in: 0..<size) } == .trimmed)
    #expect(try fixture.log.event(at: first).offset == first)
    #expect(code { try fixture.log.trim(below: size + 100) } == .offsetOutOfRange)
  }

  @Test func `a reader without a lock sees what is published, and more after looking again`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let reader = try fixture.reader()
    #expect(try Fixture.texts(reader) == ["a"])
    for number in 0..<200 { try fixture.log.append(event("event \(number)")) }
    try fixture.log.seal()
    try fixture.log.append(event("z"))
    #expect(try reader.refresh() == fixture.log.size)
    #expect(try Fixture.texts(reader).count == 202)
    #expect(code { try reader.append(event("b")) } == .readOnly)
  }

  @Test func `clock steps and boots are kept beside the events`() throws {
    let fixture = try Fixture()
    let first = try fixture.log.append(event("a"))
    fixture.clock.setWallClock(byNanoseconds: -3_600_000_000_000)
    let second = try fixture.log.append(event("b"))
    let third = try fixture.log.append(event("c"))
    #expect(try fixture.log.event(at: first.offset).isClockStepped == false)
    #expect(try fixture.log.event(at: second.offset).isClockStepped)
    #expect(try fixture.log.event(at: third.offset).isClockStepped == false)
    fixture.clock.reboot()
    try fixture.reopen()
    let fourth = try fixture.log.append(event("d"))
    #expect(try fixture.log.event(at: fourth.offset).session?.bootID == fixture.clock.bootID)
    #expect(try fixture.log.event(at: first.offset).session?.bootID != fixture.clock.bootID)
    try fixture.log.seal()
    #expect(try fixture.log.event(at: first.offset).session?.bootID != fixture.clock.bootID)
    #expect(try fixture.log.event(at: fourth.offset).session?.bootID == fixture.clock.bootID)
  }
}
