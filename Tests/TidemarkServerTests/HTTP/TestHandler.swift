import Foundation
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

/// Answers by the path: at once, later, never, in a stream.
final class TestHandler: RequestHandler {
  private let state = Locked(State())

  private struct State {
    var signal: @Sendable () -> Void = {}
    var number: UInt64 = 0
    var isRevoked = false
    var handled = 0
    var kept: [@Sendable (Reply) -> Void] = []
  }

  /// Requests that reached ``handle(_:reply:)``.
  var handled: Int { state.withLock { $0.handled } }

  func refusal(of head: HTTPRequest, byteCount: UInt64?) -> HTTPResponse? {
    if head.target.hasPrefix("/secret") { return Problem(.unauthorized, "There is no credential.").response }
    if head.target.hasPrefix("/small"), byteCount ?? 0 > 16 { return Problem(.tooLarge, "16 bytes are the most here.").response }
    return nil
  }

  func handle(_ request: HTTPRequest, reply: @escaping @Sendable (Reply) -> Void) {
    state.withLock { $0.handled += 1 }
    switch request.target {
    case "/later":
      Thread.detachNewThread {
        usleep(20_000)
        reply(.answer(HTTPResponse(200, body: Array("later".utf8))))
        reply(.answer(HTTPResponse(500)))
      }
    case "/never": state.withLock { $0.kept.append(reply) }
    case "/large": reply(.answer(HTTPResponse(200, body: [UInt8](repeating: 7, count: 8 << 20))))
    case "/stream":
      var response = HTTPResponse(200)
      response.fields["content-type"] = "text/event-stream"
      reply(.stream(response) { [state] last in state.withLock { Self.news($0, last) } })
    default:
      var response = HTTPResponse(request.target.hasPrefix("/empty") ? 204 : 200, body: Array("\(request.method) \(request.target) ".utf8))
      response.body += request.body
      response.fields["X-Echo"] = request.fields["x-echo"]
      reply(.answer(response))
    }
  }

  private static func news(_ state: State, _ last: UInt64) -> (text: String, number: UInt64)? {
    if state.isRevoked { return nil }
    return (state.number > last ? "event: through\ndata: \(state.number)\n\n" : "", state.number)
  }

  func onNews(_ signal: @escaping @Sendable () -> Void) { state.withLock { $0.signal = signal } }

  func publish(_ number: UInt64) {
    state.withLock { $0.number = number }
    state.withLock { $0.signal }()
  }

  func revoke() {
    state.withLock { $0.isRevoked = true }
    state.withLock { $0.signal }()
  }

  /// Replies to what waits on `/never`.
  func replyLate() {
    for reply in state.withLock({ $0.kept }) { reply(.answer(HTTPResponse(200, body: Array("late".utf8)))) }
  }
}
