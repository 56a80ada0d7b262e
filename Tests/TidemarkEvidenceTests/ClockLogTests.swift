import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Reviews of logs that the engine wrote on a simulated disk.
@Suite struct ClockLogTests {
  private final class Written {
    let disk = SimulatedDisk()
    let clock = SteppingClock(nanoseconds: ClockStory.start)
    let environment: Environment
    var options = LogOptions()
    var log: Log

    init() throws {
      environment = .simulated(disk, seed: 1, clock: clock)
      options.segmentByteCount = 8192
      options.sealing = .manual
      options.syncIntervalMilliseconds = 0
      try Log.create(at: "/log", options: options, environment: environment)
      log = try Log.open(at: "/log", options: options, environment: environment)
    }

    func reopen() throws {
      try log.close()
      log = try Log.open(at: "/log", options: options, environment: environment)
    }

    func append(_ time: Int64? = nil, count: Int = 1, extensions: [EventExtension] = []) throws {
      try log.append((0..<count).map { _ in NewEvent(type: "t", time: time.map(Timestamp.init(nanoseconds:)), extensions: extensions) })
    }

    /// Each flag as `offset rule`, from what a reader finds.
    func found(receipts: [ReceiptTime] = []) throws -> [String] {
      let reader = try Log.openForReading(at: "/log", options: options, environment: environment)
      var cursor = try reader.read(Query(includesControlEvents: true))
      var review = ClockReview(receipts: receipts)
      var found: [String] = []
      while let event = try cursor.next()?.copy() {
        found += review.review(event.view, session: cursor.session).map { "\($0.offset) \($0.rule.rawValue)" }
      }
      return found
    }
  }

  @Test func `a steady clock yields no flag, in open and sealed segments, over openings, batches and stated times`() throws {
    let written = try Written()
    for number in 0..<200 {
      try written.append(number % 7 == 0 ? Int64(number) : nil, count: 1 + number % 3)
      if number % 40 == 39 { try written.reopen() }
      if number % 60 == 59 { try written.log.seal() }
    }
    #expect(written.log.size > 400)
    #expect(try written.found().isEmpty)
  }

  @Test func `what the engine notes and what is measured is one flag`() throws {
    let written = try Written()
    try written.append()
    try written.append()
    written.clock.setWallClock(byNanoseconds: 200 * millisecond)
    try written.append(count: 3)
    try written.append()
    written.clock.setWallClock(byNanoseconds: -hour)
    try written.append()
    #expect(try written.found() == ["3 wall-stepped", "7 wall-went-back", "7 wall-stepped"])
  }

  @Test func `a step while the log was closed is found at the next opening's session`() throws {
    let written = try Written()
    try written.append()
    try written.reopen()
    written.clock.setWallClock(byNanoseconds: hour)
    try written.append()
    #expect(try written.found() == ["2 wall-stepped"])
  }

  @Test func `a reboot is told at the session that it brings, and seals change nothing`() throws {
    let written = try Written()
    try written.append()
    try written.log.close()
    written.clock.reboot()
    written.log = try Log.open(at: "/log", options: written.options, environment: written.environment)
    try written.append()
    #expect(try written.found() == ["2 reboot"])
    try written.log.seal()
    #expect(try written.found() == ["2 reboot"])
  }

  @Test func `fixes and stated times are read from the events`() throws {
    let written = try Written()
    let far = EventExtension.LocationFix(time: time(0), elapsed: 0, accuracyMillimetres: 1)
    let near = EventExtension.LocationFix(time: time(ClockStory.start), elapsed: 0, accuracyMillimetres: 1)
    try written.append(extensions: [.attribute(name: "a", value: "b"), .locationFix(near), .locationFix(far)])
    try written.append(ClockStory.start + 2 * day, extensions: [.locationFix(far)])
    try written.append(ClockStory.start - 2 * day)
    let receipts = [
      ReceiptTime(offset: 1, size: 0, time: time(ClockStory.start)), ReceiptTime(offset: 9, size: 9, time: time(ClockStory.start + day)),
    ]
    #expect(try written.found() == ["1 fix-differs"])
    #expect(try written.found(receipts: receipts) == ["1 fix-differs", "2 claim-outside-bracket", "3 claim-outside-bracket"])
  }

  @Test func `local time is not the wall clock`() throws {
    let clock = LocalClock()
    let environment = Environment.simulated(SimulatedDisk(), seed: 1, clock: clock)
    var options = LogOptions()
    options.syncIntervalMilliseconds = 0
    try Log.create(at: "/log", options: options, environment: environment)
    let log = try Log.open(at: "/log", options: options, environment: environment)
    var review = ClockReview()
    for _ in 0..<10 { try log.append(NewEvent(type: "t")) }
    let events = try log.events(in: 1..<11)
    #expect(Set(events.map(\.utcOffsetMinutes)) == [60, 120])
    for event in events { #expect(review.review(event.view, session: event.session).isEmpty) }
  }
}

/// A clock whose local time changes with every reading, as on the day daylight saving begins or ends.
private final class LocalClock: DeviceClock {
  private let steady = SteppingClock(nanoseconds: ClockStory.start)
  var bootID: EventID? { steady.bootID }
  let timeZoneName = "Europe/Oslo"

  func now() -> ClockReading {
    var reading = steady.now()
    reading.utcOffsetMinutes = reading.elapsed / 1_000_000 % 2 == 0 ? 60 : 120
    return reading
  }
}
