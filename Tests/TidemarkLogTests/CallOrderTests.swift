import TestSupport
import Testing
import TidemarkLog

/// The calls that the engine makes on the disk, and their order: what durability rests on, and what an append costs.
@Suite struct CallOrderTests {
  /// Changing calls as short texts: names of segments by their base and form, runs of writes to one file as one.
  private func steps(_ disk: SimulatedDisk) -> [String] {
    var steps: [String] = []
    for call in disk.trace ?? [] where !Calls.changing.union(.makeReadOnly).isDisjoint(with: call.kind) {
      var path = call.path.replacing("/log/", with: "")
      if let dash = path.firstIndex(of: "-"), let dot = path[dash...].firstIndex(of: ".") { path.removeSubrange(dash..<dot) }
      path = path.replacing("segments/0000000000000000", with: "")
      let step = "\(Self.names[call.kind] ?? "?") \(path)"
      if call.kind != .write || steps.last != step { steps.append(step) }
    }
    return steps
  }

  private static let names: [Calls: String] = [
    .create: "create", .write: "write", .sync: "sync", .rename: "rename", .remove: "remove", .syncDirectory: "sync-names",
    .makeReadOnly: "protect", .makeDirectory: "make",
  ]

  @Test func `an append is one write and one sync into space that is there`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    for batch in [1, 3] {
      let length = fixture.segmentFiles.compactMap { fixture.disk.image.contents(of: $0)?.count }
      fixture.disk.trace = []
      try fixture.log.append((0..<batch).map { event("\($0)") })
      #expect(fixture.disk.trace?.map(\.kind) == [.write, .sync])
      #expect(fixture.segmentFiles.compactMap { fixture.disk.image.contents(of: $0)?.count } == length)
    }
  }

  /// Growing makes a sync commit metadata too: it must be rare.
  @Test func `a file grows once in many appends, by zeros within the same sync`() throws {
    let fixture = try Fixture {
      $0.segmentByteCount = 1 << 20
      $0.zerosAheadByteCount = 32768
    }
    fixture.disk.trace = []
    let data = [UInt8](repeating: 1, count: 140)
    for _ in 0..<1000 { try fixture.log.append(NewEvent(type: "reading", data: data)) }
    let trace = fixture.disk.trace ?? []
    #expect(trace.count { $0.kind == .sync } == 1000)
    let zeros = trace.filter { $0.kind == .write && $0.byteCount >= 16384 }
    #expect(zeros.count < 12)
    #expect(trace.count { $0.kind == .write } == 1000 + zeros.count)
    for (index, call) in trace.enumerated() where call.kind == .write && call.byteCount >= 16384 { #expect(trace[index + 1].kind == .sync) }
  }

  @Test func `rolling makes the new segment whole and its name durable before its first frame`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    fixture.disk.trace = []
    try fixture.log.roll()
    #expect(
      steps(fixture.disk) == [
        "create 0002.open.tmp", "write 0002.open.tmp", "sync 0002.open.tmp", "rename 0002.open.tmp", "sync-names segments",
      ])
    fixture.disk.trace = []
    try fixture.log.append(event("b"))
    #expect(steps(fixture.disk) == ["write 0002.open", "sync 0002.open"])
    fixture.disk.trace = []
    try fixture.log.roll()
    try fixture.log.roll()
    #expect(steps(fixture.disk).filter { $0.hasPrefix("create") }.count == 1)
  }

  @Test func `a segment that fills rolls within the append, unsynced frames first`() throws {
    for level in [Durability.written, .synced] {
      let fixture = try Fixture { $0.durability = level }
      fixture.disk.trace = []
      while fixture.segmentFiles.count == 1 {
        fixture.disk.trace = []
        try fixture.log.append(event("some text to fill the segment"))
      }
      var expected = [
        "create 0028.open.tmp", "write 0028.open.tmp", "sync 0028.open.tmp", "rename 0028.open.tmp", "sync-names segments",
        "write 0028.open",
      ]
      if level == .synced { expected.append("sync 0028.open") } else { expected.insert("sync 0000.open", at: 0) }
      #expect(steps(fixture.disk) == expected)
    }
  }

  @Test func `sealing keeps the open form until the sealed one is whole, read back and named for good`() throws {
    let fixture = try Fixture()
    try fixture.log.append((0..<20).map { event("\($0)") })
    try fixture.log.roll()
    fixture.disk.trace = []
    try fixture.log.waitForSealing()
    #expect(
      steps(fixture.disk) == [
        "create 0000.sealed.tmp", "write 0000.sealed.tmp", "sync 0000.sealed.tmp", "protect 0000.sealed.tmp", "rename 0000.sealed.tmp",
        "sync-names segments", "remove 0000.open", "sync-names segments",
      ])
    let trace = fixture.disk.trace ?? []
    let synced = try #require(trace.firstIndex { $0.kind == .sync })
    let renamed = try #require(trace.firstIndex { $0.kind == .rename })
    let readBack = trace[synced..<renamed].filter { $0.kind == .read && $0.path.hasSuffix(".sealed.tmp") }
    let length = fixture.segmentFiles.first { $0.hasSuffix(".sealed") }.flatMap { fixture.disk.image.contents(of: $0)?.count } ?? 0
    #expect(readBack.reduce(0) { $0 + $1.byteCount } >= length - 512)
  }

  @Test func `trimming writes down the floor and syncs it before the first removal, oldest first`() throws {
    let fixture = try Fixture()
    for number in 0..<4 {
      try fixture.log.append(event("\(number)"))
      try fixture.log.seal()
    }
    fixture.disk.trace = []
    try fixture.log.trim(below: 4)
    #expect(
      steps(fixture.disk) == [
        "write 0005.open", "sync 0005.open", "write 0005.open", "sync 0005.open", "remove 0000.sealed", "remove 0002.sealed",
        "remove 0003.sealed", "sync-names segments",
      ])
    let last = try fixture.log.event(at: fixture.log.size - 1)
    #expect(last.kind == .trim && last.data.prefix(8) == [4, 0, 0, 0, 0, 0, 0, 0])
    fixture.disk.trace = []
    #expect(try fixture.log.trim(below: 4) == 4)
    #expect(steps(fixture.disk).isEmpty)
  }

  @Test func `closing syncs, then writes a close frame and syncs that`() throws {
    let fixture = try Fixture { $0.durability = .written }
    try fixture.log.append(event("a"))
    fixture.disk.trace = []
    try fixture.log.close()
    #expect(steps(fixture.disk) == ["sync 0000.open", "write 0000.open", "sync 0000.open", "remove live"])
  }

  @Test func `making a log names its identity last`() throws {
    let disk = SimulatedDisk()
    disk.trace = []
    try Log.create(at: "/log", options: LogOptions(), environment: .simulated(disk, seed: 1))
    #expect(
      steps(disk) == [
        "make /log", "sync-names /", "make segments", "make index", "make torn", "create 0000.open.tmp", "write 0000.open.tmp",
        "sync 0000.open.tmp", "rename 0000.open.tmp", "sync-names segments", "create identity.tmp", "write identity.tmp",
        "sync identity.tmp", "sync-names /log", "rename identity.tmp", "sync-names /log",
      ])
  }

  @Test func `a clean opening writes nothing but the lock and the page for readers`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.seal()
    try fixture.log.append(event("b"))
    try fixture.log.close()
    fixture.disk.trace = []
    try fixture.reopen()
    #expect(steps(fixture.disk) == ["sync-names segments"] && fixture.log.recoveryReport.wasClean)
    fixture.disk.trace = []
    try fixture.log.append(event("c"))
    #expect(steps(fixture.disk) == ["write 0002.open", "sync 0002.open"])
  }

  @Test func `after a kill what was kept is written out again before anything is removed`() throws {
    let fixture = try Fixture()
    for number in 0..<10 { try fixture.log.append(event("\(number)")) }
    fixture.disk.processKill()
    fixture.disk.trace = []
    try fixture.kill()
    #expect(
      steps(fixture.disk) == [
        "sync-names segments", "create 0000.open.tmp", "write 0000.open.tmp", "sync 0000.open.tmp", "sync 0000.open",
        "rename 0000.open.tmp", "sync-names segments", "remove 0000.open", "sync-names segments",
      ])
    #expect(fixture.log.recoveryReport.rewrittenEvents == 11)
  }
}
