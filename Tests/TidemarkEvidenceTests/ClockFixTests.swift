import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct FixDiffersTests {
  private static let minute = 60 * second
  private static let weeks = 1024 * 7 * day

  /// A fix whose time differs from the wall clock by so much, ten seconds before the event.
  private func flags(_ difference: Int64, _ policy: ClockPolicy = .standard, claim: Int64? = nil) -> [ClockFlag] {
    var story = ClockStory()
    let fix = EventExtension.LocationFix(
      time: time(story.wall - 10 * second + difference), elapsed: story.elapsed - UInt64(10 * second), accuracyMillimetres: 5000)
    story.append(claim: claim, fixes: [fix])
    return story.flags(policy)
  }

  @Test(
    arguments: [
      (0, false), (minute - 1, false), (minute, false), (minute + 1, true), (-minute + 1, false), (-minute, false), (-minute - 1, true),
    ] as [(Int64, Bool)])
  func `more than a minute in either direction is flagged`(_ difference: Int64, _ isFlagged: Bool) {
    #expect(flags(difference).map(\.rule) == (isFlagged ? [.fixDiffers] : []))
    #expect(flags(difference, claim: 0).isEmpty)
  }

  @Test func `the age of a fix is no difference`() {
    var story = ClockStory()
    let fix = EventExtension.LocationFix(time: time(story.wall), elapsed: story.elapsed, accuracyMillimetres: 0)
    story.pass(30 * day)
    story.append(fixes: [fix])
    #expect(story.found().isEmpty)
    #expect(story.found(policy { $0.fixDifferenceNanoseconds = 0 }).isEmpty)
  }

  @Test func `a fix that is younger than the event is of another boot: only a later time is flagged`() {
    for (difference, isFlagged) in [(-day, false), (Self.minute, false), (Self.minute + 1, true)] {
      var story = ClockStory()
      story.append(
        fixes: [.init(time: time(story.wall + difference), elapsed: story.elapsed + 1, accuracyMillimetres: 0)])
      #expect(story.found() == (isFlagged ? ["1 fix-differs"] : []))
      #expect(story.flags().allSatisfy { $0.fact("age_ns") == nil })
    }
  }

  @Test func `names the times, and what weeks that began again make of them`() throws {
    let plain = try #require(flags(-2 * hour).first)
    #expect(plain.facts.map(\.name) == ["wall", "fix_time", "age_ns", "difference_ns"])
    #expect(plain.fact("difference_ns") == .number(Int128(-2 * hour)) && plain.fact("age_ns") == .number(Int128(10 * second)))
    #expect(plain.explanation == "a location fix says 2026-05-31T21:59:50.000Z, 2 h before the wall clock at that moment")
    for count in [1, 2] as [Int64] {
      let flag = try #require(flags(-count * Self.weeks + 3 * second).first)
      #expect(flag.fact("week_rollovers") == .number(Int128(count)))
      #expect(flag.explanation.contains("\(count) × 1024 weeks"))
    }
    #expect(flags(-Self.weeks + Self.minute + 1).first?.fact("week_rollovers") == nil)
    #expect(flags(-Self.weeks - Self.minute).first?.fact("week_rollovers") == .number(1))
  }

  @Test func `each fix of an event is looked at, and the policy says by how much`() {
    var story = ClockStory()
    let fixes = [hour, 0, -hour].map {
      EventExtension.LocationFix(time: time(story.wall + $0), elapsed: story.elapsed, accuracyMillimetres: 0)
    }
    story.append(fixes: fixes)
    #expect(story.found() == ["1 fix-differs", "1 fix-differs"])
    #expect(story.found(policy { $0.fixDifferenceNanoseconds = UInt64(hour) }).isEmpty)
  }
}
