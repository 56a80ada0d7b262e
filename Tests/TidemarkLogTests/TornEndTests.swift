import TestSupport
import Testing
import TidemarkLog

/// What a crash leaves at the end of the open segment, cut at every byte, and what the report says of it.
@Suite struct TornEndTests {
  private struct Sample {
    var image: DiskImage
    var path: String
    var bytes: [UInt8]
    /// Where each frame begins, and where the last one ends.
    var frames: [Int]
    var options: LogOptions
  }

  /// Five events of different lengths, killed.
  private func sample() throws -> Sample {
    let fixture = try Fixture()
    for number in 0..<5 { try fixture.log.append(event("\(number)" + String(repeating: "x", count: number * 5))) }
    fixture.disk.processKill()
    let path = fixture.segmentFiles[0]
    let bytes = try #require(fixture.disk.image.contents(of: path))
    var frames = [4096]
    while let last = frames.last, bytes[last + 8] != 0 {
      frames.append((last + 56 + Int(bytes.rawSpan.u32(last + 16)) + 7) & ~7)
    }
    #expect(frames.count == 6)
    return Sample(image: fixture.disk.image, path: path, bytes: bytes, frames: frames, options: fixture.options)
  }

  /// How the file goes on behind the cut.
  enum Rest: CaseIterable {
    case nothing
    case zeros
    case eightMebibytesOfZeros
    case garbage
    case anOldFrame
  }

  @Test(arguments: Rest.allCases)
  func `everything before the cut is there, the report counts what was cut, and appends go on`(_ rest: Rest) throws {
    let sample = try sample()
    let end = sample.frames[5]
    let isLong = rest == .eightMebibytesOfZeros
    for cut in stride(from: isLong ? end - 40 : sample.frames[3], through: end, by: isLong ? 13 : 1) {
      var bytes = Array(sample.bytes[..<cut])
      switch rest {
      case .nothing: break
      case .zeros: bytes += [UInt8](repeating: 0, count: sample.bytes.count - cut)
      case .eightMebibytesOfZeros: bytes += [UInt8](repeating: 0, count: 8 << 20)
      case .garbage: bytes += (0..<333).map { UInt8(truncatingIfNeeded: splitMix(UInt64($0))) | 1 }
      case .anOldFrame: bytes += [UInt8](repeating: 0, count: (8 - cut % 8) % 8) + sample.bytes[4096..<sample.frames[1]]
      }
      var image = sample.image
      try image.setContents(of: sample.path, to: bytes)
      let disk = SimulatedDisk(image)
      let log = try Log.open(at: "/log", options: sample.options, environment: .simulated(disk, seed: UInt64(cut)))
      // A cut may take only the zeros that pad a frame.
      let goesOnWithZeros = rest != .nothing && rest != .garbage
      let count =
        (0..<5).first { number in
          let next = sample.frames[number + 1]
          return next > cut && !(goesOnWithZeros && sample.bytes[cut..<next].allSatisfy { $0 == 0 })
        } ?? 5
      #expect(try Fixture.texts(log).count == count, "cut at \(cut)")
      let position = sample.frames[count]
      let used = bytes[position...].lastIndex { $0 != 0 }.map { $0 + 1 - position } ?? 0
      let report = log.recoveryReport
      #expect(!report.wasClean && report.gaps.isEmpty)
      if used > 0 {
        let torn = try #require(report.findings.first { $0.kind == .tornTail }, "cut at \(cut)")
        #expect(torn.position == UInt64(position) && torn.offsets?.lowerBound == UInt64(count + 1) && torn.isHarmless)
        #expect(report.preservedBytes == UInt64(used), "cut at \(cut)")
        #expect(disk.image.contents(of: "/log/" + report.preservedFiles[0]) == Array(bytes[position..<(position + used)]))
      } else {
        #expect(report.findings.isEmpty && report.preservedBytes == 0, "cut at \(cut)")
      }
      #expect(try log.append(event("new")).offset == UInt64(count) + 2)
      disk.powerCycle(.losesEverything)
      let again = try Log.openForReading(at: "/log", options: sample.options, environment: .simulated(disk, seed: 1))
      // Without a lock a reader can't vouch for the last commit, and says so.
      #expect(again.recoveryReport.findings.allSatisfy { $0.kind == .tornTail && $0.offsets == UInt64(count) + 1..<UInt64(count) + 3 })
    }
  }

  @Test func `a crash in the recovery of a crash, three deep, changes nothing`() throws {
    let sample = try sample()
    var image = sample.image
    try image.setContents(of: sample.path, to: Array(sample.bytes[..<(sample.frames[4] + 70)]))
    let whole = try Fixture.texts(
      Log.open(at: "/log", options: sample.options, environment: .simulated(SimulatedDisk(image), seed: 1)))
    #expect(whole.count == 4)
    for call in 0..<40 {
      var random = SeededRandom(seed: UInt64(call))
      let disk = SimulatedDisk(image)
      let environment = Environment.simulated(disk, seed: UInt64(call + 2))
      for depth in 0..<3 {
        disk.plan = FaultPlan(.cut(), at: depth == 0 ? call : random.number(below: 40))
        _ = try? Log.open(at: "/log", options: sample.options, environment: environment)
        disk.powerCycle(.seeded(random.next()))
      }
      let log = try Log.open(at: "/log", options: sample.options, environment: environment)
      #expect(try Fixture.texts(log) == whole && log.size == 5, "call \(call)")
      #expect(try log.verify().isOK)
    }
  }

  @Test func `a log with a gap in its newest segment is clean once it was recovered and closed`() throws {
    let fixture = try Fixture()
    for number in 0..<5 { try fixture.log.append(event("\(number)")) }
    try fixture.reopen { $0.durableFloor = 9 }
    #expect(fixture.log.recoveryReport.gaps == [6..<9])
    try fixture.log.append(event("new"))
    for _ in 0..<2 {
      let files = { fixture.segmentFiles }()
      try fixture.reopen()
      let report = fixture.log.recoveryReport
      #expect(report.wasClean && report.rewrittenEvents == 0 && report.gaps == [6..<9] && report.findings.map(\.kind) == [.gap])
      #expect(fixture.segmentFiles == files)
    }
    try fixture.log.close()
    #expect(try fixture.reader().recoveryReport.wasClean)
    #expect(try Fixture.texts(fixture.reader(), Query(onDamage: .skip)) == ["0", "1", "2", "3", "4", "new"])
  }

  /// Nothing was recorded in it, but it is not thrown away unseen.
  @Test(arguments: [false, true])
  func `the header of an empty segment that is torn is kept under torn`(_ isFull: Bool) throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.roll()
    try fixture.log.close()
    let path = try #require(fixture.segmentFiles.last)
    try fixture.disk.image.flipBit(100 * 8, of: path)
    let header = try #require(fixture.disk.image.contents(of: path)).prefix(4096)
    #expect(try fixture.verify().findings.map(\.kind) == [.leftover])
    if isFull { fixture.disk.capacity = fixture.disk.image.usedByteCount }
    try fixture.reopen()
    if isFull {
      #expect(fixture.disk.image.contents(of: path)?.prefix(4096) == header)
      fixture.disk.capacity = nil
      try fixture.log.append(event("b"))
      try fixture.reopen()
    }
    let name = "torn/\(path.split(separator: "/").last ?? "")-0"
    #expect(fixture.log.recoveryReport.preservedFiles == ["\(name).bin"])
    #expect(fixture.disk.image.contents(of: "/log/\(name).bin").map { $0 + [UInt8](repeating: 0, count: 4096 - $0.count) } == Array(header))
    #expect(fixture.disk.image.contents(of: "/log/\(name).txt")?.isEmpty == false)
    #expect(!fixture.segmentFiles.contains(path))
    #expect(try fixture.texts() == (isFull ? ["a", "b"] : ["a"]))
  }

  /// The number of files is bounded by bytes, not by the number of kills.
  @Test func `kills add no files`() throws {
    let fixture = try Fixture { $0.segmentByteCount = 65536 }
    for number in 0..<120 {
      try fixture.log.append(event("\(number)"))
      try fixture.kill()
      #expect(fixture.segmentFiles.count == 1)
    }
    #expect(try fixture.texts() == (0..<120).map { "\($0)" })
    #expect(fixture.disk.image.files(under: "/log/torn").isEmpty)
  }
}
