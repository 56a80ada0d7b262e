package import TidemarkProtocol

/// What a server does with requests, however they came.
package protocol RequestHandler: Sendable {
  /// Looks at a request before its body is taken: the credential, the length, the rate. What it returns is the refusal; nil lets the body
  /// come.
  ///
  /// - Parameter byteCount: of the body to come; nil if the request does not say.
  func refusal(of head: HTTPRequest, byteCount: UInt64?) -> HTTPResponse?

  /// Answers a request, at once or later, from any thread, exactly once.
  func handle(_ request: HTTPRequest, reply: @escaping @Sendable (Reply) -> Void)
}

/// How a request is answered.
package enum Reply: Sendable {
  /// With this.
  case answer(HTTPResponse)
  /// With a stream of server-sent events. `next` is called with the number that was sent last whenever there may be news; it returns the
  /// text to send and the new number, an empty text if there is no news, nil at the end (the credential was revoked, the server stops).
  case stream(HTTPResponse, next: @Sendable (UInt64) -> (text: String, number: UInt64)?)
}
