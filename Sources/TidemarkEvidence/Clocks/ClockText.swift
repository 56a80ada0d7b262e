internal import TidemarkLog
internal import TidemarkText

/// Times and lengths of time in flags.
enum ClockText {
  /// A time for programs: UTC, nine digits.
  static func exact(_ time: Timestamp) -> String { RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 9) }

  /// A time for people: UTC, milliseconds.
  static func short(_ time: Timestamp) -> String { RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 3) }

  private static let units: [(name: String, nanoseconds: UInt128)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000),
    ("ns", 1),
  ]

  /// A length of time for people, without its sign: its largest unit and the one below it, the rest cut off.
  static func length(_ nanoseconds: Int128) -> String {
    let rest = nanoseconds.magnitude
    guard let index = units.firstIndex(where: { rest >= $0.nanoseconds }) else { return "0 s" }
    var text = "\(rest / units[index].nanoseconds) \(units[index].name)"
    if index + 1 < units.count {
      let next = rest % units[index].nanoseconds / units[index + 1].nanoseconds
      if next > 0 { text += " \(next) \(units[index + 1].name)" }
    }
    return text
  }
}
