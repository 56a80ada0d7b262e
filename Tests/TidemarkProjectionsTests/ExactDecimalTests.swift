import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct ExactDecimalTests {
  @Test func `a tenth added ten million times is a million`() throws {
    let tenth = try ExactDecimal("0.1")
    var sum = ExactDecimal.zero
    for _ in 0..<10_000_000 { sum += tenth }
    #expect(sum == ExactDecimal(1_000_000) && sum.description == "1000000")
  }

  @Test func `adding in place is adding`() throws {
    let numbers = try ["0", "1", "-1", "0.5", "-2.50", "9223372036854775807", "-9223372036854775808", "1e30", "-1e30", "1e-30"].map {
      try ExactDecimal($0)
    }
    for first in numbers {
      for second in numbers {
        var sum = first
        let before = sum
        sum += second
        #expect(sum == first + second && before == first && sum - second == first, "\(first) \(second)")
      }
    }
  }

  @Test(arguments: [
    ("0", "0"), ("-0", "0"), ("0.0", "0"), ("-0.00e5", "0"), ("1", "1"), ("-1", "-1"), ("10", "10"), ("1.50", "1.5"), ("0.05", "0.05"),
    ("1e3", "1000"),
    ("1E+3", "1000"), ("1.5e-3", "0.0015"), ("12e-1", "1.2"), ("100e-2", "1"), ("0e99999999999999999999", "0"), ("0.1e1", "1"),
    ("120", "120"),
    ("9223372036854775807", "9223372036854775807"), ("9223372036854775808", "9223372036854775808"),
    ("-9223372036854775808", "-9223372036854775808"), ("123456789012345678901234567890.5", "123456789012345678901234567890.5"),
    ("1e18", "1000000000000000000"), ("1e-18", "0.000000000000000001"), ("1e-19", "0.0000000000000000001"),
    ("1e20", "100000000000000000000"),
    ("1000000000", "1000000000"), ("1.000000000000000000000000000000000000000000000000000000", "1"),
  ])
  func `reads what JSON calls a number`(_ text: String, _ expected: String) throws {
    let number = try ExactDecimal(text)
    #expect(number.description == expected)
    #expect(try ExactDecimal(expected) == number && ExactDecimal(expected).hashValue == number.hashValue)
  }

  @Test(arguments: [
    "", "-", "+1", "01", "-01", "1.", ".5", "-.5", "1e", "1e+", "1.e1", "1..2", "1.2.3", "0x10", "NaN", "nan", "Infinity", "-Infinity",
    " 1", "1 ", "1,5", "1_000",
    "1e1.5", "null", "\"1\"", "１", "--1", "e5", "00", "0.1.",
  ])
  func `refuses what JSON does not call a number`(_ text: String) {
    #expect(error { _ = try ExactDecimal(text) }?.code == .invalidText, "\(text)")
  }

  @Test func `refuses digits beyond its bound, and takes those at it`() throws {
    for text in ["1e500", "1e-501", "1e99999999999999999999999", "1e-99999999999999999999999", "1" + String(repeating: "0", count: 500)] {
      #expect(error { _ = try ExactDecimal(text) }?.code == .numberTooLong, "\(text.prefix(20))")
    }
    for text in ["1e499", "1e-500", "9.9e499", "1" + String(repeating: "0", count: 499), "0." + String(repeating: "0", count: 499) + "1"] {
      let number = try ExactDecimal(text)
      #expect(try ExactDecimal(number.description) == number, "\(text.prefix(20))")
    }
    // A sum has no bound.
    let large = try ExactDecimal("9.9e499")
    let small = try ExactDecimal("1e-500")
    let sum = large + large + small
    #expect(sum - large - small == large && sum.description.hasPrefix("198") && sum.description.utf8.count == 1002)
    let projection = SumByKey("sum", extract: ValueTests.number)
    let state: ValuesByKey = ["a": SumByKey.Total(sum: sum, count: 3)]
    #expect(try projection.decode(projection.encode(state)) == state)
  }

  /// Against integers of 128 bits.
  @Test func `adds, compares and divides as integers do`() throws {
    var random = SeededRandom(seed: 3)
    for _ in 0..<20_000 {
      let one = number(&random)
      let two = number(&random)
      let (left, right) = (decimal(one), decimal(two))
      #expect(left + right == decimal(one + two), "\(one) \(two)")
      #expect(left - right == decimal(one - two), "\(one) \(two)")
      #expect((left < right) == (one < two) && (left == right) == (one == two), "\(one) \(two)")
      #expect((left + right).hashValue == decimal(one + two).hashValue)
      let count = UInt64(random.number(in: 1...random.number(in: 1...1_000_000_000)))
      let digits = random.number(below: 24)
      // Half to even, of one over count with so many digits.
      var scaled = one
      var divisor = Int128(count)
      if digits > 6 { for _ in 6..<min(digits, 12) { scaled *= 10 } } else { for _ in digits..<6 { divisor *= 10 } }
      let shown = min(digits, 12)
      var (quotient, rest) = scaled.quotientAndRemainder(dividingBy: divisor)
      let twice = rest.magnitude * 2
      if twice > divisor.magnitude || twice == divisor.magnitude && quotient % 2 != 0 { quotient += scaled < 0 ? -1 : 1 }
      rest = 0
      let expected = decimal(quotient, fraction: shown)
      #expect(left.divided(by: count, fractionDigits: shown) == expected, "\(one) \(count) \(shown)")
    }
    // Beyond the half by less than any digit that is looked at.
    #expect(try ExactDecimal("10000000000.000000001").divided(by: 20_000_000_000, fractionDigits: 0) == ExactDecimal(1))
    #expect(try ExactDecimal("10000000000").divided(by: 20_000_000_000, fractionDigits: 0) == .zero)
    #expect(ExactDecimal(1).divided(by: 0, fractionDigits: 2) == nil)
    #expect(ExactDecimal(1).divided(by: .max, fractionDigits: 200)?.description.utf8.count ?? 0 <= 102)
    #expect(
      ExactDecimal(7).divided(by: 2, fractionDigits: 0) == ExactDecimal(4)
        && ExactDecimal(5).divided(by: 2, fractionDigits: 0) == ExactDecimal(2))
  }

  /// Of any length up to 27 digits.
  private func number(_ random: inout SeededRandom) -> Int128 {
    var number: Int128 = 0
    for _ in 0..<random.number(below: 28) { number = number * 10 + Int128(random.isOneIn(3) ? 0 : random.number(below: 10)) }
    return random.isOneIn(2) ? -number : number
  }

  /// With six digits behind the point.
  private func decimal(_ number: Int128, fraction: Int = 6) -> ExactDecimal {
    (try? ExactDecimal("\(number)e-\(fraction)")) ?? .zero
  }

  @Test func `the order in which a sum is made does not matter`() throws {
    var random = SeededRandom(seed: 8)
    for _ in 0..<200 {
      var numbers = try (0..<20).map { _ in try ExactDecimal("\(number(&random))e\(random.number(below: 60) - 30)") }
      let sum = numbers.reduce(.zero, +)
      numbers.shuffle(using: &random)
      #expect(numbers.reduce(.zero, +) == sum)
      #expect(numbers.reduce(sum, -) == .zero && numbers.reduce(sum, -).sign == 0)
    }
  }
}
