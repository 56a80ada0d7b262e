import TestSupport
import Testing
import TidemarkLog

@Suite("A power cut on the simulated disk")
struct PowerCutTests {
  let one = DiskFixture.bytes(1, 1536)
  let two = DiskFixture.bytes(2, 1536)

  @Test("loses data that was not synced, and keeps what was")
  func unsyncedData() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    try file.write(two.rawSpan, at: 0)
    #expect(try disk.text("/d/f") == two)
    #expect(try disk.after(.losesEverything).text("/d/f") == one)
    #expect(try disk.after(.keepsEverything).text("/d/f") == two)
    try file.sync()
    #expect(try disk.after(.losesEverything).text("/d/f") == two)
  }

  @Test("tears a write at sectors, each old or new, in every subset")
  func tornSectors() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    try file.write(two.rawSpan, at: 0)
    var seen: Set<[UInt8]> = []
    for seed in 0..<300 {
      let bytes = try #require(try disk.after(.seeded(UInt64(seed))).text("/d/f"))
      for sector in 0..<3 {
        let part = Set(bytes[sector * 512..<(sector + 1) * 512])
        #expect(part == [1] || part == [2])
      }
      seen.insert([bytes[0], bytes[512], bytes[1024]])
    }
    #expect(seen.count == 8)
  }

  @Test("loses names until their directory is synced, even of files that were synced")
  func unsyncedNames() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one)
    try file.sync()
    #expect(try disk.after(.losesEverything).text("/d/f") == nil)
    #expect(try disk.after(.keepsEverything).text("/d/f") == one)
    try disk.syncDirectory("/d")
    #expect(try disk.after(.losesEverything).text("/d/f") == one)
    try disk.remove("/d/f")
    #expect(try disk.text("/d/f") == nil)
    #expect(try disk.after(.losesEverything).text("/d/f") == one)
    try disk.syncDirectory("/d")
    #expect(try disk.after(.losesEverything).text("/d/f") == nil)
  }

  @Test("loses a directory and all in it if its own name was not synced")
  func unsyncedDirectory() throws {
    let disk = try makeDisk()
    try disk.makeDirectory("/d/e")
    try disk.put("/d/e/f", one, synced: true)
    #expect(try disk.after(.losesEverything).list("/d") == [])
    #expect(try disk.after(.losesEverything).status("/d/e/f") == nil)
    #expect(code { _ = try disk.after(.losesEverything).list("/d/e") } == .io)
    try disk.syncDirectory("/d")
    #expect(try disk.after(.losesEverything).text("/d/e/f") == one)
  }

  @Test("leaves a rename old or new, never neither and never mixed")
  func renames() throws {
    let disk = try makeDisk()
    let old = try disk.put("/d/f", one, synced: true)
    try disk.put("/d/f.tmp", two).sync()
    try disk.rename("/d/f.tmp", to: "/d/f")
    old.close()
    #expect(try disk.text("/d/f") == two)
    #expect(try disk.status("/d/f.tmp") == nil)
    var seen: Set<String> = []
    for seed in 0..<100 {
      let cut = disk.after(.seeded(UInt64(seed)))
      let bytes = try #require(try cut.text("/d/f"))
      #expect(bytes == one || bytes == two)
      seen.insert("\(bytes[0]) \(try cut.list("/d").count)")
    }
    // Old with or without the temporary name, and new: the rename takes the file along even if the creation was lost.
    #expect(seen == ["1 1", "1 2", "2 1"])
    try disk.syncDirectory("/d")
    #expect(try disk.after(.losesEverything).text("/d/f") == two)
  }

  @Test("keeps a new size without its data: zeros, or garbage where no durable byte was")
  func sizeWithoutData() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    try file.write(two.rawSpan, at: 1536)
    var sizes: Set<Int> = []
    var sawZeros = false
    var sawGarbage = false
    for seed in 0..<400 {
      let bytes = try #require(try disk.after(.seeded(UInt64(seed), garbage: .inFreshSectors)).text("/d/f"))
      sizes.insert(bytes.count)
      #expect(Array(bytes[..<1536]) == one)
      for start in stride(from: 1536, to: bytes.count, by: 512) {
        let part = bytes[start..<start + 512]
        if part.allSatisfy({ $0 == 0 }) { sawZeros = true } else if part.contains(where: { $0 != 2 }) { sawGarbage = true }
      }
    }
    #expect(sizes == [1536, 2048, 2560, 3072])
    #expect(sawZeros && sawGarbage)
  }

  @Test("puts garbage on synced bytes only when told to")
  func garbageInUse() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    try file.write(DiskFixture.bytes(2, 10).rawSpan, at: 100)
    let isSpoiled: (GarbageRule) throws -> Bool = { rule in
      try (0..<100).contains { seed in
        try disk.after(.seeded(UInt64(seed), garbage: rule)).text("/d/f")?[0] != 1
      }
    }
    #expect(try !isSpoiled(.never))
    #expect(try !isSpoiled(.inFreshSectors))
    #expect(try isSpoiled(.inAnySector))
    try file.sync()
    #expect(try !isSpoiled(.inAnySector), "what is synced is not being written any more")
  }

  @Test("finds older versions of a sector where the kernel wrote back by itself")
  func writeBack() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    try file.write(two.rawSpan, at: 0)
    var random = SeededRandom(seed: 3)
    for _ in 0..<20 { disk.image.writeBack(using: &random) }
    try file.write(DiskFixture.bytes(3, 1536).rawSpan, at: 0)
    #expect(try disk.after(.losesEverything).text("/d/f") == two)
    disk.startWriteBack(seed: 1, oneIn: 1)
    for _ in 0..<20 { try file.write(DiskFixture.bytes(4, 1536).rawSpan, at: 0) }
    #expect(try disk.after(.losesEverything).text("/d/f") != two)
  }

  @Test("follows from the seed alone")
  func determinism() throws {
    func digest(_ seed: UInt64) throws -> [UInt8] {
      let disk = try makeDisk()
      for index in 0..<6 { try disk.put("/d/\(index)", DiskFixture.bytes(UInt8(index + 1), 700 * (index + 1))) }
      disk.powerCycle(.seeded(seed, garbage: .inAnySector))
      return try disk.list("/d").sorted().flatMap { name in try Array(name.utf8) + (disk.text("/d/" + name) ?? []) }
    }
    for seed in 0..<20 { #expect(try digest(UInt64(seed)) == digest(UInt64(seed))) }
    #expect(try Set((0..<20).map { try digest($0) }).count > 10)
  }

  @Test("takes the handles, the locks and the shared pages along")
  func process() throws {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    _ = try disk.lock("/d/lock", holder: "first")
    let page = try #require(try disk.sharedPage("/d/live", writable: true))
    page.store64(7, at: 0)
    disk.powerCycle()
    do {
      try file.sync()
      Issue.record("a handle outlived the power cut")
    } catch { #expect(DiskError.isPowerCut(error)) }
    let lock = try disk.lock("/d/lock", holder: "second")
    #expect(try disk.sharedPage("/d/live", writable: false)?.load64(0) == 0)
    lock.release()
    #expect(try disk.text("/d/lock") == [])
    try disk.remove("/d/live")
    try disk.put("/d/unsynced", [1])
    #expect(try disk.after(.losesEverything).list("/d").sorted() == ["f", "lock"], "a shared page's name is durable, and gone, at once")
  }
}
