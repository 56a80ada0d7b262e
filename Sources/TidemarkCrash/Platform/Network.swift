internal import CCrash

extension Libc {
  /// Connects by TCP; throws if nobody is there.
  package static func connect(_ host: String, _ port: UInt16) throws(CrashError) -> Int32 {
    let connection = unsafe crash_connect(host, port)
    if connection == -2 { throw CrashError(.environment, "can't reach the witness", place: host, why: "there is no such host") }
    guard connection >= 0 else { throw failure("can't reach the witness", "\(host), port \(port)") }
    return connection
  }

  /// Listens on a port; 0 stands for any free one. Returns which it is.
  package static func listen(_ port: UInt16) throws(CrashError) -> (listener: Int32, port: UInt16) {
    let listener = crash_listen(port)
    guard listener >= 0 else { throw failure("can't listen", "port \(port)") }
    return (listener, UInt16(clamping: crash_port(listener)))
  }

  /// Takes a connection; nil if it is gone already.
  package static func accept(_ listener: Int32) -> Int32? {
    let connection = crash_accept(listener)
    return connection >= 0 ? connection : nil
  }

  /// A name that nobody else has: 32 hexadecimal digits.
  static func newName() -> String {
    let digits = Array("0123456789abcdef")
    var generator = SystemRandomNumberGenerator()
    return String((0..<32).map { _ in digits[Int.random(in: 0..<16, using: &generator)] })
  }

  /// Tells this boot from others; nil where the system does not say.
  package static func bootID() -> String? {
    let text = Libc.text(of: "/proc/sys/kernel/random/boot_id")?.filter { !$0.isWhitespace }
    return text?.isEmpty == false ? text : nil
  }
}
