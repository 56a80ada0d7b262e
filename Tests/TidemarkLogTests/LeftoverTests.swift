import TestSupport
import Testing
import TidemarkLog

/// What serves nothing any more, and when it may go.
@Suite struct LeftoverTests {
  /// A log whose only segment lost all but the beginning of its header.
  private func log() throws -> (fixture: Fixture, image: DiskImage) {
    let fixture = try Fixture { $0.onCorruption = .refuse }
    var image = fixture.disk.image
    image.processKill()
    let file = fixture.segmentFiles[0]
    try image.setContents(of: file, to: Array((image.contents(of: file) ?? []).prefix(253)))
    return (fixture, image)
  }

  @Test func `a torn segment that no other replaces stays while there is no space for one`() throws {
    let (fixture, image) = try log()
    let disk = SimulatedDisk(image)
    let environment = Environment.simulated(disk, seed: 5)
    #expect(try Log.verify(at: "/log", options: fixture.options, environment: environment).isOK)
    disk.capacity = disk.image.usedByteCount + 600
    let degraded = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(code { try degraded.append(event("a")) } == .diskFull)
    try? degraded.close()
    disk.capacity = nil
    #expect(try Log.verify(at: "/log", options: fixture.options, environment: environment).isOK)
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(try log.append(event("a")).offset <= 1)
    try log.close()
    #expect(try Log.verify(at: "/log", options: fixture.options, environment: environment).findings.isEmpty)
  }

  @Test func `a power cut while it is replaced leaves a log that opens`() throws {
    let (fixture, image) = try log()
    var call = 0
    var wasCut = true
    while wasCut {
      let disk = SimulatedDisk(image)
      disk.plan = FaultPlan(.cut(), at: call)
      _ = try? Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 5))
      wasCut = disk.isCut
      disk.powerCycle()
      let log = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 6))
      try log.append(event("a"))
      #expect(try Fixture.texts(log) == ["a"], "cut at call \(call)")
      call += 1
    }
    #expect(call > 10)
  }
}
