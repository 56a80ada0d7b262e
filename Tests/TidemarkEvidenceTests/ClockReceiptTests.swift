import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct ReceiptWentBackTests {
  private func found(_ change: Int64, _ policy: ClockPolicy = .standard) -> [String] {
    var story = ClockStory()
    for _ in 0..<5 { story.append(after: hour) }
    let first = ReceiptTime(offset: 2, size: 1, time: time(ClockStory.start + hour))
    return story.found(policy, receipts: [first, ReceiptTime(offset: 4, size: 3, time: time(first.time.nanoseconds + change))])
  }

  @Test func `a server's time that runs back is flagged where the receipt lies`() {
    let loose = policy { $0.receiptDifferenceNanoseconds = .max }
    #expect(found(0, loose).isEmpty && found(1, loose).isEmpty)
    #expect(found(-1, loose) == ["4 receipt-went-back"])
    let lenient = policy {
      $0.receiptWentBackNanoseconds = 10; $0.receiptDifferenceNanoseconds = .max
    }
    #expect(found(-9, lenient).isEmpty && found(-10, lenient).isEmpty)
    #expect(found(-11, lenient) == ["4 receipt-went-back"])
  }

  @Test func `the receipt before counts, also if its record is not reviewed`() throws {
    var story = ClockStory()
    for _ in 0..<5 { story.append(after: hour) }
    let receipts = [(1, 3 * hour), (2, hour), (4, 2 * hour)].map {
      ReceiptTime(offset: $0.0, size: 0, time: time(ClockStory.start + $0.1 - 3 * hour))
    }
    #expect(story.found(receipts: receipts) == ["2 receipt-went-back"])
    #expect(story.found(receipts: receipts.reversed()) == ["2 receipt-went-back"])
    let flag = try flags(Array(story.events[2...]), receipts: receipts).flag(0)
    #expect(flag.offset == 2 && flag.fact("previous_offset") == .number(1) && flag.fact("difference_ns") == .number(Int128(-2 * hour)))
  }
}

@Suite struct ReceiptAheadOfWallTests {
  private static let five = 300 * second

  private func found(_ ahead: Int64, _ policy: ClockPolicy = .standard) -> [String] {
    let story = ClockStory()
    return story.found(policy, receipts: [ReceiptTime(offset: 0, size: 0, time: time(ClockStory.start + ahead))])
  }

  @Test(arguments: [(five - 1, false), (five, false), (five + 1, true)] as [(Int64, Bool)])
  func `a server's time ahead of the wall clock is flagged`(_ ahead: Int64, _ isFlagged: Bool) {
    #expect(found(ahead) == (isFlagged ? ["0 receipt-ahead-of-wall"] : []))
  }

  @Test func `a receipt that waited for the next commit is not`() { #expect(found(-90 * day).isEmpty) }

  @Test func `the policy says by how much`() {
    #expect(found(1, policy { $0.receiptDifferenceNanoseconds = 0 }) == ["0 receipt-ahead-of-wall"])
    #expect(found(day, policy { $0.receiptDifferenceNanoseconds = UInt64(day) }).isEmpty)
  }
}

@Suite struct ClaimOutsideBracketTests {
  private static let five = 300 * second
  /// Of the event at offset 3: from the start to a day later.
  private static let receipts = [
    ReceiptTime(offset: 2, size: 1, time: time(ClockStory.start)), ReceiptTime(offset: 5, size: 4, time: time(ClockStory.start + day)),
  ]

  private func flags(_ claim: Int64, _ receipts: [ReceiptTime] = Self.receipts, _ policy: ClockPolicy = .standard) -> [ClockFlag] {
    let event = ObservedEvent(
      offset: 3, id: .zero, wall: nil, claim: time(ClockStory.start + claim), elapsed: 0, boot: nil, incarnation: nil)
    return TidemarkEvidenceTests.flags([event], policy, receipts: receipts)
  }

  @Test(
    arguments: [
      (-five - 1, true), (-five, false), (-five + 1, false), (0, false), (day, false), (day + five - 1, false), (day + five, false),
      (day + five + 1, true),
    ] as [(Int64, Bool)])
  func `a claim outside by more than five minutes is flagged`(_ claim: Int64, _ isFlagged: Bool) {
    #expect(flags(claim).map(\.rule) == (isFlagged ? [.claimOutsideBracket] : []))
  }

  @Test func `an open end allows everything`() {
    #expect(flags(-day, [Self.receipts[1]]).isEmpty && flags(3 * day, [Self.receipts[0]]).isEmpty && flags(-day, []).isEmpty)
    #expect(flags(3 * day, [Self.receipts[1]]).count == 1 && flags(-day, [Self.receipts[0]]).count == 1)
  }

  @Test func `says on which side, appended and not captured`() throws {
    let late = try flags(2 * day).flag(0)
    #expect(late.facts.map(\.name) == ["claim", "lower", "upper", "difference_ns"] && late.fact("difference_ns") == .number(Int128(day)))
    #expect(
      late.explanation == "the caller stated 2026-06-03T00:00:00.000Z, 1 d after the server had the event; "
        + "it was appended after 2026-06-01T00:00:00.000Z and before 2026-06-02T00:00:00.000Z")
    let early = try flags(-2 * day, [Self.receipts[0]]).flag(0)
    #expect(early.fact("difference_ns") == .number(Int128(-2 * day)) && early.fact("upper") == nil)
    #expect(early.explanation.contains("2 d before the time by which it was not yet appended; it was appended after"))
  }

  @Test func `the policy says by how much, and a device's own time is no claim`() {
    #expect(flags(-day, Self.receipts, policy { $0.claimDifferenceNanoseconds = UInt64(day) }).isEmpty)
    #expect(flags(-1, Self.receipts, policy { $0.claimDifferenceNanoseconds = 0 }).count == 1)
    let own = ObservedEvent(offset: 3, id: .zero, wall: time(ClockStory.start - day), elapsed: 0, boot: nil, incarnation: nil)
    #expect(TidemarkEvidenceTests.flags([own], receipts: Self.receipts).isEmpty)
  }
}
