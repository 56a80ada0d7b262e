import TestSupport
import Testing

@Suite("A set of sectors")
struct SectorSetTests {
  @Test("holds what was put in, across words, and nothing beside it")
  func ranges() {
    var random = SeededRandom(seed: 4)
    for _ in 0..<200 {
      var set = SectorSet()
      var expected: Set<Int> = []
      for _ in 0..<random.number(in: 1...6) {
        let start = random.number(below: 300)
        let range = start..<start + random.number(below: 150)
        if random.isOneIn(3) {
          set.remove(range)
          expected.subtract(range)
        } else {
          set.insert(range)
          expected.formUnion(range)
        }
      }
      #expect(set.sectors == expected.sorted())
      #expect(set.count == expected.count && set.isEmpty == expected.isEmpty)
      #expect((0..<460).allSatisfy { set.contains($0) == expected.contains($0) })
    }
  }

  @Test("gives its runs in order")
  func runs() {
    let set = SectorSet([0, 1, 63, 64, 65, 127, 128, 200])
    var runs: [Range<Int>] = []
    var at = 0
    while let run = set.run(from: at) {
      runs.append(run)
      at = run.upperBound
    }
    #expect(runs == [0..<2, 63..<66, 127..<129, 200..<201])
    #expect(set.run(from: 201) == nil && set.run(from: 5000) == nil)
  }
}
