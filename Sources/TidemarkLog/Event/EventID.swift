/// A 128-bit id of an event: a UUID. Without one from the caller the engine makes a UUIDv7 (RFC 9562), which sorts by time.
///
/// ```swift
/// let id = EventID("0190163d-8694-739b-aea5-966c26f8ad91")
/// ```
public struct EventID: Hashable, Sendable {
  /// The first eight bytes, most significant first.
  public let high: UInt64
  /// The last eight bytes, most significant first.
  public let low: UInt64

  /// Makes an id of its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// All bits zero: no event has it.
  public static let zero = EventID(high: 0, low: 0)
  package static let highest = EventID(high: .max, low: .max)

  /// Reads the usual 36 characters, or 32 hexadecimal digits, in either case. Nil for anything else.
  public init?(_ text: some StringProtocol) {
    var digits = (high: UInt64(0), low: UInt64(0))
    var count = 0
    var position = 0
    let dashed = text.utf8.count == 36
    guard dashed || text.utf8.count == 32 else { return nil }
    for byte in text.utf8 {
      defer { position += 1 }
      if dashed && (position == 8 || position == 13 || position == 18 || position == 23) {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      default: return nil
      }
      if count < 16 { digits.high = digits.high << 4 | UInt64(digit) } else { digits.low = digits.low << 4 | UInt64(digit) }
      count += 1
    }
    self.init(high: digits.high, low: digits.low)
  }

  /// A UUIDv7 of a time and random bits (RFC 9562, section 5.7). Times before 1970 count as 1970.
  package init(time: Timestamp, random: (UInt64, UInt64)) {
    let milliseconds = UInt64(max(0, time.nanoseconds / 1_000_000)) & 0xFFFF_FFFF_FFFF
    self.init(
      high: milliseconds << 16 | 0x7000 | random.0 & 0x0FFF,
      low: 0x8000_0000_0000_0000 | random.1 & 0x3FFF_FFFF_FFFF_FFFF)
  }

  /// A UUIDv8 (RFC 9562, section 5.8) of any text, by XXH3-128 of `tidemark:` and the text: the same text always gives the same id.
  package init(derivedFrom text: String) {
    let digest = Digest128(Array("tidemark:\(text)".utf8).rawSpan)
    self.init(high: digest.high & ~0xF000 | 0x8000, low: digest.low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }

  /// Whether it has the form of an id that was derived from a text.
  package var isDerived: Bool { high & 0xF000 == 0x8000 }

  /// 32 lower-case hexadecimal digits.
  package var hexadecimal: String { Self.hexadecimal(high) + Self.hexadecimal(low) }

  private static func hexadecimal(_ word: UInt64) -> String {
    let text = String(word, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}

extension EventID: Comparable {
  public static func < (left: EventID, right: EventID) -> Bool {
    left.high != right.high ? left.high < right.high : left.low < right.low
  }
}

extension EventID: CustomStringConvertible {
  /// The usual 36 characters, lower case.
  public var description: String {
    unsafe String(unsafeUninitializedCapacity: 36) { buffer in
      let digits: StaticString = "0123456789abcdef"
      var nibble = 0
      for position in 0..<36 {
        if position == 8 || position == 13 || position == 18 || position == 23 {
          unsafe buffer[position] = UInt8(ascii: "-")
        } else {
          let word = nibble < 16 ? high : low
          let value = Int(word >> UInt64(60 - 4 * (nibble & 15)) & 15)
          unsafe buffer[position] = unsafe digits.utf8Start[value]
          nibble += 1
        }
      }
      return 36
    }
  }
}
