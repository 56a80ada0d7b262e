import TestSupport
import Testing
import TidemarkLog

@Suite struct TailTests {
  @Test func `history, then what comes, without a gap, across rolls, seals and a restart of the writer`() async throws {
    let folder = try TemporaryFolder()
    var options = LogOptions()
    options.durability = .written
    options.segmentByteCount = 16384
    let path = folder.path + "/log"
    try Log.create(at: path, options: options)
    let log = try Log.open(at: path, options: options)
    for number in 0..<50 { try await log.append(event("\(number)")) }
    let reader = try Log.openForReading(at: path, options: options)
    let inside = Task { try await collect(log.tail(from: 0), count: 600) }
    let outside = Task { try await collect(reader.tail(from: 0), count: 1000) }
    for number in 50..<600 { try await log.append(event("\(number)")) }
    #expect(try await inside.value == (0..<600).map { "\($0)" })
    try log.seal()
    try log.close()
    let again = try Log.open(at: path, options: options)
    for number in 600..<1000 { try await again.append(event("\(number)")) }
    #expect(try await outside.value == (0..<1000).map { "\($0)" })
    try again.close()
  }

  @Test func `ends when the log is closed, and when the task is cancelled`() async throws {
    let folder = try TemporaryFolder()
    try Log.create(at: folder.path + "/log")
    let log = try Log.open(at: folder.path + "/log")
    try await log.append(event("a"))
    let closed = Task { try await collect(log.tail(from: 0), count: 100) }
    let cancelled = Task { try await collect(log.tail(from: 0), count: 100) }
    cancelled.cancel()
    #expect(try await cancelled.value.count <= 1)
    while log.size < 3 { try await log.append(event("b")) }
    try log.close()
    #expect(try await closed.value.count <= 2)
  }

  private func collect(_ tail: Tail, count: Int) async throws -> [String] {
    var texts: [String] = []
    for try await event in tail {
      texts.append(String(decoding: event.data, as: UTF8.self))
      if texts.count == count { break }
    }
    return texts
  }
}
