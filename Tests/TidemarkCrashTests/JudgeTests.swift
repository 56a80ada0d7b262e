import Testing
import TidemarkCrash

@Suite("Judging what was found after a fault")
struct JudgeTests {
  private func found(_ numbers: [UInt64], bad: Set<UInt64> = []) -> Found {
    Found(events: numbers.map { .init($0, isRight: !bad.contains($0)) })
  }

  private func expectation(acknowledged: UInt64, served: UInt64 = 0, attempted: UInt64, batch: UInt64 = 1) -> TidemarkCrash.Expectation {
    var expectation = TidemarkCrash.Expectation()
    expectation.acknowledged = acknowledged
    expectation.served = served
    expectation.attempted = attempted
    expectation.runs = [.init(first: 0, end: attempted, batch: batch)]
    return expectation
  }

  @Test("all that was acknowledged is there, and one more: nothing is wrong")
  func kept() {
    #expect(Judgement.of(found([0, 1, 2, 3]), expectation(acknowledged: 3, attempted: 4)) == Judgement())
    #expect(Judgement.of(found([]), TidemarkCrash.Expectation()) == Judgement())
  }

  @Test("an acknowledged event that is missing is lost")
  func lost() {
    let judgement = Judgement.of(found([0, 1]), expectation(acknowledged: 5, attempted: 6))
    #expect(judgement.lost == 3 && judgement.lostRange == 2...4)
    #expect(judgement.isWhole)
    #expect(Judgement.of(found([]), expectation(acknowledged: 5, attempted: 6)).lost == 5)
  }

  @Test("what was served once and is gone is retracted, not lost")
  func retracted() {
    let judgement = Judgement.of(found([0, 1]), expectation(acknowledged: 2, served: 4, attempted: 5))
    #expect(judgement.lost == 0 && judgement.retracted == 2)
  }

  @Test("an event that nobody appended is a phantom")
  func phantom() {
    let judgement = Judgement.of(found([0, 1, 9, .max]), expectation(acknowledged: 2, attempted: 3))
    #expect(judgement.phantoms == 2 && judgement.lost == 0 && !judgement.isWhole)
  }

  @Test("wrong content is damage, and does not count as there")
  func damaged() {
    let judgement = Judgement.of(found([0, 1, 77], bad: [1, 77]), expectation(acknowledged: 2, attempted: 3))
    #expect(judgement.damaged == 2 && judgement.lost == 1 && judgement.lostRange == 1...1 && judgement.phantoms == 0)
  }

  @Test("an event that is there twice is a duplicate")
  func doubled() {
    let judgement = Judgement.of(found([0, 1, 1, 2, 0]), expectation(acknowledged: 3, attempted: 4))
    #expect(judgement.duplicates == 2 && judgement.lost == 0 && judgement.disordered == 0)
  }

  @Test("an event that is missing before a later one is a gap, acknowledged or not")
  func gap() {
    let judgement = Judgement.of(found([0, 3]), expectation(acknowledged: 2, attempted: 5))
    #expect(judgement.gaps == 2 && judgement.lost == 1)
  }

  @Test("an event behind a later one is out of order")
  func disordered() {
    let judgement = Judgement.of(found([0, 2, 1, 3]), expectation(acknowledged: 4, attempted: 5))
    #expect(judgement.disordered == 1 && judgement.gaps == 0 && judgement.lost == 0)
  }

  @Test(
    "a batch of which a part is there is torn; one that is there or not at all is not",
    arguments: [(0, 0), (3, 1), (5, 0), (7, 1), (10, 0)])
  func tornBatch(_ count: Int, _ torn: Int) {
    let numbers = (0..<UInt64(count)).map { $0 }
    #expect(Judgement.of(found(numbers), expectation(acknowledged: 0, attempted: 10, batch: 5)).tornBatches == torn)
  }

  @Test("the last batch of a writer may be shorter")
  func shortBatch() {
    #expect(Judgement.of(found([0, 1, 2, 3, 4, 5]), expectation(acknowledged: 6, attempted: 6, batch: 5)) == Judgement())
  }

  @Test("what `verify` prints is read, and anything else is refused")
  func output() {
    let good = Found(output: Array("0\n1 bad\n18446744073709551615\nend 3 512\n".utf8))
    #expect(good == Found(events: [.init(0), .init(1, isRight: false), .init(.max)], openingMicroseconds: 512))
    #expect(Found(output: Array("end 0 0\n".utf8))?.events.isEmpty == true)
    for text in [
      "", "0\n1\n", "0\nend 2 5\n", "x\nend 1 5\n", "0 worse\nend 1 5\n", "18446744073709551616\nend 1 5\n", "0\nend 1\n", "-1\nend 1 5\n",
    ] {
      #expect(Found(output: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test("content follows from its number, and one wrong byte is seen")
  func content() {
    for count in [8, 9, 16, 200] {
      var bytes = Content.bytes(of: 1_000_000_007, count: count)
      #expect(bytes.count == count && Content.check(bytes) == (1_000_000_007, true))
      guard count > 8 else { continue }
      bytes[count - 1] ^= 1
      #expect(Content.check(bytes) == (1_000_000_007, false))
    }
    #expect(!Content.check([1, 2]).isRight)
    // The contract's own example of a generator: the first output from state 0.
    var generator = SplitMix64(state: 0)
    #expect(generator.next() == 0xE220_A839_7B1D_CDAF)
  }
}
