@testable import TidemarkLog

// Numbers and hashes of bytes that may lie anywhere.
extension [UInt8] {
  func u8(_ position: Int) -> UInt8 { self[position] }
  func u16(_ position: Int) -> UInt16 { rawSpan.u16(position) }
  func u32(_ position: Int) -> UInt32 { rawSpan.u32(position) }
  func u64(_ position: Int) -> UInt64 { rawSpan.u64(position) }
  func id(_ position: Int) -> EventID { rawSpan.id(position) }
  func hash(_ position: Int, _ count: Int, seed: UInt64 = 0) -> UInt64 { xxh3(rawSpan.slice(position, count), seed: seed) }
  func digest(upTo count: Int) -> Digest128 { Digest128(rawSpan.slice(0, count)) }
  mutating func put(_ bytes: [UInt8], at position: Int) { store(bytes.rawSpan, at: position) }
}
