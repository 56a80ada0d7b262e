package import TidemarkLog

/// Serves a ``RequestHandler`` over HTTP/1.1, with TLS or without, within limits that hold whatever comes.
///
/// ```swift
/// let server = try HTTPServer(handler, options)
/// print(server.url)  // http://127.0.0.1:41873
/// server.stop()
/// ```
///
/// What libmicrohttpd itself can't read (no request line, no `Host`, header fields beyond all bounds) is answered by it, without a problem
/// document, and the connection is closed.
package final class HTTPServer: Sendable {
  private let traffic: Traffic
  private let daemon: Daemon
  private let isStopped = Locked(false)
  /// Where it listens.
  package let port: UInt16
  /// How it is reached, without a slash at the end. For an address that stands for all, the host is that address.
  package let url: String
  /// How programs on the same machine reach it.
  package let localURL: String

  /// Begins to listen. Throws `invalidArgument` for an address that is none, or that needs TLS; `io` if the system refuses, or the
  /// certificate is not usable.
  ///
  /// - Parameter log: is given each request when it has ended, on a thread that serves others.
  package init(
    _ handler: any RequestHandler, _ options: HTTPServerOptions = HTTPServerOptions(), metrics: HTTPMetrics = HTTPMetrics(),
    clock: any DeviceClock = SystemClock(), log: (@Sendable (RequestRecord) -> Void)? = nil
  ) throws(LogError) {
    traffic = try Traffic(handler, options, metrics, clock: clock, log: log)
    do throws(LogError) { daemon = try Daemon(traffic) } catch {
      traffic.finish()
      throw error
    }
    port = daemon.port
    let host = options.address.contains(":") ? "[\(options.address)]" : options.address
    let scheme = options.identity == nil ? "http" : "https"
    url = "\(scheme)://\(host):\(port)"
    localURL = "\(scheme)://\(host == "0.0.0.0" ? "127.0.0.1" : host == "[::]" ? "[::1]" : host):\(port)"
  }

  deinit { stop(graceSeconds: 0) }

  /// Accepts no more connections, ends streams, waits for requests in flight, refuses new ones on open connections (503), then answers
  /// those that still wait for the handler with 503, and closes all connections. Returns when that is done. Later replies are ignored.
  package func stop(graceSeconds: UInt64 = 10) {
    let wasStopped = isStopped.withLock { isStopped in
      defer { isStopped = true }
      return isStopped
    }
    if wasStopped { return }
    daemon.quiesce()
    traffic.stop(graceSeconds: graceSeconds)
    daemon.stop()
    traffic.finish()
  }
}
