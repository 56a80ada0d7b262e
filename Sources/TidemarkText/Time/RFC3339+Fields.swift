extension RFC3339 {
  /// The numbers in the text of a time, checked one by one.
  struct Fields {
    var year = 0
    var month = 0
    var day = 0
    var hour = 0
    var minute = 0
    var second = 0
    var nanosecond = 0
    var fractionDigits = 0
    var offsetMinutes = 0

    private var at = 0

    init(_ text: Span<UInt8>) throws(TextError) {
      year = try number(text, 4, 0...9999, "a year of four digits")
      try mark(text, UInt8(ascii: "-"), "\"-\"")
      month = try number(text, 2, 1...12, "a month, 01 to 12,")
      try mark(text, UInt8(ascii: "-"), "\"-\"")
      day = try number(text, 2, 1...RFC3339.daysInMonth(year, month), "a day of that month")
      try mark(text, UInt8(ascii: "T"), "\"T\"")
      hour = try number(text, 2, 0...23, "an hour, 00 to 23,")
      try mark(text, UInt8(ascii: ":"), "\":\"")
      minute = try number(text, 2, 0...59, "a minute, 00 to 59,")
      try mark(text, UInt8(ascii: ":"), "\":\"")
      second = try number(text, 2, 0...59, "a second, 00 to 59 (leap seconds can't be kept),")
      if at < text.count, text[at] == UInt8(ascii: ".") { try fraction(text) }
      try offset(text)
      if at < text.count { throw TextError(at: at, "something follows the time") }
    }

    private mutating func fraction(_ text: Span<UInt8>) throws(TextError) {
      at += 1
      while at < text.count, let digit = digit(text[at]) {
        guard fractionDigits < 9 else { throw TextError(at: at, "a time has at most nine digits after the point") }
        nanosecond = nanosecond * 10 + digit
        fractionDigits += 1
        at += 1
      }
      if fractionDigits == 0 { throw TextError(at: at, "a digit is due after the point of a time") }
      nanosecond *= RFC3339.powersOfTen[9 - fractionDigits]
    }

    private mutating func offset(_ text: Span<UInt8>) throws(TextError) {
      guard at < text.count else { throw TextError(at: at, "a time ends with \"Z\" or an offset from UTC such as \"+02:00\"") }
      if text[at] | 0x20 == UInt8(ascii: "z") {
        at += 1
        return
      }
      let isWest = text[at] == UInt8(ascii: "-")
      guard isWest || text[at] == UInt8(ascii: "+") else {
        throw TextError(at: at, "a time ends with \"Z\" or an offset from UTC such as \"+02:00\"")
      }
      at += 1
      let hours = try number(text, 2, 0...23, "the hours of an offset, 00 to 23,")
      try mark(text, UInt8(ascii: ":"), "\":\"")
      let minutes = try number(text, 2, 0...59, "the minutes of an offset, 00 to 59,")
      offsetMinutes = (hours * 60 + minutes) * (isWest ? -1 : 1)
    }

    private mutating func number(
      _ text: Span<UInt8>, _ count: Int, _ range: ClosedRange<Int>, _ what: String
    ) throws(TextError) -> Int {
      var value = 0
      for index in at..<at + count {
        guard index < text.count, let digit = digit(text[index]) else { throw TextError(at: index, "\(what) is due in a time") }
        value = value * 10 + digit
      }
      guard range.contains(value) else { throw TextError(at: at, "\(what) is due in a time") }
      at += count
      return value
    }

    private mutating func mark(_ text: Span<UInt8>, _ mark: UInt8, _ what: String) throws(TextError) {
      guard at < text.count, text[at] == mark || mark == UInt8(ascii: "T") && text[at] == UInt8(ascii: "t") else {
        throw TextError(at: at, "\(what) is due in a time")
      }
      at += 1
    }

    private func digit(_ byte: UInt8) -> Int? {
      byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
    }
  }
}
