import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct WallSteppedTests {
  private static let step = 128 * millisecond

  @Test(
    arguments: [
      (step - 1, false), (step, false), (step + 1, true), (-step + 1, false), (-step, false), (-step - 1, true), (4 * hour, true),
    ] as [(Int64, Bool)])
  func `more than the threshold in either direction is flagged`(_ gain: Int64, _ isFlagged: Bool) {
    // In no time: nothing is explained by slewing.
    var story = ClockStory()
    story.append(after: 0, wallGains: gain)
    story.append(after: 0)
    #expect(story.found(policy { $0.wallWentBackNanoseconds = .max }) == (isFlagged ? ["1 wall-stepped"] : []))
  }

  /// A day at 500 parts in a million is 43.2 s.
  @Test(arguments: [1, -1] as [Int64], [(step + 43_200 * millisecond, false), (step + 43_200 * millisecond + 1, true)] as [(Int64, Bool)])
  func `slewing is no step`(_ sign: Int64, _ gain: (Int64, Bool)) {
    var story = ClockStory()
    story.append(after: day, wallGains: sign * gain.0)
    #expect(story.found() == (gain.1 ? ["1 wall-stepped"] : []))
  }

  @Test(arguments: [1, -1] as [Int64])
  func `slewing for days at full speed is none either, and a step on top of it is one`(_ sign: Int64) {
    var story = ClockStory()
    for _ in 0..<5000 { story.append(after: 20 * second, wallGains: sign * 10 * millisecond) }
    #expect(story.found().isEmpty)
    story.append(after: 20 * second, wallGains: sign * (10 * millisecond + Self.step))
    #expect(story.found().isEmpty)
    story.append(after: 20 * second, wallGains: sign * (10 * millisecond) + sign)
    #expect(story.found() == ["5002 wall-stepped"])
  }

  @Test func `many small steps in a row are one`() throws {
    var story = ClockStory()
    for _ in 0..<10 { story.append(after: millisecond, wallGains: 50 * millisecond) }
    let flags = story.flags()
    // 50 ms three times are more than 128 ms; then it begins again.
    #expect(flags.map(\.offset) == [3, 6, 9] && flags.allSatisfy { $0.rule == .wallStepped })
    let flag = try flags.flag(1)
    #expect(flag.fact("since_offset") == .number(3) && flag.fact("difference_ns") == .number(150_000_000))
  }

  @Test func `jitter of reading two clocks one after the other does not add up`() {
    var story = ClockStory()
    for number in 0..<10_000 {
      story.append(after: millisecond, wallGains: number % 2 == 0 ? 60 * millisecond : -60 * millisecond)
    }
    #expect(story.found().isEmpty)
  }

  @Test func `the difference is told, and where it began`() throws {
    var story = ClockStory()
    story.append(after: second)
    story.append(after: second, wallGains: -2 * hour)
    let flag = try story.flags().flag(1)
    #expect(
      flag.facts.map(\.name) == ["since_offset", "previous_wall", "wall", "elapsed_ns", "difference_ns", "noted_at_appending"]
        && flag.fact("since_offset") == .number(1) && flag.fact("elapsed_ns") == .number(Int128(second))
        && flag.fact("difference_ns") == .number(Int128(-2 * hour)) && flag.fact("noted_at_appending") == .text("no"))
    #expect(flag.explanation == "the wall clock was set back by 2 h between offsets 1 and 2, to 2026-05-31T22:00:02.000Z")
  }

  @Test func `what was noted at appending counts whatever the threshold`() throws {
    var story = ClockStory()
    story.pass(second, wallGains: 1)
    story.append(isStepNoted: true)
    story.append(after: second)
    #expect(story.found() == ["1 wall-stepped"])
    let flag = try story.flags().flag(0)
    #expect(flag.fact("noted_at_appending") == .text("yes") && flag.fact("difference_ns") == .number(1))
  }

  @Test func `a step noted at an event with a caller's time is told there, and measured at the next of the device`() throws {
    var story = ClockStory()
    story.pass(second, wallGains: hour)
    story.append(claim: 5, isStepNoted: true)
    story.append(after: second)
    #expect(story.found() == ["1 wall-stepped", "2 wall-stepped"])
    #expect(try story.flags().flag(0).facts.map(\.name) == ["noted_at_appending"])
    #expect(try story.flags().flag(0).explanation.contains("by how much is not known"))
    #expect(try story.flags().flag(1).fact("difference_ns") == .number(Int128(hour)))
  }

  @Test func `another opening in the same boot is measured too, another boot is not`() {
    var story = ClockStory()
    story.reopen()
    story.append(after: second)
    #expect(story.found().isEmpty)
    story.reopen()
    story.append(after: second, wallGains: hour)
    #expect(story.found() == ["2 wall-stepped"])
    story.reboot(wall: story.wall + 5 * hour)
    story.append()
    #expect(story.found() == ["2 wall-stepped", "3 reboot"])
    story.boot = nil
    story.reopen()
    story.append(after: second, wallGains: hour)
    #expect(story.found() == ["2 wall-stepped", "3 reboot"])
  }

  @Test func `what was gained before a reboot, or before the time since boot went back, does not add up with what comes after`() {
    var story = ClockStory()
    story.append(after: 0, wallGains: 100 * millisecond)
    story.reboot(wall: story.wall + hour)
    story.append()
    story.append(after: 0, wallGains: 100 * millisecond)
    #expect(story.found() == ["2 reboot"])
    story.elapsed -= UInt64(second)
    story.append()
    story.append(after: 0, wallGains: 100 * millisecond)
    #expect(story.found() == ["2 reboot", "4 elapsed-went-back"])
    story.append(after: 0, wallGains: 100 * millisecond)
    #expect(story.found() == ["2 reboot", "4 elapsed-went-back", "6 wall-stepped"])
  }

  @Test func `the policy says how fast and how far`() {
    var story = ClockStory()
    story.append(after: 1000 * second, wallGains: second + 1)
    #expect(
      story.found(
        policy {
          $0.wallStepNanoseconds = 0; $0.slewPartsPerMillion = 1000
        }) == ["1 wall-stepped"])
    #expect(
      story.found(
        policy {
          $0.wallStepNanoseconds = 1; $0.slewPartsPerMillion = 1000
        }
      ).isEmpty)
    #expect(
      story.found(
        policy {
          $0.wallStepNanoseconds = UInt64(second) + 1; $0.slewPartsPerMillion = 0
        }
      ).isEmpty)
    #expect(
      story.found(
        policy {
          $0.wallStepNanoseconds = UInt64(second); $0.slewPartsPerMillion = 0
        }) == ["1 wall-stepped"])
  }
}
