import Foundation

/// A client that sends what it is told to, however wrong.
final class RawClient {
  private let socket: Int32
  private var received: [UInt8] = []

  struct Response {
    var status: Int
    var fields: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
  }

  init(port: UInt16) throws {
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = unsafe withUnsafePointer(to: &address) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
    guard code == 0 else { throw POSIXError(.ECONNREFUSED) }
    timeout(seconds: 10)
  }

  deinit { close(socket) }

  func timeout(seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    _ = unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Sends all, as far as the other end takes it. Returns whether it took all.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[done...])
        return unsafe Foundation.send(socket, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  /// Sends nothing more.
  func finishSending() { shutdown(socket, Int32(SHUT_WR)) }

  /// Reads once. Returns false at the end, or when the time is over.
  private func readMore() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
    guard count > 0 else { return false }
    received += buffer.prefix(count)
    return true
  }

  /// What comes until the other end closes the connection; nil if it does not in time.
  func readToEnd() -> [UInt8]? {
    errno = 0
    while readMore() {}
    if errno == EAGAIN { return nil }
    defer { received = [] }
    return received
  }

  /// What has come so far, after waiting for at least one of the words.
  func readUntil(_ word: String) -> String? {
    while true {
      let text = String(decoding: received, as: UTF8.self)
      if text.contains(word) { return text }
      if !readMore() { return nil }
    }
  }

  /// The next answer; nil if the connection ends, or nothing comes in time.
  func response(toHead: Bool = false) -> Response? {
    let blank = Array("\r\n\r\n".utf8)
    while true {
      if let end = received.firstRange(of: blank) {
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        guard let status = lines[0].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          fields[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let length = toHead || status < 200 || status == 204 ? 0 : Int(fields["content-length"] ?? "0") ?? 0
        if received.count >= end.upperBound + length {
          let body = Array(received[end.upperBound..<end.upperBound + length])
          received.removeFirst(end.upperBound + length)
          return Response(status: status, fields: fields, body: body)
        }
      }
      if !readMore() { return nil }
    }
  }

  func get(_ target: String) -> Response? {
    send("GET \(target) HTTP/1.1\r\nHost: test\r\n\r\n")
    return response()
  }

  func post(_ target: String, _ body: [UInt8]) -> Response? {
    send(Array("POST \(target) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
    return response()
  }
}
