import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

/// Requests by libcurl, for a command that waits for the answer.
enum AdminTransport {
  /// - Parameter authorities: a file of certificates to trust in the place of the system's.
  static func make(_ server: String, authorities: String?) throws -> AdminClient.Transport {
    let address = try ServerAddress(server)
    var limits = CurlTransport.Limits()
    limits.connectSeconds = 10
    let transport = CurlTransport(authorities: authorities, limits: limits)
    return { request, _ in try wait { try await transport.send(request, to: address) } }
  }

  private static func wait<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let result = Locked<Result<Value, any Error>?>(nil)
    let word = WaitWord()
    Task.detached {
      let value: Result<Value, any Error>
      do { value = .success(try await body()) } catch { value = .failure(error) }
      result.withLock { $0 = value }
      word.increment()
    }
    while true {
      let seen = word.value
      if let value = result.withLock({ $0 }) { return try value.get() }
      word.wait(while: seen)
    }
  }
}
