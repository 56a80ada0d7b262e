import TestSupport
import Testing
import TidemarkLog

@Suite struct ConcurrencyTests {
  @Test(arguments: [Durability.synced, .written, .buffered])
  func `many callers, sync and async, each event once and offsets without a hole`(_ level: Durability) async throws {
    let folder = try TemporaryFolder()
    var options = LogOptions()
    options.durability = level
    options.segmentByteCount = 32768
    options.syncIntervalMilliseconds = 5
    let path = folder.path + "/log"
    try Log.create(at: path, options: options)
    let log = try Log.open(at: path, options: options)
    let offsets = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for worker in 0..<12 {
        group.addTask {
          var offsets: [UInt64] = []
          for number in 0..<40 {
            let text = "\(worker)-\(number)"
            if worker % 3 == 0 {
              offsets += try await log.append([event(text), event(text + "b")]).map(\.offset)
            } else if worker % 3 == 1 {
              offsets.append(try appendBlocking(log, event(text, id: id(UInt64(worker * 1000 + number)))))
            } else {
              offsets.append(try await log.append(event(text), durability: number % 8 == 0 ? .synced : nil).offset)
            }
          }
          return offsets
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(offsets.count == 12 * 40 + 4 * 40)
    #expect(Set(offsets).count == offsets.count)
    try log.close()
    let report = try Log.verify(at: path, options: options)
    #expect(report.isOK && report.findings.isEmpty)
    #expect(report.eventCount == UInt64(offsets.count))
    let reader = try Log.openForReading(at: path, options: options)
    #expect(Set(try Fixture.texts(reader)).count == offsets.count)
  }

  @Test(.timeLimit(.minutes(1)), arguments: [Durability.synced, .written, .buffered])
  func `async callers commit themselves where there is no thread to be had`(_ level: Durability) async throws {
    let disk = SimulatedDisk()
    var environment = Environment.simulated(disk, seed: 1)
    environment.startThread = { (_, _, _) throws(LogError) in throw LogError(.io, "no thread") }
    var options = LogOptions()
    options.durability = level
    options.zerosAheadByteCount = 2048
    try Log.create(at: "/log", options: options, environment: environment)
    let log = try Log.open(at: "/log", options: options, environment: environment)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask { for number in 0..<20 { try await log.append(event("\(worker)-\(number)" + String(repeating: "x", count: 4000))) } }
      }
      try await group.waitForAll()
    }
    #expect(try Fixture.texts(log).count == 80)
    try log.close()
  }

  @Test func `callers who offer one id at the same moment get one event`() async throws {
    let folder = try TemporaryFolder()
    try Log.create(at: folder.path + "/log")
    let log = try Log.open(at: folder.path + "/log")
    let offsets = try await withThrowingTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<8 {
        group.addTask {
          var offsets: [UInt64] = []
          for number in UInt64(0)..<30 { offsets.append(try await log.append(event("same \(number)", id: id(number))).offset) }
          return offsets
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(offsets).count == 1)
    #expect(try Fixture.texts(log).count == 30)
    try log.close()
  }
}

/// The form that blocks, from an async context.
private func appendBlocking(_ log: Log, _ event: NewEvent) throws -> UInt64 { try log.append(event).offset }
