import TestSupport
import Testing
import TidemarkLog

/// Faults that users of comparable engines reported, each as its whole kind.
@Suite struct FieldCaseTests {
  /// A closed log with one open segment of `count` events.
  private func image(_ count: Int) throws -> (image: DiskImage, segment: String, options: LogOptions) {
    let fixture = try Fixture()
    for number in 0..<count { try fixture.log.append(event("event \(number)")) }
    fixture.disk.processKill()
    return (fixture.disk.image, fixture.segmentFiles[0], fixture.options)
  }

  private func open(_ image: DiskImage, _ options: LogOptions, seed: UInt64) throws -> Log {
    try Log.open(at: "/log", options: options, environment: .simulated(SimulatedDisk(image), seed: seed))
  }

  @Test func `a tail torn at each byte, three times in a row, loses nothing before it and nothing after`() throws {
    let start = try image(6)
    let bytes = try #require(start.image.contents(of: start.segment))
    let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    for cut in (end - 130)..<end {
      var image = start.image
      try image.setContents(of: start.segment, to: Array(bytes[..<cut]) + [UInt8](repeating: 0, count: bytes.count - cut))
      var expected: [String]?
      for round in 0..<3 {
        let disk = SimulatedDisk(image)
        let log = try Log.open(at: "/log", options: start.options, environment: .simulated(disk, seed: UInt64(cut * 10 + round)))
        let texts = try Fixture.texts(log)
        if let expected {
          #expect(texts == expected)
        } else {
          #expect(texts == (0..<texts.count).map { "event \($0)" } && texts.count >= 4)
        }
        try log.append(event("first of \(round)"))
        try log.append(event("second of \(round)"))
        expected = texts + ["first of \(round)", "second of \(round)"]
        disk.processKill()
        image = disk.image
      }
    }
  }

  @Test func `a tail of zeros of any length is a torn tail`() throws {
    let start = try image(12)
    let bytes = try #require(start.image.contents(of: start.segment))
    let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    for zeros in [1, 2, 7, 8, 63, 64, 65, 500] {
      for extra in [0, 1, 4096, 1 << 20] {
        var image = start.image
        try image.setContents(of: start.segment, to: Array(bytes[..<(end - zeros)]) + [UInt8](repeating: 0, count: zeros + extra))
        let log = try open(image, start.options, seed: UInt64(zeros * 100 + extra))
        let texts = try Fixture.texts(log)
        #expect(texts == (0..<texts.count).map { "event \($0)" } && texts.count >= 5)
        try log.append(event("z"))
        #expect(try Fixture.texts(log) == texts + ["z"])
      }
    }
  }

  @Test func `a changed byte anywhere never makes an export shorter in silence`() throws {
    let fixture = try Fixture()
    for number in 0..<40 { try fixture.log.append(event("event \(number)")) }
    try fixture.log.seal()
    for number in 40..<50 { try fixture.log.append(event("event \(number)")) }
    try fixture.log.close()
    fixture.options.onCorruption = .refuse
    for path in fixture.segmentFiles {
      let bytes = try #require(fixture.disk.image.contents(of: path))
      // Every byte that says something, and some of the zeros.
      for position in bytes.indices where bytes[position] != 0 && bytes[position] != 0xFF || position % 97 == 0 {
        var image = fixture.disk.image
        try image.flipBit(position * 8 + position % 8, of: path)
        let environment = Environment.simulated(SimulatedDisk(image), seed: 3)
        var texts: [String] = []
        let failed = code {
          let log = try Log.openForReading(at: "/log", options: fixture.options, environment: environment)
          var cursor = try log.read()
          while let event = try cursor.next() { texts.append(event.data.text()) }
        }
        let report = try Log.verify(at: "/log", options: fixture.options, environment: environment)
        #expect(texts == (0..<texts.count).map { "event \($0)" })
        if texts.count < 50 { #expect(failed != nil || !report.findings.isEmpty, "byte \(position) of \(path)") }
        #expect(!report.findings.isEmpty, "byte \(position) of \(path) was not seen")
      }
    }
  }

  @Test func `with one segment of many damaged, the others are served and captures go on`() throws {
    let fixture = try Fixture()
    for number in 0..<24 {
      try fixture.log.append((0..<5).map { event("\(number)-\($0)") })
      try fixture.log.seal()
    }
    try fixture.log.close()
    let sealed = fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }
    #expect(sealed.count == 24)
    for (index, path) in sealed.enumerated() {
      var image = fixture.disk.image
      try image.flipBit(4200 * 8, of: path)
      let disk = SimulatedDisk(image)
      let log = try Log.open(at: "/log", options: fixture.options, environment: .simulated(disk, seed: UInt64(index)))
      let appended = try log.append(event("new"))
      var cursor = try log.read(Query(onDamage: .skip))
      var texts: [String] = []
      while let event = try cursor.next() { texts.append(event.data.text()) }
      let whole = (0..<24).filter { $0 != index }.flatMap { number in (0..<5).map { "\(number)-\($0)" } } + ["new"]
      #expect(texts == whole)
      #expect(cursor.gaps.count == 1 && appended.offset > 120)
      #expect(sealed.allSatisfy { disk.image.contents(of: $0) != nil })
      #expect(code { _ = try Fixture.texts(log) } == .corrupt)
    }
  }

  @Test func `a kill between any two steps of trimming leaves a log that opens alike three times`() throws {
    let fixture = try Fixture()
    for number in 0..<5 {
      try fixture.log.append((0..<5).map { event("\(number)-\($0)") })
      try fixture.log.seal()
    }
    let start = fixture.disk.image
    let all = try fixture.texts()
    for call in 0..<200 {
      let disk = SimulatedDisk(start)
      disk.processKill()
      let environment = Environment.simulated(disk, seed: UInt64(call))
      let log = try Log.open(at: "/log", options: fixture.options, environment: environment)
      disk.plan = FaultPlan(.cut(), at: disk.callCount + call)
      let finished = (try? log.trim(below: 16)) != nil
      disk.plan = FaultPlan()
      disk.powerCycle(.seeded(UInt64(call)))
      var first: UInt64?
      for _ in 0..<3 {
        let again = try Log.open(at: "/log", options: fixture.options, environment: environment)
        #expect(again.first <= 16)
        #expect(first == nil || first == again.first)
        first = again.first
        #expect(try Fixture.texts(again) == all.suffix(try Fixture.texts(again).count))
        #expect(try Fixture.texts(again).suffix(10) == all.suffix(10))
        try again.close()
      }
      if finished { return }
    }
    Issue.record("trimming took more than 200 calls")
  }

  @Test func `an id index that is missing, short, zeroed or of another log is made again and answers alike`() throws {
    let fixture = try Fixture()
    for number in 0..<9 {
      try fixture.log.append([event("\(number)", id: id(UInt64(number)))])
      try fixture.log.seal()
    }
    try fixture.log.close()
    let path = try #require(fixture.disk.image.files(under: "/log/index").first)
    let bytes = try #require(fixture.disk.image.contents(of: path))
    let damages: [[UInt8]?] = [nil, [], Array(bytes.prefix(5000)), [UInt8](repeating: 0, count: bytes.count), Array(bytes.reversed())]
    for (number, damage) in damages.enumerated() {
      var image = fixture.disk.image
      if let damage { try image.setContents(of: path, to: damage) } else { try image.delete(path) }
      let log = try open(image, fixture.options, seed: UInt64(number))
      for number in 0..<9 { #expect(try log.event(id: id(UInt64(number)))?.data == Array("\(number)".utf8)) }
      #expect(try log.event(id: id(100)) == nil)
      let size = log.size
      #expect(try log.append(event("4", id: id(4))).isDuplicate && log.size == size)
    }
  }

  @Test func `no lock is held by a log that is suspended`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.suspend()
    #expect(fixture.disk.image.contents(of: "/log/lock")?.isEmpty ?? true)
    try fixture.log.append(event("b"))
    #expect(try fixture.texts() == ["a", "b"])
  }
}
