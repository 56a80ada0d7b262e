import TestSupport
import Testing
import TidemarkLog

@Suite("A disk image")
struct DiskImageTests {
  @Test("is independent of the disk it was taken from, and of its copies")
  func independence() throws {
    let disk = try makeDisk()
    let bytes = DiskFixture.bytes(1, 1024)
    let file = try disk.put("/d/f", bytes, synced: true)
    let image = disk.image
    try file.write(DiskFixture.bytes(2, 1024).rawSpan, at: 0)
    try file.sync()
    try disk.remove("/d/f")
    try disk.put("/d/g", [9])
    let copy = SimulatedDisk(image)
    #expect(try copy.text("/d/f") == bytes)
    #expect(try copy.list("/d") == ["f"])
    let other = SimulatedDisk(image)
    try other.open("/d/f", .write).write(DiskFixture.bytes(3, 10).rawSpan, at: 0)
    #expect(try copy.text("/d/f") == bytes)
    #expect(try SimulatedDisk(image).text("/d/f") == bytes)
  }

  @Test("can be damaged at rest")
  func damage() throws {
    let disk = try makeDisk()
    try disk.put("/d/f", [0, 0, 0], synced: true)
    try disk.image.flipBit(9, of: "/d/f")
    #expect(try disk.text("/d/f") == [0, 2, 0])
    #expect(try disk.after(.losesEverything).text("/d/f") == [0, 2, 0])
    try disk.open("/d/f", .write).write(DiskFixture.bytes(7, 1).rawSpan, at: 512)
    #expect(try disk.after(.losesEverything).text("/d/f") == [0, 2, 0])
    try disk.image.setContents(of: "/d/f", to: [1])
    try disk.image.setContents(of: "/d/g", to: [4])
    #expect(disk.image.files(under: "/d") == ["/d/f", "/d/g"])
    try disk.image.delete("/d/f")
    #expect(try disk.after(.losesEverything).list("/d") == ["g"])
  }

  @Test("answers wrong calls as a file system does")
  func wrongCalls() throws {
    let disk = try makeDisk()
    try disk.put("/d/f", [1], synced: true)
    #expect(code { _ = try disk.open("/d/f", .create) } == .io)
    #expect(code { _ = try disk.open("/d/g", .read) } == .io)
    #expect(code { _ = try disk.open("/d", .write) } == .io)
    #expect(code { _ = try disk.list("/d/f") } == .notADirectory)
    #expect(code { _ = try disk.list("/e") } == .io)
    #expect(code { try disk.makeDirectory("/d") } == .io)
    #expect(code { try disk.makeDirectory("/e/f") } == .io)
    #expect(code { try disk.remove("/d/g") } == .io)
    #expect(code { try disk.rename("/d/g", to: "/d/h") } == .io)
    #expect(code { try disk.syncDirectory("/d/f") } == .notADirectory)
    #expect(try disk.status("/d/g") == nil)
    #expect(try disk.sharedPage("/d/live", writable: false) == nil)
    let reader = try disk.open("/d/f", .read)
    #expect(code { try reader.write(DiskFixture.bytes(1, 1).rawSpan, at: 0) } == .io)
    reader.close()
    reader.close()
    #expect(code { _ = try reader.byteCount() } == .io)
    let file = try disk.open("/d/f", .write)
    try file.makeReadOnly()
    try file.write(DiskFixture.bytes(2, 1).rawSpan, at: 0)
    #expect(code { _ = try disk.open("/d/f", .write) } == .permissionDenied)
    #expect(try disk.status("/d/f")?.inode != disk.status("/d")?.inode)
  }

  @Test("moves what is in a directory along when that is renamed")
  func renamedDirectory() throws {
    let disk = try makeDisk()
    try disk.makeDirectory("/d/e")
    try disk.syncDirectory("/d")
    try disk.put("/d/e/f", [1], synced: true)
    try disk.rename("/d/e", to: "/d/g")
    #expect(try disk.text("/d/g/f") == [1])
    #expect(try disk.status("/d/e/f") == nil)
    try disk.put("/d/g/h", [2], synced: true)
    #expect(try disk.after(.losesEverything).text("/d/e/h") == [2])
    #expect(try disk.after(.losesEverything).text("/d/e/f") == [1])
    #expect(try disk.after(.keepsEverything).text("/d/g/h") == [2])
    try disk.remove("/d/g/f")
    try disk.syncDirectory("/d/g")
    #expect(try disk.after(.losesEverything).list("/d/e") == ["h"])
  }
}
