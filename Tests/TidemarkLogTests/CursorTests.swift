import TestSupport
import Testing
import TidemarkLog

@Suite struct CursorTests {
  /// Open and sealed segments, several sessions, a batch.
  private func sample() throws -> Fixture {
    let fixture = try Fixture()
    for number in 0..<120 {
      try fixture.log.append(TestEvent(number: UInt64(number), dataByteCount: number * 7 % 400).newEvent())
      if number % 50 == 49 { try fixture.log.seal() }
      if number % 40 == 39 { try fixture.reopen() }
    }
    try fixture.log.append((120..<140).map { TestEvent(number: UInt64($0), dataByteCount: 60).newEvent() })
    return fixture
  }

  @Test func `gives each event whole, in order, without copying it`() throws {
    let fixture = try sample()
    var read = ReadBack(first: fixture.log.first, size: fixture.log.size)
    var cursor = try fixture.log.read(Query(includesControlEvents: true))
    while let event = try cursor.next() { read.add(event) }
    #expect(read.entries.map(\.offset) == Array(0..<fixture.log.size))
    #expect(read.entries.compactMap { $0.event?.number } == Array(0..<140))
    #expect(read.entries.count { $0.isControl } == 4)
    #expect(try cursor.nextText() == nil)
    #expect(cursor.position == fixture.log.size && cursor.gaps.isEmpty)
  }

  @Test func `every range gives what single reads give`() throws {
    let fixture = try sample()
    let size = fixture.log.size
    let single = try (0..<size).map { try fixture.log.event(at: $0) }
    for first in stride(from: UInt64(0), to: size, by: 3) {
      for end in [first, first + 1, min(first + 17, size), size] {
        var cursor = try fixture.log.read(Query(offsets: first..<end, includesControlEvents: true))
        for expected in single[Int(first)..<Int(end)] {
          let record = try cursor.nextRecord()
          #expect(record?.0 == expected.offset && record?.1 == expected.view.record.array() && cursor.session == expected.session)
        }
        #expect(try cursor.nextText() == nil)
      }
    }
  }

  @Test func `its end is what was visible when it was made`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    var cursor = try fixture.log.read()
    var open = try fixture.log.read(Query(offsets: 0..<(.max)))
    try fixture.log.append(event("b"))
    #expect(try cursor.nextText() == "a" && cursor.nextText() == nil && cursor.nextText() == nil)
    #expect(try open.nextText() == "a" && open.nextText() == nil)
  }

  /// Deleted whole, or with offsets above its end that something else knows to be durable.
  @Test(arguments: [0, 40, 200] as [UInt64])
  func `at the end of a log that was longer it says so, once`(_ floor: UInt64) async throws {
    let fixture = try sample()
    try fixture.log.seal()
    try await fixture.log.append(event("last"))
    try fixture.log.close()
    let open = try #require(fixture.segmentFiles.last)
    if floor < 200 { try fixture.disk.image.delete(open) }
    fixture.options.durableFloor = floor
    let reader = try fixture.reader()
    let range = try #require(reader.recoveryReport.findings.last { $0.kind == .missingNewest }?.offsets)
    #expect(floor < range.lowerBound ? range.isEmpty : range.upperBound == floor)
    var cursor = try reader.read()
    var count = 0
    let told = error { while try cursor.nextText() != nil { count += 1 } }
    #expect(told?.code == .corrupt && told?.offsets == range && count > 100)
    #expect(told?.why.isEmpty == false && told?.advice.isEmpty == false)
    #expect(try cursor.nextText() == nil)
    cursor = try reader.read(Query(onDamage: .skip))
    while try cursor.nextText() != nil {}
    #expect(cursor.gaps.map(\.kind) == [.missingNewest] && cursor.gaps.last?.offsets == range)
    // Whoever asks for less gets all of it; whoever follows waits for what comes next.
    cursor = try reader.read(Query(offsets: 0..<reader.size))
    var bounded = 0
    while try cursor.nextText() != nil { bounded += 1 }
    #expect(bounded == count)
    var tail = reader.tail(from: 0).makeAsyncIterator()
    for _ in 0..<count { _ = try await tail.next() }
    guard range.isEmpty else { return }
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    try await log.append(event("new"))
    #expect(try await tail.next().map { String(decoding: $0.data, as: UTF8.self) } == "new")
    #expect(try Fixture.texts(reader).count == count + 1)
  }

  @Test func `gaps are of the kind of the damage`() throws {
    let fixture = try sample()
    try fixture.log.seal()
    try fixture.reopen { $0.durableFloor = fixture.log.size + 5 }
    try fixture.log.append(event("z"))
    try fixture.log.close()
    let sealed = fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }
    try fixture.disk.image.delete(sealed[0])
    try fixture.disk.image.flipBit(4200 * 8, of: sealed[1])
    try fixture.disk.image.delete(sealed[3])
    for log in [try fixture.reader(), try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)] {
      var cursor = try log.read(Query(onDamage: .skip))
      while try cursor.nextText() != nil {}
      #expect(cursor.gaps.map(\.kind) == [.missingOldest, .damagedFrame, .missingSegment, .gap])
      #expect(cursor.gaps.allSatisfy { $0.offsets?.isEmpty == false })
    }
  }

  @Test func `nothing gives nothing`() throws {
    let fixture = try Fixture()
    var cursor = try fixture.log.read()
    #expect(try cursor.nextText() == nil)
    #expect(try fixture.log.events(in: 0..<0).isEmpty)
    #expect(code { _ = try fixture.log.read(Query(offsets: 0..<1)) } == .offsetOutOfRange)
    try fixture.log.append([event("a"), event("b")])
    #expect(try fixture.log.events(in: 2..<2).isEmpty && fixture.log.events(in: 3..<3).isEmpty)
    #expect(code { _ = try fixture.log.events(in: 9..<9) } == .offsetOutOfRange)
    // Beyond the end with an open upper bound there is nothing yet.
    cursor = try fixture.log.read(Query(offsets: 9..<(.max)))
    #expect(try cursor.nextText() == nil)
  }

  @Test func `goes on through a segment that is sealed, and one that is trimmed, under it`() throws {
    let fixture = try Fixture()
    for number in 0..<60 { try fixture.log.append(event("\(number)")) }
    try fixture.log.roll()
    for number in 60..<90 { try fixture.log.append(event("\(number)")) }
    var first = try fixture.log.read()
    var second = try fixture.log.read()
    #expect(try first.nextText() == "0" && second.nextText() == "0")
    try fixture.log.seal()
    for number in 1..<90 { #expect(try first.nextText() == "\(number)") }
    #expect(try first.nextText() == nil)
    try fixture.log.trim(below: fixture.log.size)
    // What it has not reached yet is gone; it says so.
    #expect(code { while try second.nextText() != nil {} } == .trimmed)
  }

  @Test func `damage is thrown once for each range, and reading goes on behind it`() throws {
    let fixture = try Fixture { $0.segmentByteCount = 32768 }
    for segment in 0..<3 {
      for number in 0..<40 { try fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
    }
    try fixture.log.close()
    let sealed = fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }
    try fixture.disk.image.flipBit(4200 * 8, of: sealed[0])
    try fixture.disk.image.flipBit(4200 * 8, of: sealed[1])
    try fixture.reopen()
    var cursor = try fixture.log.read()
    var errors: [LogError] = []
    var texts: [String] = []
    while true {
      do {
        guard let event = try cursor.next() else { break }
        texts.append(event.data.text())
      } catch let error as LogError { errors.append(error) }
    }
    #expect(texts == (0..<40).map { "2-\($0)" })
    #expect(errors.map(\.code) == [.corrupt, .corrupt])
    #expect(errors.map(\.offsets) == [0..<41, 41..<81])
    for (error, path) in zip(errors, sealed) {
      #expect(error.file == path && error.position == 4096 && !error.why.isEmpty && !error.advice.isEmpty)
    }
    cursor = try fixture.log.read(Query(onDamage: .skip))
    texts = []
    while let event = try cursor.next() { texts.append(event.data.text()) }
    #expect(texts.count == 40 && cursor.gaps.map(\.offsets) == [0..<41, 41..<81])
    #expect(cursor.gaps.allSatisfy { $0.kind == .damagedFrame && $0.file?.hasPrefix("segments/") == true && !$0.isHarmless })
    // With the policy for salvaging, reads pass over it without being asked.
    try fixture.reopen { $0.onCorruption = .salvage }
    #expect(try fixture.texts().count == 40)
  }

  @Test func `a range of times is found in open and sealed segments, whatever the order of clocks`() throws {
    let fixture = try Fixture()
    var random = SeededRandom(seed: 4)
    var times: [Int64] = []
    for number in 0..<300 {
      times.append(Int64(random.number(below: 1000)) - 300)
      try fixture.log.append(event("\(number)", time: times[number]))
      if number == 100 || number == 220 { try fixture.log.seal() }
      if number == 150 { try fixture.log.roll() }
    }
    for _ in 0..<60 {
      let low = Int64(random.number(below: 1200)) - 400
      let range = Timestamp(nanoseconds: low)...Timestamp(nanoseconds: low + Int64(random.number(below: 300)))
      let expected = times.indices.filter { range.contains(Timestamp(nanoseconds: times[$0])) }.map { "\($0)" }
      #expect(try fixture.texts(Query(times: range)) == expected)
      let first = UInt64(random.number(below: 250))
      let narrowed = try fixture.texts(Query(offsets: first..<(first + 40), times: range))
      #expect(narrowed == expected.filter { (first..<(first + 40)).contains(UInt64($0).map { $0 + 1 } ?? 0) })
    }
  }
}
