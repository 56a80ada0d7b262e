public import TidemarkLog

/// Who has signed in at a place and not out again.
///
/// It knows what people did, not where they are: who signs in elsewhere without signing out is in both places. `Specs/projections.md`
/// defines every case.
///
/// ```swift
/// let presence = Presence("inside") { event in
///   switch event.type {
///   case "sign-in": .signedIn(person: event.actor ?? "", place: event.subject ?? "")
///   case "sign-out": .signedOut(person: event.actor ?? "", place: event.subject)
///   default: nil
///   }
/// }
/// let inside = try ProjectionRunner(presence, of: log).current().state.persons(at: "hangar-2")
/// ```
public struct Presence: Projection {
  /// What an event says.
  public enum Fact: Sendable, Equatable {
    /// A person came in.
    case signedIn(person: String, place: String)
    /// A person left one place, or without one, all.
    case signedOut(person: String, place: String?)
  }

  /// Who is where.
  public struct State: Sendable, Equatable {
    /// By place, then by person: the sign-in since which they are there.
    public internal(set) var places = ValuesByKey<ValuesByKey<Place>>()
    /// Sign-outs of people who had not signed in there.
    public internal(set) var unmatchedSignOutCount: UInt64 = 0

    /// Who is at a place, by name.
    public func persons(at place: String) -> [String] { places[place]?.sortedKeys ?? [] }

    /// The places where a person is, by name: more than one if a sign-out is missing.
    public func places(of person: String) -> [String] { places.sortedKeys.filter { places[$0]?[person] != nil } }

    /// How many people are at each place where anyone is.
    public var totals: ValuesByKey<Int> {
      places.reduce(into: ValuesByKey()) { totals, place in totals[place.key] = place.value.count }
    }
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

  public var initial: State { State() }

  public func apply(_ event: EventView, at place: Place, to state: inout State) throws {
    switch try extract(event) {
    case nil: break
    // Signed in twice, they are there since the first time.
    case .signedIn(let person, let site)?:
      if state.places[site]?[person] == nil { state.places[site, default: ValuesByKey()][person] = place }
    case .signedOut(let person, let site)?:
      let left = site.map { [$0] } ?? state.places(of: person)
      var isMatched = false
      for site in left where state.places[site]?[person] != nil {
        isMatched = true
        state.places[site, default: ValuesByKey()][person] = nil
        if state.places[site]?.isEmpty == true { state.places[site] = nil }
      }
      if !isMatched { state.unmatchedSignOutCount += 1 }
    }
  }

  // u8 version of the coding, u64 unmatched sign-outs, u64 number of people at places, each: place, person as text, place in the log

  public func encode(_ state: State) -> [UInt8] {
    var bytes: [UInt8] = [1]
    bytes.add(state.unmatchedSignOutCount)
    bytes.add(UInt64(state.places.reduce(0) { $0 + $1.value.count }))
    for (site, persons) in state.places {
      for (person, place) in persons {
        bytes.add(text: site)
        bytes.add(text: person)
        bytes.add(place: place)
      }
    }
    return bytes
  }

  public func decode(_ bytes: [UInt8]) throws -> State {
    var reader = StateReader(bytes)
    guard try reader.u8() == 1 else { throw UnreadableEvent("its coding is of another version") }
    var state = State()
    state.unmatchedSignOutCount = try reader.tally()
    for _ in 0..<(try reader.count(elementByteCount: 24)) {
      let site = try reader.text()
      let person = try reader.text()
      state.places[site, default: ValuesByKey()][person] = try reader.place()
    }
    try reader.finish()
    return state
  }
}
