import TestSupport
import Testing
import TidemarkLog

/// Clocks are kept beside the events as they were; nothing depends on them.
@Suite struct ClockTests {
  private static let second: Int64 = 1_000_000_000

  @Test(arguments: [
    (-5_000 * second, true), (-second, true), (-130_000_000, true), (-127_000_000, false), (0, false), (127_000_000, false),
    (130_000_000, true), (4 * 3600 * second, true),
  ])
  func `a step of the wall clock marks the next event, and only that`(_ step: Int64, _ isMarked: Bool) throws {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    fixture.clock.setWallClock(byNanoseconds: step)
    try fixture.log.append([event("c"), event("d")])
    try fixture.log.append(event("e"))
    #expect(try fixture.log.events(in: 1..<6).map(\.isClockStepped) == [false, false, isMarked, false, false])
    try fixture.log.seal()
    #expect(try fixture.log.events(in: 1..<6).map(\.isClockStepped) == [false, false, isMarked, false, false])
  }

  @Test func `slewing over a long time is no step`() throws {
    let clock = SettableClock()
    let disk = SimulatedDisk()
    let environment = Environment.simulated(disk, seed: 1, clock: clock)
    var options = LogOptions()
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    try Log.create(at: "/log", options: options, environment: environment)
    let log = try Log.open(at: "/log", options: options, environment: environment)
    try log.append(event("a"))
    // A day, and 500 parts in a million of it gained; a day, and a second more than that.
    clock.move(elapsed: 86_400 * Self.second, wall: 86_400 * Self.second + 43_200_000_000 / 1000 * 1000)
    try log.append(event("b"))
    clock.move(elapsed: 86_400 * Self.second, wall: 86_400 * Self.second - 43_200_000_000 - Self.second)
    try log.append(event("c"))
    #expect(try log.events(in: 1..<4).map(\.isClockStepped) == [false, false, true])
  }

  @Test(arguments: [0, 1, -1, 915_148_800, 2_147_483_647, 2_147_483_648, 4_294_967_296].map { $0 * second } + [.min, .max, 123_456_789])
  func `wall clocks of any time are kept to the last digit, and found where they say they are`(_ time: Int64) throws {
    let fixture = try Fixture()
    fixture.clock.setWallClock(to: Timestamp(nanoseconds: time))
    let before = fixture.clock.now()
    try fixture.log.append([event("a"), event("stated", time: time)])
    try fixture.log.seal()
    try fixture.log.append(event("c"))
    let read = try fixture.log.events(in: 1..<4)
    #expect(read[1].time.nanoseconds == time && read[1].isTimeFromCaller && read[1].clockSource == .caller)
    for event in [read[0], read[2]] {
      #expect(!event.isTimeFromCaller && event.clockSource == .system && event.timeFractionDigits == 9)
      #expect(event.time >= before.time && event.elapsed > before.elapsed)
    }
    #expect(read[0].elapsed < read[2].elapsed && read[0].elapsed == read[1].elapsed)
    let exactly = Timestamp(nanoseconds: time)
    #expect(try fixture.texts(Query(times: exactly...exactly)).contains("stated"))
    #expect(try fixture.verify().findings.isEmpty)
  }

  @Test func `order is that of appending however the clock jumps, and segments roll on`() throws {
    let fixture = try Fixture()
    let moments: [Int64] = [1_700_000_000, 0, 915_148_800, 2_147_483_648, 1_699_996_400, 1_700_014_400, -9_000_000_000, 9_000_000_000]
    for number in 0..<400 {
      if number % 25 == 0 { fixture.clock.setWallClock(to: Timestamp(nanoseconds: moments[number / 25 % 8] * Self.second)) }
      try fixture.log.append(event("\(number)", time: number % 3 == 0 ? moments[number % 8] * Self.second : nil))
      if number % 130 == 129 { try fixture.log.waitForSealing() }
    }
    #expect(fixture.segmentFiles.count > 5)
    #expect(try fixture.texts() == (0..<400).map { "\($0)" })
    var last: UInt64 = 0
    for event in try fixture.log.events(in: 1..<401) {
      #expect(event.elapsed > last && event.session?.bootID == fixture.clock.bootID)
      last = event.elapsed
    }
    try fixture.cutPower()
    #expect(try fixture.texts() == (0..<400).map { "\($0)" })
  }

  @Test func `source, offset from UTC and synchronisation are kept as the clock says`() throws {
    let clock = SettableClock()
    let disk = SimulatedDisk()
    let environment = Environment.simulated(disk, seed: 1, clock: clock)
    var options = LogOptions()
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    try Log.create(at: "/log", options: options, environment: environment)
    let log = try Log.open(at: "/log", options: options, environment: environment)
    let cases: [(ClockSource, Int16, Bool)] = [
      (.unknown, 0, false), (.system, -720, true), (.network, 840, true), (.satellite, 330, false), (.caller, .min, true),
      (.system, .max, false),
    ]
    for (source, offset, isSynchronized) in cases {
      clock.change {
        $0.source = source
        $0.utcOffsetMinutes = offset
        $0.isSynchronized = isSynchronized
      }
      try log.append(event("a"))
    }
    try log.seal()
    for (event, expected) in zip(try log.events(in: 1..<7), cases) {
      #expect(event.clockSource == expected.0 && event.utcOffsetMinutes == expected.1 && event.isClockSynchronized == expected.2)
    }
  }

  @Test func `the digits of a stated time are kept, and a stated offset only with it`() throws {
    let fixture = try Fixture()
    for digits in -1...10 {
      try fixture.log.append(NewEvent(type: "t", time: Timestamp(nanoseconds: 7), timeFractionDigits: digits, utcOffsetMinutes: 60))
    }
    try fixture.log.append(NewEvent(type: "t", timeFractionDigits: 2, utcOffsetMinutes: 60))
    let read = try fixture.log.events(in: 1..<14)
    #expect(read.map(\.timeFractionDigits) == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9])
    #expect(read.map(\.utcOffsetMinutes) == [Int16](repeating: 60, count: 12) + [0])
  }

  @Test func `ids that the engine makes rise with time, and never repeat when the clock goes back`() throws {
    let fixture = try Fixture { $0.segmentByteCount = 1 << 20 }
    var ids: [EventID] = []
    for number in 0..<200 {
      if number == 100 { fixture.clock.setWallClock(byNanoseconds: -50 * 1_000_000) }
      ids += try fixture.log.append([event("a"), event("b"), event("c")]).map(\.id)
    }
    #expect(Set(ids).count == 600)
    #expect(ids[..<300] == ids[..<300].sorted()[...])
    #expect(ids.allSatisfy { $0.high >> 12 & 0xF == 7 && $0.low >> 62 == 2 })
    #expect(try fixture.log.event(id: ids[17])?.offset == 18)
  }
}

/// A clock that stands where it was set.
final class SettableClock: DeviceClock {
  private let reading = Locked(ClockReading(time: Timestamp(nanoseconds: 1_700_000_000_000_000_000), elapsed: 1_000))
  let bootID: EventID? = EventID(high: 1, low: 2)
  let timeZoneName = "Europe/Oslo"

  func now() -> ClockReading { reading.withLock { $0 } }
  func change(_ body: (inout ClockReading) -> Void) { reading.withLock { body(&$0) } }

  func move(elapsed: Int64, wall: Int64) {
    change {
      $0.elapsed += UInt64(elapsed)
      $0.time.nanoseconds += wall
    }
  }
}
