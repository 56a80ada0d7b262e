import TestSupport
import Testing
import TidemarkLog

/// One record for each opening in which something was appended: which boot, which clocks, which program.
@Suite struct SessionTests {
  @Test func `an opening is described once, before its first event`() throws {
    let fixture = try Fixture {
      $0.program = "kiosk 3.1"
      $0.deviceIdentifier = "gate-7"
    }
    try fixture.log.append(event("a"))
    try fixture.log.append(event("b"))
    let session = try #require(try fixture.log.event(at: 1).session)
    #expect(session.program == "kiosk 3.1" && session.deviceIdentifier == "gate-7" && session.timeZoneName == "UTC")
    #expect(session.bootID == fixture.clock.bootID && session.incarnation != 0)
    let record = try fixture.log.event(at: 0)
    #expect(record.kind == .session && record.isControl && record.type.isEmpty)
    #expect(session.start == record.time && session.startElapsed == record.elapsed)
    #expect(try fixture.log.event(at: 2).session == session)
    #expect(fixture.log.size == 3)
  }

  @Test func `an opening that appends nothing leaves none`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    for _ in 0..<3 { try fixture.reopen() }
    #expect(fixture.log.size == 2)
    try fixture.log.append(event("b"))
    #expect(fixture.log.size == 4)
    #expect(try fixture.log.event(at: 1).session?.incarnation != fixture.log.event(at: 3).session?.incarnation)
  }

  @Test func `a first commit that fails is described by the next`() throws {
    let fixture = try Fixture()
    fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .sync)
    #expect(code { try fixture.log.append(event("a")) } == .outcomeUnknown)
    fixture.disk.plan = FaultPlan()
    try fixture.log.append(event("b"))
    #expect(try fixture.log.event(at: 0).kind == .session)
    #expect(try fixture.texts() == ["b"] && fixture.log.size == 2)
  }

  @Test func `the session in force is known in every segment, rolled, sealed, trimmed and recovered`() throws {
    let fixture = try Fixture()
    var expected: [UInt64: EventID?] = [:]
    for boot in 0..<4 {
      fixture.clock.reboot()
      try fixture.reopen { $0.program = "version \(boot)" }
      for number in 0..<70 {
        let offset = try fixture.log.append(event("\(number)")).offset
        expected[offset] = fixture.clock.bootID
      }
      if boot == 1 { try fixture.log.seal() }
    }
    func check() throws {
      for (offset, bootID) in expected where offset >= fixture.log.first {
        let session = try fixture.log.event(at: offset).session
        #expect(session?.bootID == bootID, "event \(offset)")
      }
      var cursor = try fixture.log.read()
      while let offset = try cursor.nextRecord()?.0 {
        #expect(cursor.session?.bootID == expected[offset] ?? nil, "event \(offset)")
      }
    }
    try check()
    try fixture.log.seal()
    try check()
    try fixture.log.trim(below: 150)
    #expect(fixture.log.first > 71)
    try check()
    try fixture.kill()
    try check()
    let reader = try fixture.reader()
    for (offset, bootID) in expected where offset >= reader.first { #expect(try reader.event(at: offset).session?.bootID == bootID) }
  }

  @Test func `reading from the middle of a batch knows the session that began in front of it`() throws {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    fixture.clock.reboot()
    try fixture.reopen()
    // One frame: session, c, d, e.
    try fixture.log.append([event("c"), event("d"), event("e")])
    for offset: UInt64 in 4...6 {
      #expect(try fixture.log.event(at: offset).session?.bootID == fixture.clock.bootID, "event \(offset)")
      var cursor = try fixture.log.read(Query(offsets: offset..<7))
      let found = try cursor.nextRecord()?.0
      #expect(found == offset)
      #expect(cursor.session?.bootID == fixture.clock.bootID, "event \(offset)")
    }
    #expect(try fixture.log.event(at: 2).session?.bootID != fixture.clock.bootID)
  }

  @Test func `names that are too long are cut between characters`() throws {
    let fixture = try Fixture {
      $0.program = String(repeating: "é", count: 200)
      $0.deviceIdentifier = String(repeating: "x", count: 300)
    }
    try fixture.log.append(event("a"))
    let session = try #require(try fixture.log.event(at: 1).session)
    #expect(session.program == String(repeating: "é", count: 127))
    #expect(session.deviceIdentifier == String(repeating: "x", count: 255))
  }

  @Test func `a system that tells no boot leaves it out`() throws {
    let disk = SimulatedDisk()
    let environment = Environment.simulated(disk, seed: 1, clock: FixedClock(bootID: nil, timeZoneName: "Asia/Kathmandu"))
    let options = LogOptions()
    try Log.create(at: "/log", options: options, environment: environment)
    let log = try Log.open(at: "/log", options: options, environment: environment)
    try log.append(event("a"))
    let session = try #require(try log.event(at: 1).session)
    #expect(session.bootID == nil && session.timeZoneName == "Asia/Kathmandu")
    // Without a boot id there is no page to trust: readers go by what is recorded on the disk.
    #expect(!disk.image.files(under: "/log").contains("/log/live"))
    try log.close()
    #expect(try Fixture.texts(Log.openForReading(at: "/log", options: options, environment: environment)) == ["a"])
  }
}
