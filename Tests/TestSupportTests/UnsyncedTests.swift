import TestSupport
import Testing
import TidemarkLog

@Suite("Every subset of what is unsynced")
struct UnsyncedTests {
  /// The distinct contents of `/d` over all masks, and how many masks there were.
  func states(_ disk: SimulatedDisk) throws -> (masks: Int, states: Int) {
    let image = disk.image
    let items = image.unsynced()
    var masks = 0
    var states: Set<[UInt8]> = []
    var failure: (any Error)?
    image.forEachPowerCut(of: items) { mask in
      masks += 1
      var copy = image
      copy.powerCut(keeping: mask, of: items)
      let cut = SimulatedDisk(copy)
      do {
        states.insert(try cut.list("/d").sorted().flatMap { name in try Array(name.utf8) + [0] + (cut.text("/d/" + name) ?? []) })
      } catch { failure = error }
      return true
    }
    if let failure { throw failure }
    return (masks, states.count)
  }

  @Test("counts names, sizes, and the sectors that differ")
  func items() throws {
    let disk = try makeDisk()
    #expect(disk.image.unsynced().count == 0)
    let file = try disk.put("/d/f", DiskFixture.bytes(1, 2048), synced: true)
    #expect(disk.image.unsynced().count == 0)
    try file.write(DiskFixture.bytes(1, 2048).rawSpan, at: 0)
    #expect(disk.image.unsynced().count == 0, "the same bytes again leave nothing to lose")
    try file.write(DiskFixture.bytes(2, 600).rawSpan, at: 500)
    try file.write(DiskFixture.bytes(0, 512).rawSpan, at: 2048)
    let items = disk.image.unsynced()
    #expect(items.nameCount == 0 && items.sizeCount == 1 && items.sectorCount == 3)
    try disk.put("/d/g", [1])
    try disk.rename("/d/g", to: "/d/h")
    #expect(disk.image.unsynced().nameCount == 2)
    #expect(disk.image.unsynced().count == 8)
  }

  @Test("of n sectors is 2 to the n states")
  func sectors() throws {
    for count in 0...6 {
      let disk = try makeDisk()
      let file = try disk.put("/d/f", DiskFixture.bytes(1, 4096), synced: true)
      if count > 0 { try file.write(DiskFixture.bytes(2, count * 512).rawSpan, at: 512) }
      let found = try states(disk)
      #expect(found.masks == 1 << count && found.states == 1 << count)
    }
  }

  @Test("leaves out what nobody can see: data beyond the size, data without a name")
  func visibleOnly() throws {
    // A durable file grows by two sectors: not at all, or by any of their four states.
    var disk = try makeDisk()
    var file = try disk.put("/d/f", DiskFixture.bytes(1, 512), synced: true)
    try file.write(DiskFixture.bytes(2, 1024).rawSpan, at: 512)
    #expect(try states(disk) == (5, 5))
    // A file without a durable name: no name, or empty, or any of four states.
    disk = try makeDisk()
    file = try disk.put("/d/f", DiskFixture.bytes(2, 1024))
    #expect(try states(disk) == (6, 6))
    // Synced, but without a durable name.
    try file.sync()
    #expect(try states(disk) == (2, 2))
  }

  @Test("takes each order of names once")
  func names() throws {
    let disk = try makeDisk()
    try disk.put("/d/a", [1], synced: true)
    try disk.put("/d/b.tmp", [2]).sync()
    try disk.rename("/d/b.tmp", to: "/d/b")
    try disk.remove("/d/a")
    // b.tmp there or not, or b; a there or not.
    #expect(try states(disk) == (6, 6))
    try disk.syncDirectory("/d")
    #expect(try states(disk) == (1, 1))
  }

  @Test("can be stopped")
  func stop() throws {
    let disk = try makeDisk()
    try disk.put("/d/f", DiskFixture.bytes(2, 2048))
    var count = 0
    disk.image.forEachPowerCut(of: disk.image.unsynced()) { _ in
      count += 1
      return count < 3
    }
    #expect(count == 3)
  }
}
