internal import CMicrohttpd
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

/// libmicrohttpd at work: turns its callbacks into calls of ``Traffic``, ``Exchange`` and ``EventStream``.
@safe final class Daemon: @unchecked Sendable {
  // Unchecked, because nothing in it changes but by `stop`, which its owner calls once.
  private let daemon: OpaquePointer
  private let traffic: Unmanaged<Traffic>
  private let remark: UnsafeMutablePointer<tidemark_http_remark>
  let port: UInt16

  /// Throws if the address is none, is taken, needs TLS, or the certificate or its key is not usable.
  init(_ traffic: Traffic) throws(LogError) {
    let options = traffic.options
    let place = options.address.contains(":") ? "[\(options.address)]:\(options.port)" : "\(options.address):\(options.port)"
    var address = tidemark_http_address()
    guard unsafe tidemark_http_parse(options.address, options.port, &address) else {
      throw LogError(
        .invalidArgument, "can't listen on \(place)", why: "that is no IPv4 or IPv6 address", advice: "write the address in numbers")
    }
    guard options.identity != nil || address.is_loopback || options.allowsPlainHTTP else {
      throw LogError(
        .invalidArgument, "can't listen on \(place)", why: "without TLS anybody on the way could read and change what is sent",
        advice: "give a certificate and its key, or listen on 127.0.0.1, or allow plain HTTP where something else encrypts")
    }
    let context = unsafe Unmanaged.passRetained(traffic)
    let remark = UnsafeMutablePointer<tidemark_http_remark>.allocate(capacity: 1)
    unsafe remark.initialize(to: tidemark_http_remark())
    var callbacks = unsafe tidemark_http_callbacks()
    unsafe callbacks.context = context.toOpaque()
    unsafe callbacks.connection = { context, connection, slot, change in
      unsafe Daemon.connectionChanged(context, connection, slot, change)
    }
    unsafe callbacks.target = { context, target, connection in unsafe Daemon.requestLine(context, target, connection) }
    unsafe callbacks.access = { _, connection, _, method, _, data, count, slot in
      unsafe Daemon.access(connection, method, data, count, slot)
    }
    unsafe callbacks.completed = { _, _, slot, how in unsafe Daemon.completed(slot, how) }
    var limits = tidemark_http_limits()
    limits.threads = UInt32(clamping: max(2, options.threadCount))
    limits.connections = UInt32(clamping: max(options.connectionLimit, options.threadCount))
    limits.connections_per_address = UInt32(clamping: options.connectionLimitPerAddress)
    limits.idle_seconds = UInt32(clamping: options.idleSeconds)
    limits.memory = max(64 << 10, 2 * options.headerByteLimit + 32 << 10)
    let certificate = options.identity.map { $0.certificate + [0] }
    let key = (options.identity?.key ?? []) + [0]
    let daemon: OpaquePointer? = unsafe key.withUnsafeBytes { key in
      let keyText = unsafe key.bindMemory(to: CChar.self).baseAddress
      guard let certificate else { return unsafe tidemark_http_start(&address, &callbacks, &limits, nil, nil, remark) }
      return unsafe certificate.withUnsafeBytes { certificate in
        unsafe tidemark_http_start(
          &address, &callbacks, &limits, certificate.bindMemory(to: CChar.self).baseAddress, keyText, remark)
      }
    }
    guard let daemon = unsafe daemon else {
      let why = unsafe withUnsafeBytes(of: &remark.pointee.text) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      unsafe remark.deallocate()
      unsafe context.release()
      throw LogError(
        .io, "can't listen on \(place)", why: why.split(separator: "\n").joined(separator: " "),
        advice: "take another port, or check the certificate and its key")
    }
    unsafe self.daemon = unsafe daemon
    unsafe self.traffic = unsafe context
    unsafe self.remark = unsafe remark
    port = unsafe tidemark_http_port(daemon)
  }

  /// Accepts no more connections; those that are open go on.
  func quiesce() {
    let socket = unsafe MHD_quiesce_daemon(daemon)
    if socket >= 0 { _ = close(socket) }
  }

  /// Closes all connections and ends the library's threads. Nothing may be suspended then.
  func stop() {
    unsafe MHD_stop_daemon(daemon)
    unsafe remark.deallocate()
    unsafe traffic.release()
  }

  // MARK: Callbacks

  private static func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
  ) {
    guard let context = unsafe context, let pointer = unsafe pointer, let slot = unsafe slot else { return }
    let traffic = unsafe Unmanaged<Traffic>.fromOpaque(context).takeUnretainedValue()
    if tidemark_http_is_start(change) {
      let connection = unsafe Connection(pointer)
      unsafe slot.pointee = unsafe Unmanaged.passRetained(connection).toOpaque()
      traffic.opened(connection)
    } else if let object = unsafe slot.pointee {
      unsafe slot.pointee = nil
      traffic.closed(unsafe Unmanaged<Connection>.fromOpaque(object).takeRetainedValue())
    }
  }

  private static func requestLine(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ pointer: OpaquePointer?
  ) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context, let pointer = unsafe pointer,
      let object = unsafe tidemark_http_connection_context(pointer)
    else { return nil }
    let traffic = unsafe Unmanaged<Traffic>.fromOpaque(context).takeUnretainedValue()
    let connection = unsafe Unmanaged<Connection>.fromOpaque(object).takeUnretainedValue()
    let text = unsafe target.flatMap { unsafe String(validatingCString: $0) }
    return unsafe Unmanaged.passRetained(Exchange(connection, traffic, target: text)).toOpaque()
  }

  private static func completed(
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ how: MHD_RequestTerminationCode
  ) {
    guard let slot = unsafe slot, let object = unsafe slot.pointee else { return }
    unsafe slot.pointee = nil
    unsafe Unmanaged<Exchange>.fromOpaque(object).takeRetainedValue().end(isComplete: tidemark_http_is_complete(how))
  }

  /// Called for the head of a request, for each piece of its body, at its end, and after each resumption.
  private static func access(
    _ pointer: OpaquePointer?, _ method: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?, _ count: UnsafeMutablePointer<Int>?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) -> MHD_Result {
    guard let pointer = unsafe pointer, let count = unsafe count, let object = unsafe slot?.pointee else { return .NO }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(object).takeUnretainedValue()
    let step: Exchange.Step
    if !exchange.hasBegun {
      step = exchange.begin(
        method: unsafe method.flatMap { unsafe String(validatingCString: $0) }, fields: unsafe fields(pointer),
        headerByteCount: unsafe tidemark_http_header_bytes(pointer))
    } else if let data = unsafe data, unsafe count.pointee > 0 {
      exchange.take(unsafe Array(UnsafeRawBufferPointer(start: data, count: count.pointee)))
      unsafe count.pointee = 0
      return .YES
    } else {
      step = exchange.proceed()
    }
    switch step {
    case .more: return .YES
    case .answer(let response, let closes):
      let bytes = response.body
      let answer = unsafe bytes.withUnsafeBytes { bytes in
        // The library copies, and does not write, what it is given so.
        unsafe MHD_create_response_from_buffer(bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
      }
      guard let answer = unsafe answer else { return .NO }
      defer { unsafe MHD_destroy_response(answer) }
      unsafe add(response, to: answer, closes: closes)
      exchange.answered(status: response.status, byteCount: exchange.isHead ? 0 : bytes.count)
      return unsafe MHD_queue_response(pointer, UInt32(clamping: response.status), answer)
    case .stream(let response, let stream):
      let retained = unsafe Unmanaged.passRetained(stream)
      let answer = unsafe MHD_create_response_from_callback(
        UInt64.max, 4_096, { stream, _, bytes, count in unsafe Daemon.read(stream, bytes, count) }, retained.toOpaque(),
        { stream in unsafe Daemon.closed(stream) })
      guard let answer = unsafe answer else {
        stream.close()
        unsafe retained.release()
        return .NO
      }
      defer { unsafe MHD_destroy_response(answer) }
      unsafe add(response, to: answer, closes: true)
      exchange.answered(status: response.status, byteCount: 0)
      return unsafe MHD_queue_response(pointer, UInt32(clamping: response.status), answer)
    }
  }

  private static func read(_ object: UnsafeMutableRawPointer?, _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
    guard let object = unsafe object, let bytes = unsafe bytes else { return -1 }
    switch unsafe Unmanaged<EventStream>.fromOpaque(object).takeUnretainedValue().read(upTo: count) {
    case .bytes(let chunk):
      unsafe UnsafeMutableRawBufferPointer(start: bytes, count: count).copyBytes(from: chunk)
      return chunk.count
    case .none: return 0
    case .end: return -1  // MHD_CONTENT_READER_END_OF_STREAM
    }
  }

  private static func closed(_ object: UnsafeMutableRawPointer?) {
    guard let object = unsafe object else { return }
    unsafe Unmanaged<EventStream>.fromOpaque(object).takeRetainedValue().close()
  }

  /// The library's own business.
  private static let skipped: Set<String> = ["connection", "content-length", "date", "transfer-encoding"]

  private static func add(_ response: HTTPResponse, to answer: OpaquePointer, closes: Bool) {
    for (name, value) in response.fields.all where !skipped.contains(name) {
      _ = unsafe MHD_add_response_header(answer, name, value)
    }
    if response.fields["cache-control"] == nil { _ = unsafe MHD_add_response_header(answer, "cache-control", "no-store") }
    if closes { _ = unsafe MHD_add_response_header(answer, "connection", "close") }
  }

  private final class Fields {
    var all: [(name: String, value: String)?] = []
  }

  /// All header fields, in order; nil for one that is not UTF-8.
  private static func fields(_ pointer: OpaquePointer) -> [(name: String, value: String)?] {
    let fields = Fields()
    _ = unsafe MHD_get_connection_values_n(
      pointer, .HEADER_KIND,
      { fields, _, name, nameLength, value, valueLength in
        guard let fields = unsafe fields else { return .NO }
        let field = unsafe (name: Daemon.text(name, nameLength), value: Daemon.text(value, valueLength))
        let all = unsafe Unmanaged<Fields>.fromOpaque(fields).takeUnretainedValue()
        if let name = field.name, let value = field.value { all.all.append((name, value)) } else { all.all.append(nil) }
        return .YES
      }, Unmanaged.passUnretained(fields).toOpaque())
    return fields.all
  }

  private static func text(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String? {
    guard let bytes = unsafe bytes else { return count == 0 ? "" : nil }
    return unsafe String(validating: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
