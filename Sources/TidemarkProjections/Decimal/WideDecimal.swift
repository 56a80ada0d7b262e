/// A decimal number of any length: limbs of nine digits, the lowest first.
///
/// The value is the sum of `limbs[i]` times 10 to the power of `9 * (i + exponent)`. Neither the first nor the last limb is zero; zero has
/// none.
struct WideDecimal: Sendable, Hashable {
  var isNegative: Bool
  private var limbs: [UInt32]
  private var exponent: Int

  private static let base: UInt64 = 1_000_000_000

  private init(isNegative: Bool, limbs: [UInt32], exponent: Int) {
    self.isNegative = isNegative
    self.limbs = limbs
    self.exponent = exponent
    while self.limbs.last == 0 { self.limbs.removeLast() }
    let zeros = self.limbs.prefix { $0 == 0 }.count
    self.limbs.removeFirst(zeros)
    self.exponent += zeros
    if self.limbs.isEmpty {
      self.isNegative = false
      self.exponent = 0
    }
  }

  /// Digits, the highest first, times 10 to the power of `exponent`.
  init(digits: [UInt8], exponent: Int, isNegative: Bool) {
    let limbExponent = exponent >= 0 ? exponent / 9 : (exponent - 8) / 9
    let padded = digits + [UInt8](repeating: 0, count: exponent - 9 * limbExponent)
    var limbs: [UInt32] = []
    var end = padded.count
    while end > 0 {
      let start = max(0, end - 9)
      limbs.append(padded[start..<end].reduce(0) { $0 * 10 + UInt32($1) })
      end = start
    }
    self.init(isNegative: isNegative, limbs: limbs, exponent: limbExponent)
  }

  init(_ coefficient: Int64, scale: Int) {
    self.init(digits: String(coefficient.magnitude).utf8.map { $0 - UInt8(ascii: "0") }, exponent: -scale, isNegative: coefficient < 0)
  }

  /// The digits without zeros in front, and how many of them stand behind the point; none of these at the end is zero.
  var digits: (text: String, fraction: Int) {
    var text = ""
    for limb in limbs.reversed() {
      let part = String(limb)
      text += String(repeating: "0", count: text.isEmpty ? 0 : 9 - part.utf8.count) + part
    }
    if exponent >= 0 { return (text + String(repeating: "0", count: 9 * exponent), 0) }
    var fraction = -9 * exponent
    while fraction > 0 && text.utf8.last == UInt8(ascii: "0") {
      text.removeLast()
      fraction -= 1
    }
    return (text.isEmpty ? "0" : text, fraction)
  }

  /// As a coefficient over a power of ten up to 18, if it fits.
  var narrow: (coefficient: Int64, scale: Int)? {
    if limbs.isEmpty { return (0, 0) }
    guard limbs.count <= 4, exponent >= -2, limbs.count + exponent <= 3 else { return nil }
    let (text, fraction) = digits
    guard fraction <= 18, let coefficient = Int64((isNegative ? "-" : "") + text) else { return nil }
    return (coefficient, fraction)
  }

  // MARK: Arithmetic

  private func limb(at place: Int) -> UInt32 {
    let index = place - exponent
    return limbs.indices.contains(index) ? limbs[index] : 0
  }

  private var end: Int { exponent + limbs.count }

  static func + (left: WideDecimal, right: WideDecimal) -> WideDecimal {
    let low = min(left.exponent, right.exponent)
    let places = low..<max(left.end, right.end, low)
    if left.isNegative == right.isNegative {
      var limbs: [UInt32] = []
      var carry: UInt64 = 0
      for place in places {
        let sum = UInt64(left.limb(at: place)) + UInt64(right.limb(at: place)) + carry
        limbs.append(UInt32(sum % base))
        carry = sum / base
      }
      limbs.append(UInt32(carry))
      return WideDecimal(isNegative: left.isNegative, limbs: limbs, exponent: low)
    }
    let leftIsLarger = places.reversed().first { left.limb(at: $0) != right.limb(at: $0) }.map { left.limb(at: $0) > right.limb(at: $0) }
    let (larger, smaller) = leftIsLarger ?? true ? (left, right) : (right, left)
    var limbs: [UInt32] = []
    var borrow: Int64 = 0
    for place in places {
      var difference = Int64(larger.limb(at: place)) - Int64(smaller.limb(at: place)) - borrow
      borrow = difference < 0 ? 1 : 0
      if difference < 0 { difference += Int64(base) }
      limbs.append(UInt32(difference))
    }
    return WideDecimal(isNegative: larger.isNegative, limbs: limbs, exponent: low)
  }

  /// Rounded half to even.
  func divided(by divisor: UInt64, fractionDigits: Int) -> WideDecimal {
    // More digits than are wanted, and whether anything is left behind them.
    let low = min(exponent, -(fractionDigits / 9 + 2))
    var quotient: [UInt32] = []
    var rest: UInt64 = 0
    for place in (low..<max(end, low)).reversed() {
      var (high, part) = rest.multipliedFullWidth(by: Self.base)
      let (sum, carry) = part.addingReportingOverflow(UInt64(limb(at: place)))
      part = sum
      if carry { high += 1 }
      let step = divisor.dividingFullWidth((high, part))
      quotient.append(UInt32(step.quotient))
      rest = step.remainder
    }
    var digits: [UInt8] = []
    for limb in quotient {
      let part = String(limb).utf8.map { $0 - UInt8(ascii: "0") }
      digits += [UInt8](repeating: 0, count: 9 - part.count) + part
    }
    let dropped = -9 * low - fractionDigits
    if digits.count < dropped + 1 { digits = [UInt8](repeating: 0, count: dropped + 1 - digits.count) + digits }
    let tail = digits.suffix(dropped)
    digits.removeLast(dropped)
    let isBeyondHalf = tail.first.map { $0 > 5 || $0 == 5 && (rest != 0 || tail.dropFirst().contains { $0 != 0 }) } ?? false
    let isHalf = tail.first == 5 && !isBeyondHalf
    let isUp = isBeyondHalf || isHalf && digits.last.map { $0 % 2 == 1 } ?? false
    let cut = WideDecimal(digits: digits, exponent: -fractionDigits, isNegative: isNegative)
    return isUp ? cut + WideDecimal(digits: [1], exponent: -fractionDigits, isNegative: isNegative) : cut
  }
}
