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
