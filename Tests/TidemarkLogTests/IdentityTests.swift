import TestSupport
import Testing
import TidemarkLog

/// The file that says which log this is: two slots, of which one may be damaged, and segments that can replace both.
@Suite struct IdentityTests {
  private let path = "/log/identity"

  private func closedLog() throws -> Fixture {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    try fixture.log.seal()
    try fixture.log.append(event("c"))
    try fixture.log.close()
    return fixture
  }

  private func environment(_ image: DiskImage, _ seed: Int) -> (SimulatedDisk, Environment) {
    let disk = SimulatedDisk(image)
    return (disk, .simulated(disk, seed: UInt64(seed + 100)))
  }

  @Test func `every flipped byte of a slot is reported and healed, and the log is the same`() throws {
    let fixture = try closedLog()
    let whole = fixture.disk.image
    let identity = fixture.log.identity
    for position in stride(from: 0, to: 8192, by: 1) where position % 4096 < 180 || position % 4096 >= 4080 || position % 64 == 0 {
      var image = whole
      try image.flipBit(position * 8 + position % 8, of: path)
      let (disk, environment) = environment(image, position)
      let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
      #expect(report.findings.map(\.kind) == [.damagedIdentity], "byte \(position)")
      #expect(report.findings.first?.position == UInt64(position / 4096 * 4096) && report.isOK)
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(log.identity == identity && log.recoveryReport.findings.map(\.kind) == [.damagedIdentity])
      try log.append(event("d"))
      try log.close()
      #expect(try Log.verify(at: "/log", options: fixture.options, environment: environment).findings.isEmpty)
      #expect(
        try Fixture.texts(Log.openForReading(at: "/log", options: fixture.options, environment: environment)) == ["a", "b", "c", "d"])
      #expect(disk.image.contents(of: path)?.count == 8192)
    }
  }

  @Test func `without a sound slot it is made again from the segments`() throws {
    let fixture = try closedLog()
    let identity = fixture.log.identity
    let bytes = try #require(fixture.disk.image.contents(of: path))
    let damages: [(String, [UInt8]?)] = [
      ("missing", nil), ("empty", []), ("zeros", [UInt8](repeating: 0, count: 8192)), ("short", Array(bytes.prefix(4095))),
      ("turned round", Array(bytes.reversed())), ("text", Array("not an identity\n".utf8)),
    ]
    for (index, (name, damage)) in damages.enumerated() {
      var image = fixture.disk.image
      if let damage { try image.setContents(of: path, to: damage) } else { try image.delete(path) }
      let (disk, environment) = environment(image, index)
      let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
      #expect(try Fixture.texts(reader) == ["a", "b", "c"] && reader.identity.logID == identity.logID, "\(name)")
      #expect(reader.identity.created == identity.created, "\(name)")
      #expect(disk.image.contents(of: path) == damage)
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(log.recoveryReport.findings.contains { $0.kind == .damagedIdentity && $0.isHarmless })
      #expect(log.identity.logID == identity.logID && log.identity.epochID == identity.epochID, "\(name)")
      try log.append(event("d"))
      try log.close()
      #expect(try Log.verify(at: "/log", options: fixture.options, environment: environment).findings.isEmpty)
    }
  }

  @Test func `without an identity a log is no place for a new one`() throws {
    let fixture = try closedLog()
    try fixture.disk.image.delete(path)
    let before = fixture.disk.image
    let sealedOnly = Set(fixture.segmentFiles.filter { $0.hasSuffix(".open") })
    for removed in [[], sealedOnly, Set(fixture.segmentFiles).subtracting(sealedOnly)] {
      var image = before
      for file in removed { try image.delete(file) }
      let (disk, environment) = environment(image, removed.count)
      let refused = error { try Log.create(at: "/log", options: fixture.options, environment: environment) }
      #expect(refused?.code == .alreadyExists && refused?.file?.hasPrefix("/log/segments/") == true)
      #expect(refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
      #expect(disk.image.files(under: "/log/segments") == image.files(under: "/log/segments"))
    }
    let (_, environment) = environment(before, 9)
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(try Fixture.texts(log) == ["a", "b", "c"])
  }

  @Test func `of two who make a log at once, one is told`() throws {
    let fixture = try Fixture()
    let disk = SimulatedDisk()
    let environment = Environment.simulated(disk, seed: 5)
    try environment.fileSystem.makeDirectory("/log")
    let taken = try environment.fileSystem.lock("/log/lock", holder: "kiosk 1")
    let refused = error { try Log.create(at: "/log", options: fixture.options, environment: environment) }
    #expect(refused?.code == .locked && refused?.why.contains("kiosk 1") == true)
    taken.release()
    try Log.create(at: "/log", options: fixture.options, environment: environment)
  }

  @Test func `a slot of an older generation, and one too many, do not count`() throws {
    let fixture = try closedLog()
    let bytes = try #require(fixture.disk.image.contents(of: path))
    #expect(bytes[32] == 1 && bytes[4096 + 32] == 2)
    var image = fixture.disk.image
    try image.setContents(of: path, to: Array(bytes[4096...] + bytes[..<4096]))
    var (_, environment) = environment(image, 1)
    var log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(log.identity == fixture.log.identity && log.recoveryReport.findings.isEmpty)
    try log.close()
    try image.setContents(of: path, to: bytes + [0])
    (_, environment) = self.environment(image, 2)
    log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    #expect(log.recoveryReport.findings.map(\.kind) == [.damagedIdentity])
  }

  @Test func `when nothing tells which log it is, it is refused and left as it is`() throws {
    let fixture = try closedLog()
    let stranger = try Fixture(seed: 77)
    try stranger.log.append((0..<7).map { event("\($0)") })
    try stranger.log.close()
    var image = fixture.disk.image
    try image.delete(path)
    let strange = stranger.segmentFiles[0]
    try image.setContents(of: strange, to: try #require(stranger.disk.image.contents(of: strange)))
    let (disk, environment) = environment(image, 1)
    for open in [Log.open(at:options:environment:), Log.openForReading(at:options:environment:)] {
      let refused = error { _ = try open("/log", fixture.options, environment) }
      #expect(refused?.code == .corrupt && refused?.file == path && refused?.why.isEmpty == false && refused?.advice.isEmpty == false)
    }
    for file in image.files(under: "/log") { #expect(disk.image.contents(of: file) == image.contents(of: file)) }
  }

  /// The segments do not tell the digest.
  @Test func `a log of another digest that has lost its identity opens with that digest`() throws {
    let digest = ContentDigest.sha256 { [UInt8](repeating: $0.reduce(0, &+), count: 32) }
    let fixture = try Fixture { $0.contentDigest = digest }
    try fixture.log.append(event("a", id: id(1)))
    try fixture.log.close()
    try fixture.disk.image.delete(path)
    #expect(try fixture.reader().identity.contentDigestKind == 0)
    // A tool without it opens the log first, and pretends nothing.
    try fixture.reopen { $0.contentDigest = .xxh3 }
    #expect(fixture.log.identity.contentDigestKind == 0)
    try fixture.reopen { $0.contentDigest = digest }
    #expect(fixture.log.identity.contentDigestKind == 2)
    let refused = error { try fixture.log.append(event("b", id: id(1))) }
    #expect(refused?.code == .conflict && refused?.why.split(whereSeparator: { !$0.isHexDigit }).filter { $0.count == 64 }.count == 2)
    try fixture.reopen { $0.contentDigest = .xxh3 }
    #expect(fixture.log.identity.contentDigestKind == 2 && fixture.log.recoveryReport.findings.isEmpty)
  }

  @Test func `what a crash left of a log that was being made is no log, and making it again works`() throws {
    let fixture = try closedLog()
    var image = fixture.disk.image
    for file in image.files(under: "/log") { try image.delete(file) }
    try image.setContents(of: "/log/segments/unfinished.open.tmp", to: [1, 2, 3])
    let (_, environment) = environment(image, 1)
    for open in [Log.open(at:options:environment:), Log.openForReading(at:options:environment:)] {
      #expect(code { _ = try open("/log", fixture.options, environment) } == .notALog)
    }
    try Log.create(at: "/log", options: fixture.options, environment: environment)
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    try log.append(event("a"))
    #expect(log.recoveryReport.findings.isEmpty)
  }

  @Test func `a log is what it was made as, whatever options it is opened with`() throws {
    let fixture = try Fixture()
    let made = fixture.log.identity
    #expect(made.logID != .zero && made.epochs.count == 1 && made.epochs[0].parent == nil && made.epochs[0].forkSize == 0)
    #expect(made.contentDigestKind == 1 && made.created.nanoseconds > 1_600_000_000_000_000_000)
    try fixture.reopen { $0.segmentByteCount = 65536 }
    #expect(fixture.log.identity == made)
    let other = try Fixture(seed: 2)
    #expect(other.log.identity.logID != made.logID)
  }
}
