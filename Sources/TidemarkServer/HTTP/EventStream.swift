internal import TidemarkLog

/// A stream of server-sent events to one connection. Reads come from the library's thread; news, signs of life and the end from others.
final class EventStream: Sendable {
  private struct State {
    /// To be sent; it begins with a comment, so that the header fields reach the other end.
    var bytes: [UInt8] = EventStream.comment
    var number: UInt64
    var hasNews = true
    var isSuspended = false
    var isOver = false
    var sent: UInt64 = 0
  }

  /// What a read gives.
  enum Chunk {
    case bytes([UInt8])
    /// Nothing; the connection was suspended.
    case none
    case end
  }

  private let connection: Connection
  private let traffic: Traffic
  private let next: @Sendable (UInt64) -> (text: String, number: UInt64)?
  private let state: Locked<State>
  private static let comment = Array(":\n\n".utf8)

  init(
    _ connection: Connection, _ traffic: Traffic, after: UInt64, next: @escaping @Sendable (UInt64) -> (text: String, number: UInt64)?
  ) {
    self.connection = connection
    self.traffic = traffic
    self.next = next
    state = Locked(State(number: after))
  }

  /// Bytes that were given so far.
  var sent: UInt64 { state.withLock { $0.sent } }

  func read(upTo count: Int) -> Chunk {
    while true {
      if let chunk = state.withLock({ take(&$0, count) }) { return chunk }
      let last = state.withLock { $0.number }
      let news = next(last)
      state.withLock { state in
        if let news {
          state.bytes += Array(news.text.utf8)
          state.number = news.number
        } else {
          state.isOver = true
        }
      }
    }
  }

  /// Nil if the source has to be asked.
  private func take(_ state: inout State, _ count: Int) -> Chunk? {
    if !state.bytes.isEmpty {
      let chunk = Array(state.bytes.prefix(count))
      state.bytes.removeFirst(chunk.count)
      state.sent += UInt64(chunk.count)
      return .bytes(chunk)
    }
    if state.isOver { return .end }
    if state.hasNews {
      state.hasNews = false
      return nil
    }
    state.isSuspended = true
    connection.suspend()
    return Chunk.none
  }

  /// There may be news.
  func wake() { change { $0.hasNews = true } }

  /// Shows that the server is there, and asks for news in case that nobody told of them.
  func beat() {
    change { state in
      if state.bytes.isEmpty { state.bytes = Self.comment }
      state.hasNews = true
    }
  }

  /// Nothing comes any more.
  func end() { change { $0.isOver = true } }

  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      guard state.isSuspended else { return }
      state.isSuspended = false
      connection.resume()
    }
  }

  /// The connection ended.
  func close() { traffic.closed(self) }
}
