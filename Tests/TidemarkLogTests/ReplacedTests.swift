import TestSupport
import Testing
import TidemarkLog

/// Segments that replace each other, while the system refuses to let files go.
@Suite struct ReplacedTests {
  /// A log whose only segment holds nothing but a torn frame, which nobody was promised.
  private func torn() throws -> (fixture: Fixture, image: DiskImage) {
    let fixture = try Fixture { $0.durability = .written }
    try fixture.log.append(event(String(repeating: "b", count: 900)))
    var image = fixture.disk.image
    image.processKill()
    let file = fixture.segmentFiles[0]
    var bytes = image.contents(of: file) ?? []
    let end = try #require(bytes.lastIndex { $0 != 0 })
    bytes[end - 100] ^= 1
    try image.setContents(of: file, to: bytes)
    return (fixture, image)
  }

  /// Recovery replaces the segment and may not remove it; a write then fails, and the fresh segment is replaced as well.
  @Test(arguments: [DiskError.accessDenied, DiskError.inputOutput]) func `the log opens whenever files can't be removed or written`(
    _ errno: Int32
  ) throws {
    let (fixture, image) = try torn()
    let base = { (disk: SimulatedDisk, seed: UInt64) in
      try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: seed))
    }
    var kept = 0
    for start in 0..<90 {
      for count in [1, 4, 12] {
        for kinds in [[.remove], [.remove, .write], [.remove, .write, .create, .rename, .open]] as [Calls] {
          let disk = SimulatedDisk(image)
          disk.plan = FaultPlan(.error(errno), during: start...(start + count - 1), only: kinds)
          let log: Log
          do { log = try base(disk, 5) } catch {
            disk.plan = FaultPlan()
            log = try base(disk, 5)
          }
          var acknowledged: [String] = []
          for text in ["c", "d", "e"] where (try? log.append(event(text), durability: .synced)) != nil { acknowledged.append(text) }
          disk.plan = FaultPlan()
          disk.processKill()
          kept = max(kept, disk.image.files(under: "/log/segments").count)
          for cut in [false, true] {
            let after = SimulatedDisk(disk.image)
            if cut { after.powerCycle() }
            let again = try base(after, 7)
            let found = try Fixture.texts(again).filter { $0.count == 1 }
            #expect(acknowledged.allSatisfy { found.contains($0) }, "calls \(start) and \(count - 1) more: \(found)")
            try again.append(event("f"))
            try again.close()
            #expect(try Log.verify(at: "/log", options: fixture.options, environment: .simulated(after, seed: 8)).isOK)
          }
        }
      }
    }
    #expect(kept > 2)
  }
}
