public import TidemarkLog

/// Who has acknowledged which version of what: notices, instructions, schedules that are written elsewhere and change.
///
/// An acknowledgement binds to the version that it names. `Specs/projections.md` defines every case.
///
/// ```swift
/// let acknowledgements = Acknowledgements("notices") { event in
///   event.type == "acknowledge" ? .acknowledged(item: "notice-3", person: event.actor ?? "", version: 3, place: event.subject) : nil
/// }
/// let runner = try ProjectionRunner(acknowledgements, of: log)
/// let status = try runner.current().state.status(of: "notice-3", by: "kim")
/// ```
public struct Acknowledgements: Projection {
  /// What an event says.
  public enum Fact: Sendable, Equatable {
    /// There is a version of an item. A material one asks those for an acknowledgement who have acknowledged an earlier one.
    case published(item: String, version: UInt64, isMaterial: Bool)
    /// The item no longer holds. Publishing any version afterwards makes it hold again.
    case withdrawn(item: String)
    /// A person is to acknowledge an item, at a place.
    case asked(item: String, person: String, place: String?)
    /// A person has acknowledged a version, perhaps one that is not known here yet.
    case acknowledged(item: String, person: String, version: UInt64, place: String?)
  }

  public let name: String
  public let version: UInt32
  private let extract: @Sendable (EventView) throws -> Fact?

  /// - Parameters:
  ///   - name: see ``Projection/name``.
  ///   - version: raise it when `extract` reads otherwise.
  ///   - extract: nil for events that do not concern it; throws for those that can't be read.
  public init(_ name: String, version: UInt32 = 1, extract: @escaping @Sendable (EventView) throws -> Fact?) {
    self.name = name
    self.version = version
    self.extract = extract
  }

  public var initial: AcknowledgementState { AcknowledgementState() }

  public func apply(_ event: EventView, at place: Place, to state: inout AcknowledgementState) throws {
    if let fact = try extract(event) { state.take(fact, at: place) }
  }

  public func encode(_ state: AcknowledgementState) -> [UInt8] { state.encode() }
  public func decode(_ bytes: [UInt8]) throws -> AcknowledgementState { try AcknowledgementState(bytes) }
}
