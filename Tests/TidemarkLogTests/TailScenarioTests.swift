import TestSupport
import Testing
import TidemarkLog

/// A tail step by step, on the simulated disk: what it gives, and when it reads.
@Suite(.timeLimit(.minutes(1))) struct TailScenarioTests {
  private func text(_ event: Event?) -> String? { event.map { String(decoding: $0.data, as: UTF8.self) } }

  /// What the tail knew as the end lies inside a frame of the sealed form by the time it gets there.
  @Test func `leaves nothing out when a segment is sealed between two looks`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("a"))
    try fixture.log.roll()
    try await fixture.log.append([event("b"), event("c")])
    var tail = fixture.log.tail(from: 0).makeAsyncIterator()
    #expect(try await text(tail.next()) == "a")
    for letter in ["d", "e", "f"] { try await fixture.log.append(event(letter)) }
    try fixture.log.seal()
    try await fixture.log.append(event("g"))
    for letter in ["b", "c", "d", "e", "f", "g"] { #expect(try await text(tail.next()) == letter) }
  }

  @Test func `gives the same whatever is done between any two of its steps`() async throws {
    for seed in UInt64(0)..<60 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      let reader = try fixture.reader()
      var tails = [fixture.log.tail(from: 0).makeAsyncIterator(), reader.tail(from: 0).makeAsyncIterator()]
      var taken = [0, 0]
      var appended = 0
      for _ in 0..<80 {
        switch random.number(below: 8) {
        case 0: try fixture.log.roll()
        case 1: try fixture.log.seal()
        case 2, 3:
          let count = random.number(in: 1...6)
          try await fixture.log.append((appended..<(appended + count)).map { event("\($0)") })
          appended += count
        case 4: try fixture.log.suspend()
        case 5 where random.isOneIn(3): try fixture.log.stage(control: .receipt, data: [1])
        default:
          let index = random.number(below: 2)
          guard taken[index] < appended else { continue }
          // Only as many as are there, so that it never waits.
          for _ in 0..<random.number(in: 1...(appended - taken[index])) {
            let next = try await tails[index].next()
            #expect(text(next) == "\(taken[index])", "seed \(seed), tail \(index)")
            taken[index] += 1
          }
        }
      }
    }
  }

  @Test func `reads ahead no further than one frame, and nothing while nobody asks`() async throws {
    let fixture = try Fixture()
    for number in 0..<20 { try await fixture.log.append(event("\(number)")) }
    var tail = fixture.log.tail(from: 0).makeAsyncIterator()
    #expect(try await text(tail.next()) == "0")
    fixture.disk.trace = []
    for number in 20..<400 { try await fixture.log.append(event("\(number)")) }
    #expect(fixture.disk.trace?.contains { $0.kind == .read } == false)
    for number in 1..<400 { #expect(try await text(tail.next()) == "\(number)") }
  }

  @Test func `begins where it is told, also at the end and beyond it`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append([event("a"), event("b")])
    var middle = fixture.log.tail(from: 2).makeAsyncIterator()
    var end = fixture.log.tail(from: fixture.log.size).makeAsyncIterator()
    var beyond = fixture.log.tail(from: 5).makeAsyncIterator()
    #expect(try await text(middle.next()) == "b")
    try await fixture.log.append([event("c"), event("d"), event("e")])
    #expect(try await text(middle.next()) == "c")
    #expect(try await text(end.next()) == "c")
    #expect(try await text(beyond.next()) == "e")
  }

  @Test func `shows control events if asked`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("a"))
    try fixture.log.stage(control: .receipt, data: [7])
    try await fixture.log.append(event("b"))
    var tail = fixture.log.tail(from: 0, includesControlEvents: true).makeAsyncIterator()
    var kinds: [EventKind?] = []
    for _ in 0..<4 { kinds.append(try await tail.next()?.kind) }
    #expect(kinds == [.session, .event, .receipt, .event])
  }

  @Test func `says what was trimmed or is damaged, and goes on behind damage`() async throws {
    let fixture = try Fixture { $0.segmentByteCount = 32768 }
    for segment in 0..<3 {
      for number in 0..<10 { try await fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
    }
    try fixture.log.trim(below: 12)
    var tail = fixture.log.tail(from: 0).makeAsyncIterator()
    await #expect(throws: LogError.self) { try await tail.next() }
    let damaged = fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }[0]
    try fixture.log.close()
    try fixture.disk.image.flipBit(4200 * 8, of: damaged)
    try fixture.reopen()
    tail = fixture.log.tail(from: fixture.log.first).makeAsyncIterator()
    do {
      _ = try await tail.next()
      Issue.record("damage was passed over in silence")
    } catch let error as LogError {
      #expect(error.code == .corrupt && error.file == damaged && error.offsets == 11..<21)
    }
    for number in 0..<10 { #expect(try await text(tail.next()) == "2-\(number)") }
  }

  @Test func `a cancelled one ends, before it begins to wait and while it waits`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("a"))
    for delay in [0, 0, 0, 1, 5] {
      let tail = fixture.log.tail(from: 0)
      let following = Task {
        var count = 0
        for try await _ in tail { count += 1 }
        return count
      }
      if delay > 0 { try await Task.sleep(nanoseconds: UInt64(delay) * 1_000_000) }
      following.cancel()
      #expect(try await following.value <= 1)
    }
  }

  @Test func `gives all that was appended before the closing, then ends`() async throws {
    for _ in 0..<20 {
      let real = try RealLog { $0.durability = .written }
      try await real.log.append(event("0"))
      let following = Task { try await real.log.tail(from: 0).reduce(into: 0) { count, _ in count += 1 } }
      for number in 1..<30 { try await real.log.append(event("\(number)")) }
      try real.log.close()
      #expect(try await following.value == 30)
    }
  }
}
