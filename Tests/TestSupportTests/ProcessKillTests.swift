import TestSupport
import Testing
import TidemarkLog

@Suite("A process kill on the simulated disk")
struct ProcessKillTests {
  @Test("leaves data, names and shared pages, and no handles")
  func survivors() throws {
    let disk = try makeDisk()
    let bytes = DiskFixture.bytes(5, 700)
    let file = try disk.put("/d/f", bytes)
    let page = try #require(try disk.sharedPage("/d/live", writable: true))
    page.store64(7, at: 8)
    disk.processKill()
    #expect(try disk.text("/d/f") == bytes)
    #expect(code { try file.sync() } == .io)
    #expect(try disk.sharedPage("/d/live", writable: false)?.load64(8) == 7)
    #expect(try disk.after(.losesEverything).text("/d/f") == nil)
  }

  @Test("releases a lock, which else is refused with the holder's name")
  func locks() throws {
    let disk = try makeDisk()
    let first = try disk.lock("/d/lock", holder: "agent (process 7)")
    do {
      _ = try disk.lock("/d/lock", holder: "second")
      Issue.record("two have the lock")
    } catch {
      #expect(error.code == .locked)
      #expect(error.why.contains("agent (process 7)"))
    }
    first.release()
    #expect(try disk.text("/d/lock") == [])
    let second = try disk.lock("/d/lock", holder: "second")
    disk.processKill()
    #expect(try disk.text("/d/lock") == Array("second\n".utf8))
    let third = try disk.lock("/d/lock", holder: "third")
    second.release()
    #expect(code { _ = try disk.lock("/d/lock", holder: "fourth") } == .locked)
    third.release()
  }

  @Test("frees the space of a file that was removed while open")
  func space() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", DiskFixture.bytes(1, 1000), synced: true)
    try disk.remove("/d/f")
    #expect(disk.image.usedByteCount == 1000)
    var bytes = DiskFixture.bytes(0, 10)
    #expect(try file.read(10, at: 0, into: &bytes, at: 0) == 10)
    disk.processKill()
    #expect(disk.image.usedByteCount == 0)
  }
}
