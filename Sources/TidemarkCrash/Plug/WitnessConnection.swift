/// Where a witness is: `HOST`, `HOST:PORT`, or `[ADDRESS]:PORT` for addresses with colons in them.
package struct WitnessAddress: Equatable, Sendable {
  package var host: String
  package var port: UInt16

  package init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Nil if it is none.
  package init?(_ text: String) {
    var host = Substring(text)
    var port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.lastIndex(of: "]") else { return nil }
      host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" else { return nil }
      if !rest.isEmpty { port = rest.dropFirst() }
    } else if text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    self.host = String(host)
    self.port = Witness.defaultPort
    if let port {
      guard port.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = UInt16(port), number > 0 else { return nil }
      self.port = number
    }
  }

  var text: String { "\(host), port \(port)" }
}

/// The machine's end of a connection to its witness.
final class WitnessConnection {
  let descriptor: Int32
  private let place: String
  private var buffer = LineBuffer()
  private var lines: [ArraySlice<UInt8>] = []

  init(_ address: WitnessAddress) throws(CrashError) {
    place = address.text
    descriptor = try Libc.connect(address.host, address.port)
  }

  deinit { Libc.close(descriptor) }

  /// Greets the witness and returns its name.
  func greet() throws(CrashError) -> String {
    try send([.hello(version: WitnessLine.version)])
    guard case .witness(let name) = try receive() else { throw confused }
    return name
  }

  func send(_ lines: [WitnessLine]) throws(CrashError) {
    do { try Libc.writeAll(descriptor, WitnessLine.bytes(lines), place) } catch {
      // It may have said why before it went.
      if Libc.isReadable(descriptor, milliseconds: 0) { _ = try receive() }
      throw CrashError(.environment, "the witness is gone", place: place, why: error.why)
    }
  }

  /// Sends lines and waits for `ok`. Lines before it are given to `body`.
  func ask(_ lines: [WitnessLine], _ body: (WitnessLine) -> String? = { _ in "" }) throws(CrashError) {
    try send(lines)
    while true {
      let line = try receive()
      if line == .ok { return }
      if body(line) != nil { throw confused }
    }
  }

  /// The next line. Throws if the witness refused what was sent, said nothing for 10 seconds, or is gone.
  func receive() throws(CrashError) -> WitnessLine {
    while lines.isEmpty {
      guard Libc.isReadable(descriptor, milliseconds: 10_000) else {
        throw CrashError(.environment, "the witness does not answer", place: place, why: "it said nothing for 10 s")
      }
      var bytes: [UInt8] = []
      guard Libc.read(descriptor, into: &bytes) > 0 else {
        throw CrashError(.environment, "the witness is gone", place: place, why: "it ended the connection")
      }
      lines = buffer.take(bytes)
      if buffer.isTooLong { throw confused }
    }
    guard let line = WitnessLine(lines.removeFirst()) else { throw confused }
    if case .refused(let why) = line { throw CrashError(.environment, "the witness refused", place: place, why: why) }
    return line
  }

  private var confused: CrashError {
    CrashError(.environment, "the witness is not understood", place: place, why: "what it says is not of this protocol")
  }
}
