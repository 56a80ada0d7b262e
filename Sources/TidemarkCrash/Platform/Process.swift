internal import CCrash

/// A child process in a group of its own.
struct ChildProcess: Sendable {
  let pid: pid_t

  /// Starts it. Descriptors below 0 become `/dev/null`.
  init(_ path: String, _ arguments: [String], input: Int32 = -1, output: Int32 = -1, errors: Int32 = -1) throws(CrashError) {
    var child: pid_t = 0
    let code = unsafe withArguments([path] + arguments) { unsafe crash_spawn(path, $0, input, output, errors, &child) }
    guard code == 0 else { throw Libc.failure("can't start", path, errno: code) }
    pid = child
  }

  func kill() { _ = CCrash.kill(pid, SIGKILL) }
  func pause() { _ = CCrash.kill(pid, SIGSTOP) }
  func goOn() { _ = CCrash.kill(pid, SIGCONT) }

  /// Its exit code, or minus the signal that ended it.
  @discardableResult
  func wait() -> Int32 { crash_wait(pid, true) }

  /// The same if it has ended, else nil.
  func waitIfEnded() -> Int32? {
    let code = crash_wait(pid, false)
    return code == -1001 ? nil : code
  }
}

/// Runs `body` with the arguments as C has them.
private func withArguments<Result>(_ arguments: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result) -> Result {
  var pointers = unsafe arguments.map { unsafe strdup($0) }
  unsafe pointers.append(nil)
  defer { unsafe pointers.forEach { unsafe free($0) } }
  return unsafe pointers.withUnsafeBufferPointer { buffer in
    guard let base = buffer.baseAddress else { preconditionFailure("the array has at least one element") }
    return unsafe body(base)
  }
}

extension Libc {
  /// Becomes another program under a limit on the size of files; throws if it can't.
  static func become(_ path: String, _ arguments: [String], fileByteLimit: UInt64) throws(CrashError) {
    _ = unsafe withArguments([path] + arguments) { unsafe crash_execute_limited(fileByteLimit, path, $0) }
    throw failure("can't start", path)
  }

  /// Runs another program until it enters that call, and ends as it ends; throws if it can't.
  static func run(_ path: String, _ arguments: [String], killAtCall call: UInt64) throws(CrashError) {
    _ = unsafe withArguments([path] + arguments) { unsafe crash_execute_killing(call, path, $0) }
    throw failure("can't trace", path)
  }
}
