import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite(.timeLimit(.minutes(1))) struct ObservationTests {
  @Test func `gives the current state first, then each change`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("5"))
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    var states = runner.states().makeAsyncIterator()
    #expect(try await states.next() == 5)
    for number in 1...20 {
      try await fixture.log.append(event("1"))
      #expect(try await states.next() == 5 + number)
    }
  }

  @Test func `says nothing about events that change nothing`() async throws {
    let fixture = try Fixture()
    let count = CountByKey("scans") { event in event.type == "scan" ? "all" : nil }
    var states = try ProjectionRunner(count, of: fixture.log).states().makeAsyncIterator()
    #expect(try await states.next() == [:])
    for _ in 0..<5 { try await fixture.log.append(event("x")) }
    try await fixture.log.append(event("x", type: "scan"))
    #expect(try await states.next() == ["all": 1])
  }

  @Test func `a slow reader gets fewer states, and the last`() async throws {
    let fixture = try Fixture()
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    var states = runner.states().makeAsyncIterator()
    #expect(try await states.next() == 0)
    for _ in 0..<100 { try await fixture.log.append(event("1")) }
    #expect(try await states.next() == 100)
  }

  /// A writer and several readers at their own pace; each sees rising states and ends with the last.
  @Test func `every reader ends with the last state, whatever its pace`() async throws {
    let fixture = try Fixture()
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    let apart = try ProjectionRunner(Total(name: "apart"), of: fixture.log)
    let log = fixture.log
    await withTaskGroup(of: Void.self) { group in
      for pace in 0..<4 {
        let runner = pace == 3 ? apart : runner
        group.addTask {
          var last = -1
          do {
            for try await state in runner.states() {
              #expect(state > last)
              last = state
              for _ in 0..<pace * 3 { await Task.yield() }
            }
          } catch { Issue.record(error) }
          #expect(last == 300, "pace \(pace)")
        }
      }
      group.addTask {
        do {
          for number in 0..<300 {
            try await log.append(event("1"))
            if number % 7 == 0 { await Task.yield() }
          }
          try log.close()
        } catch { Issue.record(error) }
      }
    }
  }

  @Test func `ends when the log is closed, after what was appended before`() async throws {
    let fixture = try Fixture()
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    var states = runner.states().makeAsyncIterator()
    #expect(try await states.next() == 0)
    try await fixture.log.append(event("7"))
    try fixture.log.close()
    #expect(try await states.next() == 7)
    #expect(try await states.next() == nil)
  }

  @Test func `a cancelled one ends, before it begins to wait and while it waits`() async throws {
    let fixture = try Fixture()
    try await fixture.log.append(event("1"))
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    for delay in [0, 0, 1, 5] {
      let reading = Task {
        var count = 0
        for try await _ in runner.states() { count += 1 }
        return count
      }
      try await Task.sleep(for: .milliseconds(delay))
      reading.cancel()
      #expect(try await reading.value <= 1)
    }
  }

  @Test func `an event that can't be read is told, and after its correction it goes on`() async throws {
    let fixture = try Fixture()
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    var states = runner.states().makeAsyncIterator()
    #expect(try await states.next() == 0)
    try await fixture.log.append(event("?", 1))
    for _ in 0..<2 {
      do {
        _ = try await states.next()
        Issue.record("an unreadable event was passed over")
      } catch let error as LogError { #expect(error.code == .unreadableEvent) }
    }
    try await fixture.log.append(event("4", 2, superseding: 1))
    #expect(try await states.next() == 4)
  }

  @Test func `follows a writer in another process`() async throws {
    let fixture = try Fixture()
    var options = ProjectionOptions()
    options.directory = "/values"
    let runner = try ProjectionRunner(Total(), of: try fixture.reader(), options: options)
    var states = runner.states().makeAsyncIterator()
    #expect(try await states.next() == 0)
    for number in 1...10 {
      try await fixture.log.append(event("1"))
      #expect(try await states.next() == number)
    }
  }
}
