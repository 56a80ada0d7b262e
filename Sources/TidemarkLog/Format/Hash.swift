internal import CXXHash

/// XXH3-64 of bytes, from the xxHash library. Integrity, not evidence: it finds damage, it does not resist an attacker.
@inline(__always) package func xxh3(_ bytes: RawSpan, seed: UInt64 = 0) -> UInt64 {
  unsafe bytes.withUnsafeBytes { unsafe tidemark_xxh3($0.baseAddress, $0.count, seed) }
}

/// A 128-bit value of XXH3-128, or the first half of a longer digest.
package struct Digest128: Hashable, Sendable {
  package var low: UInt64
  package var high: UInt64

  package init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  package static let zero = Digest128(low: 0, high: 0)

  /// XXH3-128 of bytes.
  package init(_ bytes: RawSpan) {
    let value = unsafe bytes.withUnsafeBytes { unsafe tidemark_xxh3_128($0.baseAddress, $0.count) }
    self.init(low: value.low64, high: value.high64)
  }

  /// 32 hexadecimal digits, most significant first, as the xxHash tools print it.
  package var hexadecimal: String { EventID(high: high, low: low).hexadecimal }
}

/// XXH3-128 over a stream of bytes.
///
/// Unchecked: each instance has one owner at a time.
@safe package final class StreamDigest: @unchecked Sendable {
  private let state: OpaquePointer

  package init() {
    unsafe state = Self.makeState()
    unsafe XXH3_128bits_reset(state)
  }

  private init(copying other: StreamDigest) {
    unsafe state = Self.makeState()
    unsafe XXH3_copyState(state, other.state)
  }

  deinit { unsafe XXH3_freeState(state) }

  private static func makeState() -> OpaquePointer {
    // The library returns null only when memory is out, where nothing else works either.
    guard let state = unsafe XXH3_createState() else { preconditionFailure("out of memory") }
    return unsafe state
  }

  package func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe tidemark_xxh3_128_update(state, $0.baseAddress, $0.count) }
  }

  package func copy() -> StreamDigest { StreamDigest(copying: self) }

  /// Takes over what another has digested so far.
  package func assign(_ other: StreamDigest) { unsafe XXH3_copyState(state, other.state) }

  package var value: Digest128 {
    let value = unsafe XXH3_128bits_digest(state)
    return Digest128(low: value.low64, high: value.high64)
  }
}
