import TestSupport
import Testing
import TidemarkLog

@Suite("A planned fault on the simulated disk")
struct FaultTests {
  let one = DiskFixture.bytes(1, 1024)
  let two = DiskFixture.bytes(2, 1024)

  /// A disk with a durable file of ones, a handle on it, and the next call failing.
  func prepared(_ fault: Fault? = nil) throws -> (disk: SimulatedDisk, file: any File) {
    let disk = try makeDisk()
    let file = try disk.put("/d/f", one, synced: true)
    if let fault { disk.plan = FaultPlan(fault, at: disk.callCount) }
    return (disk, file)
  }

  @Test("cuts at a call, which does not happen, and every later one throws")
  func cut() throws {
    let (disk, file) = try prepared(.cut())
    #expect(code { try file.write(two.rawSpan, at: 0) } == .io)
    #expect(disk.isCut)
    for call in [{ try file.sync() }, { _ = try disk.list("/d") }, { _ = try disk.status("/d/f") }, { try disk.syncDirectory("/d") }] {
      do {
        try call()
        Issue.record("a call went through")
      } catch { #expect(DiskError.isPowerCut(error)) }
    }
    file.close()
    disk.powerCycle(.keepsEverything)
    #expect(!disk.isCut && disk.callCount == 0)
    #expect(try disk.text("/d/f") == one)
  }

  @Test("cuts in the midst of a write")
  func cutInside() throws {
    let (disk, file) = try prepared(.cut(writing: 700))
    #expect(code { try file.write(two.rawSpan, at: 0) } == .io)
    #expect(try disk.after(.keepsEverything).text("/d/f") == Array(two[..<700] + one[700...]))
    #expect(try disk.after(.losesEverything).text("/d/f") == one)
  }

  @Test("can meet any kind of call")
  func everyKind() throws {
    let calls: [(SimulatedDisk, any File) throws -> Void] = [
      { disk, _ in _ = try disk.open("/d/f", .read) }, { disk, _ in _ = try disk.open("/d/g", .create) },
      { disk, _ in _ = try disk.list("/d") }, { disk, _ in _ = try disk.status("/d") }, { disk, _ in try disk.makeDirectory("/d/e") },
      { disk, _ in try disk.rename("/d/f", to: "/d/g") }, { disk, _ in try disk.remove("/d/f") },
      { disk, _ in try disk.syncDirectory("/d") },
      { disk, _ in _ = try disk.lock("/d/lock", holder: "x") }, { disk, _ in _ = try disk.sharedPage("/d/live", writable: true) },
      { _, file in
        var bytes = DiskFixture.bytes(0, 8)
        _ = try file.read(8, at: 0, into: &bytes, at: 0)
      },
      { _, file in try file.write(DiskFixture.bytes(1, 8).rawSpan, at: 0) }, { _, file in try file.sync() },
      { _, file in _ = try file.byteCount() }, { _, file in try file.makeReadOnly() },
    ]
    let codes: [(Int32, LogError.Code)] = [
      (DiskError.inputOutput, .io), (DiskError.noSpace, .diskFull), (DiskError.accessDenied, .permissionDenied),
      (DiskError.notPermitted, .permissionDenied), (DiskError.readOnlyFileSystem, .readOnlyFileSystem),
    ]
    for call in calls {
      for (errno, expected) in codes {
        let (disk, file) = try prepared(.error(errno))
        let names = try disk.image.files(under: "/d").map { ($0, try #require(disk.image.contents(of: $0))) }
        #expect(code { try call(disk, file) } == expected)
        #expect(disk.faultCount == 1)
        #expect(disk.image.files(under: "/d").elementsEqual(names.map(\.0)) && disk.image.contents(of: "/d/f") == names[0].1)
        try call(disk, file)
        #expect(disk.faultCount == 1)
      }
    }
  }

  @Test("lasts for a while, for some kinds of call")
  func forAWhile() throws {
    let (disk, file) = try prepared()
    disk.plan = FaultPlan(.error(DiskError.accessDenied), during: disk.callCount...disk.callCount + 3, only: [.write, .open])
    #expect(code { try file.write(two.rawSpan, at: 0) } == .permissionDenied)
    #expect(code { try file.sync() } == nil)
    #expect(code { _ = try disk.open("/d/f", .read) } == .permissionDenied)
    #expect(code { try file.write(two.rawSpan, at: 0) } == .permissionDenied)
    #expect(code { try file.write(two.rawSpan, at: 0) } == nil)
  }

  @Test("refuses all that writes on a read-only file system, and nothing else")
  func readOnlyFileSystem() throws {
    let (disk, file) = try prepared()
    disk.writeRefusal = DiskError.readOnlyFileSystem
    let refused: [() throws -> Void] = [
      { try file.write(two.rawSpan, at: 0) }, { _ = try disk.open("/d/f", .write) }, { _ = try disk.open("/d/g", .create) },
      { try disk.makeDirectory("/d/e") }, { try disk.rename("/d/f", to: "/d/g") }, { try disk.remove("/d/f") },
      { _ = try disk.lock("/d/lock", holder: "x") }, { _ = try disk.sharedPage("/d/live", writable: true) },
    ]
    for call in refused { #expect(code(call) == .readOnlyFileSystem) }
    #expect(try disk.text("/d/f") == one && disk.list("/d") == ["f"])
    disk.writeRefusal = nil
    try file.write(two.rawSpan, at: 0)
    #expect(try disk.text("/d/f") == two)
  }

  @Test("writes a part and fails, or claims a write that never was")
  func shortAndLostWrites() throws {
    let (disk, file) = try prepared(.shortWrite(byteCount: 600, errno: DiskError.inputOutput))
    #expect(code { try file.write(two.rawSpan, at: 0) } == .io)
    #expect(try disk.text("/d/f") == Array(two[..<600] + one[600...]))
    let (other, otherFile) = try prepared(.lostWrite)
    try otherFile.write(two.rawSpan, at: 0)
    #expect(try other.text("/d/f") == one)
  }

  @Test("loses, misplaces or spoils a write below the page cache, where only a power cut or an eviction shows it")
  func deviceFaults() throws {
    let faults: [(Fault, ([UInt8]) -> Bool)] = [
      (.lostWriteBack, { $0 == one }),
      (.misdirectedWrite(by: 512), { Array($0[..<512]) == Array(one[..<512]) && Array($0[512...]) == Array(two[..<512]) }),
      (.garbageWrite(sector: 3), { Array($0[..<512]) == Array(two[..<512]) && Set($0[512...]).count > 100 }),
    ]
    for (fault, isExpected) in faults {
      let (disk, file) = try prepared(fault)
      try file.write(two.rawSpan, at: 0)
      try file.sync()
      #expect(try disk.text("/d/f") == two)
      #expect(isExpected(try #require(try disk.after(.keepsEverything).text("/d/f"))), "\(fault)")
      disk.image.evictCleanPages()
      #expect(isExpected(try #require(try disk.text("/d/f"))), "\(fault), evicted")
    }
  }

  @Test("flips one bit of one read")
  func flippedRead() throws {
    let (disk, file) = try prepared(.flippedRead(bit: 8 * 5 + 2))
    var bytes = DiskFixture.bytes(0, 20)
    _ = try file.read(10, at: 0, into: &bytes, at: 10)
    #expect(bytes == DiskFixture.bytes(0, 10) + [1, 1, 1, 1, 1, 5, 1, 1, 1, 1])
    #expect(try disk.text("/d/f") == one)
  }

  @Test("fails a sync and keeps the pages, marks them clean, or drops them", arguments: SyncFailure.allCases)
  func failedSync(_ failure: SyncFailure) throws {
    let (disk, file) = try prepared()
    try file.write(two.rawSpan, at: 0)
    disk.plan = FaultPlan(.failedSync(failure), at: disk.callCount)
    #expect(code { try file.sync() } == .io)
    #expect(try disk.text("/d/f") == (failure == .dropsPages ? one : two))
    // A second sync succeeds; only kept pages are written by it.
    try file.sync()
    #expect(try disk.after(.keepsEverything).text("/d/f") == (failure == .keepsPages ? two : one))
  }

  @Test("fails a sync after some sectors reached the platter")
  func partOfASync() throws {
    let (disk, file) = try prepared()
    try file.write(two.rawSpan, at: 0)
    disk.plan = FaultPlan(.failedSync(.marksPagesClean, reaching: 0b10), at: disk.callCount)
    #expect(code { try file.sync() } == .io)
    #expect(try disk.after(.losesEverything).text("/d/f") == Array(one[..<512] + two[512...]))
  }

  @Test("lets a sync lie, of a file and of a directory")
  func lyingSync() throws {
    let (disk, file) = try prepared()
    try file.write(two.rawSpan, at: 0)
    disk.plan = FaultPlan(.lyingSync, at: disk.callCount)
    try file.sync()
    #expect(try disk.after(.losesEverything).text("/d/f") == one)
    try disk.remove("/d/f")
    disk.plan = FaultPlan(.lyingSync, at: disk.callCount)
    try disk.syncDirectory("/d")
    #expect(try disk.after(.losesEverything).text("/d/f") == one)
  }

  @Test("fails a directory sync, and the names stay unsynced")
  func failedDirectorySync() throws {
    let (disk, _) = try prepared()
    try disk.put("/d/g", two).sync()
    disk.plan = FaultPlan(.error(DiskError.inputOutput), at: disk.callCount)
    #expect(code { try disk.syncDirectory("/d") } == .io)
    #expect(try disk.after(.losesEverything).text("/d/g") == nil)
    try disk.syncDirectory("/d")
    #expect(try disk.after(.losesEverything).text("/d/g") == two)
  }

  @Test("ends space in the midst of a write; what is removed makes room")
  func fullDisk() throws {
    let (disk, file) = try prepared()
    disk.capacity = 1500
    #expect(code { try file.write(two.rawSpan, at: 512) } == .diskFull)
    #expect(try disk.text("/d/f") == Array(one[..<512] + two[..<988]))
    #expect(code { try file.write(one.rawSpan, at: 0) } == nil, "no growth, no space needed")
    #expect(code { try disk.put("/d/g", [1]) } == .diskFull)
    #expect(try disk.text("/d/g") == [])
    try disk.remove("/d/f")
    let other = try disk.open("/d/g", .write)
    #expect(code { try other.write(two.rawSpan, at: 0) } == .diskFull, "an open handle keeps the space")
    file.close()
    #expect(code { try other.write(two.rawSpan, at: 0) } == nil)
  }

  @Test("is told ahead of each change, so that one run gives the disk of every cut")
  func beforeChange() throws {
    let (disk, file) = try prepared()
    var images: [(Calls, DiskImage)] = []
    disk.beforeChange = { images.append(($1, $0.image)) }
    disk.trace = []
    try file.write(two.rawSpan, at: 0)
    try file.sync()
    _ = try disk.list("/d")
    try disk.rename("/d/f", to: "/d/g")
    try disk.syncDirectory("/d")
    #expect(images.map(\.0) == [.write, .sync, .rename, .syncDirectory])
    #expect(disk.trace?.map(\.kind) == [.write, .sync, .list, .rename, .syncDirectory])
    for (call, image) in images {
      let (again, handle) = try prepared()
      again.plan = FaultPlan(.cut(), during: 0...99, only: call)
      _ = code {
        try handle.write(two.rawSpan, at: 0)
        try handle.sync()
        try again.rename("/d/f", to: "/d/g")
        try again.syncDirectory("/d")
      }
      #expect(again.isCut)
      for cut in [PowerCut.losesEverything, .keepsEverything] {
        var copy = image
        copy.powerCut(cut)
        let left = SimulatedDisk(copy)
        let right = again.after(cut)
        #expect(try left.text("/d/f") == right.text("/d/f") && left.text("/d/g") == right.text("/d/g"))
      }
    }
  }
}
