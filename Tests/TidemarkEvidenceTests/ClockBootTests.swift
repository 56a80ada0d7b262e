import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct RebootTests {
  @Test func `another boot id is told, once, as information`() throws {
    var story = ClockStory()
    story.append(after: second)
    story.reboot(wall: story.wall + hour, elapsed: UInt64(3 * second))
    story.append()
    story.append(after: second)
    let flags = story.flags()
    let flag = try flags.flag(0)
    #expect(flags.map(\.offset) == [2] && flag.rule == .reboot && flag.rule.isInformational)
    #expect(
      flag.fact("previous_boot") == .text("000000000000b0070000000000000001")
        && flag.fact("boot") == .text("000000000000b0070000000000000002") && flag.fact("elapsed_ns") == .number(Int128(3 * second)))
    #expect(flag.explanation == "the device was started anew, 3 s before this event")
    #expect(ClockRule.allCases.filter(\.isInformational) == [.reboot])
  }

  @Test func `another opening in the same boot, or a boot that is not known, is none`() {
    var story = ClockStory()
    let first = story.boot
    story.reopen()
    story.append(after: second)
    story.boot = nil
    story.reopen()
    story.append(after: second)
    story.boot = first
    story.reopen()
    story.append(after: second)
    #expect(story.found().isEmpty)
    // Between two that are known and differ there was one, whatever lies between them.
    story.boot = nil
    story.append(after: second)
    story.boot = EventID(high: 0xB007, low: 2)
    story.reopen()
    story.append(after: second)
    #expect(story.found() == ["5 reboot"])
  }
}

@Suite struct ElapsedWentBackTests {
  private func found(back: UInt64, _ policy: ClockPolicy = .standard) -> [String] {
    var story = ClockStory()
    story.elapsed -= back
    story.append()
    story.append(after: second)
    return story.found(policy)
  }

  @Test func `a nanosecond back in one boot is flagged`() {
    #expect(found(back: 0).isEmpty)
    #expect(found(back: 1) == ["1 elapsed-went-back"])
    #expect(found(back: 50_000_000_000) == ["1 elapsed-went-back"])
  }

  @Test func `the policy says by how much`() {
    let lenient = policy { $0.elapsedWentBackNanoseconds = 1000 }
    #expect(found(back: 999, lenient).isEmpty && found(back: 1000, lenient).isEmpty)
    #expect(found(back: 1001, lenient) == ["1 elapsed-went-back"])
  }

  @Test func `events with a caller's time have the device's time since boot`() throws {
    var story = ClockStory()
    story.pass(second)
    story.append(claim: 0)
    story.elapsed -= 1
    story.append(claim: 0)
    #expect(story.found() == ["2 elapsed-went-back"])
    let flag = try story.flags().flag(0)
    #expect(flag.fact("difference_ns") == .number(-1) && flag.fact("previous_offset") == .number(1))
  }

  @Test func `another boot begins again, and what is not known to be one boot is not compared`() {
    var story = ClockStory()
    story.reboot(wall: story.wall, elapsed: 0)
    story.append()
    #expect(story.found() == ["1 reboot"])
    story.boot = nil
    story.reopen()
    story.elapsed = 0
    story.append()
    story.incarnation = nil
    story.append()
    story.append()
    #expect(story.found() == ["1 reboot"])
    // One opening is one boot, whether or not the system told its id.
    story.incarnation = 7
    story.elapsed = 10
    story.append()
    story.elapsed = 9
    story.append()
    #expect(story.found() == ["1 reboot", "6 elapsed-went-back"])
  }
}
