internal import TidemarkLog

/// Which key an event belongs to: one of its attributes, as its bytes stand there, or a text.
///
/// An attribute costs less than its text, which would be made for each event. An event that lacks it does not concern the projection.
///
/// ```swift
/// let scans = CountByKey("scans-by-gate") { event in event.type == "scan" ? .subject : nil }
/// ```
public enum EventKey: Sendable {
  /// The event's type.
  case type
  /// What it is about.
  case subject
  /// Who did it.
  case actor
  /// Any text.
  case text(String)
}

extension EventKey: ExpressibleByStringInterpolation {
  public init(stringLiteral text: String) { self = .text(text) }
}

extension EventKey {
  /// Shows its bytes. Nil if the event lacks the attribute.
  @inline(__always) func withBytes<Result>(of event: EventView, _ body: (RawSpan) -> Result) -> Result? {
    switch self {
    case .type: Self.show(event.typeBytes, body)
    case .subject: Self.show(event.subjectBytes, body)
    case .actor: Self.show(event.actorBytes, body)
    case .text(let text): body(text.rawSpan)
    }
  }

  @inline(__always) private static func show<Result>(_ attribute: RawSpan, _ body: (RawSpan) -> Result) -> Result? {
    attribute.byteCount == 0 ? nil : body(attribute)
  }
}
