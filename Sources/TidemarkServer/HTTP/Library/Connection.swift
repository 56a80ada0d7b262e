internal import CMicrohttpd

/// A connection of libmicrohttpd. Who calls knows that it has not ended.
@safe final class Connection: @unchecked Sendable {
  // Unchecked, because nothing in it changes, and the library takes the calls below from any thread.
  private let pointer: OpaquePointer
  private let socket: Int32
  /// The address at the other end.
  let peer: String

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = unsafe pointer
    socket = unsafe tidemark_http_socket(pointer)
    var text = [CChar](repeating: 0, count: 64)
    unsafe tidemark_http_peer(pointer, &text)
    peer = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Nothing is read or sent until ``resume()``. Only within a callback of the library for this connection.
  func suspend() { unsafe MHD_suspend_connection(pointer) }

  /// Ends what ``suspend()`` began.
  func resume() { unsafe MHD_resume_connection(pointer) }

  /// Ends the connection, as if the other end had.
  func cut() { tidemark_http_cut(socket) }
}
