import TestSupport
import Testing
import TidemarkLog

/// Readers beside a recovery that does not come to its end.
@Suite struct RecoveryReaderTests {
  /// What is on the disk and in memory at each change of `body`.
  private func images(of disk: SimulatedDisk, _ body: () throws -> Void) rethrows -> [(call: Calls, image: DiskImage)] {
    var images: [(Calls, DiskImage)] = []
    disk.beforeChange = { disk, call in images.append((call, disk.image)) }
    defer { disk.beforeChange = nil }
    try body()
    return images
  }

  /// An event that was written and not synced survives the death of its writer. Recovery writes it out again, under a name that is not
  /// durable at once.
  @Test func `what they see is there after a power cut too`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let written = try images(of: fixture.disk) { try fixture.log.append(event("b")) }
    var killed = try #require(written.first { $0.call == .sync }).image
    killed.processKill()
    let disk = SimulatedDisk(killed)
    let recovery = try images(of: disk) {
      try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 2)).close()
    }
    var seenBoth = 0
    for (index, moment) in recovery.enumerated() {
      let disk = SimulatedDisk(moment.image)
      disk.processKill()
      let seen = try Fixture.texts(Log.openForReading(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 3)))
      disk.powerCycle()
      let log = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 4))
      #expect(try Fixture.texts(log).starts(with: seen), "a reader before change \(index), \(moment.call), saw \(seen)")
      if seen.count == 2 { seenBoth += 1 }
    }
    #expect(seenBoth > 1)
  }
}
