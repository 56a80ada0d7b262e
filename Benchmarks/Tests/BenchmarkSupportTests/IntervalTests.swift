import Testing

@testable import BenchmarkSupport

@Suite("Interval of the median")
struct IntervalTests {
  /// From the binomial distribution: 1 - 2 sum over i < k of C(n, i) / 2^n.
  @Test(
    "coverage follows the binomial distribution",
    arguments: [(5, 1, 0.9375), (6, 1, 0.96875), (10, 2, 0.978515625), (15, 4, 0.96484375)])
  func coverage(count: Int, rank: Int, expected: Double) {
    #expect(abs(Interval.coverage(count: count, rank: rank) - expected) < 1e-12)
  }

  /// Printed in statistics tables as the ranks of the 95 % interval of the median.
  @Test(
    "ranks agree with published tables",
    arguments: [(6, 1), (8, 1), (9, 2), (10, 2), (11, 2), (12, 3), (15, 4), (16, 4), (17, 5), (20, 6), (25, 8), (50, 18), (100, 40)])
  func rank(count: Int, expected: Int) {
    #expect(Interval.rank(count: count, confidence: 0.95) == expected)
  }

  @Test("bounds are samples, and the order of samples does not matter")
  func bounds() {
    let interval = Interval(of: [7, 3, 10, 1, 9, 2, 8, 4, 6, 5])
    #expect(interval == Interval(of: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))
    #expect(interval.median == 5.5)
    #expect(interval.lower == 2)
    #expect(interval.upper == 9)
  }

  @Test("too few samples give their extremes and say so")
  func fewSamples() {
    let interval = Interval(of: [3, 1, 2])
    #expect(interval.median == 2)
    #expect(interval.lower == 1)
    #expect(interval.upper == 3)
    #expect(interval.coverage == 0.75)
    #expect(Interval(of: [4]).coverage == 0)
  }

  /// 4,000 sets of 11 uniform samples: the interval must hold the true median, 0.5, about as often as it claims.
  @Test("holds the true median as often as it claims")
  func simulation() {
    var generator = SplitMix(state: 42)
    var hits = 0
    var coverage = 0.0
    for _ in 0..<4000 {
      let interval = Interval(of: (0..<11).map { _ in Double.random(in: 0..<1, using: &generator) })
      coverage = interval.coverage
      if interval.lower <= 0.5 && interval.upper >= 0.5 { hits += 1 }
    }
    #expect(abs(Double(hits) / 4000 - coverage) < 0.01)
  }

  @Test("percentiles take the nearest rank")
  func percentiles() {
    let samples = Array((1...100).reversed())
    #expect(percentile(0.5, of: samples) == 50)
    #expect(percentile(0.99, of: samples) == 99)
    #expect(percentile(1, of: samples) == 100)
    #expect(percentile(0, of: samples) == 1)
    #expect(percentile(0.5, of: [3, 1, 2]) == 2)
    #expect(percentile(0.99, of: Array(1...10)) == 10)
    #expect(percentile(0.99, of: [7]) == 7)
  }
}

struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }
}
