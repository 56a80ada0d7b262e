internal import CCurl
internal import TidemarkLog
public import TidemarkProtocol

/// Requests by libcurl: HTTP/1.1 over a connection that is kept, TLS always verified, redirects never followed, a proxy as the environment
/// names it (`https_proxy`, `no_proxy`).
///
/// ```swift
/// let transport = CurlTransport(authorities: "operator-ca.pem")
/// ```
public final class CurlTransport: Transport {
  /// How long to wait for what.
  public struct Limits: Sendable, Equatable {
    /// Seconds until there is a connection.
    public var connectSeconds = 20
    /// Seconds in which nearly nothing comes or goes until it counts as dead.
    public var stallSeconds = 90
    /// Seconds for everything.
    public var totalSeconds = 900
    /// The longest answer that is taken, in bytes.
    public var answerByteCount = 64 << 20

    /// For a slow mobile network.
    public init() {}
  }

  private let authorities: String?
  private let limits: Limits
  /// Of requests that are over: each has a connection, which is kept.
  private let handles = Locked([CurlHandle]())

  /// Nothing is connected yet.
  ///
  /// - Parameters:
  ///   - authorities: a file of certificates in PEM, which are trusted in the place of the system's.
  ///   - limits: how long to wait.
  public init(authorities: String? = nil, limits: Limits = Limits()) {
    self.authorities = authorities
    self.limits = limits
  }

  /// Throws `LogError.Code.transport` if no answer came, if the answer is too long, and when the task was cancelled.
  public func send(_ request: HTTPRequest, to server: ServerAddress) async throws -> HTTPResponse {
    let exchange = CurlExchange(limits.answerByteCount)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        do throws(LogError) {
          try runThread(name: "transport", lowPriority: false) { [handles, authorities, limits] in
            let handle = handles.withLock { $0.popLast() } ?? CurlHandle()
            let answer = handle.perform(request, server, authorities, limits, exchange)
            handles.withLock { $0.append(handle) }
            continuation.resume(with: answer)
          }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    } onCancel: {
      exchange.cancel()
    }
  }
}

/// A connection, for one request at a time.
///
/// Unchecked, because the handle is only used with the lock held.
@safe private final class CurlHandle: @unchecked Sendable {
  private let lock = Lock()
  private var handle: OpaquePointer?

  /// Once for the process, before anything else.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  deinit { if let handle = unsafe handle { unsafe curl_easy_cleanup(UnsafeMutableRawPointer(handle)) } }

  func perform(
    _ request: HTTPRequest, _ server: ServerAddress, _ authorities: String?, _ limits: CurlTransport.Limits, _ exchange: CurlExchange
  ) -> Result<HTTPResponse, any Error> {
    lock.withLock {
      if unsafe handle == nil, Self.isReady { unsafe handle = OpaquePointer(curl_easy_init()) }
      guard let curl = unsafe UnsafeMutableRawPointer(handle) else {
        return .failure(Self.failure(server, "libcurl can't be used"))
      }
      // Connections and the cache of names stay.
      unsafe curl_easy_reset(curl)
      unsafe Self.set(curl, limits, authorities)
      unsafe tidemark_curl_set_text(curl, CURLOPT_URL, server.description + request.target)
      unsafe tidemark_curl_set_text(curl, CURLOPT_CUSTOMREQUEST, request.method)
      if request.method == "HEAD" { unsafe tidemark_curl_set_number(curl, CURLOPT_NOBODY, 1) }
      var list: UnsafeMutablePointer<curl_slist>?
      for field in request.fields.all { unsafe list = curl_slist_append(list, "\(field.name): \(field.value)") }
      defer { unsafe curl_slist_free_all(list) }
      unsafe tidemark_curl_set_pointer(curl, CURLOPT_HTTPHEADER, list)
      let context = unsafe Unmanaged.passUnretained(exchange).toOpaque()
      unsafe tidemark_curl_set_pointer(curl, CURLOPT_WRITEDATA, context)
      unsafe tidemark_curl_set_pointer(curl, CURLOPT_HEADERDATA, context)
      unsafe tidemark_curl_set_pointer(curl, CURLOPT_XFERINFODATA, context)
      let code = unsafe request.body.withUnsafeBytes { body -> CURLcode in
        if body.count > 0 || request.method != "GET" && request.method != "HEAD" {
          unsafe tidemark_curl_set_pointer(curl, CURLOPT_POSTFIELDS, body.baseAddress ?? UnsafeRawPointer(context))
          unsafe tidemark_curl_set_large(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        }
        return unsafe curl_easy_perform(curl)
      }
      guard code == CURLE_OK else {
        if exchange.isCancelled { return .failure(Self.failure(server, "it was cancelled")) }
        if exchange.isTooLong { return .failure(Self.failure(server, "the answer is longer than \(limits.answerByteCount) bytes")) }
        return .failure(Self.failure(server, unsafe String(cString: curl_easy_strerror(code))))
      }
      var status = 0
      _ = unsafe tidemark_curl_status(curl, &status)
      return .success(HTTPResponse(status, fields: exchange.fields, body: exchange.body))
    }
  }

  private static func set(_ curl: UnsafeMutableRawPointer, _ limits: CurlTransport.Limits, _ authorities: String?) {
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_NOSIGNAL, 1),
      (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_NOPROGRESS, 0),
      (CURLOPT_CONNECTTIMEOUT, limits.connectSeconds), (CURLOPT_TIMEOUT, limits.totalSeconds), (CURLOPT_LOW_SPEED_LIMIT, 10),
      (CURLOPT_LOW_SPEED_TIME, limits.stallSeconds),
    ]
    for (option, value) in numbers { unsafe tidemark_curl_set_number(curl, option, value) }
    unsafe tidemark_curl_set_text(curl, CURLOPT_PROTOCOLS_STR, "http,https")
    unsafe tidemark_curl_set_text(curl, CURLOPT_USERAGENT, "tidemark")
    if let authorities { unsafe tidemark_curl_set_text(curl, CURLOPT_CAINFO, authorities) }
    unsafe tidemark_curl_set_writer(curl, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let exchange = unsafe CurlExchange.of(context), let bytes = unsafe bytes else { return 0 }
      return exchange.take(unsafe Array(UnsafeRawBufferPointer(start: bytes, count: size * count))) ? size * count : 0
    }
    unsafe tidemark_curl_set_writer(curl, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let exchange = unsafe CurlExchange.of(context), let bytes = unsafe bytes else { return 0 }
      exchange.takeHead(unsafe Array(UnsafeRawBufferPointer(start: bytes, count: size * count)))
      return size * count
    }
    unsafe tidemark_curl_set_progress(curl) { context, _, _, _, _ in
      unsafe CurlExchange.of(context)?.isCancelled ?? true ? 1 : 0
    }
  }

  private static func failure(_ server: ServerAddress, _ why: String) -> LogError {
    LogError(.transport, "no answer from \(server)", why: why, advice: "check the network; it is tried again")
  }
}

/// One answer, as it comes.
///
/// Unchecked, because only the thread of the request touches it, but for the flag, which has a lock.
private final class CurlExchange: @unchecked Sendable {
  private(set) var fields = HTTPFields()
  private(set) var body: [UInt8] = []
  private(set) var isTooLong = false
  private let byteLimit: Int
  private let cancelled = Locked(false)

  init(_ byteLimit: Int) { self.byteLimit = byteLimit }

  var isCancelled: Bool { cancelled.withLock { $0 } }
  func cancel() { cancelled.withLock { $0 = true } }

  static func of(_ context: UnsafeMutableRawPointer?) -> CurlExchange? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
  }

  func take(_ bytes: [UInt8]) -> Bool {
    isTooLong = body.count + bytes.count > byteLimit
    if !isTooLong { body += bytes }
    return !isTooLong
  }

  /// One line of the head. A status line begins a new one: behind that of a proxy, or of what goes before the answer.
  func takeHead(_ bytes: [UInt8]) {
    if bytes.starts(with: Array("HTTP/".utf8)) { fields = HTTPFields() }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return }
    let value = bytes[(colon + 1)...].filter { $0 != 0x0D && $0 != 0x0A }
    fields[String(decoding: bytes[..<colon], as: UTF8.self)] = String(String(decoding: value, as: UTF8.self)[...].trimmingBlanks)
  }
}
