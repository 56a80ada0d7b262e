import TestSupport
import Testing
import TidemarkLog

/// No space left: appends fail visibly, nothing is lost, and the first append after space is freed succeeds.
@Suite struct FullDiskTests {
  /// A write that got `count` bytes out before the disk was full, at the `number`-th write from now on.
  private func fill(_ fixture: Fixture, after count: Int) {
    fixture.disk.plan = FaultPlan(.shortWrite(byteCount: count, errno: DiskError.noSpace), during: 0...Int.max, only: .write)
  }

  /// Every length of what got out before the disk was full.
  @Test(arguments: [false, true])
  func `a write that stops after any number of bytes leaves nothing of a refused append`(_ isReopened: Bool) throws {
    let start = try Fixture()
    try start.log.append(event("a"))
    start.disk.trace = []
    try start.log.append([event("probe one"), event("probe two")])
    let length = try #require(start.disk.trace?.first).byteCount
    for count in 0...length {
      let fixture = try Fixture()
      try fixture.log.append(event("a"))
      fill(fixture, after: count)
      let refused = error { try fixture.log.append([event("probe one"), event("probe two")]) }
      #expect(refused?.code == .diskFull && refused?.file != nil)
      #expect(try fixture.texts() == ["a"])
      fixture.disk.plan = FaultPlan()
      if isReopened {
        // The process dies instead: then the whole batch may be there, never a part of it.
        try fixture.kill()
        let texts = try fixture.texts()
        #expect(texts == ["a"] || texts == ["a", "probe one", "probe two"], "after \(count) bytes")
        continue
      }
      try fixture.log.append(event("b"))
      try fixture.log.append(event("c"))
      try fixture.kill()
      #expect(try fixture.texts() == ["a", "b", "c"], "after \(count) bytes")
      #expect(fixture.log.recoveryReport.gaps.isEmpty)
    }
  }

  @Test(arguments: Durability.allCases)
  func `while the disk is full every append fails, afterwards the first succeeds, without a restart`(_ level: Durability) throws {
    let fixture = try Fixture { $0.durability = level }
    try fixture.log.append(event("a"))
    try fixture.log.sync()
    var kept = ["a"]
    for round in 0..<4 {
      fixture.disk.capacity = fixture.disk.image.usedByteCount
      var refusals = 0
      for number in 0..<100 {
        do {
          let text = "\(round)-\(number) with some more text to fill what is left"
          try fixture.log.append(event(text))
          if level == .buffered { try fixture.log.sync() }
          kept.append(text)
        } catch LogError.Code.diskFull {
          refusals += 1
          if level == .buffered { kept.append("\(round)-\(number) with some more text to fill what is left") }
        }
      }
      #expect(refusals > 20)
      fixture.disk.capacity = nil
      try fixture.log.append(event("after \(round)"))
      kept.append("after \(round)")
      #expect(try fixture.texts() == kept)
    }
    try fixture.log.sync()
    try fixture.cutPower()
    #expect(try fixture.texts() == kept)
    #expect(fixture.log.recoveryReport.gaps.isEmpty)
  }

  /// At every write of a roll.
  @Test func `a roll that finds no space is done again when there is some`() throws {
    for write in 0..<8 {
      let fixture = try Fixture()
      try fixture.log.append(event("a"))
      var left = write
      fixture.disk.plan = FaultPlan()
      fixture.disk.beforeChange = { disk, kind in
        guard kind == .write else { return }
        left -= 1
        if left < 0 { disk.capacity = disk.image.usedByteCount }
      }
      let refused = code { try fixture.log.roll() }
      fixture.disk.beforeChange = nil
      fixture.disk.capacity = nil
      #expect(refused == .diskFull || refused == nil)
      #expect(fixture.segmentFiles.allSatisfy { !$0.hasSuffix(".tmp") })
      try fixture.log.append(event("b"))
      try fixture.log.roll()
      try fixture.log.append(event("c"))
      #expect(try fixture.texts() == ["a", "b", "c"])
      try fixture.cutPower()
      #expect(try fixture.texts() == ["a", "b", "c"])
    }
  }

  @Test func `sealing that finds no space leaves the open form, and is done later`() throws {
    let fixture = try Fixture()
    try fixture.log.append((0..<20).map { event("\($0)") })
    try fixture.log.roll()
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    #expect(code { try fixture.log.waitForSealing() } == .diskFull)
    #expect(fixture.segmentFiles.allSatisfy { $0.hasSuffix(".open") })
    #expect(try fixture.texts().count == 20)
    fixture.disk.capacity = nil
    try fixture.log.waitForSealing()
    #expect(try fixture.log.statistics().sealedSegmentCount == 1)
  }

  /// What trimming frees is what a full disk waits for.
  @Test func `trimming works as long as its record fits`() throws {
    let fixture = try Fixture()
    for number in 0..<4 {
      try fixture.log.append(event("\(number)"))
      try fixture.log.seal()
    }
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    #expect(try fixture.log.trim(below: 4) == 4)
    #expect(fixture.disk.image.usedByteCount < fixture.disk.capacity ?? 0)
    try fixture.cutPower()
    #expect(fixture.log.first == 4)
  }

  @Test(arguments: [0, 100, 1000])
  func `opening without space after a crash serves what is durable, and the next append makes up for it`(_ free: Int) throws {
    let fixture = try Fixture()
    for number in 0..<20 { try fixture.log.append(event("\(number)", id: id(UInt64(number)))) }
    fixture.disk.processKill()
    fixture.disk.capacity = fixture.disk.image.usedByteCount + free
    try fixture.kill()
    #expect(fixture.log.recoveryReport.isDegraded && !fixture.log.recoveryReport.wasClean)
    let served = try fixture.texts()
    #expect(served.count >= 19 && served == (0..<served.count).map { "\($0)" })
    #expect(try fixture.log.event(id: id(3))?.offset == 4)
    #expect(try fixture.verify().isOK)
    for _ in 0..<3 { #expect(code { try fixture.log.append(event("x")) } == .diskFull) }
    try fixture.log.close()
    try fixture.kill()
    #expect(fixture.log.recoveryReport.isDegraded)
    fixture.disk.capacity = nil
    #expect(try fixture.log.append(event("3", id: id(3))).isDuplicate)
    try fixture.log.append(event("z"))
    #expect(!fixture.log.recoveryReport.isDegraded)
    #expect(try fixture.texts() == (0..<20).map { "\($0)" } + ["z"])
    try fixture.cutPower()
    #expect(try fixture.texts() == (0..<20).map { "\($0)" } + ["z"])
  }

  /// I10: what one reader has seen, the next one sees.
  @Test func `opening without space after a kill shows no reader less than before`() throws {
    let fixture = try Fixture()
    for number in 0..<20 { try fixture.log.append(event("\(number)")) }
    let shown = try Fixture.texts(fixture.reader())
    #expect(shown.count == 20)
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    for isClosed in [false, true, false] {
      if isClosed { try fixture.log.close() }
      fixture.disk.processKill()
      #expect(try Fixture.texts(fixture.reader()) == shown)
      try fixture.kill()
      #expect(fixture.log.recoveryReport.isDegraded)
      #expect(try fixture.texts() == shown)
      let reader = try fixture.reader()
      #expect(try Fixture.texts(reader) == shown && reader.durable == 21)
    }
    let reader = try fixture.reader()
    fixture.disk.capacity = nil
    try fixture.log.append(event("more"))
    try reader.refresh()
    #expect(try Fixture.texts(reader) == shown + ["more"])
    try fixture.cutPower()
    #expect(try fixture.texts() == shown + ["more"])
  }

  /// A torn tail, or with a floor that the host knows, damage.
  @Test(arguments: [0, 9] as [UInt64])
  func `what recovery rejects is kept aside, also when there is space only later`(_ floor: UInt64) throws {
    let fixture = try Fixture()
    for number in 0..<5 { try fixture.log.append(event("\(number)")) }
    fixture.disk.processKill()
    let path = fixture.segmentFiles[0]
    var bytes = try #require(fixture.disk.image.contents(of: path))
    let end = try #require(bytes.lastIndex { $0 != 0 }) + 1
    bytes[end - 3] ^= 1
    try fixture.disk.image.setContents(of: path, to: bytes)
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    fixture.options.durableFloor = floor
    try fixture.kill()
    #expect(fixture.log.recoveryReport.isDegraded)
    fixture.disk.capacity = nil
    // No offset that something else was known under is given again.
    #expect(try fixture.log.append(event("z")).offset >= max(floor, 6))
    let kept = fixture.disk.image.files(under: "/log/torn").compactMap { fixture.disk.image.contents(of: $0) }
    #expect(kept.contains { $0.count >= 50 && Array($0).firstRange(of: bytes[(end - 50)..<end]) != nil })
    #expect(fixture.log.recoveryReport.preservedFiles.count == 1)
    #expect(try fixture.texts(Query(onDamage: .skip)) == ["0", "1", "2", "3", "z"])
  }

  @Test func `a log whose newest segment is gone opens without space too`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.seal()
    try fixture.log.close()
    let open = try #require(fixture.segmentFiles.first { $0.hasSuffix(".open") })
    try fixture.disk.image.delete(open)
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    try fixture.kill()
    #expect(try fixture.texts() == ["a"])
    #expect(code { try fixture.log.append(event("b")) } == .diskFull)
    fixture.disk.capacity = nil
    try fixture.log.append(event("b"))
    #expect(try fixture.texts() == ["a", "b"])
    try fixture.cutPower()
    #expect(try fixture.texts() == ["a", "b"])
  }

  @Test(arguments: ["identity", "footer"])
  func `what can be made again is made when there is space`(_ part: String) throws {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    try fixture.log.seal()
    try fixture.log.append(event("c"))
    try fixture.log.close()
    let sealed = try #require(fixture.segmentFiles.first { $0.hasSuffix(".sealed") })
    let path = part == "identity" ? "/log/identity" : sealed
    let byte = part == "identity" ? 50 : try #require(fixture.disk.image.contents(of: sealed)).count - 100
    try fixture.disk.image.flipBit(byte * 8, of: path)
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    try fixture.kill()
    #expect(fixture.log.recoveryReport.findings.map(\.kind) == [part == "identity" ? .damagedIdentity : .damagedIndex])
    #expect(try fixture.texts() == ["a", "b", "c"])
    try fixture.log.append(event("d"))
    fixture.disk.capacity = nil
    if part == "footer" { try fixture.log.waitForSealing() } else { try fixture.kill() }
    #expect(try fixture.verify().findings.isEmpty)
    #expect(try fixture.texts() == ["a", "b", "c", "d"])
  }

  @Test func `what was acknowledged can be read after a closing that found no space, and is counted`() throws {
    let fixture = try Fixture()
    fixture.disk.capacity = fixture.disk.image.usedByteCount + 1024
    var kept: [String] = []
    while code({ try fixture.log.append(event("event \(kept.count)")) }) == nil { kept.append("event \(kept.count)") }
    try? fixture.log.close()
    let reader = try fixture.reader()
    #expect(try Fixture.texts(reader) == kept)
    #expect(try reader.statistics().userEventCount == UInt64(kept.count))
    #expect(try reader.statistics().controlEventCount == 1)
  }

  @Test func `making a log without space fails, and succeeds later`() throws {
    let disk = SimulatedDisk()
    disk.capacity = 3000
    let environment = Environment.simulated(disk, seed: 1)
    #expect(code { try Log.create(at: "/log", options: LogOptions(), environment: environment) } == .diskFull)
    #expect(code { _ = try Log.open(at: "/log", options: LogOptions(), environment: environment) } == .notALog)
    disk.capacity = nil
    try Log.create(at: "/log", options: LogOptions(), environment: environment)
    let log = try Log.open(at: "/log", options: LogOptions(), environment: environment)
    try log.append(event("a"))
    #expect(try Fixture.texts(log) == ["a"])
  }
}
