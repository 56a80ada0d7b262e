internal import TidemarkText

/// A projection that a small JSON file describes: which events it reads, where key and value stand in their data, and how they are folded.
///
/// `Specs/projection.schema.json` is the form of the file, `Specs/projections.md` what it means. A changed definition is another version:
/// its snapshots are made anew.
///
/// ```swift
/// let text = #"{"name": "delay-by-carrier", "types": ["scan"], "key": ["/carrier"], "value": "/delay", "fold": "sum"}"#
/// let definition = try ProjectionDefinition(json: Array(text.utf8))
/// let runner = try ProjectionRunner(definition.projection, of: log)
/// for row in definition.projection.rows(of: try runner.current().state) { print(row.key, row.value) }
/// ```
public struct ProjectionDefinition: Sendable, Equatable {
  /// How the values of a key become one.
  public enum Fold: String, Sendable, CaseIterable {
    /// The number of events.
    case count
    /// The exact sum.
    case sum
    /// The sum over the number of values, rounded half to even to ``ProjectionDefinition/digits``.
    case average
    /// The smallest value.
    case minimum
    /// The largest value.
    case maximum
    /// The last value, by offset, or by ``ProjectionDefinition/time`` if that is given.
    case latest
    /// Who is where: ``Presence``.
    case presence
    /// Who has acknowledged which version of what: ``Acknowledgements``.
    case acknowledgements
  }

  /// What events of a type say, for ``Fold/presence`` and ``Fold/acknowledgements``.
  public enum Role: String, Sendable, CaseIterable {
    /// A person came in.
    case enter
    /// A person left.
    case leave
    /// There is a version of an item.
    case publish
    /// An item no longer holds.
    case withdraw
    /// A person is to acknowledge an item.
    case ask
    /// A person has acknowledged a version of an item.
    case acknowledge
  }

  /// What a row is of, for ``Fold/presence`` and ``Fold/acknowledgements``.
  public enum Subject: String, Sendable, CaseIterable {
    /// Each person, at a place or with an item.
    case person
    /// Each place, in numbers.
    case place
  }

  /// Names the snapshots' directory.
  public internal(set) var name: String
  /// The events that it reads: those of these types, or of all if it is empty.
  public internal(set) var types: [String] = []
  /// Where the parts of the key stand. None if ``window`` is the whole key.
  public internal(set) var key: [EventField]
  /// Where the value stands. Nil for ``Fold/count``, and for ``Fold/latest`` if the value is the whole data.
  public internal(set) var value: EventField?
  /// How values become one.
  public internal(set) var fold: Fold
  /// Where the time stands that ``Fold/latest`` goes by.
  public internal(set) var time: EventField?
  /// What the last part of the key is, if it is a day or an hour.
  public internal(set) var window: TimeWindow?
  /// Where the time stands that ``window`` goes by; nil: that of the event's place.
  public internal(set) var windowTime: EventField?
  /// Whether an event that lacks one of the fields is left alone; otherwise it can't be read.
  public internal(set) var skipsAbsent = false
  /// Digits after the point of an average, 0 to 100.
  public internal(set) var digits = 6

  /// What events of each type say, by type; of other types none is read.
  public internal(set) var roles: [String: Role] = [:]
  /// Where the place stands where somebody is, or was asked.
  public internal(set) var place: EventField?
  /// Where the number of an item's version stands.
  public internal(set) var itemVersion: EventField?
  /// Where it stands whether a version is material; one that does not say is.
  public internal(set) var material: EventField?
  /// What a row is of.
  public internal(set) var subject = Subject.person

  /// What this definition describes, to be run.
  public var projection: DefinedProjection { DefinedProjection(self) }
}

/// Where something stands in an event: an attribute, or a value in its JSON data.
///
/// ```swift
/// let carrier = EventField("/carrier")
/// ```
public enum EventField: Sendable, Hashable {
  /// The event's type, written `@type`.
  case type
  /// Its subject, written `@subject`.
  case subject
  /// Its actor, written `@actor`.
  case actor
  /// The value that a JSON Pointer (RFC 6901) names in the data; the empty pointer names all of it.
  case data(pointer: String)

  /// Reads it as a definition has it; nil if it is neither an attribute nor a pointer.
  public init?(_ text: String) {
    switch text {
    case "@type": self = .type
    case "@subject": self = .subject
    case "@actor": self = .actor
    default:
      guard (try? JSONPointer(text)) != nil else { return nil }
      self = .data(pointer: text)
    }
  }

  /// As a definition has it.
  public var text: String {
    switch self {
    case .type: "@type"
    case .subject: "@subject"
    case .actor: "@actor"
    case .data(let pointer): pointer
    }
  }
}
