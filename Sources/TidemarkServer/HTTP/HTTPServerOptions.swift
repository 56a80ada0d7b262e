/// Where a server listens, and its limits.
package struct HTTPServerOptions: Sendable {
  /// An IPv4 or IPv6 address in numbers.
  package var address = "127.0.0.1"
  /// 0 for any that is free.
  package var port: UInt16 = 0
  /// Without one the server speaks plain HTTP.
  package var identity: TLSIdentity?
  /// Whether plain HTTP may be spoken on other addresses than loopback ones.
  package var allowsPlainHTTP = false

  /// Threads that wait for the network and call the handler; each has its own connections.
  package var threadCount = 4
  package var connectionLimit = 1_000
  /// Devices of one site may well come from one address.
  package var connectionLimitPerAddress = 250
  /// Of the request line and all header fields.
  package var headerByteLimit = 16 << 10
  /// Of any body; the handler has narrower limits for each call.
  package var bodyByteLimit: UInt64 = 16 << 20
  /// Of the bodies of all requests that are in flight.
  package var bodyBytesInFlightLimit: UInt64 = 256 << 20

  /// Seconds that a connection may be without a request.
  package var idleSeconds: UInt64 = 75
  /// Seconds from the beginning of a connection, or of a request, to the end of its header fields.
  package var headSeconds: UInt64 = 20
  /// Seconds for a body or an answer, besides those for its length.
  package var bodySeconds: UInt64 = 30
  /// The slowest that a body or an answer may move.
  package var bytesPerSecond: UInt64 = 4 << 10
  /// Seconds between signs of life in a stream.
  package var heartbeatSeconds: UInt64 = 15

  package init() {}
}

/// Who a server is, for TLS.
package struct TLSIdentity: Sendable {
  /// The certificate and those that lead to its root, as PEM.
  package var certificate: [UInt8]
  /// The private key, as PEM.
  package var key: [UInt8]

  package init(certificate: [UInt8], key: [UInt8]) {
    self.certificate = certificate
    self.key = key
  }
}
