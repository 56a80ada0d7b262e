import TestSupport
import Testing
import TidemarkLog

/// Checking every byte: what is found, where, and that opening, reading and trimming judge alike.
@Suite struct VerificationTests {
  /// Three sealed segments, one that is closed but open, and the newest.
  private func sample() throws -> Fixture {
    let fixture = try Fixture()
    for segment in 0..<3 {
      try fixture.log.append((0..<10).map { event("\(segment)-\($0)", id: id(UInt64(segment * 10 + $0))) })
      try fixture.log.seal()
    }
    try fixture.log.append((0..<5).map { event("3-\($0)") })
    try fixture.log.roll()
    try fixture.log.append((0..<5).map { event("4-\($0)") })
    try fixture.log.close()
    return fixture
  }

  /// What is done to the sample, and what is to be found: kind, name of the file, its position, and the offsets.
  private struct Damage: Sendable {
    var name: String
    var kind: FindingKind
    var file: Int?
    var offsets: Range<UInt64>?
    var position: UInt64?
    var apply: @Sendable (inout DiskImage, [String]) throws -> Void
  }

  private static func flip(_ file: Int, _ byte: @escaping @Sendable ([UInt8]) -> Int)
    -> @Sendable (inout DiskImage, [String]) throws -> Void
  {
    { image, files in try image.flipBit(byte(image.contents(of: files[file]) ?? []) * 8, of: files[file]) }
  }

  private static func footer(_ bytes: [UInt8], _ field: Int) -> Int { Int(bytes.rawSpan.u64(bytes.count - 512 + field)) }

  private static let damages: [Damage] = [
    Damage(name: "frame of a sealed segment", kind: .damagedFrame, file: 1, offsets: 11..<21, position: 4096, apply: flip(1) { _ in 4200 }),
    Damage(name: "frame of a closed segment", kind: .damagedFrame, file: 3, offsets: 31..<36, position: 4096, apply: flip(3) { _ in 4200 }),
    Damage(name: "frame of the newest", kind: .damagedFrame, file: 4, offsets: 36..<41, position: 4096, apply: flip(4) { _ in 4200 }),
    Damage(name: "header of a sealed segment", kind: .damagedIndex, file: 1, position: 0, apply: flip(1) { _ in 80 }),
    Damage(name: "header of a closed segment", kind: .damagedHeader, file: 3, offsets: 31..<36, position: 0, apply: flip(3) { _ in 80 }),
    Damage(name: "header of the newest", kind: .damagedHeader, file: 4, offsets: 36..<41, position: 0, apply: flip(4) { _ in 80 }),
    Damage(name: "footer", kind: .damagedIndex, file: 2, apply: flip(2) { $0.count - 300 }),
    Damage(name: "id pages", kind: .damagedIndex, file: 0, apply: flip(0) { footer($0, 256) + 9 }),
    Damage(name: "index", kind: .damagedIndex, file: 0, apply: flip(0) { footer($0, 272) + 70 }),
    Damage(name: "missing segment", kind: .missingSegment, offsets: 11..<21, apply: { try $0.delete($1[1]) }),
    Damage(name: "missing oldest", kind: .missingOldest, offsets: 0..<11, apply: { try $0.delete($1[0]) }),
    Damage(
      name: "missing newest", kind: .missingNewest, offsets: 31..<31,
      apply: { image, files in
        try image.delete(files[3])
        try image.delete(files[4])
      }),
    Damage(
      name: "a segment under another name", kind: .foreignSegment, file: nil,
      apply: { image, files in
        let bytes = image.contents(of: files[1]) ?? []
        try image.setContents(of: files[1].replacing("00000000000000000011", with: "00000000000000000012"), to: bytes)
      }),
    Damage(
      name: "unfinished work", kind: .leftover,
      apply: { image, files in try image.setContents(of: files[0] + ".tmp", to: [1, 2, 3]) }),
    Damage(
      name: "a doubled open form", kind: .leftover,
      apply: { image, files in
        try image.setContents(
          of: files[0].replacing(".sealed", with: ".open"), to: Array((image.contents(of: files[0]) ?? []).prefix(4096)))
      }),
  ]

  @Test(arguments: damages.indices)
  func `each kind of damage is named with its place, and nothing is changed`(_ index: Int) throws {
    let damage = Self.damages[index]
    let fixture = try sample()
    let files = fixture.segmentFiles
    var image = fixture.disk.image
    try damage.apply(&image, files)
    let disk = SimulatedDisk(image)
    let environment = Environment.simulated(disk, seed: 40)
    let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
    let finding = try #require(report.findings.first { $0.kind == damage.kind }, "\(damage.name): \(report.findings)")
    #expect(report.findings.allSatisfy { $0.kind == damage.kind }, "\(damage.name): \(report.findings)")
    #expect(report.isOK == damage.kind.isHarmless && !finding.message.isEmpty, "\(damage.name)")
    if let file = damage.file { #expect(finding.file.map { "/log/" + $0 } == files[file], "\(damage.name)") }
    if let offsets = damage.offsets { #expect(finding.offsets == offsets, "\(damage.name)") }
    if let position = damage.position { #expect(finding.position == position, "\(damage.name)") }
    for path in image.files(under: "/log") { #expect(disk.image.contents(of: path) == image.contents(of: path)) }

    // Opening for reading, for writing, and reading come to the same.
    let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
    var options = fixture.options
    options.onCorruption = .refuse
    let refused = code { _ = try Fixture.texts(Log.openForReading(at: "/log", options: options, environment: environment)) }
    #expect(refused == (damage.kind.isHarmless ? nil : .corrupt), "\(damage.name)")
    var cursor = try reader.read(Query(onDamage: .skip))
    var count: UInt64 = 0
    while try cursor.nextText() != nil { count += 1 }
    let lost = finding.offsets.map { $0.count } ?? 0
    if damage.kind == .damagedFrame {
      #expect(count == report.eventCount && cursor.gaps.compactMap(\.offsets).reduce(0) { $0 + $1.count } == lost)
    }
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    try log.append(event("new"))
    // Of a lost newest segment nothing is known once another one stands there; a header is made again.
    let isForgotten = damage.kind == .missingNewest || damage.kind == .damagedHeader
    #expect(try log.verify().isOK == damage.kind.isHarmless || isForgotten, "\(damage.name)")
  }

  @Test func `a healthy log has no findings, in every state`() throws {
    let fixture = try sample()
    var report = try fixture.verify()
    #expect(report.isOK && report.findings.isEmpty)
    #expect(report.eventCount == 40 && report.controlEventCount == 1 && report.segmentCount == 5 && report.frameCount == 6)
    try fixture.reopen()
    report = try fixture.log.verify()
    #expect(report.findings.isEmpty)
    try fixture.log.append(event("a"))
    report = try fixture.log.verify()
    #expect(report.findings.isEmpty && report.eventCount == 41)
  }

  @Test func `progress is told after each segment, and stops the work if asked`() throws {
    let real = try RealLog { $0.sealing = .manual }
    for segment in 0..<4 {
      try real.log.append((0..<20).map { event("\(segment)-\($0)") })
      try real.log.seal()
    }
    let steps = Locked<[TidemarkLog.Progress]>([])
    _ = try real.log.verify { progress in
      steps.withLock { $0.append(progress) }
      return true
    }
    let seen = steps.withLock { $0 }
    #expect(seen.count >= 4 && seen.allSatisfy { $0.done <= $0.total && $0.total == seen[0].total })
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.done < $1.done })
    var calls = 0
    let stopped = error {
      _ = try Log.verify(at: real.path, options: real.options) { _ in
        calls += 1
        return calls < 2
      }
    }
    #expect(stopped?.code == .closed && calls == 2)
  }
}
