import Foundation
import TestSupport
import Testing
import TidemarkLog

/// Access that is refused for a while is an error of its own: nothing is taken for damaged or replaced, and the same call succeeds later.
@Suite struct AccessTests {
  private func sample() throws -> Fixture {
    let fixture = try Fixture()
    for segment in 0..<3 {
      try fixture.log.append((0..<4).map { event("\(segment)-\($0)", id: id(UInt64(segment * 4 + $0))) })
      if segment < 2 { try fixture.log.seal() }
    }
    return fixture
  }

  private let texts = (0..<3).flatMap { segment in (0..<4).map { "\(segment)-\($0)" } }

  /// The bytes of all files that hold history.
  private func history(_ image: DiskImage) -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for path in image.files(under: "/log") where path != "/log/lock" && path != "/log/live" { files[path] = image.contents(of: path) }
    return files
  }

  /// Each call of an opening, refused once.
  @Test(arguments: ["clean", "killed"])
  func `an opening that is refused access at any call changes nothing, and the next one succeeds`(_ state: String) throws {
    let fixture = try sample()
    if state == "clean" { try fixture.log.close() } else { fixture.disk.processKill() }
    let start = fixture.disk.image
    var refusals = 0
    for call in 0..<200 {
      let disk = SimulatedDisk(start)
      let environment = Environment.simulated(disk, seed: UInt64(call + 50))
      disk.plan = FaultPlan(.error(DiskError.accessDenied), at: call)
      let refused = code { _ = try Log.open(at: "/log", options: fixture.options, environment: environment) }
      if disk.faultCount == 0 {
        #expect(refused == nil && refusals > 15)
        return
      }
      if refused != nil {
        refusals += 1
        #expect(refused == .permissionDenied, "call \(call)")
        // What recovery writes out again may be there; what was there must be.
        let now = history(disk.image)
        if state == "clean" { #expect(now == history(start), "call \(call)") }
      }
      disk.plan = FaultPlan()
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(try Fixture.texts(log) == texts, "call \(call)")
      #expect(log.recoveryReport.gaps.isEmpty && log.recoveryReport.findings.allSatisfy { $0.isHarmless }, "call \(call)")
      try log.append(event("z"))
      #expect(try log.append(event("1-2", id: id(6))).isDuplicate)
    }
    Issue.record("an opening takes more than 200 calls")
  }

  /// Each call of appending, rolling, sealing, trimming, closing; refused from there on, then no more.
  @Test func `whatever is refused in the middle of work succeeds once access is back`() throws {
    let work: [(String, (Log) throws -> Void)] = [
      ("append", { try $0.append(event("z")) }), ("roll", { try $0.roll() }), ("seal", { try $0.seal() }),
      ("mark", { try $0.recordDurable() }), ("trim", { try $0.trim(below: 5) }), ("suspend", { try $0.suspend() }),
      ("close", { try $0.close() }), ("read", { _ = try Fixture.texts($0) }),
      ("find", { _ = try $0.event(id: id(2)) }), ("verify", { _ = try $0.verify() }),
    ]
    for (name, call) in work {
      for refusedCall in 0..<60 {
        let fixture = try sample()
        fixture.disk.plan = FaultPlan(.error(DiskError.accessDenied), during: (fixture.disk.callCount + refusedCall)...Int.max)
        let refused = code { try call(fixture.log) }
        let wasMet = fixture.disk.faultCount > 0
        fixture.disk.plan = FaultPlan()
        if !wasMet { break }
        #expect([nil, .permissionDenied, .outcomeUnknown].contains(refused), "\(name), call \(refusedCall)")
        if name == "close" {
          try fixture.reopen()
        } else {
          #expect(code { try call(fixture.log) } == nil, "\(name), call \(refusedCall)")
        }
        try fixture.log.append(event("after"))
        let read = try fixture.texts()
        #expect(read.filter { $0 != "z" }.suffix(5) == texts.suffix(4) + ["after"], "\(name), call \(refusedCall)")
        #expect(try fixture.verify().isOK, "\(name), call \(refusedCall)")
        try fixture.cutPower()
        #expect(try fixture.texts() == read, "\(name), call \(refusedCall)")
      }
    }
  }

  @Test func `a log on a read-only file system can be read and verified, and refuses to be opened for writing`() throws {
    let fixture = try sample()
    try fixture.log.close()
    fixture.disk.writeRefusal = DiskError.readOnlyFileSystem
    let before = history(fixture.disk.image)
    let refused = error { _ = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment) }
    #expect(refused?.code == .readOnlyFileSystem && refused?.file?.hasPrefix("/log") == true)
    #expect(try Fixture.texts(fixture.reader()) == texts)
    #expect(try fixture.verify().isOK)
    #expect(history(fixture.disk.image) == before)
    fixture.disk.writeRefusal = nil
    try fixture.reopen()
    #expect(try fixture.texts() == texts)
  }

  @Test func `directories that a process may not look into are no damage`() throws {
    let fixture = try sample()
    try fixture.log.close()
    for kinds in [Calls.list, .open, .read, .status, .byteCount] {
      fixture.disk.plan = FaultPlan(.error(DiskError.accessDenied), during: 0...Int.max, only: kinds)
      #expect(code { _ = try fixture.reader() } == .permissionDenied)
      #expect(code { _ = try fixture.verify() } == .permissionDenied)
      #expect(code { _ = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment) } == .permissionDenied)
      fixture.disk.plan = FaultPlan()
    }
    try fixture.reopen()
    #expect(try fixture.texts() == texts && fixture.log.recoveryReport.wasClean)
  }

  @Test func `a tail tells that its log is gone, and goes on once it is back`() async throws {
    let real = try RealLog()
    try await real.log.append(event("a"))
    try real.log.close()
    let reader = try real.reader()
    let first = try await reader.tail(from: 0).first { _ in true }
    #expect(first.map { String(decoding: $0.data, as: UTF8.self) } == "a")
    let manager = FileManager.default
    try manager.moveItem(atPath: real.path, toPath: real.path + "-moved")
    await #expect(throws: LogError.self) { _ = try await reader.tail(from: 2).first { _ in true } }
    try manager.moveItem(atPath: real.path + "-moved", toPath: real.path)
    async let next = reader.tail(from: 2).first { _ in true }
    let log = try Log.open(at: real.path, options: real.options)
    try await log.append(event("b"))
    #expect(try await next.map { String(decoding: $0.data, as: UTF8.self) } == "b")
    try log.close()
  }

  @Test func `a reader does not take another log for its own`() throws {
    let real = try RealLog()
    try real.log.append(event("a"))
    let reader = try real.reader()
    #expect(try Fixture.texts(reader) == ["a"])
    try real.log.close()
    let manager = FileManager.default
    try manager.moveItem(atPath: real.path, toPath: real.path + "-moved")
    try Log.create(at: real.path, options: real.options)
    let other = try Log.open(at: real.path, options: real.options)
    for number in 0..<5 { try other.append(event("\(number)")) }
    try other.close()
    let refused = error { _ = try reader.refresh() }
    #expect(refused?.code == .directoryMoved && refused?.file == real.path)
    #expect(refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
  }

  @Test func `closing a log that was moved leaves the live page of another one in its place alone`() throws {
    let real = try RealLog()
    try real.log.append(event("a"))
    let manager = FileManager.default
    try manager.moveItem(atPath: real.path, toPath: real.path + "-moved")
    try Log.create(at: real.path, options: real.options)
    let other = try Log.open(at: real.path, options: real.options)
    try other.append(event("b"))
    #expect(manager.fileExists(atPath: real.path + "/live"))
    try real.log.close()
    #expect(manager.fileExists(atPath: real.path + "/live"))
    #expect(try Fixture.texts(real.reader()) == ["b"])
    try other.close()
    let moved = try Log.openForReading(at: real.path + "-moved", options: real.options)
    #expect(try Fixture.texts(moved) == ["a"] && moved.recoveryReport.wasClean)
  }

  @Test(arguments: Durability.allCases)
  func `a log that is deleted while it is open acknowledges nothing more as synced`(_ level: Durability) throws {
    let real = try RealLog { $0.durability = level }
    try real.log.append(event("a"), durability: .synced)
    try FileManager.default.removeItem(atPath: real.path)
    for _ in 0..<2 {
      let refused = error { try real.log.append(event("b"), durability: .synced) }
      #expect(refused?.code == .directoryMoved && refused?.file?.hasPrefix(real.path) == true)
      #expect(refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
    }
    #expect(code { try real.log.close() } == .directoryMoved)
  }

  /// The level promises no sync, but one in the background notices.
  @Test(.timeLimit(.minutes(1)), arguments: [Durability.written, .buffered])
  func `a log that is deleted is noticed by the sync in the background`(_ level: Durability) async throws {
    let real = try RealLog {
      $0.durability = level
      $0.syncIntervalMilliseconds = 5
    }
    try await real.log.append(event("a"))
    try FileManager.default.removeItem(atPath: real.path)
    #expect(await eventually { code { try real.log.append(event("b")) } == .directoryMoved })
  }

  @Test func `where only the newest segment was deleted, new events go on in another one`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.disk.image.delete(fixture.segmentFiles[0])
    #expect(code { try fixture.log.append(event("b")) } == .directoryMoved)
    #expect(try fixture.log.append(event("c")).offset == 2)
    try fixture.cutPower()
    #expect(try fixture.texts(Query(onDamage: .skip)) == ["c"])
    #expect(fixture.log.recoveryReport.findings.map(\.kind) == [.missingOldest])
  }

  @Test func `the page that processes share keeps what is in it`() throws {
    let folder = try TemporaryFolder()
    let files = POSIXFileSystem()
    let page = try #require(try files.sharedPage(folder.path + "/page", writable: true))
    page.store64(7, at: 40)
    #expect(try files.sharedPage(folder.path + "/page", writable: true)?.load64(40) == 7)
  }

  /// Moved away, replaced by another directory, and put back; noticed before a file is made in its place.
  @Test func `a directory that is replaced while the log is open is left alone`() throws {
    let real = try RealLog()
    try real.log.append(event("a"))
    let manager = FileManager.default
    try manager.moveItem(atPath: real.path, toPath: real.path + "-moved")
    try manager.createDirectory(atPath: real.path + "/segments", withIntermediateDirectories: true)
    // There is room in the open file: an append needs no name.
    try real.log.append(event("b"))
    for call in [{ try real.log.roll() }, { try real.log.seal() }] {
      let refused = error(call)
      #expect(refused?.code == .directoryMoved && refused?.file == real.path)
      #expect(refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
    }
    #expect(try manager.contentsOfDirectory(atPath: real.path + "/segments").isEmpty)
    try manager.removeItem(atPath: real.path)
    try manager.moveItem(atPath: real.path + "-moved", toPath: real.path)
    try real.log.roll()
    try real.log.append(event("c"))
    #expect(try Fixture.texts(real.log) == ["a", "b", "c"])
  }
}
