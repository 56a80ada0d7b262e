package import TidemarkProtocol

/// What a server does with requests, however they came.
package protocol RequestHandler: Sendable {
  /// Looks at a request before its body is taken: the credential, the length, the rate. What it returns is the refusal; nil lets the body
  /// come. On a thread that serves other connections too: it must not wait for anything.
  ///
  /// - Parameter byteCount: of the body to come; nil if the request does not say, and there is none.
  func refusal(of head: HTTPRequest, byteCount: UInt64?) -> HTTPResponse?

  /// Answers a request, at once or later, from any thread, exactly once. It must not wait for anything before it returns.
  ///
  /// A request's method is as it came: for `HEAD` the header fields of the answer are sent, and the length of its body.
  func handle(_ request: HTTPRequest, reply: @escaping @Sendable (Reply) -> Void)

  /// Takes what is to be called, from any thread, when open streams may have news: after commits, and when a credential was revoked. It
  /// returns at once.
  func onNews(_ signal: @escaping @Sendable () -> Void)
}

extension RequestHandler {
  /// Open streams then have news with each sign of life only.
  package func onNews(_ signal: @escaping @Sendable () -> Void) {}
}

/// How a request is answered.
package enum Reply: Sendable {
  /// With this.
  case answer(HTTPResponse)
  /// With a stream of server-sent events. `next` is called at the beginning with `after`, and then with the number that was sent last,
  /// whenever there may be news; it returns the text to send and the new number, an empty text if there is no news, nil at the end (the
  /// credential was revoked). It must not wait for anything.
  case stream(HTTPResponse, after: UInt64 = 0, next: @Sendable (UInt64) -> (text: String, number: UInt64)?)
}
