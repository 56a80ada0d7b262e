/// Standard time, and perhaps daylight saving time from one day of each year to another: the form of the variable `TZ` (POSIX, with the
/// extensions of RFC 9636, section 3.3.2), such as `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule: Sendable, Equatable {
  /// A day of a year, and a time of it.
  struct Moment: Sendable, Equatable {
    enum Day: Sendable, Equatable {
      /// `J1` to `J365`: 29 February is not counted.
      case julian(Int)
      /// `0` to `365`.
      case ordinal(Int)
      /// `M3.5.0`: month, which of its weekdays (5 is the last), and the weekday, Sunday being 0.
      case weekday(month: Int, week: Int, day: Int)
    }
    var day: Day
    /// Of the clock that is in force before, in seconds from midnight: -167 to 167 hours and 59 minutes, 59 seconds.
    var timeSeconds: Int
  }

  struct Daylight: Sendable, Equatable {
    var offsetSeconds: Int
    var start: Moment
    var end: Moment
  }

  /// East of UTC.
  var offsetSeconds: Int
  var daylight: Daylight?

  /// The stretch around a second, whose year has four or five digits.
  func stretch(at seconds: Int64) -> ZoneRules.Stretch {
    var stretch = ZoneRules.Stretch(offsetSeconds: offsetSeconds)
    guard let daylight else { return stretch }
    let year = RFC3339.civil(days: Int(RFC3339.floorDivide(seconds, 86_400).quotient)).year
    func meet(_ moment: Int64, offset: Int, isDaylight: Bool) {
      if moment > seconds {
        stretch.until = min(stretch.until, moment)
      } else if moment > stretch.from || moment == stretch.from && isDaylight {
        // Daylight saving time all year long ends when it begins.
        stretch.from = moment
        stretch.offsetSeconds = offset
      }
    }
    // A time of day may lead a week into another year.
    for year in year - 2...year + 2 {
      meet(daylight.start.seconds(year) - Int64(offsetSeconds), offset: daylight.offsetSeconds, isDaylight: true)
      meet(daylight.end.seconds(year) - Int64(daylight.offsetSeconds), offset: offsetSeconds, isDaylight: false)
    }
    return stretch
  }
}

extension ZoneRule.Moment {
  /// In seconds of a local clock since 1970-01-01T00:00:00.
  fileprivate func seconds(_ year: Int) -> Int64 {
    let newYear = RFC3339.days(year: year, month: 1, day: 1)
    let days =
      switch day {
      case .julian(let number): newYear + number - (number < 60 || RFC3339.daysInMonth(year, 2) == 28 ? 1 : 0)
      case .ordinal(let number): newYear + number
      case .weekday(let month, let week, let day): Self.days(year, month, week, day)
      }
    return Int64(days) * 86_400 + Int64(timeSeconds)
  }

  private static func days(_ year: Int, _ month: Int, _ week: Int, _ day: Int) -> Int {
    let first = RFC3339.days(year: year, month: month, day: 1)
    // 1970-01-01 was a Thursday.
    let weekday = RFC3339.floorDivide(first + 4, 7).remainder
    let date = 1 + (day - weekday + 7) % 7 + (week - 1) * 7
    return first + date - 1 - (date > RFC3339.daysInMonth(year, month) ? 7 : 0)
  }
}

extension ZoneRule {
  init(_ bytes: [UInt8], _ range: Range<Int>) throws(TextError) {
    var reader = Reader(bytes: bytes, at: range.lowerBound, end: range.upperBound)
    try reader.name()
    offsetSeconds = -(try reader.time(24))
    if reader.at == reader.end { return }
    try reader.name()
    let offset = reader.peek == UInt8(ascii: ",") ? offsetSeconds + 3_600 : -(try reader.time(24))
    daylight = Daylight(offsetSeconds: offset, start: try reader.moment(), end: try reader.moment())
    if reader.at < reader.end { throw TextError(at: reader.at, "something follows the rule") }
  }

  private struct Reader {
    let bytes: [UInt8]
    var at: Int
    let end: Int

    var peek: UInt8? { at < end ? bytes[at] : nil }

    mutating func accept(_ byte: Unicode.Scalar) -> Bool {
      guard peek == UInt8(ascii: byte) else { return false }
      at += 1
      return true
    }

    /// At least three letters, or anything of letters, digits and signs in angle brackets.
    mutating func name() throws(TextError) {
      let start = at
      let isQuoted = accept("<")
      while let byte = peek, Self.isLetter(byte) || isQuoted && Self.isDigitOrSign(byte) { at += 1 }
      let count = at - start
      if isQuoted ? count < 2 || !accept(">") : count < 3 { throw TextError(at: at, "the name of a local time is due") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
      let lower = byte | 0x20
      return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
    }

    private static func isDigitOrSign(_ byte: UInt8) -> Bool {
      byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
    }

    mutating func number(_ range: ClosedRange<Int>) throws(TextError) -> Int {
      let start = at
      var value = 0
      while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), at - start < 3 {
        value = value * 10 + Int(byte - UInt8(ascii: "0"))
        at += 1
      }
      guard at > start, range.contains(value) else {
        throw TextError(at: start, "a number from \(range.lowerBound) to \(range.upperBound) is due")
      }
      return value
    }

    /// `[+-]hh[:mm[:ss]]`, in seconds.
    mutating func time(_ hours: Int) throws(TextError) -> Int {
      let isNegative = accept("-")
      if !isNegative { _ = accept("+") }
      var seconds = 3_600 * (try number(0...hours))
      if accept(":") {
        seconds += 60 * (try number(0...59))
        if accept(":") { seconds += try number(0...59) }
      }
      return isNegative ? -seconds : seconds
    }

    mutating func moment() throws(TextError) -> Moment {
      guard accept(",") else { throw TextError(at: at, "it does not say when daylight saving time begins and ends") }
      var moment = Moment(day: try day(), timeSeconds: 7_200)
      if accept("/") { moment.timeSeconds = try time(167) }
      return moment
    }

    private mutating func day() throws(TextError) -> Moment.Day {
      if accept("J") { return .julian(try number(1...365)) }
      guard accept("M") else { return .ordinal(try number(0...365)) }
      let month = try number(1...12)
      guard accept(".") else { throw TextError(at: at, "\".\" is due") }
      let week = try number(1...5)
      guard accept(".") else { throw TextError(at: at, "\".\" is due") }
      return .weekday(month: month, week: week, day: try number(0...6))
    }
  }
}
