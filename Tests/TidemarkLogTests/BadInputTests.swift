import Foundation
import TestSupport
import Testing
import TidemarkLog

/// Each kind of trouble gets an error of its own, with file, reason and advice, and changes nothing.
@Suite struct BadInputTests {
  private func check(_ error: LogError?, _ code: LogError.Code) {
    #expect(error?.code == code)
    #expect(error?.file != nil && error?.why.isEmpty == false && error?.advice.isEmpty == false)
  }

  @Test func `a place that is no log`() throws {
    let fixture = try Fixture()
    func open(_ path: String) -> LogError? {
      error { _ = try Log.open(at: path, options: fixture.options, environment: fixture.environment) }
    }
    check(open("/nothing"), .notALog)
    check(open("/log/identity"), .notADirectory)
    check(open("/log/torn"), .notALog)
    #expect(code { try Log.create(at: "/log", options: fixture.options, environment: fixture.environment) } == .alreadyExists)
  }

  @Test func `a second writer is told who the first is`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/log"
    try Log.create(at: path)
    var options = LogOptions()
    options.program = "kiosk 3.1"
    let log = try Log.open(at: path, options: options)
    let refused = error { _ = try Log.open(at: path) }
    check(refused, .locked)
    #expect(refused?.why.contains("kiosk 3.1") == true)
    // While it is suspended, another may write; then the first goes on behind it.
    try log.append(event("a"))
    try log.suspend()
    let other = try Log.open(at: path)
    try other.append(event("b"))
    #expect(code { try log.append(event("c")) } == .locked)
    try other.close()
    try log.append(event("c"))
    #expect(try Fixture.texts(log) == ["a", "b", "c"])
    try log.close()
    #expect(code { try log.append(event("d")) } == .closed)
  }

  @Test func `a full disk refuses appends visibly, and the first one after space is freed succeeds`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    var kept = ["a"]
    var refusals = 0
    for number in 0..<200 {
      do {
        try fixture.log.append(event("event \(number)"))
        kept.append("event \(number)")
      } catch LogError.Code.diskFull { refusals += 1 }
    }
    #expect(refusals > 50)
    fixture.disk.capacity = nil
    try fixture.log.append(event("z"))
    try fixture.log.append(event("zz"))
    #expect(try fixture.texts() == kept + ["z", "zz"])
    try fixture.cutPower()
    #expect(try fixture.texts() == kept + ["z", "zz"])
  }

  @Test func `without space to recover, reading works and the next append takes it up again`() throws {
    let fixture = try Fixture()
    for number in 0..<20 { try fixture.log.append(event("event \(number)")) }
    fixture.disk.processKill()
    fixture.disk.capacity = fixture.disk.image.usedByteCount
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    #expect(log.recoveryReport.isDegraded)
    #expect(try Fixture.texts(log).count >= 19)
    #expect(code { try log.append(event("b")) } == .diskFull)
    fixture.disk.capacity = nil
    try log.append(event("c"))
    #expect(try Fixture.texts(log) == (0..<20).map { "event \($0)" } + ["c"])
  }

  @Test(arguments: [DiskError.accessDenied, DiskError.notPermitted, DiskError.readOnlyFileSystem])
  func `access lost for a while is no damage`(_ errno: Int32) throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    let files = fixture.segmentFiles
    fixture.disk.writeRefusal = errno
    let expected: LogError.Code = errno == DiskError.readOnlyFileSystem ? .readOnlyFileSystem : .permissionDenied
    for _ in 0..<3 { #expect(code { try fixture.log.append(event("b")) } == expected) }
    #expect(fixture.segmentFiles == files)
    fixture.disk.writeRefusal = nil
    try fixture.log.append(event("c"))
    #expect(try fixture.texts() == ["a", "c"])
    try fixture.reopen()
    #expect(try fixture.texts() == ["a", "c"])
  }

  @Test func `a directory that was moved is noticed before a new file is made in its place`() throws {
    let folder = try TemporaryFolder()
    var options = LogOptions()
    options.segmentByteCount = 8192
    try Log.create(at: folder.path + "/log", options: options)
    let log = try Log.open(at: folder.path + "/log", options: options)
    try log.append(event("a"))
    try FileManager.default.moveItem(atPath: folder.path + "/log", toPath: folder.path + "/moved")
    check(error { for _ in 0..<200 { try log.append(event("some text that fills the segment")) } }, .directoryMoved)
    try FileManager.default.moveItem(atPath: folder.path + "/moved", toPath: folder.path + "/log")
    try log.append(event("z"))
    #expect(try Fixture.texts(log).last == "z")
    try log.close()
  }

  @Test func `a newer version is refused and nothing is changed`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.close()
    let segment = fixture.segmentFiles[0]
    for (path, position) in [("/log/identity", 10), (segment, 10), (segment, 24)] {
      var image = fixture.disk.image
      var bytes = try #require(image.contents(of: path))
      bytes[position] = 9
      bytes.replaceSubrange(4088..<4096, with: hash(bytes, 4088))
      if path == "/log/identity" { bytes.replaceSubrange(4096..<8192, with: bytes[0..<4096]) }
      try image.setContents(of: path, to: bytes)
      let disk = SimulatedDisk(image)
      let environment = Environment.simulated(disk, seed: 5)
      check(error { _ = try Log.open(at: "/log", options: fixture.options, environment: environment) }, .unsupportedVersion)
      check(error { _ = try Log.openForReading(at: "/log", options: fixture.options, environment: environment) }, .unsupportedVersion)
      for file in image.files(under: "/log") where file != "/log/lock" {
        #expect(disk.image.contents(of: file) == image.contents(of: file))
      }
    }
  }

  private func hash(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    var text: [UInt8] = []
    text.add(xxh3(bytes.rawSpan.slice(0, count)))
    return text
  }

  @Test func `a segment of another log is named and left alone`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.close()
    let stranger = try Fixture(seed: 99)
    try stranger.log.append(event("b"))
    try stranger.log.close()
    var image = fixture.disk.image
    try image.setContents(of: stranger.segmentFiles[0], to: try #require(stranger.disk.image.contents(of: stranger.segmentFiles[0])))
    let disk = SimulatedDisk(image)
    let environment = Environment.simulated(disk, seed: 7)
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    #expect(report.findings.map(\.kind) == [.foreignSegment])
    fixture.options.onCorruption = .refuse
    check(error { _ = try Log.open(at: "/log", options: fixture.options, environment: environment) }, .corrupt)
    fixture.options.onCorruption = .quarantine
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    try log.append(event("c"))
    #expect(try Fixture.texts(log) == ["a", "c"])
    #expect(disk.image.contents(of: stranger.segmentFiles[0]) != nil)
  }

  @Test func `options out of range are refused`() throws {
    let disk = SimulatedDisk()
    var options = LogOptions()
    options.segmentByteCount = 100
    #expect(code { try Log.create(at: "/log", options: options, environment: .simulated(disk, seed: 1)) } == .invalidArgument)
  }
}
