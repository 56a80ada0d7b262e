import TestSupport
import Testing
import TidemarkLog

/// What each level promises, no more and no less.
@Suite struct DurabilityTests {
  @Test(arguments: Durability.allCases, [false, true])
  func `each level survives what it says, and only that`(_ level: Durability, _ isPowerCut: Bool) throws {
    let fixture = try Fixture { $0.durability = level }
    try fixture.log.append(event("synced"))
    try fixture.log.sync()
    try fixture.log.append([event("a"), event("b")])
    try fixture.log.append(event("c"))
    if isPowerCut { try fixture.cutPower() } else { try fixture.kill() }
    let survives = isPowerCut ? level == .synced : level >= .written
    #expect(try fixture.texts() == ["synced"] + (survives ? ["a", "b", "c"] : []))
    #expect(fixture.log.recoveryReport.gaps.isEmpty)
    try fixture.log.append(event("z"))
    #expect(try fixture.texts().last == "z")
  }

  @Test func `what a level costs on the disk`() throws {
    for (level, kinds) in [(Durability.buffered, []), (.written, [.write]), (.synced, [.write, .sync])] as [(Durability, [Calls])] {
      let fixture = try Fixture { $0.durability = level }
      try fixture.log.append(event("a"))
      fixture.disk.trace = []
      try fixture.log.append(event("b"))
      #expect(fixture.disk.trace?.map(\.kind) == kinds, "\(level)")
    }
  }

  @Test func `an append may ask for more, and takes along what came before it`() throws {
    for level in [Durability.buffered, .written] {
      let fixture = try Fixture { $0.durability = level }
      try fixture.log.append(event("a"))
      try fixture.log.append(event("b"))
      #expect(fixture.log.durable == 0)
      try fixture.log.append(event("c"), durability: .synced)
      #expect(fixture.log.durable == fixture.log.size)
      try fixture.log.append(event("d"))
      try fixture.cutPower()
      #expect(try fixture.texts() == ["a", "b", "c"])
    }
    let fixture = try Fixture { $0.durability = .buffered }
    try fixture.log.append(event("a"), durability: .written)
    try fixture.kill()
    #expect(try fixture.texts() == ["a"])
  }

  @Test func `an append can't ask for less`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"), durability: .buffered)
    #expect(fixture.log.durable == 2)
    try fixture.cutPower()
    #expect(try fixture.texts() == ["a"])
  }

  @Test func `rolling and closing make everything durable`() throws {
    for level in Durability.allCases {
      let fixture = try Fixture { $0.durability = level }
      try fixture.log.append(event("a"))
      try fixture.log.roll()
      #expect(fixture.log.durable == 2)
      try fixture.log.append(event("b"))
      try fixture.log.close()
      try fixture.cutPower()
      #expect(try fixture.texts() == ["a", "b"])
      #expect(fixture.log.recoveryReport.wasClean)
    }
  }

  /// Reading in the writer's own process shows what was acknowledged, at every level.
  @Test func `one reads what one has appended`() throws {
    let fixture = try Fixture { $0.durability = .buffered }
    for number in 0..<30 {
      let appended = try fixture.log.append(event("\(number)", id: id(UInt64(number))))
      switch number % 5 {
      case 0: #expect(try fixture.log.event(at: appended.offset).id == appended.id)
      case 1: #expect(try fixture.log.event(id: appended.id)?.offset == appended.offset)
      case 2: #expect(try fixture.texts().count == number + 1)
      case 3: #expect(try fixture.log.statistics().userEventCount == UInt64(number + 1))
      default: #expect(try fixture.log.append(event("\(number)", id: id(UInt64(number)))).isDuplicate)
      }
    }
  }

  @Test func `what is buffered is written when a frame is full`() throws {
    let fixture = try Fixture {
      $0.durability = .buffered
      $0.segmentByteCount = 1 << 20
    }
    let data = [UInt8](repeating: 1, count: 1000)
    for _ in 0..<100 { try fixture.log.append(NewEvent(type: "t", data: data)) }
    try fixture.kill()
    let kept = try fixture.texts().count
    #expect(kept >= 60 && kept < 100)
    #expect(fixture.log.recoveryReport.findings.allSatisfy { $0.isHarmless })
  }

  /// A failed write or sync of a log that acknowledges early: what it acknowledged is written again first, at the same offsets.
  @Test(arguments: [Durability.buffered, .written], SyncFailure.allCases)
  func `nothing acknowledged is forgotten after a failed sync`(_ level: Durability, _ failure: SyncFailure) throws {
    for reaching in [UInt64(0), 0b101, .max] {
      let fixture = try Fixture { $0.durability = level }
      for number in 0..<10 { try fixture.log.append(event("\(number)")) }
      fixture.disk.plan = FaultPlan(.failedSync(failure, reaching: reaching), during: 0...Int.max, only: .sync)
      #expect(code { try fixture.log.sync() } == .outcomeUnknown)
      fixture.disk.plan = FaultPlan()
      // What the page cache lost can't be read again; then it is a gap, not silence.
      if failure != .dropsPages { #expect(try fixture.texts().count == 10) }
      try fixture.log.append(event("z"))
      try fixture.log.sync()
      try fixture.cutPower()
      var cursor = try fixture.log.read(Query(onDamage: .skip))
      var texts: [String] = []
      var lost: UInt64 = 0
      while let text = try cursor.nextText() { texts.append(text) }
      for gap in cursor.gaps { lost += gap.offsets.map { $0.upperBound - $0.lowerBound } ?? 0 }
      #expect(texts.last == "z" && UInt64(texts.count) + lost >= 11)
      if failure != .dropsPages { #expect(texts == (0..<10).map { "\($0)" } + ["z"]) }
    }
  }

  @Test func `in time, a thread writes and syncs what is not asked for`() async throws {
    for level in [Durability.buffered, .written] {
      let real = try RealLog {
        $0.durability = level
        $0.syncIntervalMilliseconds = 5
      }
      try await real.log.append(event("a"))
      #expect(await eventually { real.log.durable == 2 })
      #expect(try await eventually { try Fixture.texts(real.reader()) == ["a"] })
      let syncs = try real.log.statistics().syncCount
      try await Task.sleep(nanoseconds: 40_000_000)
      // Nothing to do, nothing done.
      #expect(try real.log.statistics().syncCount == syncs)
    }
  }
}
