internal import TidemarkLog

/// A decimal number without rounding: sums of money and of readings come out exactly, in whatever order.
///
/// Numbers are read as JSON writes them (RFC 8259, section 6): `0.1` is a tenth, not the binary fraction near it. A number read may have
/// digits from 10^499 down to 10^-500, else it is refused with `LogError.Code.numberTooLong`; sums have no bound.
///
/// ```swift
/// let price = try ExactDecimal("19.90")
/// print(price + ExactDecimal(1))  // 20.9
/// ```
public struct ExactDecimal: Sendable {
  /// `coefficient` over 10 to the power of `scale`, 0 to 18; does not count where there is a `heap`.
  private var coefficient: Int64
  private var scale: UInt8
  /// What does not fit, on the heap: so the others are small.
  private var heap: Heap?

  private final class Heap: Sendable {
    let wide: WideDecimal
    init(_ wide: WideDecimal) { self.wide = wide }
  }

  private var wide: WideDecimal? { heap?.wide }

  private init(_ coefficient: Int64, scale: Int) {
    self.coefficient = coefficient
    self.scale = UInt8(truncatingIfNeeded: scale)
  }

  private init(_ wide: WideDecimal) {
    if let (coefficient, scale) = wide.narrow {
      self.init(coefficient, scale: scale)
    } else {
      self.init(0, scale: 0)
      heap = Heap(wide)
    }
  }

  /// A whole number.
  public init(_ number: Int) { self.init(Int64(number), scale: 0) }

  /// Nothing.
  public static let zero = ExactDecimal(0)

  private static let powers: [Int64] = (0...18).reduce(into: [1]) { powers, _ in
    if powers.count < 19, let last = powers.last { powers.append(last * 10) }
  }

  /// The same number with the shortest fraction: each number has one such form.
  private var shortest: ExactDecimal {
    guard heap == nil else { return self }
    var result = self
    while result.scale > 0 && result.coefficient % 10 == 0 {
      result.coefficient /= 10
      result.scale -= 1
    }
    return result
  }

  private var widened: WideDecimal { wide ?? WideDecimal(coefficient, scale: Int(scale)) }

  /// -1, 0 or 1.
  public var sign: Int { wide.map { $0.isNegative ? -1 : 1 } ?? Int(coefficient.signum()) }

  // MARK: Reading

  /// Reads a number as JSON writes it: no `+` in front, no leading zeros, no `NaN`.
  ///
  /// Throws `LogError.Code.invalidText` for anything else, `LogError.Code.numberTooLong` for more digits than
  /// are kept.
  ///
  /// ```swift
  /// let number = try ExactDecimal("-1.5e3")
  /// ```
  public init(_ text: String) throws {
    let bytes = Array(text.utf8)
    try self.init(bytes.rawSpan)
  }

  /// Reads a number that is all of some bytes, such as an event's data. See ``init(_:)-(String)``.
  public init(_ bytes: RawSpan) throws { try self.init(bytes, limit: 500) }

  /// - Parameter limit: the most digits before, and after, the point.
  init(_ bytes: RawSpan, limit: Int) throws(LogError) {
    var scanner = NumberScanner(bytes)
    let number = try scanner.scan(limit: limit)
    if let short = number.short {
      self.init(short.coefficient, scale: short.scale)
    } else {
      self.init(WideDecimal(digits: number.digits(of: bytes), exponent: number.exponent, isNegative: number.isNegative))
    }
  }

  // MARK: Arithmetic

  /// The exact sum.
  public static func + (left: ExactDecimal, right: ExactDecimal) -> ExactDecimal {
    if left.heap == nil && right.heap == nil {
      if left.scale == right.scale {
        let (sum, overflow) = left.coefficient.addingReportingOverflow(right.coefficient)
        if !overflow { return ExactDecimal(sum, scale: Int(left.scale)) }
      } else {
        let (finer, coarser) = left.scale > right.scale ? (left, right) : (right, left)
        let (aligned, tooLong) = coarser.coefficient.multipliedReportingOverflow(by: powers[Int(finer.scale - coarser.scale)])
        let (sum, overflow) = finer.coefficient.addingReportingOverflow(aligned)
        if !tooLong && !overflow { return ExactDecimal(sum, scale: Int(finer.scale)) }
      }
    }
    return ExactDecimal(left.widened + right.widened)
  }

  /// Adds in place.
  @inline(__always) public static func += (left: inout ExactDecimal, right: ExactDecimal) {
    if left.scale == right.scale && left.heap == nil && right.heap == nil {
      let (sum, overflow) = left.coefficient.addingReportingOverflow(right.coefficient)
      if !overflow {
        left.coefficient = sum
        return
      }
    }
    left = left + right
  }

  /// The number with the other sign.
  public static prefix func - (number: ExactDecimal) -> ExactDecimal {
    if number.heap == nil && number.coefficient != .min { return ExactDecimal(-number.coefficient, scale: Int(number.scale)) }
    var wide = number.widened
    wide.isNegative.toggle()
    return ExactDecimal(wide)
  }

  /// The exact difference.
  public static func - (left: ExactDecimal, right: ExactDecimal) -> ExactDecimal { left + -right }

  /// A quotient, which has no exact decimal form in general: rounded to so many digits after the point, 0 to 100, half to even. Nil for a
  /// division by zero.
  ///
  /// ```swift
  /// let third = ExactDecimal(1).divided(by: 3, fractionDigits: 4)  // 0.3333
  /// ```
  public func divided(by count: UInt64, fractionDigits: Int) -> ExactDecimal? {
    guard count > 0 else { return nil }
    return ExactDecimal(widened.divided(by: count, fractionDigits: min(max(fractionDigits, 0), 100)))
  }
}

extension ExactDecimal: Hashable, Comparable {
  public static func == (left: ExactDecimal, right: ExactDecimal) -> Bool {
    let (one, two) = (left.shortest, right.shortest)
    return one.coefficient == two.coefficient && one.scale == two.scale && one.wide == two.wide
  }

  public func hash(into hasher: inout Hasher) {
    let shortest = shortest
    hasher.combine(shortest.coefficient)
    hasher.combine(shortest.scale)
    hasher.combine(shortest.wide)
  }

  public static func < (left: ExactDecimal, right: ExactDecimal) -> Bool { (left - right).sign < 0 }
}

extension ExactDecimal: CustomStringConvertible {
  /// The shortest form without an exponent, which is a JSON number.
  public var description: String {
    let number = shortest
    let digits: String
    let fraction: Int
    if let wide {
      (digits, fraction) = wide.digits
    } else {
      (digits, fraction) = (String(number.coefficient.magnitude), Int(number.scale))
    }
    let sign = number.sign < 0 ? "-" : ""
    if fraction == 0 { return sign + digits }
    let padded = String(repeating: "0", count: max(0, fraction + 1 - digits.utf8.count)) + digits
    return "\(sign)\(padded.dropLast(fraction)).\(padded.suffix(fraction))"
  }
}
