public import TidemarkLog

/// How events become a value: where it begins, and what each event changes.
///
/// The same events always give the same state: `apply` looks at nothing but the event, its place and the state. A
/// ``ProjectionRunner`` keeps the state up to date and saves it. `Specs/projections.md` says what it does with corrections.
///
/// ```swift
/// struct ScanCount: Projection {
///   let name = "scan-count"
///   let version: UInt32 = 1
///   var initial: Int { 0 }
///   func apply(_ event: EventView, at place: Place, to state: inout Int) { if event.type == "scan" { state += 1 } }
///   func encode(_ state: Int) -> [UInt8] { Array(String(state).utf8) }
///   func decode(_ bytes: [UInt8]) throws -> Int {
///     guard let count = Int(String(decoding: bytes, as: UTF8.self)) else { throw UnreadableEvent("no number") }
///     return count
///   }
/// }
/// ```
public protocol Projection<State>: Sendable {
  /// What is folded: a value that can be copied.
  associatedtype State: Sendable

  /// Names the snapshots' directory: 1 to 64 of `a` to `z`, `0` to `9`, `-`, `_` and `.`, and no `.` first.
  var name: String { get }
  /// Raised when the same events would give another state, or the same state other bytes. Snapshots of other versions are thrown away.
  var version: UInt32 { get }
  /// The state before the first event.
  var initial: State { get }

  /// Whether an event that supersedes another one counts in its place. Default: true. Otherwise both are applied, each at its own place:
  /// for facts that can't be taken back, such as that somebody has seen something.
  var takesCorrections: Bool { get }

  /// Takes one event of a caller in. Control events are not shown.
  ///
  /// An event that can't be read makes it throw (any error; ``UnreadableEvent`` serves), before it has changed the state: what happens
  /// then, ``ProjectionOptions/onUnreadable`` says. What does not concern the projection it leaves alone.
  ///
  /// - Parameters:
  ///   - event: valid until the call returns; copy what you keep.
  ///   - place: where the event counts. For a correction that is the place of what it corrects. Places rise from call to call, unless the
  ///     projection has a `retract` of its own.
  ///   - state: what is changed.
  func apply(_ event: EventView, at place: Place, to state: inout State) throws

  /// Takes an event out again that was superseded. False if that takes more than the state: then everything is folded again, once
  /// for all corrections that come together. Throws for what `apply` throws for.
  ///
  /// Default: false. A projection with its own answer gets corrections in the order in which they come: first what now counts is
  /// applied, then what counted before is retracted, at places that may lie anywhere; what it then holds must be what folding again
  /// would give.
  func retract(_ event: EventView, at place: Place, from state: inout State) throws -> Bool

  /// The state as bytes, for a snapshot.
  func encode(_ state: State) -> [UInt8]

  /// The state from such bytes. Throws any error if they are not that: then the snapshot is thrown away.
  func decode(_ bytes: [UInt8]) throws -> State
}

extension Projection {
  /// Corrections are taken.
  public var takesCorrections: Bool { true }

  /// Can't be done: everything is folded again.
  public func retract(_ event: EventView, at place: Place, from state: inout State) throws -> Bool { false }
}

/// Where an event counts among the others: its own position and time, or those of what it corrects.
///
/// ```swift
/// let place = Place(offset: 17, time: event.time)
/// ```
public struct Place: Sendable, Hashable {
  /// The position in the log.
  public var offset: Offset
  /// The wall clock there. Clocks jump: it need not rise with the offset.
  public var time: Timestamp

  /// Names a place.
  public init(offset: Offset, time: Timestamp) {
    self.offset = offset
    self.time = time
  }
}

/// An event that a projection can't read, and why.
///
/// ```swift
/// throw UnreadableEvent("the member \"value\" is no number")
/// ```
public struct UnreadableEvent: Error, Sendable, Equatable, CustomStringConvertible {
  /// The reason, for a person to read.
  public let why: String
  /// Gives the reason.
  public init(_ why: String) { self.why = why }
  public var description: String { why }
}
