import TestSupport
import Testing
import TidemarkLog

/// A log opened for reading beside its writer.
@Suite struct FollowingTests {
  @Test func `finds what it knows under the names that its writer gave meanwhile`() throws {
    let fixture = try Fixture()
    try fixture.log.append((0..<20).map { event("\($0)", id: id(UInt64($0))) })
    let byOffset = try fixture.reader()
    let byID = try fixture.reader()
    let byRange = try fixture.reader()
    let figures = try fixture.reader()
    // The same events, in other files.
    try fixture.log.seal()
    #expect(try byOffset.event(at: 7).data == Array("6".utf8))
    #expect(try byID.event(id: id(9))?.data == Array("9".utf8))
    #expect(try byID.event(id: id(99)) == nil)
    #expect(try Fixture.texts(byRange).count == 20)
    #expect(try figures.statistics().userEventCount == 20)
    try fixture.log.append((20..<30).map { event("\($0)", id: id(UInt64($0))) })
    try fixture.log.seal()
    #expect(try byID.event(id: id(25))?.data == Array("25".utf8))
    #expect(try byOffset.refresh() == fixture.log.size)
    #expect(try byOffset.event(at: 30).data == Array("29".utf8))
    let late = try fixture.reader()
    try fixture.log.trim(below: 22)
    #expect(code { _ = try late.event(at: 1) } == .trimmed)
    #expect(late.first == fixture.log.first)
    #expect(try byRange.refresh() == fixture.log.size)
    #expect(byRange.first == fixture.log.first)
  }

  @Test func `writes nothing, takes no lock, and refuses what a writer does`() throws {
    let fixture = try Fixture()
    try fixture.log.append((0..<20).map { event("\($0)") })
    try fixture.log.close()
    let before = fixture.disk.image
    fixture.disk.writeRefusal = DiskError.readOnlyFileSystem
    let reader = try fixture.reader()
    #expect(try Fixture.texts(reader).count == 20)
    #expect(try reader.verify().isOK && reader.event(id: id(1)) == nil && reader.statistics().userEventCount == 20)
    #expect(code { try reader.append(event("a")) } == .readOnly)
    #expect(code { try reader.stage(control: .receipt, data: []) } == .readOnly)
    #expect(code { try reader.roll() } == .readOnly)
    #expect(code { try reader.sync() } == .readOnly)
    #expect(code { try reader.recordDurable() } == .readOnly)
    #expect(code { try reader.trim(below: 1) } == .readOnly)
    #expect(code { try reader.suspend() } == .readOnly)
    try reader.close()
    try reader.close()
    for path in before.files(under: "/log") { #expect(fixture.disk.image.contents(of: path) == before.contents(of: path)) }
  }

  /// What no writer of this boot vouches for, and nothing on the disk records, may still disappear.
  @Test func `shows of a log that was cut off only what is recorded as durable`() throws {
    let fixture = try Fixture()
    for number in 0..<5 { try fixture.log.append(event("\(number)")) }
    #expect(try Fixture.texts(fixture.reader()).count == 5)
    fixture.disk.powerCycle(.keepsEverything)
    fixture.clock.reboot()
    let reader = try fixture.reader()
    // The last frame names the four events before it.
    #expect(try Fixture.texts(reader) == ["0", "1", "2", "3"])
    #expect(reader.durable == reader.size && !reader.recoveryReport.wasClean)
    try fixture.reopen()
    #expect(try Fixture.texts(reader) == ["0", "1", "2", "3", "4"])
  }

  @Test func `sees each event once it is acknowledged at the log's level, and durable as far as it is`() throws {
    let fixture = try Fixture { $0.durability = .written }
    let reader = try fixture.reader()
    try fixture.log.append(event("a"))
    #expect(try reader.refresh() == 2 && reader.durable == 0)
    try fixture.log.sync()
    try fixture.log.append(event("b"))
    #expect(try reader.refresh() == 3 && reader.durable == 2)
    let buffered = try Fixture { $0.durability = .buffered }
    let other = try buffered.reader()
    try buffered.log.append(event("a"))
    #expect(try other.refresh() == 0)
    #expect(try buffered.texts() == ["a"])
    #expect(try other.refresh() == 2)
  }

  @Test func `never goes back, over kills and recoveries of its writer`() throws {
    for seed in UInt64(0)..<40 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      var appended = 0
      var seen: [String] = []
      for _ in 0..<30 {
        switch random.number(below: 6) {
        case 0: try fixture.kill()
        case 1: try fixture.cutPower(.seeded(random.next()))
        case 2: try fixture.log.seal()
        default:
          try fixture.log.append(event("\(appended)"))
          appended += 1
        }
        let texts = try Fixture.texts(fixture.reader())
        #expect(texts.starts(with: seen) && texts.count <= appended, "seed \(seed)")
        seen = texts
      }
      #expect(seen == (0..<appended).map { "\($0)" }, "seed \(seed)")
    }
  }
}
