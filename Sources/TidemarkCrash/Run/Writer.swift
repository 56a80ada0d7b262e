/// A subject that is writing, and the acknowledgements that came out of it.
final class Writer {
  let child: ChildProcess
  /// The number of the first event it was told to append.
  let first: UInt64
  let batch: UInt64
  let start: UInt64
  /// Events below it were acknowledged, as far as the pipe was read.
  private(set) var acknowledged: UInt64
  /// How many acknowledgements that were.
  private(set) var acknowledgementCount = 0
  /// When the first ones came: how many events were acknowledged then, and nanoseconds since the start.
  private(set) var moments: [(acknowledged: UInt64, nanoseconds: UInt64)] = []
  private(set) var isAtEnd = false
  /// The pipe that its acknowledgements come out of.
  let output: Int32
  private let errors: Int32
  private var partial: [UInt8] = []
  private var buffer: [UInt8] = []
  private let momentLimit: Int

  /// - Parameters:
  ///   - limit: of the size of files, in bytes; with one, `.max` too, the writer dies with the thread that starts it.
  ///   - killAtCall: the call at whose entry it is killed.
  ///   - tool: the tool itself, for what it wraps around the engine.
  init(
    _ subject: Subject, _ path: String, first: UInt64, batch: UInt64, size: Int = 200, count: UInt64? = nil, limit: UInt64? = nil,
    killAtCall: UInt64? = nil, tool: String = LimitProgram.path, momentLimit: Int = 4096, pipeCapacity: Int32 = 0
  ) throws(CrashError) {
    self.first = first
    self.batch = batch
    self.momentLimit = momentLimit
    acknowledged = first
    let out = try Libc.pipe(capacity: pipeCapacity)
    let err = try Libc.pipe()
    defer {
      Libc.close(out.write)
      Libc.close(err.write)
    }
    output = out.read
    errors = err.read
    var arguments = subject.arguments("write", path, "--first", "\(first)", "--size", "\(size)", "--batch", "\(batch)")
    if let count { arguments += ["--count", "\(count)"] }
    var program = subject.program
    if let limit {
      arguments = [LimitProgram.word, "\(limit)", program] + arguments
      program = tool
    }
    if let killAtCall {
      arguments = [KillCallProgram.word, "\(killAtCall)", program] + arguments
      program = tool
    }
    start = Libc.now()
    child = try ChildProcess(program, arguments, output: out.write, errors: err.write)
  }

  deinit {
    Libc.close(output)
    Libc.close(errors)
  }

  /// No event at or above it can have been handed to the engine.
  var attempted: UInt64 { acknowledged + batch }

  /// Takes what is in the pipe; waits so long for something to be there. Returns false when there was nothing.
  @discardableResult
  func takeAcknowledgements(waitMilliseconds: Int32 = 0) -> Bool {
    guard !isAtEnd, Libc.isReadable(output, milliseconds: waitMilliseconds) else { return false }
    buffer.removeAll(keepingCapacity: true)
    if Libc.read(output, into: &buffer) == 0 {
      isAtEnd = true
      return false
    }
    take(buffer)
    return true
  }

  /// Takes all that is in the pipe now.
  func takeAllAcknowledgements() { while takeAcknowledgements() {} }

  /// Reads on until the pipe is at its end, which it is once the writer is dead.
  func drain() {
    let deadline = Libc.now() + 10_000_000_000
    while !isAtEnd, Libc.now() < deadline { takeAcknowledgements(waitMilliseconds: 100) }
  }

  /// Ends it, reads the pipe to its end, and returns how it ended.
  @discardableResult
  func kill() -> Int32 {
    child.kill()
    drain()
    return child.wait()
  }

  /// What it said on standard error.
  func complaint() -> String {
    var text: [UInt8] = []
    while Libc.isReadable(errors, milliseconds: 0), Libc.read(errors, into: &text) > 0 {}
    return String(decoding: text.prefix(1000), as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
  }

  private func take(_ bytes: [UInt8]) {
    partial.append(contentsOf: bytes)
    guard let end = partial.lastIndex(of: UInt8(ascii: "\n")) else { return }
    var number: UInt64 = 0
    let nanoseconds = Libc.now() - start
    for byte in partial[...end] {
      if byte == UInt8(ascii: "\n") {
        acknowledged = max(acknowledged, number + 1)
        acknowledgementCount += 1
        number = 0
        if moments.count < momentLimit { moments.append((acknowledged, nanoseconds)) }
      } else {
        number = number &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
      }
    }
    partial.removeFirst(end + 1)
  }
}

/// The tool as a wrapper that limits the size of files before it becomes the program that is meant.
package enum LimitProgram {
  /// The tool's hidden command.
  package static let word = "crashtest-limit"
  /// The tool itself.
  static let path = Libc.resolved("/proc/self/exe") ?? "/proc/self/exe"

  /// Does not return unless it fails.
  package static func run(_ words: [String]) -> Int32 {
    guard words.count >= 2, let limit = UInt64(words[0]) else { return 2 }
    do { try Libc.become(words[1], Array(words.dropFirst(2)), fileByteLimit: limit) } catch {
      _ = Libc.write(2, Array("\(error)\n".utf8))
    }
    return 1
  }
}

/// The tool as a wrapper that kills a program at the entry of one of its calls.
package enum KillCallProgram {
  /// The tool's hidden command.
  package static let word = "crashtest-kill-call"

  /// Does not return unless it fails.
  package static func run(_ words: [String]) -> Int32 {
    guard words.count >= 2, let call = UInt64(words[0]) else { return 2 }
    do { try Libc.run(words[1], Array(words.dropFirst(2)), killAtCall: call) } catch {
      _ = Libc.write(2, Array("\(error)\n".utf8))
    }
    return failureCode
  }

  /// How it ends if it can't trace; subjects end with 0, 1 or 2.
  static let failureCode: Int32 = 125

  /// Why programs can't be traced here, in one line; nil if they can.
  static var obstacle: String? {
    do {
      let tried = try Captured(LimitProgram.path, [word, "\(UInt64.max)", LimitProgram.path, "--version"], seconds: 10)
      return tried.code == 0 ? nil : "tracing is not possible" + tried.remark
    } catch { return "tracing is not possible: \(error.why)" }
  }
}

/// The tool as a disk in user space.
package enum DiskProgram {
  /// The tool's hidden command.
  package static let word = "crashtest-disk"

  package static func run(_ words: [String]) -> Int32 {
    guard words.count == 4 else { return 2 }
    do {
      try Libc.serveDisk(target: words[0], image: words[1], record: words[2], control: words[3])
      return 0
    } catch {
      _ = Libc.write(2, Array("\(error)\n".utf8))
      return 1
    }
  }
}
