import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

/// Events for both projections: the data says what, in words.
private func facts(_ event: EventView) throws -> Acknowledgements.Fact? {
  let words = event.text.split(separator: " ").map(String.init)
  guard words.count > 1 else { throw UnreadableEvent("too few words") }
  func version() throws -> UInt64 {
    guard let version = words.count > 2 ? UInt64(words[words.count > 3 ? 3 : 2]) : nil else { throw UnreadableEvent("no version") }
    return version
  }
  switch words[0] {
  case "publish": return .published(item: words[1], version: try version(), isMaterial: words.last == "material")
  case "withdraw": return .withdrawn(item: words[1])
  case "ask": return .asked(item: words[1], person: words[2], place: words.count > 3 ? words[3] : nil)
  case "acknowledge":
    return .acknowledged(item: words[1], person: words[2], version: try version(), place: words.count > 4 ? words[4] : nil)
  default: return nil
  }
}

@Suite struct AcknowledgementTests {
  private typealias Status = AcknowledgementState.Status

  private func state(_ lines: [String]) throws -> AcknowledgementState { try state(lines.map { event($0) }) }

  private func state(_ events: [NewEvent]) throws -> AcknowledgementState {
    let fixture = try Fixture()
    try fixture.log.append(events)
    let projection = Acknowledgements("notices", extract: facts)
    let state = try ProjectionRunner(projection, of: fixture.log).current().state
    #expect(try projection.decode(projection.encode(state)) == state)
    return state
  }

  private func status(_ lines: [String]) throws -> Status? { try state(lines).status(of: "n", by: "kim") }

  private let published = ["publish n x 3 material", "ask n kim gate-7"]
  private let four = "publish n x 4 material"
  private let fourMinor = "publish n x 4 minor"

  @Test func `an acknowledgement binds to the version that it names`() throws {
    #expect(try status(published) == .pending)
    #expect(try status(published + ["acknowledge n kim 3"]) == .acknowledged(version: 3))
    #expect(try status(published + ["acknowledge n kim 3", four]) == .reacknowledge(acknowledged: 3, current: 4))
    #expect(try status(published + ["acknowledge n kim 3", fourMinor]) == .acknowledged(version: 3))
    #expect(try status(published + ["acknowledge n kim 3", four, "acknowledge n kim 4"]) == .acknowledged(version: 4))
  }

  @Test func `acknowledging 3 while 4 exists counts for 3`() throws {
    #expect(try status(published + [four, "acknowledge n kim 3"]) == .reacknowledge(acknowledged: 3, current: 4))
    #expect(try status(published + [fourMinor, "acknowledge n kim 3"]) == .acknowledged(version: 3))
  }

  @Test func `a material version still asks when a minor one follows it`() throws {
    #expect(try status(published + ["acknowledge n kim 3", four, "publish n x 5 minor"]) == .reacknowledge(acknowledged: 3, current: 5))
    #expect(
      try status(published + ["acknowledge n kim 3", four, "publish n x 5 minor", "acknowledge n kim 4"]) == .acknowledged(version: 4))
  }

  @Test func `out of order, the highest version that was acknowledged counts`() throws {
    #expect(try status(published + [four, "acknowledge n kim 4", "acknowledge n kim 3"]) == .acknowledged(version: 4))
    // A version that is published late does not become the current one.
    #expect(try status(published + [four, "acknowledge n kim 4", "publish n x 2 material"]) == .acknowledged(version: 4))
  }

  @Test func `a version that was not seen yet counts when it is published`() throws {
    let early = published + ["acknowledge n kim 4"]
    #expect(try status(early) == .pending)
    #expect(try state(early).unseenVersions(of: "n", by: "kim") == [4])
    #expect(try status(published + ["acknowledge n kim 3", "acknowledge n kim 5", four]) == .reacknowledge(acknowledged: 3, current: 4))
    #expect(try status(early + [four]) == .acknowledged(version: 4))
    #expect(try state(early + [four]).unseenVersions(of: "n", by: "kim") == [])
    // Of an item that nobody has published.
    #expect(try status(["acknowledge n kim 1"]) == .pending)
  }

  @Test func `said twice, the first counts`() throws {
    let twice = try state(published + ["acknowledge n kim 3 gate-7", "acknowledge n kim 3 gate-8"])
    #expect(twice.status(of: "n", by: "kim") == .acknowledged(version: 3))
    #expect(twice.record(of: "n", by: "kim")?.versions[3]?.offset == 3 && twice.record(of: "n", by: "kim")?.place == "gate-8")
  }

  @Test func `two people stand each for themselves`() throws {
    let both = try state(published + ["ask n ola gate-8", "acknowledge n ola 3", four, "acknowledge n kim 4"])
    #expect(
      both.status(of: "n", by: "kim") == .acknowledged(version: 4)
        && both.status(of: "n", by: "ola") == .reacknowledge(acknowledged: 3, current: 4))
    #expect(both.status(of: "n", by: "per") == nil && both.status(of: "m", by: "kim") == nil)
    #expect(both.persons(of: "n") == ["kim", "ola"])
  }

  @Test func `of a withdrawn item nothing is asked, and what was said stays`() throws {
    #expect(try status(published + ["withdraw n"]) == .withdrawn)
    #expect(try status(published + ["acknowledge n kim 3", "withdraw n"]) == .withdrawn)
    let late = try state(published + ["withdraw n", "acknowledge n kim 3"])
    #expect(late.status(of: "n", by: "kim") == .withdrawn && late.record(of: "n", by: "kim")?.versions.count == 1)
    // Published again, it counts again.
    #expect(try status(published + ["withdraw n", "acknowledge n kim 3", "publish n x 3 material"]) == .acknowledged(version: 3))
    #expect(try status(published + ["acknowledge n kim 3", "withdraw n", four]) == .reacknowledge(acknowledged: 3, current: 4))
  }

  @Test func `a version that is published again is as it was published last`() throws {
    #expect(try status(published + ["acknowledge n kim 3", fourMinor, four]) == .reacknowledge(acknowledged: 3, current: 4))
    #expect(try status(published + ["acknowledge n kim 3", four, fourMinor]) == .acknowledged(version: 3))
  }

  @Test func `totals are by place`() throws {
    let all = try state([
      "publish n x 1 material", "publish m x 1 material", "ask n kim gate-7", "ask n ola gate-7", "ask n per gate-8", "ask m kim gate-7",
      "acknowledge n ola 1", "acknowledge n eva 1 gate-8", "withdraw m", "acknowledge n liv 1",
    ])
    #expect(all.totals(of: "n")["gate-7"] == totals(pending: 1, acknowledged: 1))
    #expect(all.totals(of: "n")["gate-8"] == totals(pending: 1, acknowledged: 1))
    #expect(all.totals(of: "n")[""] == totals(acknowledged: 1))
    #expect(all.totals()["gate-7"] == totals(pending: 1, acknowledged: 1, withdrawn: 1))
    let next = try state([
      "publish n x 1 material", "acknowledge n kim 1 a", "acknowledge n ola 1 a", "publish n x 2 material", "acknowledge n kim 2 b",
    ])
    #expect(next.totals() == ["a": totals(reacknowledge: 1), "b": totals(acknowledged: 1)])
  }

  private func totals(pending: Int = 0, acknowledged: Int = 0, reacknowledge: Int = 0, withdrawn: Int = 0) -> AcknowledgementState.Totals {
    var totals = AcknowledgementState.Totals()
    (totals.pending, totals.acknowledged, totals.reacknowledge, totals.withdrawn) = (pending, acknowledged, reacknowledge, withdrawn)
    return totals
  }

  @Test func `an acknowledgement that was amended binds to what the amendment names`() throws {
    let events = [
      event("publish n x 3 material"), event("publish n x 4 material"), event("acknowledge n kim 4", 1),
      event("acknowledge n kim 3", 2, superseding: 1),
    ]
    #expect(try state(events).status(of: "n", by: "kim") == .reacknowledge(acknowledged: 3, current: 4))
    let retracted = [event("publish n x 3 material"), event("acknowledge n kim 3", 1), event("ask n kim", 2, superseding: 1)]
    #expect(try state(retracted).status(of: "n", by: "kim") == .pending)
  }

  /// Where someone stands depends on sets alone, as long as nothing is published twice or withdrawn.
  @Test func `the order in which things are said makes no difference`() throws {
    for seed in UInt64(0)..<40 {
      var random = SeededRandom(seed: seed)
      var lines: [String] = []
      let published = (1...6).filter { _ in random.isOneIn(2) }
      let material = published.filter { _ in random.isOneIn(2) }
      let acknowledged = (1...6).filter { _ in random.isOneIn(3) }
      for version in published { lines.append("publish n x \(version) \(material.contains(version) ? "material" : "minor")") }
      for version in acknowledged { lines.append("acknowledge n kim \(version)") }
      lines.append("ask n kim")
      lines.shuffle(using: &random)
      var expected = Status.pending
      if let best = acknowledged.filter({ published.contains($0) }).max(), let current = published.max() {
        expected =
          material.contains { $0 > best }
          ? .reacknowledge(acknowledged: UInt64(best), current: UInt64(current)) : .acknowledged(version: UInt64(best))
      }
      #expect(try status(lines) == expected, "\(lines)")
    }
  }

  @Test func `bytes that are no state are refused`() throws {
    let projection = Acknowledgements("notices", extract: facts)
    let whole = projection.encode(try state(published + ["acknowledge n kim 3", "withdraw n"]))
    for length in 0..<whole.count { #expect(throws: UnreadableEvent.self) { try projection.decode(Array(whole[..<length])) } }
    var random = SeededRandom(seed: 4)
    for _ in 0..<5_000 {
      var bytes = whole
      bytes[random.number(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      _ = try? projection.decode(bytes)
    }
  }
}

@Suite struct PresenceTests {
  private let projection = Presence("inside") { event in
    let words = event.text.split(separator: " ").map(String.init)
    switch words.first {
    case "in": return .signedIn(person: words[1], place: words[2])
    case "out": return .signedOut(person: words[1], place: words.count > 2 ? words[2] : nil)
    default: return nil
    }
  }

  private func state(_ lines: [String]) throws -> Presence.State { try state(lines.map { event($0) }) }

  private func state(_ events: [NewEvent]) throws -> Presence.State {
    let fixture = try Fixture()
    try fixture.log.append(events)
    let state = try ProjectionRunner(projection, of: fixture.log).current().state
    #expect(try projection.decode(projection.encode(state)) == state)
    return state
  }

  @Test func `who signed in and not out is there`() throws {
    let state = try state(["in kim a", "in ola a", "in per b", "out ola a", "other"])
    #expect(state.persons(at: "a") == ["kim"] && state.persons(at: "b") == ["per"] && state.persons(at: "c") == [])
    #expect(state.totals == ["a": 1, "b": 1] && state.unmatchedSignOutCount == 0)
  }

  @Test func `signed in twice, a person is there since the first time, and out at once`() throws {
    #expect(try state(["in kim a", "in kim a"]).places["a"]?["kim"]?.offset == 1)
    #expect(try state(["in kim a", "in kim a", "out kim a"]).totals == [:])
  }

  @Test func `a sign-out without a sign-in is counted`() throws {
    let state = try state(["out kim a", "in kim b", "out kim a", "out ola"])
    #expect(state.unmatchedSignOutCount == 3 && state.places(of: "kim") == ["b"])
  }

  @Test func `who signs in elsewhere is in both places, until a sign-out says which, or all`() throws {
    #expect(try state(["in kim a", "in kim b"]).places(of: "kim") == ["a", "b"])
    #expect(try state(["in kim a", "in kim b", "out kim b"]).places(of: "kim") == ["a"])
    #expect(try state(["in kim a", "in kim b", "out kim"]).totals == [:])
  }

  @Test func `an amended sign-out counts where the original was`() throws {
    #expect(
      try state([event("in kim a"), event("out kim b", 1), event("in kim a"), event("out kim a", 2, superseding: 1)]).places["a"]?["kim"]?
        .offset == 3)
  }
}
