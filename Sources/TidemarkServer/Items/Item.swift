internal import TidemarkLog
internal import TidemarkProjections
internal import TidemarkProtocol
internal import TidemarkText

/// What an office publishes: a text with versions, for some devices or all, perhaps to be acknowledged by so many persons in time.
struct Item: Equatable {
  var name: String
  var version: UInt64
  /// Whether the version in force has to be acknowledged anew.
  var isMaterial: Bool
  /// The newest version that is material: to have acknowledged it, or a later one, counts.
  var materialVersion: UInt64
  /// JSON text.
  var content: String
  /// Empty: for all places.
  var place: String
  /// Empty: for all persons.
  var person: String
  var state: String
  var terms: ItemTerms
  var isRemoved: Bool
  /// How many persons have acknowledged the newest material version, or a later one.
  var acknowledged: UInt64
  /// As it was told last; nil if nothing is asked for.
  var status: ItemStatus?

  func write(to json: inout JSONWriter) {
    json.member("item", name)
    json.member("version", version)
    json.member("material", isMaterial)
    json.member("material_version", materialVersion)
    json.name("content")
    json.value(content.utf8Span.span)
    if !place.isEmpty { json.member("place", place) }
    if !person.isEmpty { json.member("person", person) }
    if !state.isEmpty { json.member("state", state) }
    json.member("published", Timestamp(seconds: terms.since))
    if terms.due > 0 { json.member("due", Timestamp(seconds: terms.due)) }
    if terms.required > 0 { json.member("required", terms.required) }
    if let status { json.member("status", status.rawValue) }
    json.member("acknowledged", acknowledged)
  }
}

extension Timestamp {
  /// - Parameter seconds: since 1970.
  init(seconds: UInt64) { self.init(nanoseconds: Int64(clamping: seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue)) }
}
