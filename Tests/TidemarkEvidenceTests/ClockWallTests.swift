import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct WallWentBackTests {
  /// Two boots, so that nothing but the wall clock can be compared.
  private func found(_ change: Int64, _ policy: ClockPolicy = .standard) -> [String] {
    var story = ClockStory()
    story.reboot(wall: story.wall + change)
    story.append()
    return story.found(policy)
  }

  @Test(arguments: [(0, false), (-second + 1, false), (-second, false), (-second - 1, true), (-hour, true)] as [(Int64, Bool)])
  func `back by more than a second is flagged`(_ change: Int64, _ isFlagged: Bool) {
    #expect(found(change) == (isFlagged ? ["1 wall-went-back", "1 reboot"] : ["1 reboot"]))
  }

  @Test func `the policy says by how much`() {
    let strict = policy { $0.wallWentBackNanoseconds = 0 }
    #expect(found(0, strict) == ["1 reboot"])
    #expect(found(-1, strict) == ["1 wall-went-back", "1 reboot"])
  }

  @Test func `only the event at which it happened is flagged, whatever comes after`() {
    var story = ClockStory()
    story.append(after: second)
    story.append(after: second, wallGains: -hour)
    story.append(after: second)
    story.append(after: second)
    #expect(story.found() == ["2 wall-went-back", "2 wall-stepped"])
  }

  @Test func `a caller's time is not the wall clock`() throws {
    var story = ClockStory()
    story.append(claim: 0)
    story.append(after: second)
    story.append(claim: .max)
    story.append(after: second)
    #expect(story.found().isEmpty)
    story.append(claim: 0)
    story.append(after: second, wallGains: -hour)
    #expect(story.found() == ["6 wall-went-back", "6 wall-stepped"])
    #expect(try story.flags().flag(0).fact("previous_offset") == .number(4))
  }

  @Test func `names both times and the difference`() throws {
    var story = ClockStory()
    story.append(after: second, wallGains: -hour - 7)
    let flag = try story.flags().flag(0)
    #expect(
      flag.facts.map(\.name) == ["previous_offset", "previous_wall", "wall", "difference_ns"]
        && flag.fact("previous_wall") == .text("2026-06-01T00:00:00.000000000Z")
        && flag.fact("wall") == .text("2026-05-31T23:00:00.999999993Z") && flag.fact("difference_ns") == .number(Int128(second - hour - 7)))
    #expect(flag.explanation == "the wall clock shows 2026-05-31T23:00:00.999Z, 59 min 59 s before the event at offset 0")
    #expect(flag.policyVersion == 1 && flag.eventID == EventID(high: 1, low: 1) && flag.fact("none") == nil)
    #expect(try story.flags(policy { $0.version = 9 }).flag(0).policyVersion == 9)
  }
}

@Suite struct WallJumpedForwardTests {
  @Test(arguments: [(180 * day - 1, false), (180 * day, false), (180 * day + 1, true)] as [(Int64, Bool)])
  func `from boot to boot it may be off for half a year`(_ change: Int64, _ isFlagged: Bool) {
    var story = ClockStory()
    story.reboot(wall: story.wall + change)
    story.append()
    #expect(story.found() == (isFlagged ? ["1 wall-jumped-forward", "1 reboot"] : ["1 reboot"]))
  }

  @Test(arguments: [(180 * day, false), (180 * day + 1, true)] as [(Int64, Bool)])
  func `within a boot what passed is accounted for`(_ gain: Int64, _ isFlagged: Bool) {
    var story = ClockStory()
    story.append(after: 400 * day)
    story.append(after: 400 * day, wallGains: gain)
    #expect(story.found() == (isFlagged ? ["2 wall-jumped-forward", "2 wall-stepped"] : ["2 wall-stepped"]))
  }

  @Test func `without boot ids only an opening is known to be one boot`() throws {
    var story = ClockStory()
    story.boot = nil
    story.append(after: 400 * day)
    story.append(after: 400 * day)
    // The first event was of a boot that is known, but of the same opening.
    #expect(story.found().isEmpty)
    story.reopen()
    story.append(after: 400 * day)
    #expect(story.found() == ["3 wall-jumped-forward"])
    let flag = try story.flags().flag(0)
    #expect(flag.fact("elapsed_ns") == .number(0) && flag.fact("unexplained_ns") == .number(Int128(400 * day)))
    #expect(flag.explanation.contains("400 d more than what passed since the event at offset 2"))
  }

  @Test func `the policy says by how much`() {
    var story = ClockStory()
    story.reboot(wall: story.wall + 31 * day)
    story.append()
    #expect(story.found(policy { $0.wallJumpedForwardNanoseconds = UInt64(31 * day) }) == ["1 reboot"])
    #expect(story.found(policy { $0.wallJumpedForwardNanoseconds = UInt64(31 * day) - 1 }) == ["1 wall-jumped-forward", "1 reboot"])
  }
}
