import TestSupport
import Testing
import TidemarkLog

/// A log of a later version is told from a damaged one, is refused, and stays as it is to the byte.
@Suite struct VersionTests {
  /// What a later version might have changed in a page or frame, whose hash is right.
  enum Change: CaseIterable {
    case version
    case feature
  }

  private func closedLog() throws -> Fixture {
    let fixture = try Fixture()
    for segment in 0..<9 {
      try fixture.log.append((0..<3).map { event("\(segment)-\($0)", id: id(UInt64(segment * 3 + $0))) })
      if segment < 8 { try fixture.log.seal() }
    }
    try fixture.log.append(event("z"))
    try fixture.log.close()
    return fixture
  }

  /// Changes a page of `byteCount` bytes at `position`.
  private func change(_ change: Change, _ bytes: inout [UInt8], at position: Int, _ byteCount: Int) {
    bytes[position + (change == .version ? 10 : 24)] = 2
    let hash = xxh3(bytes.rawSpan.slice(position, byteCount - 8))
    bytes.store(hash, at: position + byteCount - 8)
  }

  /// The places of frames in a segment.
  private func frames(_ bytes: [UInt8]) -> [Int] {
    stride(from: 4096, to: bytes.count - 56, by: 8).filter { Array(bytes[($0 + 8)..<($0 + 12)]) == Array("TMFR".utf8) }
  }

  private func seed(of bytes: [UInt8]) -> UInt64 { xxh3(bytes.rawSpan.slice(32, 48)) }

  /// Changes one byte of a frame's header, and hashes it anew.
  private func changeFrame(_ bytes: inout [UInt8], at position: Int, field: Int, to value: UInt8) {
    bytes[position + field] = value
    let length = (56 + Int(bytes.rawSpan.u32(position + 16)) + 7) & ~7
    bytes.store(xxh3(bytes.rawSpan.slice(position + 8, length - 8), seed: seed(of: bytes)), at: position)
  }

  private func expectRefusal(_ image: DiskImage, _ fixture: Fixture, _ what: String, opens: Bool = true) throws {
    let disk = SimulatedDisk(image)
    let environment = Environment.simulated(disk, seed: 900)
    var calls: [(String, () throws -> Void)] = [
      ("verify", { _ = try Log.verify(at: "/log", options: fixture.options, environment: environment) })
    ]
    if opens {
      calls.append(("open", { _ = try Log.open(at: "/log", options: fixture.options, environment: environment) }))
      calls.append(("read", { _ = try Log.openForReading(at: "/log", options: fixture.options, environment: environment) }))
    } else {
      for handling in [Query.DamageHandling.fail, .skip] {
        calls.append(
          (
            "read",
            {
              let log = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
              _ = try Fixture.texts(log, Query(onDamage: handling))
            }
          ))
      }
    }
    for (name, call) in calls {
      let refused = error(call)
      #expect(refused?.code == .unsupportedVersion, "\(what), \(name)")
      #expect(
        refused?.file != nil && refused?.position != nil && refused?.why.isEmpty == false && refused?.advice.isEmpty == false,
        "\(what), \(name)")
    }
    for path in image.files(under: "/log") { #expect(disk.image.contents(of: path) == image.contents(of: path), "\(what): \(path)") }
    #expect(disk.image.files(under: "/log") == image.files(under: "/log"), "\(what)")
  }

  @Test(arguments: Change.allCases)
  func `each kind of page says that it is newer`(_ kind: Change) throws {
    let fixture = try closedLog()
    let open = try #require(fixture.segmentFiles.first { $0.hasSuffix(".open") })
    let sealed = fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }
    func edit(_ path: String, _ what: String, _ body: (inout [UInt8]) -> Void) throws {
      var image = fixture.disk.image
      var bytes = try #require(image.contents(of: path))
      body(&bytes)
      try image.setContents(of: path, to: bytes)
      try expectRefusal(image, fixture, what)
    }
    try edit("/log/identity", "both slots") {
      change(kind, &$0, at: 0, 4096)
      change(kind, &$0, at: 4096, 4096)
    }
    for slot in 0..<2 { try edit("/log/identity", "slot \(slot)") { change(kind, &$0, at: slot * 4096, 4096) } }
    try edit(open, "header of the open segment") { change(kind, &$0, at: 0, 4096) }
    for path in [sealed[0], sealed[4]] {
      try edit(path, "footer") { change(kind, &$0, at: $0.count - 512, 512) }
      try edit(path, "footer and header") {
        change(kind, &$0, at: 0, 4096)
        change(kind, &$0, at: $0.count - 512, 512)
      }
    }
  }

  /// It is derived: what can't be used is made again.
  @Test(arguments: Change.allCases)
  func `a newer id index is not used, and a reader leaves it alone`(_ kind: Change) throws {
    let fixture = try closedLog()
    let path = try #require(fixture.disk.image.files(under: "/log/index").first)
    var image = fixture.disk.image
    var bytes = try #require(image.contents(of: path))
    change(kind, &bytes, at: 0, 4096)
    try image.setContents(of: path, to: bytes)
    let disk = SimulatedDisk(image)
    let environment = Environment.simulated(disk, seed: 900)
    for open in [Log.openForReading(at:options:environment:), Log.open(at:options:environment:)] {
      #expect(disk.image.contents(of: path) == bytes)
      let log = try open("/log", fixture.options, environment)
      for number in 0..<27 { #expect(try log.event(id: id(UInt64(number)))?.offset == UInt64(number + 1)) }
      #expect(log.recoveryReport.findings.isEmpty)
      try log.close()
    }
  }

  /// Header version, type, codec, flags.
  @Test(arguments: [(12, UInt8(2)), (13, 6), (13, 0x7F), (14, 2), (14, 0x10), (15, 1)])
  func `each kind of frame says that it is newer`(_ field: Int, _ value: UInt8) throws {
    let fixture = try closedLog()
    for path in fixture.segmentFiles.suffix(2) {
      var image = fixture.disk.image
      var bytes = try #require(image.contents(of: path))
      let place = try #require(frames(bytes).first)
      changeFrame(&bytes, at: place, field: field, to: value)
      try image.setContents(of: path, to: bytes)
      // Frames of sealed segments are met by reading and verifying only.
      try expectRefusal(image, fixture, "frame in \(path)", opens: path.hasSuffix(".open"))
    }
  }

  @Test func `an unknown type that may be skipped is skipped, and kept by recovery`() throws {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    try fixture.log.recordDurable()
    try fixture.log.append(event("c"))
    fixture.disk.processKill()
    let path = fixture.segmentFiles[0]
    var bytes = try #require(fixture.disk.image.contents(of: path))
    let places = frames(bytes)
    #expect(places.count == 3)
    changeFrame(&bytes, at: places[1], field: 13, to: 0x90)
    try fixture.disk.image.setContents(of: path, to: bytes)
    try fixture.kill()
    #expect(fixture.log.recoveryReport.findings.isEmpty)
    #expect(try fixture.texts() == ["a", "b", "c"])
    #expect(try fixture.verify().findings.isEmpty)
    let rewritten = try #require(fixture.disk.image.contents(of: fixture.segmentFiles[0]))
    #expect(frames(rewritten).contains { rewritten[$0 + 13] == 0x90 })
  }

  /// A wrong hash is damage, whatever version stands beside it.
  @Test func `a version that does not verify is damage`() throws {
    let fixture = try closedLog()
    var image = fixture.disk.image
    try image.flipBit(10 * 8 + 1, of: "/log/identity")
    let disk = SimulatedDisk(image)
    let log = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: 901))
    #expect(log.recoveryReport.findings.map(\.kind) == [.damagedIdentity])
  }
}
