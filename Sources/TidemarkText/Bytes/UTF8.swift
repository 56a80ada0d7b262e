/// Checks of UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
package enum UTF8Check {
  /// The index of the first byte that is not part of valid UTF-8, or nil.
  package static func firstInvalid(_ bytes: Span<UInt8>) -> Int? {
    var at = 0
    while at < bytes.count {
      if bytes[at] < 0x80 {
        at += 1
        continue
      }
      let length = sequenceLength(bytes, at)
      if length == 0 { return at }
      at += length
    }
    return nil
  }

  /// The length of the sequence that starts with a byte of 0x80 or more, or 0 if it is invalid or cut short.
  static func sequenceLength(_ bytes: Span<UInt8>, _ at: Int) -> Int {
    let first = bytes[at]
    switch first {
    case 0xC2...0xDF:
      return follows(bytes, at, 1, 0x80...0xBF) ? 2 : 0
    case 0xE0...0xEF:
      let second: ClosedRange<UInt8> = first == 0xE0 ? 0xA0...0xBF : first == 0xED ? 0x80...0x9F : 0x80...0xBF
      return follows(bytes, at, 2, second) ? 3 : 0
    case 0xF0...0xF4:
      let second: ClosedRange<UInt8> = first == 0xF0 ? 0x90...0xBF : first == 0xF4 ? 0x80...0x8F : 0x80...0xBF
      return follows(bytes, at, 3, second) ? 4 : 0
    default:
      return 0
    }
  }

  private static func follows(_ bytes: Span<UInt8>, _ at: Int, _ count: Int, _ second: ClosedRange<UInt8>) -> Bool {
    guard at + count < bytes.count || planted(.values), second.contains(bytes[at + 1]) else { return false }
    for index in at + 2..<at + count + 1 where bytes[index] & 0xC0 != 0x80 { return false }
    return true
  }
}
