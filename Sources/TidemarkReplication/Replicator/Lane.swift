package import TidemarkLog
package import TidemarkProtocol

/// Something that sends requests for this device, one at a time and in turn with others: a log's events, or the files that they name.
package protocol Lane: AnyObject {
  var priority: LanePriority { get }
  /// What it would send now; nil if nothing.
  var wants: LaneWant? { get }
  /// When it is to be looked at again, by the clock of ``update(_:now:)``; nil if only something new brings that about.
  var deadline: UInt64? { get }
  /// Looks at what has changed: conditions, time, the log.
  func update(_ conditions: Conditions, now: UInt64)
  /// Is told what is not an answer.
  func handle(_ input: DeviceSession.Input, now: UInt64)
  /// The request that it wanted to send; nil if there was nothing after all. An answer, or ``DeviceSession/Input/failed(_:)``, must follow.
  func makeRequest(now: UInt64) -> HTTPRequest?
  /// Called while an answer is awaited: time to prepare the next request.
  func prepare()
  func received(_ response: HTTPResponse, now: UInt64)
  /// Adds how its log stands; or what it knows besides, if another lane told of that log.
  func report(to statuses: inout [Status])
  /// The server's generation, once it said so; nil in a lane that is not told.
  var generation: EventID? { get }
  /// Is told which generation the server is in.
  func learned(_ generation: EventID)
}

extension Lane {
  package func prepare() {}
  package var generation: EventID? { nil }
  package func learned(_ generation: EventID) {}
}

/// What a lane waits for.
package enum LaneWant: Sendable {
  /// A new access token.
  case token
  /// Its turn.
  case request
}
