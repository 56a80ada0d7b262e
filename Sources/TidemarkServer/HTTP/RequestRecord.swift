package import TidemarkLog
internal import TidemarkText

/// A request that ended, as the request log tells it. No header field is ever in it: they hold credentials.
package struct RequestRecord: Sendable, Equatable {
  /// When it began.
  package var time: Timestamp
  /// The address at the other end.
  package var peer: String
  package var method: String
  package var target: String
  package var route: HTTPRoute
  /// 0 if the connection ended before an answer was sent.
  package var status: Int
  /// Bytes of the body.
  package var received: UInt64
  /// Bytes of the answer's body.
  package var sent: UInt64
  /// From the request line to the end of the answer.
  package var seconds: Double

  private static let targetLimit = 512

  /// One object, without a line break.
  package var json: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("time", RFC3339.format(nanoseconds: time.nanoseconds, fractionDigits: 3))
    json.member("peer", peer)
    json.member("method", String(method.prefix(32)))
    json.member("target", String(target.prefix(Self.targetLimit)))
    json.member("route", route.rawValue)
    json.member("status", status)
    json.member("received", received)
    json.member("sent", sent)
    json.member("microseconds", UInt64(max(0, seconds * 1e6)))
    json.endObject()
    return json.bytes
  }
}
