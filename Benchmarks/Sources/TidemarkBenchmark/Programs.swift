import CBaseline
import Glibc

extension Child {
  /// Starts a program, which is found as a shell would.
  init(program: String, _ arguments: [String]) throws {
    let path = program.contains("/") ? program : "/usr/bin/" + program
    var pointers: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { pointers.forEach { free($0) } }
    var pipe: Int32 = -1
    process = try check(baseline_spawn(path, &pointers, &pipe), "starting \(path)")
    output = pipe
  }

  /// The next line that it prints.
  func line() throws -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
    guard !bytes.isEmpty else { throw BenchmarkFailure(description: "a program ended before it was ready") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Asks it to end, and waits.
  func terminate() {
    _ = Glibc.kill(process, SIGTERM)
    var status: Int32 = 0
    waitpid(process, &status, 0)
    close(output)
  }

  /// Bytes of its own at most so far, from what the kernel tells of it.
  func peakByteCount() throws -> UInt64 {
    let status = String(decoding: try readFile("/proc/\(process)/status"), as: UTF8.self)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    guard let text = line?.split(separator: " ").dropLast().last?.split(separator: "\t").last, let kibibytes = UInt64(text) else {
      throw BenchmarkFailure(description: "the kernel does not tell what a process takes")
    }
    return kibibytes * 1024
  }

  /// What a program prints until it ends, which has to go well.
  static func output(of program: String, _ arguments: [String]) throws -> String {
    let child = try Child(program: program, arguments)
    let text = String(decoding: readAll(child.output), as: UTF8.self)
    var status: Int32 = 0
    waitpid(child.process, &status, 0)
    close(child.output)
    guard status == 0 else {
      throw BenchmarkFailure(description: "\(program) \(arguments.joined(separator: " ")) ended with status \(status): \(text)")
    }
    return text
  }
}

/// A `tidemark serve` of its own.
struct ServerChild {
  let child: Child
  let directory: String
  let url: String
  let tool: String
  let certificate: String

  init(_ shipping: ShippingPrograms, at directory: String) throws {
    self.directory = directory
    tool = try shipping.tool("tidemark")
    certificate = shipping.certificate
    child = try Child(
      program: tool,
      [
        "serve", directory, "--listen", "127.0.0.1:0", "--certificate", shipping.certificate, "--key", shipping.key, "--rate", "100000",
        "--connections-per-address", "1000",
      ])
    url = String(try child.line().split(separator: " ").last ?? "")
    do { _ = try admin("tenant", "bench") } catch {
      child.terminate()
      throw error
    }
  }

  func admin(_ arguments: String...) throws -> String {
    try Child.output(of: tool, ["admin"] + arguments + ["--data", directory, "--ca", certificate])
  }

  /// A code for one device.
  func code() throws -> String { String(try admin("code", "bench").filter { $0 != "\n" }) }

  /// Makes a log's directory a device of it.
  func enrol(_ log: String) throws {
    _ = try Child.output(of: tool, ["enrol", log, "--server", url, "--ca", certificate, "--code", try code()])
  }

  func stop() { child.terminate() }
}

/// Where the programs are that the cases of shipping need besides this one.
struct ShippingPrograms: Sendable {
  /// Of the server, as PEM.
  var certificate: String
  var key: String
  /// These two are built from `Benchmarks/Shipping`.
  var sink: String
  var client: String
  /// The directory of a PostgreSQL's socket; nil if there is none.
  var postgresql: String?

  /// A program of the same build as this one.
  func tool(_ name: String) throws -> String {
    let own = try Child.ownPath()
    return String(own[...(own.lastIndex(of: "/") ?? own.startIndex)]) + name
  }
}
