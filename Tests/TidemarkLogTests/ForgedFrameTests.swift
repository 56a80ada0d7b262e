import TestSupport
import Testing
import TidemarkLog

/// Numbers in frames that verify and can't be: found by the fuzzers, which make checksums right.
@Suite struct ForgedFrameTests {
  private func twoFrames() throws -> Fixture {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.append((0..<3).map { event("b\($0)", id: id(UInt64($0))) })
    try fixture.log.append(event("c"))
    try fixture.log.close()
    return fixture
  }

  private func change(_ fixture: Fixture, _ change: (inout Forgery) -> Void) throws -> Environment {
    try fixture.forged { image in
      var forgery = try Forgery(image, fixture.segmentFiles[0])
      change(&forgery)
      try forgery.put(into: &image)
    }.environment
  }

  @Test(arguments: [24, 40]) func `an offset that no log reaches is damage, not a gap as long as it says`(field: Int) throws {
    let fixture = try twoFrames()
    let environment = try change(fixture) { forgery in
      let frame = forgery.frames[2]
      forgery.changeFrame(frame) { $0.store(UInt64(1) << 62, at: frame + field) }
    }
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    #expect(!report.isOK)
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(log.size < 10)
    #expect(try log.append(event("d")).offset < 10)
  }

  @Test func `a compressed frame does not ask for more memory than its bytes can fill`() throws {
    let fixture = try twoFrames()
    let environment = try change(fixture) { forgery in
      let frame = forgery.frames[1]
      forgery.changeFrame(frame) {
        $0.store(UInt16(1), at: frame + 14)
        $0.store(UInt32(1 << 27), at: frame + 20)
      }
    }
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    #expect(report.findings.contains { $0.message.contains("lengths contradict") })
  }

  @Test func `a malformed record in a frame that verifies is passed over by readers that pass over damage`() throws {
    let fixture = try twoFrames()
    try fixture.reopen()
    try fixture.log.roll()
    try fixture.log.append(event("d"))
    try fixture.log.close()
    let environment = try change(fixture) { forgery in
      let frame = forgery.frames[1]
      let second = frame + 56 + Int(forgery.bytes.rawSpan.u32(frame + 56))
      forgery.changeFrame(frame) { $0.store(UInt32.max, at: second) }
    }
    let log = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
    var cursor = try log.read(Query(onDamage: .skip))
    var texts: [String] = []
    while let event = try cursor.next() { texts.append(event.data.text()) }
    #expect(texts == ["a", "b0", "c", "d"])
    let gaps = cursor.gaps.map(\.offsets)
    #expect(gaps == [3..<5])
    // Whoever wants to be told is told once, and goes on behind it.
    var strict = try log.read()
    var told = 0
    texts = []
    while true {
      do {
        guard let event = try strict.next() else { break }
        texts.append(event.data.text())
      } catch LogError.Code.corrupt { told += 1 }
    }
    #expect(told == 1)
    #expect(texts == ["a", "b0", "c", "d"])
  }

  @Test func `salvage copies what stands around a malformed record`() throws {
    let fixture = try twoFrames()
    let environment = try change(fixture) { forgery in
      let frame = forgery.frames[1]
      forgery.changeFrame(frame) { $0.store(UInt32.max, at: frame + 56) }
    }
    let report = try Log.salvage(from: "/log", to: "/new", environment: environment)
    #expect(report.eventCount == 2)
    let log = try Log.openForReading(at: "/new", options: fixture.options, environment: environment)
    #expect(try Fixture.texts(log, Query(onDamage: .skip)) == ["a", "c"])
  }

  @Test func `records beyond the number that a frame says are not served`() throws {
    let fixture = try twoFrames()
    try fixture.reopen()
    try fixture.log.roll()
    try fixture.log.close()
    let environment = try change(fixture) { forgery in
      let frame = forgery.frames[1]
      forgery.changeFrame(frame) { $0.store(UInt32(2), at: frame + 32) }
    }
    let log = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
    #expect(try Fixture.texts(log, Query(onDamage: .skip)) == ["a", "b0", "b1", "c"])
  }

  @Test func `a durable floor that no log reaches is refused`() throws {
    let fixture = try twoFrames()
    fixture.options.durableFloor = 1 << 60
    #expect(code { try fixture.reopen() } == .invalidArgument)
  }
}
