public import TidemarkProtocol

/// How requests get to a server. ``CurlTransport`` is one; a host whose system sends in the background gives its own.
///
/// ```swift
/// struct Tunnel: Transport {
///   func send(_ request: HTTPRequest, to server: ServerAddress) async throws -> HTTPResponse { try await tunnel.exchange(request) }
/// }
/// ```
public protocol Transport: Sendable {
  /// Sends a request and returns the whole answer, whatever its status. Never follows a redirect. Ends soon after its task is cancelled.
  ///
  /// Throws if no answer came.
  func send(_ request: HTTPRequest, to server: ServerAddress) async throws -> HTTPResponse
}
