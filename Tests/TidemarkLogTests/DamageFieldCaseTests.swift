import TestSupport
import Testing
import TidemarkLog

/// Field cases about damage: it is named, nothing is deleted, everything else is served, and work goes on.
@Suite struct DamageFieldCaseTests {
  private static func log(segments: Int, events: Int) throws -> Fixture {
    let fixture = try Fixture()
    for segment in 0..<segments {
      try fixture.log.append((0..<events).map { event("\(segment)-\($0)", id: id(UInt64(segment * events + $0))) })
      try fixture.log.seal()
    }
    return fixture
  }

  /// Made once for all kinds of damage.
  private static let twoHundred: DiskImage? = {
    guard let fixture = try? log(segments: 200, events: 2), (try? fixture.log.close()) != nil else { return nil }
    return fixture.disk.image
  }()

  @Test(arguments: ["frame", "header", "footer", "id pages", "index", "missing", "empty", "zeros", "cut off"])
  func `of two hundred segments one is bad: the others are offered, and a capture is saved at once`(_ damage: String) throws {
    let fixture = try Fixture(seed: 8)
    let whole = try #require(Self.twoHundred)
    let sealed = whole.files(under: "/log/segments").filter { $0.hasSuffix(".sealed") }
    #expect(sealed.count == 200)
    for bad in damage == "frame" || damage == "missing" ? [0, 77, 199] : [77] {
      let path = sealed[bad]
      var image = whole
      let bytes = try #require(image.contents(of: path))
      let footer = bytes.rawSpan.slice(bytes.count - 512, 512)
      switch damage {
      case "frame": try image.flipBit(4150 * 8, of: path)
      case "header": try image.flipBit(70 * 8, of: path)
      case "footer": try image.flipBit((bytes.count - 300) * 8, of: path)
      case "id pages": try image.flipBit((Int(footer.u64(256)) + 5) * 8, of: path)
      case "index": try image.flipBit((Int(footer.u64(272)) + 60) * 8, of: path)
      case "missing": try image.delete(path)
      case "empty": try image.setContents(of: path, to: [])
      case "zeros": try image.setContents(of: path, to: [UInt8](repeating: 0, count: bytes.count))
      default: try image.setContents(of: path, to: Array(bytes.prefix(4150)))
      }
      let disk = SimulatedDisk(image)
      let log = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: UInt64(bad + 300)))
      let appended = try log.append(event("new", id: id(5000)))
      var cursor = try log.read(Query(onDamage: .skip))
      var texts: [String] = []
      while let text = try cursor.nextText() { texts.append(text) }
      let others = (0..<200).filter { $0 != bad }.flatMap { ["\($0)-0", "\($0)-1"] } + ["new"]
      let all = (0..<200).flatMap { ["\($0)-0", "\($0)-1"] } + ["new"]
      let isHarmless = ["footer", "id pages", "index", "header"].contains(damage)
      #expect(texts == (isHarmless ? all : others), "\(damage) of \(bad)")
      #expect(cursor.gaps.count == (isHarmless ? 0 : 1))
      #expect(appended.offset > 400)
      // Look-ups by id, and repeats, of what can be read.
      for other in [(bad + 1) % 200, (bad + 100) % 200] {
        #expect(try log.event(id: id(UInt64(other * 2)))?.data == Array("\(other)-0".utf8))
        #expect(try log.append(event("\(other)-1", id: id(UInt64(other * 2 + 1)))).isDuplicate)
      }
      // Nothing is deleted, and nothing but what is derived is written again.
      for file in image.files(under: "/log/segments") where file.hasSuffix(".sealed") {
        #expect(disk.image.contents(of: file) != nil)
        if !isHarmless { #expect(disk.image.contents(of: file) == image.contents(of: file)) }
      }
      let report = try log.verify()
      #expect(report.isOK == isHarmless, "\(damage) of \(bad): \(report.findings)")
      #expect(report.eventCount >= 399)
      try log.close()
    }
  }

  /// Everything that may stand in a segment file: reading it ends.
  @Test func `no input makes a call go round without progress, and a cancelled tail ends`() async throws {
    let fixture = try Self.log(segments: 3, events: 30)
    try await fixture.log.append((0..<20).map { event("open \($0)") })
    try fixture.log.close()
    for seed in UInt64(0)..<120 {
      var random = SeededRandom(seed: seed)
      var image = fixture.disk.image
      for _ in 0..<random.number(in: 1...4) {
        let path = fixture.segmentFiles[random.number(below: fixture.segmentFiles.count)]
        var bytes = image.contents(of: path) ?? []
        let at = random.number(below: max(1, bytes.count))
        switch random.number(below: 6) {
        case 0: bytes = Array(bytes.prefix(at))
        case 1: bytes.replaceSubrange(at..<min(at + 700, bytes.count), with: [UInt8](repeating: 0, count: min(700, bytes.count - at)))
        case 2: bytes += (0..<300).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 3: bytes.insert(contentsOf: bytes[(at / 2)..<at], at: at)
        case 4: for _ in 0..<20 where !bytes.isEmpty { bytes[random.number(below: bytes.count)] ^= 1 << UInt8(random.number(below: 8)) }
        default: bytes.removeSubrange(at..<min(at + random.number(below: 900), bytes.count))
        }
        try image.setContents(of: path, to: bytes)
      }
      let disk = SimulatedDisk(image)
      let environment = Environment.simulated(disk, seed: seed + 1000)
      disk.beforeChange = { disk, _ in
        if disk.callCount > 3000 { disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max) }
      }
      let reader = try? Log.openForReading(at: "/log", options: fixture.options, environment: environment)
      for handling in [Query.DamageHandling.fail, .skip] {
        guard let reader, var cursor = try? reader.read(Query(onDamage: handling)) else { continue }
        for step in 0..<500 {
          do { if try cursor.nextText() == nil { break } } catch {}
          if step == 499 { Issue.record("seed \(seed): reading does not end") }
        }
      }
      for offset in stride(from: UInt64(0), to: 120, by: 7) { _ = try? reader?.event(at: offset) }
      for number in stride(from: UInt64(0), to: 90, by: 11) { _ = try? reader?.event(id: id(number)) }
      _ = try? Log.verify(at: "/log", options: fixture.options, environment: environment)
      if let reader {
        let tail = reader.tail(from: 0)
        let following = Task {
          var iterator = tail.makeAsyncIterator()
          while !Task.isCancelled { if (try? await iterator.next()) == nil && Task.isCancelled { return } }
        }
        following.cancel()
        await following.value
        try reader.close()
      }
      let log = try? Log.open(at: "/log", options: fixture.options, environment: environment)
      #expect(log == nil || code { try log?.append(event("new")) } == nil, "seed \(seed)")
      #expect(disk.callCount < 3000, "seed \(seed)")
    }
  }

  @Test(arguments: ["missing", "empty", "short", "zeros", "older", "of another log"])
  func `an index that does not serve is made again, and every query answers as before`(_ damage: String) throws {
    let fixture = try Self.log(segments: 9, events: 5)
    let path = try #require(fixture.disk.image.files(under: "/log/index").first)
    let older = try #require(fixture.disk.image.contents(of: path))
    // The index now covers other segments than before.
    let floor = fixture.log.size
    try fixture.log.append(event("more", id: id(900)))
    try fixture.log.seal()
    try fixture.log.close()
    let stranger = try Fixture(seed: 60)
    for segment in 0..<9 {
      try stranger.log.append((0..<5).map { event("\(segment)-\($0)", id: id(UInt64(1000 + segment * 5 + $0))) })
      try stranger.log.seal()
    }
    var image = fixture.disk.image
    switch damage {
    case "missing": try image.delete(path)
    case "empty": try image.setContents(of: path, to: [])
    case "short": try image.setContents(of: path, to: Array(older.prefix(4096)))
    case "zeros": try image.setContents(of: path, to: [UInt8](repeating: 0, count: older.count))
    case "older":
      var bytes = older
      bytes.store(UInt64(1), at: 56)
      bytes.store(xxh3(bytes.rawSpan.slice(0, 4088)), at: 4088)
      try image.setContents(of: path, to: bytes)
    default:
      let strange = try #require(stranger.disk.image.files(under: "/log/index").first)
      try image.setContents(of: path, to: try #require(stranger.disk.image.contents(of: strange)))
    }
    let disk = SimulatedDisk(image)
    let environment = Environment.simulated(disk, seed: 70)
    for open in [Log.openForReading(at:options:environment:), Log.open(at:options:environment:)] {
      let log = try open("/log", fixture.options, environment)
      for number in UInt64(0)..<45 { #expect(try log.event(id: id(number))?.offset == number + 1) }
      #expect(try log.event(id: id(900))?.offset == floor)
      #expect(try log.event(id: id(1003)) == nil)
      try log.close()
    }
    let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
    try log.waitForSealing()
    #expect(try log.verify().findings.isEmpty)
  }
}
