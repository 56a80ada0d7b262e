import Testing
import TidemarkEvidence
import TidemarkLog

/// One event at a moment.
private func found(at wall: Int64, claim: Int64? = nil, _ policy: ClockPolicy = .standard, upper: Int64? = nil) -> [String] {
  let event = ObservedEvent(
    offset: 3, id: .zero, wall: claim == nil ? time(wall) : nil, claim: claim.map { time($0) }, elapsed: 0, boot: nil, incarnation: nil)
  let receipts = upper.map { [ReceiptTime(offset: 5, size: 4, time: time($0))] } ?? []
  return flags([event], policy, receipts: receipts).map(\.rule.rawValue)
}

@Suite struct WallBeforeBuildTests {
  private static let build = ClockPolicy.standard.buildDate.nanoseconds

  @Test(arguments: [(build - 1, true), (build, false), (build + 1, false), (0, true), (.min, true), (-1, true)] as [(Int64, Bool)])
  func `before the build date is flagged`(_ wall: Int64, _ isFlagged: Bool) {
    #expect(found(at: wall) == (isFlagged ? ["wall-before-build"] : []))
  }

  @Test func `each event is, and the policy says when`() throws {
    var story = ClockStory()
    story.append(after: second)
    story.append(after: second)
    let strict = policy { $0.buildDate = time(ClockStory.start + 2 * second) }
    #expect(story.found(strict) == ["0 wall-before-build", "1 wall-before-build"])
    let flag = try story.flags(strict).flag(0)
    #expect(flag.fact("difference_ns") == .number(Int128(-2 * second)))
    #expect(flag.explanation == "the wall clock shows 2026-06-01T00:00:00.000Z, before the build date 2026-06-01T00:00:02.000Z")
  }

  @Test func `a caller's time may be any`() { #expect(found(at: 0, claim: .min).isEmpty) }
}

@Suite struct WallInFutureTests {
  private static let latest = ClockPolicy.standard.latestDate.nanoseconds
  private static let five = 300 * second

  @Test(arguments: [(latest - 1, false), (latest, false), (latest + 1, true), (.max, true)] as [(Int64, Bool)])
  func `after the latest date is flagged`(_ wall: Int64, _ isFlagged: Bool) {
    #expect(found(at: wall) == (isFlagged ? ["wall-in-future"] : []))
    #expect(found(at: wall, claim: wall).isEmpty)
  }

  @Test(arguments: [(five - 1, false), (five, false), (five + 1, true), (-365 * day / 2, false)] as [(Int64, Bool)])
  func `after the server already had the event is flagged`(_ ahead: Int64, _ isFlagged: Bool) {
    let upper = ClockStory.start
    #expect(found(at: upper + ahead, policy { $0.buildDate = time(0) }, upper: upper) == (isFlagged ? ["wall-in-future"] : []))
  }

  @Test func `only receipts that cover the event count, and one flag is enough`() throws {
    var story = ClockStory()
    for _ in 0..<4 { story.append(after: day) }
    // Signed on the first day, covers the first two; the second of them is a day ahead.
    let early = ReceiptTime(offset: 3, size: 2, time: time(ClockStory.start))
    #expect(story.found(receipts: [early]) == ["1 wall-in-future"])
    let flag = try story.flags(policy { $0.latestDate = time(ClockStory.start) }, receipts: [early]).flag(0)
    #expect(flag.offset == 1 && flag.fact("receipt_time") == .text("2026-06-01T00:00:00.000000000Z"))
    #expect(flag.fact("difference_ns") == .number(Int128(day)))
    #expect(story.found(policy { $0.latestDate = time(ClockStory.start) }, receipts: [early]).count == 4)
    #expect(story.found(policy { $0.receiptDifferenceNanoseconds = UInt64(day) }, receipts: [early]).isEmpty)
  }
}
