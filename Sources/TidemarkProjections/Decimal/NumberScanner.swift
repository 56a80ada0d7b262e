internal import TidemarkLog

/// Reads a number by the grammar of JSON (RFC 8259, section 6).
struct NumberScanner: ~Escapable {
  private let bytes: RawSpan
  private var position = 0

  @_lifetime(copy bytes) init(_ bytes: RawSpan) { self.bytes = bytes }

  struct Number {
    var isNegative: Bool
    /// The number as an integer over a power of ten from 0 to 18; nil if that takes more than 18 digits.
    var short: (coefficient: Int64, scale: Int)?
    /// The place of the last significant digit: the number is its digits times 10 to this power.
    var exponent: Int
    /// Where the significant digits stand, a point perhaps between them.
    var range: Range<Int>

    func digits(of bytes: RawSpan) -> [UInt8] {
      var digits: [UInt8] = []
      for position in range where bytes.u8(position) != UInt8(ascii: ".") { digits.append(bytes.u8(position) - UInt8(ascii: "0")) }
      return digits
    }
  }

  private var next: UInt8 { position < bytes.byteCount ? bytes.u8(position) : 0 }

  private func failure(_ why: String) -> LogError {
    LogError(
      .invalidText, "no number", position: UInt64(position), why: why,
      advice: "write numbers as JSON does: digits, perhaps with \"-\" in front, a fraction and an exponent")
  }

  mutating func scan(limit: Int) throws(LogError) -> Number {
    let isNegative = next == UInt8(ascii: "-")
    if isNegative { position += 1 }
    var value: Int64 = 0
    var (first, last) = (-1, -1)
    // Significant digits, and digits since the last that is not zero.
    var count = 0
    var zeros = 0
    var point: Int?
    let start = position
    while position < bytes.byteCount {
      let byte = bytes.u8(position)
      if byte == UInt8(ascii: "."), point == nil, position > start {
        point = position
      } else {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else { break }
        if digit != 0 {
          if first < 0 { first = position }
          last = position
          count += zeros + 1
          zeros = 0
        } else if first >= 0 {
          zeros += 1
        }
      }
      position += 1
    }
    let end = position
    guard end > start else { throw failure("it lacks a digit") }
    guard point != end - 1 else { throw failure("it lacks a digit after the point") }
    if bytes.u8(start) == UInt8(ascii: "0"), end > start + 1, point != start + 1 { throw failure("it starts with a zero") }
    var exponent = 0
    if next | 0x20 == UInt8(ascii: "e") { exponent = try scanExponent() }
    guard position == bytes.byteCount else { throw failure("something follows it") }
    guard first >= 0 else { return Number(isNegative: false, short: (0, 0), exponent: 0, range: 0..<0) }

    // The place of the last significant digit.
    let unit = point ?? end
    exponent += last < unit ? unit - 1 - last : unit - last
    guard exponent >= -limit, exponent + count <= limit else {
      throw LogError(
        .numberTooLong, "a number is too long", position: 0,
        why: "its digits lie outside 10^\(limit - 1) to 10^-\(limit)", advice: "write it with fewer digits")
    }
    var short: (coefficient: Int64, scale: Int)?
    if count + max(exponent, 0) <= 18 && exponent >= -18 {
      for position in first...last where bytes.u8(position) != UInt8(ascii: ".") {
        value = value &* 10 &+ Int64(bytes.u8(position) &- UInt8(ascii: "0"))
      }
      for _ in 0..<max(exponent, 0) { value *= 10 }
      short = (isNegative ? -value : value, max(-exponent, 0))
    }
    return Number(isNegative: isNegative, short: short, exponent: exponent, range: first..<last + 1)
  }

  /// Exponents beyond all bounds are cut: whether the number is too long then follows.
  private mutating func scanExponent() throws(LogError) -> Int {
    position += 1
    let isNegative = next == UInt8(ascii: "-")
    if isNegative || next == UInt8(ascii: "+") { position += 1 }
    let start = position
    var exponent = 0
    while position < bytes.byteCount, case let digit = bytes.u8(position) &- UInt8(ascii: "0"), digit < 10 {
      exponent = min(exponent * 10 + Int(digit), 1 << 40)
      position += 1
    }
    guard position > start else { throw failure("its exponent lacks a digit") }
    return isNegative ? -exponent : exponent
  }
}
