internal import TidemarkLog
internal import TidemarkText

extension ProjectionDefinition {
  /// Follows from all that it says, and from the zone's file, so that a changed definition, or changed rules, have other snapshots.
  var version: UInt32 {
    var json = JSONWriter()
    json.beginArray()
    json.string("1")
    for list in [
      types, key.map(\.text), [value?.text ?? "", value == nil ? "no value" : ""], [time?.text ?? "", time == nil ? "no time" : ""],
    ] {
      json.beginArray()
      for text in list { json.string(text) }
      json.endArray()
    }
    json.string(fold.rawValue)
    json.bool(skipsAbsent)
    if let window {
      json.string(window.unit.rawValue)
      json.string(window.zone.text)
      json.number(window.zone.rules?.digest ?? 0)
      json.string(windowTime?.text ?? "")
      json.bool(windowTime == nil)
    }
    if fold.hasRoles {
      for (type, role) in roles.sorted(by: { $0.key < $1.key }) {
        json.string(type)
        json.string(role.rawValue)
      }
      for field in [place, itemVersion, material] {
        json.string(field?.text ?? "")
        json.bool(field == nil)
      }
    }
    json.endArray()
    return UInt32(truncatingIfNeeded: xxh3(json.bytes.rawSpan, seed: 0))
  }
}

extension TimeWindow.Zone {
  var rules: NamedTimeZone? {
    if case .named(let zone) = self { zone } else { nil }
  }

  /// As a definition has it.
  fileprivate var text: String {
    switch self {
    case .utc: "UTC"
    case .stated: "@offset"
    case .named(let zone): zone.name
    }
  }
}
