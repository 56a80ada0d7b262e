import CBaseline
import Glibc
import TidemarkLog

/// A process started from this executable, or from one beside it.
struct Child {
  let process: Int32
  let output: Int32

  /// Starts this executable with `arguments`, or another of the same build.
  init(_ arguments: [String], executable: String? = nil) throws {
    let own = try Child.ownPath()
    var path = own
    if let executable, let slash = own.lastIndex(of: "/") { path = own[...slash] + executable }
    var pointers: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { pointers.forEach { free($0) } }
    var pipe: Int32 = -1
    process = try check(baseline_spawn(path, &pointers, &pipe), "starting \(path)")
    output = pipe
  }

  static func ownPath() throws -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = try check(readlink("/proc/self/exe", &buffer, buffer.count), "finding this executable")
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Waits until the child has written `count` bytes or ended; the number written.
  func waitForOutput(_ count: Int) -> Int {
    var buffer = [UInt8](repeating: 0, count: 1)
    var seen = 0
    while seen < count && read(output, &buffer, 1) == 1 { seen += 1 }
    return seen
  }

  /// Kills it and waits until it is gone.
  func kill() throws {
    try check(baseline_kill(process), "killing a child")
    close(output)
  }

  /// All that it prints until it ends, as a number.
  func finish() throws -> Int64 {
    let text = String(decoding: readAll(output), as: UTF8.self)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    close(output)
    guard status == 0, let number = Int64(text.filter { $0 != "\n" }) else {
      throw BenchmarkFailure(description: "a child ended with status \(status) and wrote: \(text)")
    }
    return number
  }
}

/// `child-append LOG`: appends durable batches for ever, and writes one byte after each.
func childAppend(_ path: String) throws {
  var options = LogOptions()
  options.sealing = .manual
  let log = try Log.open(at: path, options: options)
  let events = makeEvents(100)
  while true {
    try log.append(events)
    write(".", to: 1)
  }
}

/// `child-idle LOG`: an agent that has opened its log and appended to it, then waits. Prints its resident bytes.
func childIdle(_ path: String) throws {
  let log = try Log.open(at: path)
  for event in makeEvents(100) { try log.append(event) }
  try log.waitForSealing()
  usleep(500_000)
  write("\(baseline_resident_byte_count(0))\n", to: 1)
  try log.close()
}
