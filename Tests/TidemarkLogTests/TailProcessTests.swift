import Foundation
import TestSupport
import Testing
import TidemarkLog

/// A tail in another process than the writer.
@Suite(.timeLimit(.minutes(2))) struct TailProcessTests {
  private static var options: LogOptions {
    var options = LogOptions()
    options.segmentByteCount = 16384
    options.syncIntervalMilliseconds = 5
    return options
  }

  /// What a tail gives, up to the text "end".
  private static func follow(_ path: String) async throws -> [String] {
    let reader = try Log.openForReading(at: path, options: options)
    var texts: [String] = []
    for try await event in reader.tail(from: 0) {
      texts.append(String(decoding: event.data, as: UTF8.self))
      if texts.last == "end" { break }
    }
    return texts
  }

  @Test(arguments: Durability.allCases.map(\.rawValue))
  func `follows a writer through rolls, seals, a restart and a suspension, without a gap or a repeat`(_ level: UInt8) async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/log"
    try Log.create(at: path, options: Self.options)
    async let followed = Self.follow(path)
    await #expect(processExitsWith: .success) { [path = path as String, level = level as UInt8] in
      var options = LogOptions()
      options.segmentByteCount = 16384
      options.syncIntervalMilliseconds = 5
      options.durability = try #require(Durability(rawValue: level))
      var number = 0
      for opening in 0..<3 {
        let log = try Log.open(at: path, options: options)
        for _ in 0..<150 {
          try log.append(event("\(number)"))
          number += 1
          if number % 60 == 0 { try log.seal() }
          if number % 70 == 0 { try log.suspend() }
        }
        if opening == 2 { try log.append(event("end")) }
        try log.close()
      }
    }
    let texts = try await followed
    #expect(texts == (0..<450).map { "\($0)" } + ["end"])
  }

  @Test func `follows over a writer that is killed, and the recovery after it`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/log"
    try Log.create(at: path, options: Self.options)
    async let followed = Self.follow(path)
    for opening in 0..<3 {
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, opening = opening as Int] in
        var options = LogOptions()
        options.segmentByteCount = 16384
        let log = try Log.open(at: path, options: options)
        for number in 0..<80 { try log.append(event("\(opening)-\(number)")) }
        kill(getpid(), SIGKILL)
      }
    }
    let log = try Log.open(at: path, options: Self.options)
    try await log.append(event("end"))
    try log.close()
    let texts = try await followed
    #expect(texts == (0..<3).flatMap { opening in (0..<80).map { "\(opening)-\($0)" } } + ["end"])
  }

  @Test func `several readers in one other process see the same`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/log"
    try Log.create(at: path, options: Self.options)
    let log = try Log.open(at: path, options: Self.options)
    for number in 0..<100 { try await log.append(event("\(number)")) }
    let appending = Task {
      for number in 100..<300 { try await log.append(event("\(number)")) }
      try await log.append(NewEvent(type: "end"))
    }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let reader = try Log.openForReading(at: path)
      try await withThrowingTaskGroup(of: Int.self) { group in
        for first in 0..<4 {
          group.addTask {
            var count = 0
            for try await event in reader.tail(from: UInt64(first * 50)) {
              count += 1
              if event.type == "end" { break }
            }
            return count
          }
        }
        let counts = try await group.reduce(into: []) { $0.append($1) }
        #expect(counts.sorted() == [152, 202, 252, 301])
      }
    }
    try await appending.value
    try log.close()
  }

  @Test func `a writer in another process keeps a second one out, and says which process it is`() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/log"
    try Log.create(at: path, options: Self.options)
    let log = try Log.open(at: path, options: Self.options)
    await #expect(processExitsWith: .success) { [path = path as String, parent = getpid() as Int32] in
      let refused = error { _ = try Log.open(at: path) }
      #expect(refused?.code == .locked && refused?.why.contains("process \(parent)") == true)
    }
    try await log.append(event("a"))
    try log.close()
  }
}
