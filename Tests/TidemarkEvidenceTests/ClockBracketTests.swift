import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct ClockBracketTests {
  @Test func `a receipt's own record and what it covers are told apart`() {
    let receipts = [ReceiptTime(offset: 10, size: 9, time: time(100)), ReceiptTime(offset: 20, size: 20, time: time(200))]
    let brackets = TimeBrackets(receipts)
    let expected: [(Offset, Int64?, Int64?)] = [
      (0, nil, 100), (8, nil, 100), (9, nil, 200), (10, nil, 200), (11, 100, 200), (19, 100, 200), (20, 100, nil), (21, 200, nil),
      (.max, 200, nil),
    ]
    for (offset, lower, upper) in expected {
      #expect(brackets.bracket(of: offset) == TimeBracket(lower: lower.map { time($0) }, upper: upper.map { time($0) }), "\(offset)")
    }
  }

  /// By the letter: the last receipt before, the first one that covers.
  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `equals a search from one end to the other, also where sizes and times do not rise`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var receipts: [ReceiptTime] = []
    for offset in 0..<60 where random.isOneIn(3) {
      receipts.append(
        ReceiptTime(offset: Offset(offset), size: Offset(random.number(below: offset + 2)), time: time(Int64(random.number(below: 1000)))))
    }
    let brackets = TimeBrackets(random.isOneIn(2) ? receipts : receipts.reversed())
    for offset in 0..<64 as Range<Offset> {
      let expected = TimeBracket(
        lower: receipts.last { $0.offset < offset }?.time, upper: receipts.first { $0.size > offset }?.time)
      #expect(brackets.bracket(of: offset) == expected)
    }
  }

  @Test func `reads as what is known, and no more`() {
    let start = time(ClockStory.start)
    #expect("\(TimeBracket())" == "no receipt lies before it or covers it")
    #expect("\(TimeBracket(lower: start))" == "appended after 2026-06-01T00:00:00.000Z; no receipt covers it")
    #expect("\(TimeBracket(upper: start))" == "appended before 2026-06-01T00:00:00.000Z; no receipt lies before it")
    #expect(
      "\(TimeBracket(lower: start, upper: time(ClockStory.start + hour)))"
        == "appended after 2026-06-01T00:00:00.000Z and before 2026-06-01T01:00:00.000Z")
    #expect(TimeBrackets().bracket(of: 0) == TimeBracket())
  }
}
