import Foundation
import TestSupport
import Testing
import TidemarkLog

/// A log that is suspended holds nothing; whatever needs the lock takes it again.
@Suite struct SuspensionTests {
  @Test(arguments: Durability.allCases)
  func `what was acknowledged is durable, and neither lock nor file is held`(_ level: Durability) throws {
    let real = try RealLog { $0.durability = level }
    for number in 0..<100 { try real.log.append(event("\(number)")) }
    _ = try real.log.event(at: 1)
    #expect(!openFiles(under: real.path).isEmpty)
    try real.log.suspend()
    try real.log.suspend()
    #expect(openFiles(under: real.path).isEmpty)
    #expect(real.log.durable == 101 && real.log.size == 101)
    let contents = try FileManager.default.contentsOfDirectory(atPath: real.path)
    #expect(!contents.contains("live"))
    #expect(try FileManager.default.attributesOfItem(atPath: real.path + "/lock")[.size] as? Int == 0)
    let other = try Log.open(at: real.path, options: real.options)
    #expect(other.recoveryReport.wasClean)
    try other.close()
    try real.log.append(event("100"))
    #expect(try Fixture.texts(real.log) == (0...100).map { "\($0)" })
  }

  @Test func `another writer in between is taken over from, its ids included`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a", id: id(1)))
    try fixture.log.suspend()
    let other = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    try other.append(event("b", id: id(2)))
    try other.seal()
    try other.append(event("c", id: id(3)))
    #expect(code { try fixture.log.append(event("d")) } == .locked)
    #expect(code { try fixture.log.sync() } == .locked)
    try other.close()
    let size = fixture.log.size
    #expect(try fixture.log.append(event("c", id: id(3)), expecting: 0).isDuplicate)
    #expect(fixture.log.size > size)
    #expect(code { try fixture.log.append(event("other", id: id(2))) } == .conflict)
    try fixture.log.append(event("d"))
    #expect(try fixture.texts() == ["a", "b", "c", "d"])
    #expect(try fixture.verify().findings.isEmpty)
  }

  private static let calls: [(String, @Sendable (Log) throws -> Void)] = [
    ("append", { try $0.append(event("b")) }), ("batch", { try $0.append([event("b"), event("c")]) }), ("sync", { try $0.sync() }),
    ("recordDurable", { try $0.recordDurable() }), ("roll", { try $0.roll() }), ("seal", { try $0.seal() }),
    ("trim", { try $0.trim(below: 1) }),
  ]

  @Test(arguments: calls.indices)
  func `each call that needs the lock takes it again`(_ index: Int) throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.suspend()
    try Self.calls[index].1(fixture.log)
    let refused = error { _ = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment) }
    #expect(refused?.code == .locked, "\(Self.calls[index].0)")
    try fixture.log.append(event("z"))
    #expect(try fixture.texts().first == "a" && fixture.texts().last == "z")
  }

  @Test func `reading and staging do not need it`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a", id: id(1)))
    try fixture.log.suspend()
    #expect(try fixture.texts() == ["a"])
    #expect(try fixture.log.event(at: 1).data == Array("a".utf8))
    #expect(try fixture.log.event(id: id(1))?.offset == 1)
    #expect(try fixture.log.statistics().userEventCount == 1)
    #expect(try fixture.log.verify().isOK)
    try fixture.log.stage(control: .receipt, data: [9])
    let other = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    try other.close()
    try fixture.log.append(event("b"))
    #expect(try fixture.log.event(at: fixture.log.size - 2).data == [9])
  }

  @Test func `another log in its place is refused`() throws {
    let fixture = try Fixture()
    try fixture.log.append([event("a"), event("b")])
    let before = fixture.disk.image
    try fixture.log.append(event("c"))
    try fixture.log.suspend()
    let suspended = fixture.disk.image
    // An older copy of the same log.
    fixture.disk.image = before
    fixture.disk.image.processKill()
    #expect(code { try fixture.log.append(event("d")) } == .directoryMoved)
    let stranger = try Fixture(seed: 44)
    try stranger.log.append((0..<9).map { event("\($0)") })
    try stranger.log.close()
    fixture.disk.image = stranger.disk.image
    let refused = error { try fixture.log.append(event("d")) }
    #expect(refused?.code == .directoryMoved && refused?.file != nil && refused?.advice.isEmpty == false)
    fixture.disk.image = suspended
    try fixture.log.append(event("d"))
    #expect(try fixture.texts() == ["a", "b", "c", "d"])
  }

  @Test func `a suspended log can be closed, and then refuses`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event("a"))
    try fixture.log.suspend()
    try fixture.log.close()
    try fixture.log.close()
    for (name, call) in Self.calls { #expect(code { try call(fixture.log) } == .closed, "\(name)") }
    #expect(code { try fixture.log.suspend() } == .closed)
    #expect(code { try fixture.log.stage(control: .receipt, data: []) } == .closed)
    let reader = try fixture.reader()
    #expect(code { try reader.suspend() } == .readOnly)
  }

  @Test func `a sync that fails is told, and the lock is given up all the same`() throws {
    let fixture = try Fixture { $0.durability = .written }
    try fixture.log.append(event("a"))
    fixture.disk.plan = FaultPlan(.failedSync(.dropsPages), during: 0...Int.max, only: .sync)
    #expect(code { try fixture.log.suspend() } == .outcomeUnknown)
    fixture.disk.plan = FaultPlan()
    let other = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    try other.close()
  }

  @Test func `a tail waits through a suspension, and goes on after it with what came meanwhile`() async throws {
    let real = try RealLog()
    try await real.log.append([event("a"), event("b")])
    let seen = Locked<[String]>([])
    let following = Task {
      for try await event in real.log.tail(from: 0) {
        let text = String(decoding: event.data, as: UTF8.self)
        seen.withLock { $0.append(text) }
        if text == "z" { return }
      }
    }
    #expect(await eventually { seen.withLock { $0.count } == 2 })
    try real.log.suspend()
    let other = try Log.open(at: real.path, options: real.options)
    for number in 0..<200 { try await other.append(event("other \(number)")) }
    try other.close()
    try await real.log.append(event("z"))
    try await following.value
    #expect(seen.withLock { $0 } == ["a", "b"] + (0..<200).map { "other \($0)" } + ["z"])
  }

  @Test func `a tail is woken by a call that takes the log up without appending`() async throws {
    let real = try RealLog()
    try await real.log.append(event("a"))
    let following = Task { () -> [String] in
      var texts: [String] = []
      for try await event in real.log.tail(from: 0) {
        texts.append(String(decoding: event.data, as: UTF8.self))
        if texts.count == 2 { break }
      }
      return texts
    }
    try real.log.suspend()
    let other = try Log.open(at: real.path, options: real.options)
    try await other.append(event("b"))
    try other.close()
    try real.log.sync()
    #expect(try await following.value == ["a", "b"])
  }

  @Test func `closing a suspended log ends its tails`() async throws {
    let real = try RealLog()
    try await real.log.append(event("a"))
    let seen = Locked(0)
    let following = Task {
      for try await _ in real.log.tail(from: 0) { seen.withLock { $0 += 1 } }
    }
    #expect(await eventually { seen.withLock { $0 } == 1 })
    try real.log.suspend()
    try await Task.sleep(nanoseconds: 20_000_000)
    try real.log.close()
    try await following.value
  }

  /// In a process of its own, where nothing else takes time.
  @Test func `a tail that waits through a suspension takes no time`() async {
    await #expect(processExitsWith: .success) {
      let real = try RealLog()
      try await real.log.append(event("a"))
      let following = Task { for try await _ in real.log.tail(from: 0) {} }
      try await Task.sleep(nanoseconds: 100_000_000)
      try real.log.suspend()
      let start = clock()
      try await Task.sleep(nanoseconds: 300_000_000)
      #expect(clock() - start < CLOCKS_PER_SEC / 10)
      following.cancel()
      try await following.value
    }
  }
}
