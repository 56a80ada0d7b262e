import Synchronization
import TidemarkLog

/// A generator whose whole sequence follows from its seed (xoshiro256**, filled by SplitMix64). For the decisions of a test.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var a: UInt64
  private var b: UInt64
  private var c: UInt64
  private var d: UInt64

  package init(seed: UInt64) {
    a = splitMix(seed &+ splitMixStep)
    b = splitMix(seed &+ 2 &* splitMixStep)
    c = splitMix(seed &+ 3 &* splitMixStep)
    d = splitMix(seed &+ 4 &* splitMixStep)
  }

  package mutating func next() -> UInt64 {
    let scrambled = Self.rotate(b &* 5, 7) &* 9
    let shifted = b << 17
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = Self.rotate(d, 45)
    return scrambled
  }

  private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }

  /// A number from 0 up to, not including, `bound`. Fast, and not generic, for callers in other modules; its bias is below 2^-32 for
  /// small bounds.
  package mutating func number(below bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  package mutating func number(in range: ClosedRange<Int>) -> Int {
    range.lowerBound + number(below: range.upperBound - range.lowerBound + 1)
  }

  /// True once in `count` times.
  package mutating func isOneIn(_ count: Int) -> Bool { number(below: count) == 0 }
}

/// The engine's source of random bits, from a seed. Safe from any thread; with one thread its sequence follows from the seed.
package final class SeededRandomSource: RandomSource {
  private let state: Atomic<UInt64>

  package init(seed: UInt64) { state = Atomic(splitMix(seed)) }

  package func next() -> UInt64 { splitMix(state.wrappingAdd(splitMixStep, ordering: .relaxed).newValue) }
}

package let splitMixStep: UInt64 = 0x9E37_79B9_7F4A_7C15

/// SplitMix64's mixing: every bit of the result depends on every bit of `word`.
package func splitMix(_ word: UInt64) -> UInt64 {
  var word = word
  word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
  word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
  return word ^ word >> 31
}
