import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct SnapshotTests {
  private var options: ProjectionOptions {
    var options = ProjectionOptions()
    options.onUnreadable = .park
    options.finestSpacing = 4
    return options
  }

  /// A log of sixty events, some of which correct others.
  private func sample() throws -> Fixture {
    let fixture = try Fixture()
    var random = SeededRandom(seed: 7)
    for event in tangle(&random, count: 60, oneIn: 6) { try fixture.log.append(event) }
    return fixture
  }

  private func files(_ fixture: Fixture) -> [String] { fixture.disk.image.files(under: "/log/projections").sorted() }

  @Test func `a snapshot at any point and the tail give what refolding gives`() throws {
    let fixture = try sample()
    let expected = try Reference.trail(fixture.log, below: fixture.log.size)
    for point in UInt64(0)...60 {
      let other = try Fixture()
      var random = SeededRandom(seed: 7)
      let events = tangle(&random, count: 60, oneIn: 6)
      for event in events.prefix(Int(point)) { try other.log.append(event) }
      let first = try ProjectionRunner(Trail(), of: other.log, options: options)
      try first.catchUp()
      #expect(try first.save())
      for event in events.dropFirst(Int(point)) { try other.log.append(event) }
      let second = try ProjectionRunner(Trail(), of: other.log, options: options)
      // The session record is an event too.
      #expect(second.position == point + (point == 0 ? 0 : 1) && second.report.discardedSnapshots.isEmpty)
      try second.catchUp()
      #expect(try second.state() == expected)
      #expect(second.corrections == (try refolded(other).corrections))
    }
  }

  private func refolded(_ fixture: Fixture) throws -> ProjectionRunner<Trail> {
    var options = options
    options.directory = "/elsewhere"
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    #expect(runner.position == 0)
    try runner.catchUp()
    return runner
  }

  @Test func `a crash at any call leaves a snapshot that serves or none`() throws {
    var calls = 0
    while true {
      let fixture = try sample()
      let expected = try Reference.trail(fixture.log, below: fixture.log.size)
      let base = fixture.disk.callCount
      fixture.disk.plan = FaultPlan(.cut(writing: calls % 600), at: base + calls)
      let stopped = error {
        let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
        try runner.catchUp()
        try runner.save()
        try fixture.log.append(event("1", 100))
        try runner.catchUp()
        try runner.save()
      }
      // Saving on the way fails without a word of `catchUp`; the disk knows.
      let wasCut = fixture.disk.isCut
      #expect(stopped == nil || wasCut)
      for seed in UInt64(0)..<3 {
        let cut: PowerCut = seed == 0 ? .losesEverything : .seeded(seed + UInt64(calls), garbage: .inFreshSectors)
        let after = SimulatedDisk(fixture.disk.image)
        after.powerCycle(cut)
        let environment = Environment.simulated(after, seed: 99)
        let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
        let runner = try ProjectionRunner(Trail(), of: log, options: options)
        try runner.catchUp()
        let isThere = try log.event(id: id(100)) != nil
        #expect(try runner.state() == expected + (isThere ? ["61:1"] : []), "call \(calls), seed \(seed)")
        #expect(try runner.save())
        #expect(!after.image.files(under: "/log/projections").contains { $0.hasSuffix(".tmp") })
      }
      if !wasCut { break }
      calls += stateStep(debug: 3)
    }
    #expect(calls > 100)
  }

  @Test func `calls that fail leave the value right, and are told`() throws {
    var calls = 0
    while true {
      let fixture = try sample()
      let expected = try Reference.trail(fixture.log, below: fixture.log.size)
      let base = fixture.disk.callCount
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), at: base + calls)
      let failure = error {
        let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
        try runner.catchUp()
        #expect(try runner.state() == expected)
        try runner.save()
      }
      #expect(failure == nil || failure?.code == .io)
      let reached = fixture.disk.faultCount > 0
      fixture.disk.plan = FaultPlan()
      let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      try runner.catchUp()
      #expect(try runner.state() == expected, "call \(calls)")
      if !reached { break }
      calls += 1
    }
    #expect(calls > 100)
  }

  @Test func `on a full disk values go on, and saving says so`() throws {
    let fixture = try sample()
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    fixture.disk.capacity = fixture.disk.image.usedByteCount + 100
    try runner.catchUp()
    #expect(runner.report.savingTrouble?.code == .diskFull)
    #expect(error { try runner.save() }?.code == .diskFull)
    #expect(try runner.state() == Reference.trail(fixture.log, below: fixture.log.size))
    fixture.disk.capacity = nil
    #expect(try runner.save() && runner.report.savingTrouble == nil)
  }

  @Test func `a snapshot that is cut short or has a wrong bit is thrown away`() throws {
    let fixture = try sample()
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    let expected = try runner.state()
    try runner.save()
    for file in files(fixture).dropLast() { try fixture.disk.image.delete(file) }
    let file = try #require(files(fixture).first)
    let whole = fixture.disk.image
    let bytes = try #require(whole.contents(of: file))
    for length in bytes.indices {
      fixture.disk.image = whole
      try fixture.disk.image.setContents(of: file, to: Array(bytes[..<length]))
      try check(fixture, expected, "length \(length)")
    }
    for bit in stride(from: 0, to: bytes.count * 8, by: stateStep(debug: 7)) {
      fixture.disk.image = whole
      try fixture.disk.image.flipBit(bit, of: file)
      try check(fixture, expected, "bit \(bit)", everything: bit % 97 == 0)
    }
  }

  private func check(_ fixture: Fixture, _ expected: [String], _ what: String, everything: Bool = true) throws {
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    #expect(runner.position == 0 && runner.report.discardedSnapshots.count == 1, "\(what)")
    #expect(files(fixture).isEmpty, "\(what)")
    guard everything else { return }
    try runner.catchUp()
    #expect(try runner.state() == expected, "\(what)")
  }

  @Test func `a snapshot of another log, epoch, version or name is thrown away`() throws {
    let fixture = try sample()
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    try runner.save()
    let whole = fixture.disk.image
    let newest = try #require(files(fixture).last)

    #expect(try ProjectionRunner(Trail(), of: fixture.log, options: options).position == 61)
    let other = try ProjectionRunner(Trail(version: 2), of: fixture.log, options: options)
    #expect(other.position == 0 && other.report.discardedSnapshots.last?.why.contains("version 1") == true)
    #expect(files(fixture).isEmpty)

    // Of another epoch.
    fixture.disk.image = whole
    var bytes = try #require(whole.contents(of: newest))
    bytes.store(id(5), at: 32)
    bytes.store(xxh3(bytes.rawSpan.slice(0, bytes.count - 8)), at: bytes.count - 8)
    try fixture.disk.image.setContents(of: newest, to: bytes)
    let restored = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    #expect(restored.position < 61 && restored.report.discardedSnapshots.map(\.why) == ["it is of another epoch"])

    // Of another name, put where this one's would lie.
    fixture.disk.image = whole
    bytes = try #require(whole.contents(of: newest))
    try fixture.disk.makeDirectory("/log/projections/other")
    try put(bytes, "/log/projections/other/00000000000000000061.snapshot", fixture.disk)
    let renamed = try ProjectionRunner(Trail(name: "other"), of: fixture.log, options: options)
    #expect(renamed.position == 0 && renamed.report.discardedSnapshots.first?.why == "it is of another projection")

    // Of another log, as long as this one.
    let second = try Fixture(seed: 5)
    var random = SeededRandom(seed: 7)
    for event in tangle(&random, count: 60, oneIn: 6) { try second.log.append(event) }
    try second.disk.makeDirectory("/log/projections")
    try second.disk.makeDirectory("/log/projections/trail")
    try put(bytes, newest, second.disk)
    let foreign = try ProjectionRunner(Trail(), of: second.log, options: options)
    #expect(foreign.position == 0 && foreign.report.discardedSnapshots.first?.why == "it is of another log")
  }

  /// With its checksum made right again, as a program with a mistake would write it: any value may come of it, but no end of the process.
  @Test func `a snapshot with other contents and a right checksum ends in no trap`() throws {
    let fixture = try sample()
    var options = options
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    try runner.save()
    let file = try #require(files(fixture).last)
    let whole = try #require(fixture.disk.image.contents(of: file))
    for policy in [ProjectionOptions.UnreadablePolicy.park, .skip, .fail] {
      options.onUnreadable = policy
      var random = SeededRandom(seed: 11)
      for _ in 0..<800 / stateStep(debug: 4) {
        var bytes = whole
        for _ in 0..<random.number(in: 1...3) {
          bytes[random.number(in: 80...bytes.count - 9)] = random.isOneIn(2) ? 0xFF : UInt8(truncatingIfNeeded: random.next())
        }
        // Behind the name: the number of unreadable events.
        if random.isOneIn(20) { bytes.store(UInt64.max, at: 97) }
        if random.isOneIn(3) { bytes.removeSubrange(random.number(in: 88...120)..<random.number(in: 120...200)) }
        bytes.store(UInt64(bytes.count), at: 80)
        bytes.store(xxh3(bytes.rawSpan.slice(0, bytes.count - 8)), at: bytes.count - 8)
        let disk = SimulatedDisk(fixture.disk.image)
        try disk.image.setContents(of: file, to: bytes)
        let log = try Log.openForReading(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 3))
        let forged = try ProjectionRunner(Trail(), of: log, options: options)
        _ = try? forged.catchUp()
        _ = try? forged.state(asOf: 61)
        _ = (forged.report, forged.corrections)
      }
    }
  }

  @Test func `events below a saved offset are durable first`() throws {
    let fixture = try Fixture(durability: .written)
    for number in 0..<10 { try fixture.log.append(event("\(number)")) }
    let runner = try ProjectionRunner(Trail(), of: fixture.log)
    try runner.catchUp()
    #expect(fixture.log.durable < 11)
    try runner.save()
    try fixture.cutPower()
    #expect(fixture.log.size >= 11)
    let resumed = try ProjectionRunner(Trail(), of: fixture.log)
    #expect(try resumed.position == 11 && resumed.state().count == 10)
  }

  private func put(_ bytes: [UInt8], _ path: String, _ disk: SimulatedDisk) throws {
    try disk.open(path, .create).write(bytes.rawSpan, at: 0)
  }

  @Test func `a snapshot of a history that was lost is thrown away`() throws {
    let fixture = try sample()
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    let before = fixture.disk.image
    try fixture.log.append(event("lost", 200))
    try runner.catchUp()
    try runner.save()
    let newest = try #require(files(fixture).last)
    let bytes = try #require(fixture.disk.image.contents(of: newest))
    // The log is put back from a copy, and goes on otherwise.
    let disk = SimulatedDisk(before)
    let environment = Environment.simulated(disk, seed: 12)
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    try log.append([event("other", 201), event("more", 202)])
    try disk.makeDirectory("/log/projections")
    try disk.makeDirectory("/log/projections/trail")
    try put(bytes, newest, disk)
    let resumed = try ProjectionRunner(Trail(), of: log, options: options)
    #expect(resumed.position == 0 && resumed.report.discardedSnapshots.first?.why == "the log holds another event at offset 61 now")
    try resumed.catchUp()
    #expect(try resumed.state().contains { $0.hasSuffix(":other") } && !resumed.state().contains { $0.hasSuffix(":lost") })
  }
}
