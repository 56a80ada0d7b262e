import TestSupport
import Testing
import TidemarkLog

/// Appending with the caller's own ids: the same id and content is one event, however often it comes.
@Suite struct RepeatTests {
  private func batch(_ numbers: some Sequence<Int>) -> [NewEvent] { numbers.map { event("\($0)", id: id(UInt64($0))) } }

  @Test func `a batch delivered ten times, whole, in parts, overlapping and out of order, is there once`() throws {
    let fixture = try Fixture()
    let first = try fixture.log.append(batch(0..<30)).map(\.offset)
    var random = SeededRandom(seed: 10)
    for delivery in 0..<10 {
      if delivery == 3 { try fixture.log.seal() }
      if delivery == 6 { try fixture.kill() }
      var numbers = Array(0..<30)
      if delivery % 3 == 1 { numbers.shuffle(using: &random) }
      if delivery % 3 == 2 { numbers = (0..<40).map { _ in random.number(below: 30) } }
      for part in stride(from: 0, to: numbers.count, by: 7) {
        let chosen = numbers[part..<min(part + 9, numbers.count)]
        let answers = try fixture.log.append(batch(chosen))
        #expect(answers.map(\.offset) == chosen.map { first[$0] })
        #expect(answers.allSatisfy { $0.isDuplicate })
      }
    }
    #expect(try fixture.texts() == (0..<30).map { "\($0)" })
  }

  @Test func `old and new events of one batch each get their place, and the new ones stay one batch`() throws {
    let fixture = try Fixture()
    try fixture.log.append(batch([1, 3]))
    let answers = try fixture.log.append(batch([0, 1, 2, 3, 4]) + [event("no id")])
    #expect(answers.map(\.offset) == [3, 1, 4, 2, 5, 6])
    #expect(answers.map(\.isDuplicate) == [false, true, false, true, false, false])
    #expect(try fixture.texts() == ["1", "3", "0", "2", "4", "no id"])
    #expect(try fixture.log.events(in: 3..<7).map(\.continuesBatch) == [true, true, true, false])
  }

  @Test func `a repeat within its own batch is a duplicate too`() throws {
    let fixture = try Fixture()
    let answers = try fixture.log.append(batch([1, 2, 1, 1]))
    #expect(answers.map(\.offset) == [1, 2, 1, 1])
    #expect(answers.map(\.isDuplicate) == [false, false, true, true])
    #expect(try fixture.log.append(batch([1, 3, 3, 1])).map(\.offset) == [1, 3, 3, 1])
    #expect(try fixture.texts() == ["1", "2", "3"])
  }

  @Test(arguments: ["type", "subject", "actor", "contentType", "time", "extensions", "data"])
  func `any field that the caller supplies makes other content`(_ field: String) throws {
    let fixture = try Fixture()
    var first = NewEvent(
      type: "t", subject: "s", actor: "a", time: Timestamp(nanoseconds: 5), contentType: "c", id: id(1),
      extensions: [.correlation(id(2))], data: [1])
    try fixture.log.append(first)
    switch field {
    case "type": first.type = "u"
    case "subject": first.subject = nil
    case "actor": first.actor = "as"
    case "contentType": first.contentType = "d"
    case "time": first.time = nil
    case "extensions": first.extensions = [.causation(id(2))]
    default: first.data = [1, 0]
    }
    let refused = error { try fixture.log.append(first) }
    #expect(refused?.code == .conflict)
    #expect(refused?.what.contains(id(1).description) == true && refused?.advice.isEmpty == false)
    try fixture.log.seal()
    #expect(code { try fixture.log.append(first) } == .conflict)
    #expect(fixture.log.size == 2)
  }

  @Test func `which event of a batch is meant is told`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("a", id: id(1)))
    let batches: [([NewEvent], LogError.Code)] = [
      ([event("x"), event("y"), event("b", id: id(1))], .conflict),
      ([event("x"), event("b", id: id(2)), event("c", id: id(2))], .conflict),
      ([event("x"), event("y"), NewEvent(type: "")], .invalidEvent),
      ([event("x"), event("y"), NewEvent(type: String(repeating: "t", count: 256))], .stringTooLong),
      ([event("x"), event("y"), NewEvent(type: "t", data: [UInt8](repeating: 0, count: 2 << 20))], .tooLarge),
    ]
    for (batch, code) in batches {
      let refused = appendError(fixture.log, batch)
      #expect(refused?.code == code && refused?.batchIndex == 2 && refused?.description.contains("number 2 of the batch") == true)
      do {
        try await fixture.log.append(batch)
        Issue.record("the batch was taken")
      } catch let error as LogError { #expect(error == refused) }
      // A single event needs no number, and neither does what is wrong with the batch as a whole.
      #expect(code == .conflict || appendError(fixture.log, [batch[2]])?.batchIndex == nil)
    }
    #expect(appendError(fixture.log, [])?.batchIndex == nil)
    #expect(try fixture.texts() == ["a"])
  }

  private func appendError(_ log: Log, _ batch: [NewEvent]) -> LogError? { error { try log.append(batch) } }

  @Test func `clocks, session and place are no part of the content`() throws {
    let fixture = try Fixture()
    let appended = try fixture.log.append(event("a", id: id(1)))
    fixture.clock.setWallClock(byNanoseconds: 9_000_000_000)
    fixture.clock.reboot()
    try fixture.reopen { $0.program = "another" }
    #expect(try fixture.log.append(event("a", id: id(1))).offset == appended.offset)
  }

  @Test func `both digests of a conflict are those of the function that the log was made with`() throws {
    let sum = ContentDigest.sha256 { bytes in
      [UInt8](repeating: bytes.reduce(0, &+), count: 32)
    }
    let fixture = try Fixture { $0.contentDigest = sum }
    try fixture.log.append(NewEvent(type: "a", id: id(1), data: [1]))
    let refused = error { try fixture.log.append(NewEvent(type: "a", id: id(1), data: [2])) }
    let digests = refused?.why.split(whereSeparator: { !$0.isHexDigit }).filter { $0.count == 64 } ?? []
    #expect(digests.count == 2 && digests.first != digests.last)
    #expect(fixture.log.identity.contentDigestKind == 2)
    try fixture.log.close()
    // Opened without the function, the log works all the same.
    fixture.options.contentDigest = .xxh3
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    #expect(try log.append(NewEvent(type: "a", id: id(1), data: [1])).isDuplicate)
    #expect(code { try log.append(NewEvent(type: "a", id: id(1), data: [2])) } == .conflict)
    try log.close()
    let other = try Fixture()
    try other.log.close()
    other.options.contentDigest = sum
    #expect(code { _ = try Log.open(at: "/log", options: other.options, environment: other.environment) } == .invalidArgument)
  }

  /// Eight segments are merged into one file of the id index; some of them go, the others must still be known.
  @Test(arguments: [2, 3, 7, 9, 12])
  func `ids are known after trimming through a merged id index`(_ kept: Int) throws {
    let fixture = try Fixture()
    for number in 0..<17 {
      try fixture.log.append(batch([number * 2, number * 2 + 1]))
      try fixture.log.seal()
    }
    #expect(fixture.disk.image.files(under: "/log/index").count == 2)
    let floor = try fixture.log.append(batch([2 * kept]))[0].offset
    #expect(try fixture.log.trim(below: floor) == floor)
    func check() throws {
      for number in (2 * kept)..<34 {
        #expect(try fixture.log.event(id: id(UInt64(number)))?.data == Array("\(number)".utf8))
        #expect(try fixture.log.append(batch([number]))[0].isDuplicate)
        #expect(code { try fixture.log.append(event("other", id: id(UInt64(number)))) } == .conflict)
      }
      for number in 0..<(2 * kept) { #expect(try fixture.log.event(id: id(UInt64(number))) == nil) }
    }
    try check()
    try fixture.reopen()
    try check()
  }

  @Test func `a repeat of an unsynced event is made as safe as it is asked for`() throws {
    let fixture = try Fixture { $0.durability = .written }
    try fixture.log.append(batch([1]))
    #expect(fixture.log.durable == 0)
    #expect(try fixture.log.append(batch([1]), durability: .synced)[0].isDuplicate)
    #expect(fixture.log.durable == 2)
    try fixture.cutPower()
    #expect(try fixture.texts() == ["1"])
  }

  @Test func `after a failed sync a retry with the same ids is stored once`() throws {
    for failure in SyncFailure.allCases {
      for reaching in [UInt64(0), .max] {
        let fixture = try Fixture()
        try fixture.log.append(batch([1]))
        fixture.disk.plan = FaultPlan(.failedSync(failure, reaching: reaching), during: 0...Int.max, only: .sync)
        #expect(code { try fixture.log.append(batch([2, 3])) } == .outcomeUnknown)
        #expect(code { try fixture.log.append(batch([2, 3])) } != nil)
        fixture.disk.plan = FaultPlan()
        #expect(try fixture.log.append(batch([2, 3])).map(\.offset) == [2, 3])
        #expect(try fixture.texts() == ["1", "2", "3"])
        try fixture.cutPower(.seeded(reaching))
        #expect(try fixture.texts() == ["1", "2", "3"])
      }
    }
  }
}
