public import TidemarkLog
internal import TidemarkText

/// Days or hours of a local clock, as parts of keys.
///
/// ```swift
/// let days = TimeWindow(.day, in: .named(try TimeZoneDatabase.system.zone(named: "America/New_York")))
/// let rain = SumByKey("rain-by-day") { event, place in
///   event.type == "rain" ? Keyed(.text(days.text(at: place.time)), try ExactDecimal(event.data)) : nil
/// }
/// ```
///
/// `Specs/projections.md` has the rules, and examples of what happens when clocks change.
public struct TimeWindow: Sendable, Equatable {
  /// How long a window is on the clock. When clocks change it lasts shorter or longer.
  public enum Unit: String, Sendable, CaseIterable {
    /// An hour of the clock with one offset from UTC: `2013-11-03T01-04:00`.
    case hour
    /// From midnight to midnight: `2013-11-03`.
    case day
  }

  /// Whose clock.
  public enum Zone: Sendable, Equatable {
    /// Universal time; needs no database.
    case utc
    /// The clock that a time was stated by: its own offset from UTC.
    case stated
    /// That of a place.
    case named(NamedTimeZone)
  }

  /// How long.
  public let unit: Unit
  /// Whose clock.
  public let zone: Zone
  private let cursor: Locked<WindowCursor>

  /// Names windows.
  public init(_ unit: Unit, in zone: Zone) {
    self.unit = unit
    self.zone = zone
    cursor = Locked(WindowCursor(unitSeconds: unit == .day ? 86_400 : 3_600))
  }

  public static func == (left: TimeWindow, right: TimeWindow) -> Bool { left.unit == right.unit && left.zone == right.zone }

  /// The window around a time, as text.
  ///
  /// - Parameters:
  ///   - time: of an event: that of its place, so that a correction stays in the window of what it corrects.
  ///   - utcOffsetMinutes: what the time was stated with, less than a day; only looked at in the zone ``Zone/stated``.
  ///
  /// ```swift
  /// let day = TimeWindow(.day, in: .utc).text(at: event.time)
  /// ```
  public func text(at time: Timestamp, utcOffsetMinutes: Int16 = 0) -> String {
    let seconds = RFC3339.floorDivide(time.nanoseconds, 1_000_000_000).quotient
    return cursor.withLock { cursor in
      if case .stated = zone {
        let offset = Int(utcOffsetMinutes) % 1_440 * 60
        if cursor.stretch.offsetSeconds != offset { cursor = WindowCursor(unitSeconds: cursor.unitSeconds, offsetSeconds: offset) }
      }
      return cursor.text(at: seconds, zone)
    }
  }
}

/// Remembers the last window and the last stretch of time with one offset: events that lie near each other are often in the same.
private struct WindowCursor {
  let unitSeconds: Int64
  var stretch: ZoneRules.Stretch
  var from: Int64 = 0
  var until: Int64 = 0
  var text = ""

  init(unitSeconds: Int64, offsetSeconds: Int = 0) {
    self.unitSeconds = unitSeconds
    stretch = ZoneRules.Stretch(from: 0, until: 0, offsetSeconds: offsetSeconds)
  }

  mutating func text(at seconds: Int64, _ zone: TimeWindow.Zone) -> String {
    if from <= seconds && seconds < until { return text }
    if !stretch.contains(seconds) {
      switch zone {
      case .utc, .stated: stretch = ZoneRules.Stretch(offsetSeconds: stretch.offsetSeconds)
      case .named(let zone): stretch = zone.rules.stretch(at: seconds)
      }
    }
    let offset = Int64(stretch.offsetSeconds)
    let start = RFC3339.floorDivide(seconds + offset, unitSeconds).quotient * unitSeconds
    from = max(stretch.from, start - offset)
    until = min(stretch.until, start - offset + unitSeconds)
    var bytes: [UInt8] = []
    if unitSeconds == 3_600 {
      RFC3339.formatHour(localSeconds: start, offsetSeconds: stretch.offsetSeconds, to: &bytes)
    } else {
      RFC3339.formatDay(localSeconds: start, to: &bytes)
    }
    text = String(decoding: bytes, as: UTF8.self)
    return text
  }
}
