import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct SupersedingTests {
  private func trail(_ events: [NewEvent]) throws -> [String] {
    let fixture = try Fixture()
    for event in events { try fixture.log.append(event) }
    var options = ProjectionOptions()
    options.onUnreadable = .park
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    #expect(try runner.state() == Reference.trail(fixture.log, below: fixture.log.size))
    return try runner.state()
  }

  @Test func `an amendment counts where its original does`() throws {
    #expect(try trail([event("a", 1), event("b", 2), event("A", 3, superseding: 1)]) == ["1:A", "2:b"])
  }

  @Test func `a projection that takes no corrections has all events, each at its place, also when it begins anew`() throws {
    let fixture = try Fixture()
    let events = [event("a", 1), event("A", 2, superseding: 1), event("AA", 3, superseding: 2), event("b", 4, superseding: 9)]
    for event in events { try fixture.log.append(event) }
    let runner = try ProjectionRunner(Everything(), of: fixture.log)
    try runner.catchUp()
    let first = fixture.log.size - 4
    let all = zip(first..., ["a", "A", "AA", "b"]).map { "\($0):\($1)" }
    #expect(try runner.state() == all)
    #expect(try runner.state(asOf: first + 3).state == Array(all[..<3]))
    try fixture.reopen()
    let again = try ProjectionRunner(Everything(), of: fixture.log)
    try again.catchUp()
    #expect(try again.state() == all)
  }

  @Test func `the last of a chain counts`() throws {
    #expect(
      try trail([
        event("a", 1), event("b", 2), event("A", 3, superseding: 1), event("AA", 4, superseding: 3), event("AAA", 5, superseding: 4),
      ])
        == ["1:AAA", "2:b"])
  }

  @Test func `of two amendments of one event the later counts, also against an amendment of the earlier`() throws {
    let events = [event("a", 1), event("A", 2, superseding: 1), event("B", 3, superseding: 1)]
    #expect(try trail(events) == ["1:B"])
    #expect(try trail(events + [event("AA", 4, superseding: 2)]) == ["1:AA"])
  }

  @Test func `an amendment may come before its original, and one of an amendment before that`() throws {
    let early = [event("AA", 3, superseding: 2), event("b", 9), event("A", 2, superseding: 1)]
    #expect(try trail(early) == ["1:AA", "2:b"])
    #expect(try trail(early + [event("c", 8), event("a", 1)]) == ["2:b", "4:c", "5:AA"])
  }

  @Test func `an amendment of what never comes counts where it is`() throws {
    #expect(try trail([event("a", 1), event("B", 2, superseding: 77)]) == ["1:a", "2:B"])
  }

  @Test func `in a cycle the last counts, at the place of the first, until one without successor joins`() throws {
    let cycle = [event("a", 1, superseding: 2), event("x", 9), event("b", 2, superseding: 1)]
    #expect(try trail(cycle) == ["1:b", "2:x"])
    #expect(try trail(cycle + [event("c", 3, superseding: 1)]) == ["1:c", "2:x"])
    #expect(try trail([event("self", 1, superseding: 1)]) == ["1:self"])
  }

  @Test func `an amendment may make an event unreadable, and a readable one of an unreadable`() throws {
    #expect(try trail([event("a", 1), event("?", 2, superseding: 1)]) == [])
    #expect(try trail([event("?", 1), event("a", 2, superseding: 1)]) == ["1:a"])
  }

  @Test func `two extensions that name different events make an event unreadable`() throws {
    let fixture = try Fixture()
    var both = event("B", 3)
    both.extensions = [.supersedes(id(1)), .supersedes(id(2))]
    for event in [event("a", 1), event("b", 2), both] { try fixture.log.append(event) }
    var options = ProjectionOptions()
    options.onUnreadable = .park
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    #expect(try runner.state() == ["1:a", "2:b"])
    #expect(runner.report.parked.map(\.offset) == [3] && runner.report.parked.first?.why == "it supersedes more than one event")
    // Corrected in its turn, it is forgotten.
    try fixture.log.append(event("c", 4, superseding: 3))
    try runner.catchUp()
    #expect(try runner.state() == ["1:a", "2:b", "3:c"] && runner.report.unreadableCount == 0)
  }

  @Test func `the history of a correction stays visible`() throws {
    let fixture = try Fixture()
    for event in [event("a", 1), event("A", 2, superseding: 1), event("b", 3), event("AA", 4, superseding: 2)] {
      try fixture.log.append(event)
    }
    let runner = try ProjectionRunner(Trail(), of: fixture.log)
    try runner.catchUp()
    let correction = try #require(runner.corrections.first)
    #expect(correction.history == [1, 2, 4] && correction.standing == id(4) && correction.place.offset == 1 && correction.hasOriginal)
  }

  /// Whatever corrects whatever, one by one or together: the same as the rules give without an engine.
  @Test func `corrections of every kind give what the rules say, however they come in`() throws {
    for seed in UInt64(0)..<150 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      var options = ProjectionOptions()
      options.onUnreadable = .park
      options.finestSpacing = 4
      let trail = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      let total = try ProjectionRunner(Total(), of: fixture.log, options: options)
      for event in tangle(&random, count: 24, oneIn: random.number(in: 1...4)) {
        try fixture.log.append(event)
        if random.isOneIn(3) {
          try trail.catchUp()
          try total.catchUp()
        }
        if random.isOneIn(6) { try trail.save() }
      }
      try trail.catchUp()
      try total.catchUp()
      let counting = try Reference.counting(fixture.log, below: fixture.log.size)
      #expect(try trail.state() == Reference.trail(fixture.log, below: fixture.log.size), "seed \(seed)")
      #expect(try total.state() == counting.reduce(0) { $0 + (Int($1.text) ?? 0) }, "seed \(seed)")
      let unreadable = counting.filter { $0.text.hasPrefix("?") }.count
      #expect(trail.report.unreadableCount == unreadable && total.report.unreadableCount == unreadable, "seed \(seed)")
      #expect(trail.report.parked.count == unreadable && total.report.parked.map(\.offset) == trail.report.parked.map(\.offset))
    }
  }
}

/// A ``Trail`` on which nothing is corrected.
private struct Everything: Projection {
  let name = "everything"
  let version: UInt32 = 1
  let initial: [String] = []
  let takesCorrections = false

  func apply(_ event: EventView, at place: Place, to state: inout [String]) throws { try Trail().apply(event, at: place, to: &state) }
  func encode(_ state: [String]) -> [UInt8] { Trail().encode(state) }
  func decode(_ bytes: [UInt8]) throws -> [String] { try Trail().decode(bytes) }
}
