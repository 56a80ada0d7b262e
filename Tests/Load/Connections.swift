internal import CCurl
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkReplication

/// HTTP for thousands of devices at once, each with a connection of its own, by libcurl on one thread.
@safe final class Connections {
  private let multi: OpaquePointer
  private let server: ServerAddress
  private let authorities: String?
  private var lines: [Int: Line] = [:]

  /// What came of a request: an answer, or why there is none.
  typealias Outcome = (device: Int, answer: HTTPResponse?, failure: String)

  /// A device's connection: the handle of its requests, and the place where libcurl keeps the connection between them.
  @safe private final class Line {
    let handle: UnsafeMutableRawPointer
    let share: UnsafeMutableRawPointer
    var fields: UnsafeMutablePointer<curl_slist>?
    var answer = HTTPFields()
    var body: [UInt8] = []
    let device: Int

    init?(_ device: Int) {
      self.device = device
      guard let handle = unsafe curl_easy_init(), let share = unsafe curl_share_init() else { return nil }
      unsafe self.handle = handle
      unsafe self.share = UnsafeMutableRawPointer(share)
      _ = unsafe tidemark_curl_share_connection(self.share)
    }

    deinit {
      unsafe curl_slist_free_all(fields)
      unsafe curl_easy_cleanup(handle)
      _ = unsafe curl_share_cleanup(share)
    }
  }

  init(_ server: ServerAddress, authorities: String?) {
    guard curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK, let multi = unsafe curl_multi_init() else {
      preconditionFailure("libcurl can't be used")
    }
    unsafe self.multi = OpaquePointer(multi)
    self.server = server
    self.authorities = authorities
  }

  /// Sends a device's request. It must have no other under way.
  func send(_ request: HTTPRequest, of device: Int) {
    guard let line = lines[device] ?? Line(device) else { preconditionFailure("libcurl has no memory") }
    lines[device] = line
    let curl = unsafe line.handle
    unsafe curl_easy_reset(curl)
    (line.answer, line.body) = (HTTPFields(), [])
    let numbers: [(CURLoption, Int)] = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_CONNECTTIMEOUT, 60), (CURLOPT_TIMEOUT, 120),
    ]
    for (option, value) in numbers { unsafe tidemark_curl_set_number(curl, option, value) }
    unsafe tidemark_curl_set_pointer(curl, CURLOPT_SHARE, line.share)
    unsafe tidemark_curl_set_text(curl, CURLOPT_URL, server.description + request.target)
    unsafe tidemark_curl_set_text(curl, CURLOPT_CUSTOMREQUEST, request.method)
    if let authorities { unsafe tidemark_curl_set_text(curl, CURLOPT_CAINFO, authorities) }
    unsafe curl_slist_free_all(line.fields)
    unsafe line.fields = nil
    for field in request.fields.all { unsafe line.fields = curl_slist_append(line.fields, "\(field.name): \(field.value)") }
    unsafe tidemark_curl_set_pointer(curl, CURLOPT_HTTPHEADER, line.fields)
    let context = unsafe Unmanaged.passUnretained(line).toOpaque()
    unsafe tidemark_curl_set_pointer(curl, CURLOPT_PRIVATE, context)
    unsafe tidemark_curl_set_pointer(curl, CURLOPT_WRITEDATA, context)
    unsafe tidemark_curl_set_pointer(curl, CURLOPT_HEADERDATA, context)
    unsafe tidemark_curl_set_writer(curl, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
      unsafe Unmanaged<Line>.fromOpaque(context).takeUnretainedValue().body += UnsafeRawBufferPointer(start: bytes, count: size * count)
      return size * count
    }
    unsafe tidemark_curl_set_writer(curl, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
      let text = unsafe String(decoding: UnsafeRawBufferPointer(start: bytes, count: size * count), as: UTF8.self)
      // A line's end is one character.
      let parts = text.filter { $0 != "\r\n" }.split(separator: ":", maxSplits: 1)
      if parts.count == 2 {
        unsafe Unmanaged<Line>.fromOpaque(context).takeUnretainedValue().answer[String(parts[0])] = String(parts[1].trimmingBlanks)
      }
      return size * count
    }
    unsafe request.body.withUnsafeBytes { body in
      guard body.count > 0 else { return }
      // libcurl copies it.
      unsafe tidemark_curl_set_large(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
      unsafe tidemark_curl_set_pointer(curl, CURLOPT_COPYPOSTFIELDS, body.baseAddress)
    }
    unsafe curl_multi_add_handle(UnsafeMutableRawPointer(multi), curl)
  }

  /// Closes a device's connection.
  func close(_ device: Int) { lines[device] = nil }

  /// Works on all requests for a while, and returns those that are over.
  func poll(milliseconds: Int32) -> [Outcome] {
    var running: Int32 = 0
    let multi = unsafe UnsafeMutableRawPointer(self.multi)
    unsafe curl_multi_perform(multi, &running)
    var outcomes = unsafe take(multi)
    if outcomes.isEmpty {
      unsafe curl_multi_poll(multi, nil, 0, milliseconds, nil)
      unsafe curl_multi_perform(multi, &running)
      outcomes = unsafe take(multi)
    }
    return outcomes
  }

  private func take(_ multi: UnsafeMutableRawPointer) -> [Outcome] {
    var outcomes: [Outcome] = []
    var code = CURLE_OK
    var status = 0
    var context: UnsafeMutablePointer<CChar>?
    while let curl = unsafe tidemark_curl_multi_next(multi, &code, &context, &status) {
      unsafe curl_multi_remove_handle(multi, curl)
      guard let context = unsafe context else { continue }
      let line = unsafe Unmanaged<Line>.fromOpaque(context).takeUnretainedValue()
      let device = line.device
      if code == CURLE_OK {
        outcomes.append((device, HTTPResponse(status, fields: line.answer, body: line.body), ""))
      } else {
        outcomes.append((device, nil, unsafe String(cString: curl_easy_strerror(code))))
        lines[device] = nil
      }
    }
    return outcomes
  }
}
