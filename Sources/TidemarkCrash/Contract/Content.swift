/// What an event holds: its number, then bytes that follow from the number, so that any reader can tell whether they are right.
package enum Content {
  /// The smallest content: the number alone.
  package static let minimumByteCount = 8

  /// The content of an event.
  package static func bytes(of number: UInt64, count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    add(number, to: &bytes)
    var generator = SplitMix64(state: number)
    while bytes.count < count { add(generator.next(), to: &bytes) }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  /// The number that a content begins with, and whether the rest is right.
  package static func check(_ bytes: [UInt8]) -> (number: UInt64, isRight: Bool) {
    var number: UInt64 = 0
    for (index, byte) in bytes.prefix(8).enumerated() { number |= UInt64(byte) << (UInt64(index) * 8) }
    return (number, bytes.count >= minimumByteCount && bytes == self.bytes(of: number, count: bytes.count))
  }

  private static func add(_ word: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
  }
}

/// A small generator whose whole course follows from where it starts.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number from 0 to `bound` - 1.
  mutating func below(_ bound: Int) -> Int { Int(next(upperBound: UInt64(max(1, bound)))) }

  /// True once in `count` times.
  mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

  /// From 0 up to, not including, 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
