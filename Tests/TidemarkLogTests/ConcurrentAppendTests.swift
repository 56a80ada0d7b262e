import TestSupport
import Testing
import TidemarkLog

/// Many callers at once, on threads that block and in tasks that do not.
@Suite(.timeLimit(.minutes(2))) struct ConcurrentAppendTests {
  /// What a caller was told: the texts of a batch, and where they are.
  private struct Answer {
    var caller: Int
    var texts: [String]
    var offsets: [UInt64]
  }

  private static func append(_ log: Log, _ caller: Int, _ count: Int) async throws -> [Answer] {
    var answers: [Answer] = []
    for number in 0..<count {
      let texts = (0..<(number % 5 == 0 ? 3 : 1)).map { "\(caller)-\(number)-\($0)" }
      let batch = texts.map { event($0, id: number % 3 == 0 ? EventID(derivedFrom: $0) : nil) }
      let level: Durability? = number % 7 == 0 ? .synced : nil
      let appended: [Appended]
      if caller % 2 == 0 {
        appended = try await onThread { try log.append(batch, durability: level) }
      } else {
        appended = try await log.append(batch, durability: level)
      }
      answers.append(Answer(caller: caller, texts: texts, offsets: appended.map(\.offset)))
    }
    return answers
  }

  @Test(arguments: Durability.allCases)
  func `sixteen threads and sixteen tasks, while segments are sealed: each event once, in its caller's order`(_ level: Durability)
    async throws
  {
    let real = try RealLog {
      $0.durability = level
      $0.syncIntervalMilliseconds = 3
    }
    let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
      for caller in 0..<32 { group.addTask { try await Self.append(real.log, caller, 25) } }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    try real.log.close()
    try Self.check(answers, real.reader())
  }

  /// Each event of the answers is there once, where its caller was told, and in its caller's order.
  private static func check(_ answers: [Answer], _ reader: Log) throws {
    var found: [UInt64: String] = [:]
    var last = [Int](repeating: -1, count: 32)
    var cursor = try reader.read(Query(includesControlEvents: true))
    var next: UInt64 = 0
    while let event = try cursor.next() {
      #expect(event.offset == next)
      next += 1
      if event.isControl { continue }
      let text = event.data.text()
      found[event.offset] = text
      let parts = text.split(separator: "-").compactMap { Int($0) }
      let place = parts[1] * 10 + parts[2]
      #expect(place > last[parts[0]], "events of caller \(parts[0]) are out of order")
      last[parts[0]] = place
    }
    #expect(next == reader.size)
    #expect(answers.reduce(0) { $0 + $1.texts.count } == found.count)
    for answer in answers {
      #expect(answer.offsets == (0..<answer.offsets.count).map { answer.offsets[0] + UInt64($0) })
      for (text, offset) in zip(answer.texts, answer.offsets) { #expect(found[offset] == text) }
    }
    let report = try reader.verify()
    #expect(report.isOK && report.findings.isEmpty && report.eventCount == UInt64(found.count))
    #expect(report.segmentCount > 3)
  }

  @Test func `many share one sync`() async throws {
    let real = try RealLog { $0.segmentByteCount = 1 << 20 }
    var (events, commits) = (0 as UInt64, 0 as UInt64)
    var isShared = false
    // Whether callers meet is up to the machine: where other work keeps them apart, they try again.
    for _ in 0..<20 where !isShared {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for caller in 0..<16 { group.addTask { for number in 0..<20 { try await real.log.append(event("\(caller)-\(number)")) } } }
        try await group.waitForAll()
      }
      let statistics = try real.log.statistics()
      #expect(UInt64(statistics.userEventCount) == events + 320 && statistics.syncCount <= statistics.commitCount)
      isShared = UInt64(statistics.commitCount) - commits < 160
      (events, commits) = (UInt64(statistics.userEventCount), UInt64(statistics.commitCount))
    }
    #expect(isShared)
  }

  @Test func `of those who expect the same size one succeeds`() async throws {
    let real = try RealLog()
    for _ in 0..<20 {
      let size = real.log.size
      let successes = try await withThrowingTaskGroup(of: Int.self) { group in
        for caller in 0..<8 {
          group.addTask {
            do {
              try await real.log.append(event("\(caller)"), expecting: size)
              return 1
            } catch LogError.Code.unexpectedSize { return 0 }
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(successes == 1)
    }
    #expect(try Fixture.texts(real.log).count == 20)
  }

  /// While the first is being synced, the others come: with the same content, and with another.
  @Test(arguments: [false, true])
  func `an id that is being committed is waited for`(_ fails: Bool) async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("before"))
    let log = fixture.log
    let outcomes = Locked<[String]>([])
    let others = Locked(0)
    fixture.disk.beforeChange = { disk, kind in
      guard kind == .sync, others.withLock({ $0 }) == 0 else { return }
      others.withLock { $0 = 4 }
      if fails { disk.plan = FaultPlan(.error(DiskError.inputOutput), at: disk.callCount) }
      for number in 0..<4 {
        Task {
          let outcome: String
          do {
            let appended = try await onThread { try log.append(event(number < 3 ? "a" : "other", id: id(1))) }
            outcome = appended.isDuplicate ? "duplicate" : "new"
          } catch { outcome = (error as? LogError)?.code.rawValue ?? "?" }
          outcomes.withLock { $0.append(outcome) }
        }
      }
      // Time for all of them to arrive.
      pause(milliseconds: 30)
    }
    let first = try await onThread { code { try log.append(event("a", id: id(1))) } }
    #expect(await eventually { outcomes.withLock { $0.count } == 4 })
    let all = outcomes.withLock { $0.sorted() }
    if fails {
      #expect(first == .outcomeUnknown)
      #expect(all.count { $0 == "new" } == 1 && !all.contains { $0 != "new" && $0 != "duplicate" && $0 != "conflict" })
    } else {
      #expect(first == nil && all == ["conflict", "duplicate", "duplicate", "duplicate"])
    }
    #expect(try fixture.texts().count == 2)
  }

  @Test func `reading, looking up, sealing, marking and verifying go on beside appends`() async throws {
    let real = try RealLog { $0.durability = .written }
    let log = real.log
    let isOver = Locked(false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 0..<1500 { try await log.append(event("\(number)", id: id(UInt64(number)))) }
        isOver.withLock { $0 = true }
      }
      group.addTask {
        var count = 0
        for try await event in log.tail(from: log.first) {
          let text = String(decoding: event.data, as: UTF8.self)
          #expect(text == "\(count)")
          count += 1
          if count == 1500 { break }
        }
      }
      let work: [@Sendable () throws -> Void] = [
        { _ = try log.verify() },
        { try log.seal() },
        { try log.recordDurable() },
        { _ = try log.statistics() },
        {
          let size = log.size
          guard size > 1 else { return }
          let event = try log.event(at: size - 1)
          if !event.isControl { #expect(try log.event(id: event.id)?.offset == event.offset) }
        },
        {
          var cursor = try log.read(Query(offsets: log.first..<(.max)))
          var last: UInt64?
          while let offset = try cursor.nextRecord()?.0 {
            #expect(last.map { $0 < offset } ?? true)
            last = offset
          }
        },
      ]
      for body in work {
        group.addTask {
          while !isOver.withLock({ $0 }) {
            try await onThread(body)
            try await Task.sleep(nanoseconds: 1_000_000)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await onThread { try log.trim(below: 1000) } > 500)
    try log.close()
    let reader = try real.reader()
    #expect(reader.first > 500 && reader.recoveryReport.findings.isEmpty)
    #expect(try Fixture.texts(reader).last == "1499")
    #expect(try reader.verify().isOK)
  }
}
