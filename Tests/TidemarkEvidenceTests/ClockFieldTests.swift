import Testing
import TidemarkEvidence
import TidemarkLog

/// What devices in the field are known to do, in small.
@Suite struct ClockFieldTests {
  /// A board without a battery: the wall clock begins at the same midnight in each boot, until the network sets it, in two steps.
  @Test func `boots that overlap wholly in wall time`() {
    var story = ClockStory()
    let midnight = ClockStory.start
    for boot in 0..<4 {
      if boot > 0 { story.reboot(wall: midnight + Int64(boot) * 7 * millisecond, elapsed: 5_800_000_000) }
      story.append()
      story.append(after: 14 * second)
      // The zone's offset was taken for part of the time, then the time of a file that was written last.
      story.append(after: second, wallGains: 4 * hour)
      story.append(after: 5 * second)
      if boot % 2 == 1 { story.append(after: second, wallGains: 245 * second + 536 * millisecond) }
      story.append(after: 60 * second)
    }
    #expect(
      story.found() == [
        "3 wall-stepped", "6 wall-went-back", "6 reboot", "8 wall-stepped", "10 wall-stepped", "12 wall-went-back", "12 reboot",
        "14 wall-stepped", "17 wall-went-back", "17 reboot", "19 wall-stepped", "21 wall-stepped",
      ])
    // The order of wall times is another one: only the log's own order tells the boots apart.
    #expect(story.events.compactMap(\.wall) != story.events.compactMap(\.wall).sorted())
  }

  /// Dates of receivers before their first fix and after their week number began again: 1980, 1999, then right.
  @Test func `a receiver that sets the clock by what it believes`() {
    let epoch: Int64 = 315_878_400 * second  // 1980-01-05T00:00:00Z
    let right = ClockStory.start
    var story = ClockStory()
    story.reboot(wall: epoch + 86_386 * second)
    story.append()
    story.append(after: second)
    story.append(after: second, wallGains: right - 1024 * 7 * day - story.wall)
    story.append(after: second, wallGains: 1024 * 7 * day)
    story.append(after: second)
    // In the midst of a track the receiver repeats twelve seconds.
    story.append(after: 2 * second, wallGains: -14 * second)
    story.append(after: 2 * second)
    #expect(
      story.found() == [
        "1 wall-went-back", "1 reboot", "1 wall-before-build", "2 wall-before-build", "3 wall-jumped-forward", "3 wall-stepped",
        "3 wall-before-build", "4 wall-jumped-forward", "4 wall-stepped", "6 wall-went-back", "6 wall-stepped",
      ])
    #expect(story.flags().first { $0.rule == .wallBeforeBuild }?.explanation.contains("1980-01-05T23:59:46.000Z") ?? false)
  }

  @Test func `fixes of a receiver whose weeks began again, on a device whose clock is right`() {
    var story = ClockStory()
    for (weeks, isVoid) in [(0, false), (1024, false), (1024, false), (0, true), (0, false)] as [(Int64, Bool)] {
      story.pass(10 * second)
      let shown = isVoid ? 315_964_800 * second : story.wall - weeks * 7 * day
      story.append(fixes: [.init(time: time(shown), elapsed: story.elapsed, accuracyMillimetres: 8000)])
    }
    #expect(story.found() == ["2 fix-differs", "3 fix-differs", "4 fix-differs"])
    #expect(story.flags().map { $0.fact("week_rollovers") } == [.number(1), .number(1), nil])
  }

  @Test func `clocks at 1677, 1970, 1999, 2038 and 2262`() {
    var story = ClockStory()
    for moment in [.min, 0, 915_148_800 * second, 2_147_483_647 * second, .max] {
      story.reboot(wall: moment)
      story.append()
    }
    #expect(
      story.found() == [
        "1 wall-went-back", "1 reboot", "1 wall-before-build", "2 wall-jumped-forward", "2 reboot", "2 wall-before-build",
        "3 wall-jumped-forward", "3 reboot", "3 wall-before-build", "4 wall-jumped-forward", "4 reboot", "5 wall-jumped-forward",
        "5 reboot",
        "5 wall-in-future",
      ])
  }

  @Test func `two programs that take turns in one boot, asleep for a month between`() {
    var story = ClockStory()
    for _ in 0..<5 {
      story.reopen()
      story.append(after: 30 * day)
      story.append(after: second)
    }
    #expect(story.found().isEmpty)
  }
}
