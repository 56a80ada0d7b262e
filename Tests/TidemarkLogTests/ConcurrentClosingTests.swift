import TestSupport
import Testing
import TidemarkLog

/// Closing and suspending while others append: every append is acknowledged and stays, or is refused and was never there.
@Suite struct ConcurrentClosingTests {
  private func append(_ log: Log, _ worker: Int, _ acknowledged: Locked<[UInt64: String]>) async throws {
    for number in 0..<100_000 {
      let text = "\(worker)-\(number)"
      do {
        let appended = worker % 2 == 0 ? try await log.append(event(text)) : try await onThread { try log.append(event(text)) }
        acknowledged.withLock { $0[appended.offset] = text }
      } catch LogError.Code.closed { return }
    }
  }

  private func found(_ reader: Log) throws -> [UInt64: String] {
    var found: [UInt64: String] = [:]
    var cursor = try reader.read()
    while let event = try cursor.next() { found[event.offset] = event.data.text() }
    return found
  }

  @Test(arguments: Durability.allCases)
  func `an append that meets the closing is there or was refused`(_ level: Durability) async throws {
    for _ in 0..<8 {
      let real = try RealLog {
        $0.durability = level
        $0.syncIntervalMilliseconds = 0
      }
      let acknowledged = Locked<[UInt64: String]>([:])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<8 { group.addTask { try await append(real.log, worker, acknowledged) } }
        _ = await eventually { acknowledged.withLock { $0.count } > 20 }
        try await onThread { try real.log.close() }
        try await group.waitForAll()
      }
      let reader = try real.reader()
      #expect(reader.recoveryReport.wasClean && reader.recoveryReport.findings.isEmpty)
      #expect(try found(reader) == acknowledged.withLock { $0 })
    }
  }

  @Test(arguments: Durability.allCases)
  func `an append that meets a suspension takes the log up again`(_ level: Durability) async throws {
    let real = try RealLog {
      $0.durability = level
      $0.syncIntervalMilliseconds = 1
    }
    let count = 60
    let offsets = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for worker in 0..<6 {
        group.addTask {
          var offsets: [UInt64] = []
          for number in 0..<count {
            let next = event("\(worker)-\(number)")
            offsets.append(try await worker % 2 == 0 ? real.log.append(next).offset : onThread { try real.log.append(next).offset })
          }
          return offsets
        }
      }
      group.addTask {
        for _ in 0..<20 {
          try await onThread { try real.log.suspend() }
          try await Task.sleep(nanoseconds: 1_000_000)
        }
        return []
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(offsets).count == 6 * count)
    try real.log.close()
    let reader = try real.reader()
    #expect(Set(try Fixture.texts(reader)).count == 6 * count)
    #expect(try reader.verify().findings.isEmpty)
  }

  @Test func `many close at once`() async throws {
    let real = try RealLog()
    try await real.log.append(event("a"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { try await onThread { try real.log.close() } } }
      try await group.waitForAll()
    }
    #expect(try real.reader().recoveryReport.wasClean)
  }
}
