extension RFC3339 {
  /// Appends the day of a local clock: `2013-11-03`.
  ///
  /// - Parameter localSeconds: what the clock shows, as seconds since its 1970-01-01T00:00:00; in the years 0 to 9999.
  package static func formatDay(localSeconds: Int64, to output: inout [UInt8]) {
    let date = civil(days: Int(floorDivide(localSeconds, 86_400).quotient))
    digits(date.year, 4, to: &output)
    output.append(UInt8(ascii: "-"))
    digits(date.month, 2, to: &output)
    output.append(UInt8(ascii: "-"))
    digits(date.day, 2, to: &output)
  }

  /// Appends the hour of a local clock and its offset from UTC: `2013-11-03T01-04:00`. An offset's seconds are written where there are
  /// any: `1890-01-01T09-04:56:02`.
  package static func formatHour(localSeconds: Int64, offsetSeconds: Int, to output: inout [UInt8]) {
    formatDay(localSeconds: localSeconds, to: &output)
    output.append(UInt8(ascii: "T"))
    digits(Int(floorDivide(localSeconds, 3_600).quotient - floorDivide(localSeconds, 86_400).quotient * 24), 2, to: &output)
    output.append(UInt8(ascii: offsetSeconds < 0 ? "-" : "+"))
    let offset = abs(offsetSeconds)
    digits(offset / 3_600, 2, to: &output)
    output.append(UInt8(ascii: ":"))
    digits(offset / 60 % 60, 2, to: &output)
    if offset % 60 != 0 {
      output.append(UInt8(ascii: ":"))
      digits(offset % 60, 2, to: &output)
    }
  }
}
