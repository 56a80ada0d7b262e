/// A date and time of day as internet protocols write it (RFC 3339), such as `2013-11-03T01:30:00.250-04:00`.
///
/// Keeps nine digits of the second's fraction, how many were written, and the offset from UTC. Days are those of the Gregorian calendar,
/// also before it.
package struct RFC3339: Equatable, Sendable {
  /// Nanoseconds since 1970-01-01T00:00:00Z without leap seconds.
  package var nanoseconds: Int64
  /// How many digits the fraction was written with, 0 to 9.
  package var fractionDigits: Int
  /// Minutes east of UTC.
  package var offsetMinutes: Int16

  package init(nanoseconds: Int64, fractionDigits: Int, offsetMinutes: Int16) {
    self.nanoseconds = nanoseconds
    self.fractionDigits = fractionDigits
    self.offsetMinutes = offsetMinutes
  }

  /// Why text is no time that can be kept.
  package enum Failure: Error, Equatable {
    case malformed(TextError)
    /// Well formed, but not in the years 1677 to 2262, which 64 bits of nanoseconds hold.
    case outOfRange
  }

  /// Reads all of `text`. `T` and `Z` may be lower case. A leap second (`:60`) has no place on a clock without them and is refused.
  package init(_ text: Span<UInt8>) throws(Failure) {
    var fields: Fields
    do { fields = try Fields(text) } catch { throw .malformed(error) }
    let days = Self.days(year: fields.year, month: fields.month, day: fields.day)
    let secondOfDay = fields.hour * 3_600 + fields.minute * 60 + fields.second - fields.offsetMinutes * 60
    let seconds = Int64(days) * 86_400 + Int64(secondOfDay)
    // The earliest second is cut by the range's end: count down from the second after it.
    let (whole, overflow) = (seconds < 0 ? seconds + 1 : seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let rest = Int64(seconds < 0 ? fields.nanosecond - 1_000_000_000 : fields.nanosecond)
    let (sum, carry) = whole.addingReportingOverflow(rest)
    guard !overflow, !carry else { throw .outOfRange }
    self.init(nanoseconds: sum, fractionDigits: fields.fractionDigits, offsetMinutes: Int16(fields.offsetMinutes))
  }

  package init(_ text: String) throws(Failure) {
    try self.init(text.utf8Span.span)
  }

  /// Appends the time in UTC with `fractionDigits` digits of the fraction, the rest cut off.
  package static func format(nanoseconds: Int64, fractionDigits: Int, to output: inout [UInt8]) {
    let (seconds, nanosecond) = floorDivide(nanoseconds, 1_000_000_000)
    let (days, time) = floorDivide(seconds, 86_400)
    let date = civil(days: Int(days))
    let secondOfDay = Int(time)
    digits(date.year, 4, to: &output)
    output.append(UInt8(ascii: "-"))
    digits(date.month, 2, to: &output)
    output.append(UInt8(ascii: "-"))
    digits(date.day, 2, to: &output)
    output.append(UInt8(ascii: "T"))
    digits(secondOfDay / 3_600, 2, to: &output)
    output.append(UInt8(ascii: ":"))
    digits(secondOfDay / 60 % 60, 2, to: &output)
    output.append(UInt8(ascii: ":"))
    digits(secondOfDay % 60, 2, to: &output)
    let count = min(max(fractionDigits, 0), 9)
    if count > 0 {
      output.append(UInt8(ascii: "."))
      digits(Int(nanosecond) / powersOfTen[9 - count], count, to: &output)
    }
    output.append(UInt8(ascii: "Z"))
  }

  package static func format(nanoseconds: Int64, fractionDigits: Int) -> String {
    var output: [UInt8] = []
    format(nanoseconds: nanoseconds, fractionDigits: fractionDigits, to: &output)
    return String(decoding: output, as: UTF8.self)
  }

  // MARK: Calendar

  static func daysInMonth(_ year: Int, _ month: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01. The year is counted from March, so that the leap day is its last.
  static func days(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month > 2 ? year : year - 1
    let (era, yearOfEra) = floorDivide(marchYear, 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
    let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  package static func floorDivide<Number: SignedInteger & FixedWidthInteger>(
    _ value: Number, _ divisor: Number
  ) -> (quotient: Number, remainder: Number) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  static let powersOfTen = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000]

  static func digits(_ value: Int, _ count: Int, to output: inout [UInt8]) {
    var place = count - 1
    while place >= 0 {
      output.append(UInt8(ascii: "0") + UInt8(value / powersOfTen[place] % 10))
      place -= 1
    }
  }
}
