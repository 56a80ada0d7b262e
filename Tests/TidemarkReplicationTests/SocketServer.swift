#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
import TestSupport
import TidemarkLog

/// A server that says whatever a test wants, on a port of this machine.
final class SocketServer: Sendable {
  let port: UInt16
  private let listener: Int32
  private let count = Locked(0)

  /// How many connections there were.
  var connectionCount: Int { count.withLock { $0 } }

  struct Failed: Error {}

  /// - Parameter serve: is called with each connection, on a thread of its own.
  init(_ serve: @escaping @Sendable (Connection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(listener, generic, length) == 0 && listen(listener, 16) == 0 && getsockname(listener, generic, &length) == 0
      }
    }
    guard isBound else { throw Failed() }
    port = UInt16(bigEndian: address.sin_port)
    try runThread(name: "socket-server", lowPriority: false) { [count] in
      while true {
        let descriptor = accept(listener, nil, nil)
        if descriptor < 0 {
          // Closed by who accepts: elsewhere, the number might be another server's before this asks for the next one.
          close(listener)
          return
        }
        count.withLock { $0 += 1 }
        try? runThread(name: "connection", lowPriority: false) {
          serve(Connection(descriptor: descriptor))
          close(descriptor)
        }
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  struct Connection: Sendable {
    let descriptor: Int32

    /// Reads one request: its head and as much behind it as `Content-Length` says; nil at the end.
    func readRequest() -> (head: String, body: [UInt8])? {
      var bytes: [UInt8] = []
      while true {
        var block = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &block, block.count, 0)
        if count <= 0 { return nil }
        bytes += block.prefix(count)
        guard let end = bytes.indices.dropLast(3).first(where: { Array(bytes[$0..<$0 + 4]) == [13, 10, 13, 10] }) else { continue }
        let head = String(decoding: bytes[..<end], as: UTF8.self)
        let field = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = field.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        if head.lowercased().contains("expect: 100-continue"), bytes.count == end + 4 { write("HTTP/1.1 100 Continue\r\n\r\n") }
        if bytes.count >= end + 4 + length { return (head, Array(bytes[(end + 4)...])) }
      }
    }

    func write(_ text: String) { write(Array(text.utf8)) }
    func write(_ bytes: [UInt8]) { _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
    func wait(milliseconds: Int32) { _ = poll(nil, 0, milliseconds) }
  }
}
