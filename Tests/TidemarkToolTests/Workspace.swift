import Foundation
import Testing

/// A directory for one test, and the tool in it.
final class Workspace {
  let directory: String

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: directory)
  }

  struct Result {
    var code: Int32
    var output: String
    var errors: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }
    /// The JSON of the last line on standard output.
    var summary: [String: Int] {
      get throws {
        let last = try #require(lines.last)
        let object = try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Int]
        return try #require(object)
      }
    }
  }

  /// The executable, which is built beside the tests.
  static let tool: String = {
    if let path = ProcessInfo.processInfo.environment["TIDEMARK_TOOL"] { return path }
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("tidemark").path
  }()

  func path(_ name: String) -> String { "\(directory)/\(name)" }

  func write(_ name: String, _ text: String) throws { try write(name, Array(text.utf8)) }

  func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path(name))) }

  func bytes(_ name: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(fileURLWithPath: path(name)))) }

  /// Runs the tool to its end. Paths in the arguments are relative to the directory.
  @discardableResult
  func run(_ arguments: String..., input: String = "") throws -> Result { try run(arguments, input: Array(input.utf8)) }

  func run(_ arguments: [String], input: [UInt8]) throws -> Result {
    try write(".input", input)
    let running = try start(arguments, standardInput: FileHandle(forReadingFrom: URL(fileURLWithPath: path(".input"))))
    return try running.finish()
  }

  /// Starts the tool and leaves it running.
  func start(_ arguments: [String], standardInput: Any) throws -> Running {
    try Running(arguments, directory, standardInput)
  }

  /// A tool at work. What it prints goes to files, so that it never waits for the test.
  final class Running {
    let process = Process()
    private let outputPath: String
    private let errorPath: String

    fileprivate init(_ arguments: [String], _ directory: String, _ standardInput: Any) throws {
      let name = UUID().uuidString
      outputPath = "\(directory)/.\(name).out"
      errorPath = "\(directory)/.\(name).err"
      for path in [outputPath, errorPath] { try Data().write(to: URL(fileURLWithPath: path)) }
      process.executableURL = URL(fileURLWithPath: Workspace.tool)
      process.arguments = arguments
      process.currentDirectoryURL = URL(fileURLWithPath: directory)
      process.standardInput = standardInput
      process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: outputPath))
      process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errorPath))
      try process.run()
    }

    /// What it has printed so far.
    var output: String { get throws { try String(contentsOfFile: outputPath, encoding: .utf8) } }

    /// Waits until it has printed so many whole lines.
    func waitForLines(_ count: Int) throws {
      for _ in 0..<2_000 {
        if try output.utf8.count(where: { $0 == UInt8(ascii: "\n") }) >= count { return }
        guard process.isRunning else { break }
        usleep(5_000)
      }
      Issue.record("only this was printed: \(try output)")
    }

    /// Waits for its end; after a minute it is killed.
    func finish() throws -> Result {
      for _ in 0..<30_000 where process.isRunning { usleep(2_000) }
      if process.isRunning {
        Issue.record("the tool does not end: \(process.arguments ?? [])")
        kill(SIGKILL)
      }
      process.waitUntilExit()
      return Result(
        code: process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus, output: try output,
        errors: try String(contentsOfFile: errorPath, encoding: .utf8))
    }

    /// Sends a signal, unless it has ended: its number may be another's by then.
    func kill(_ signal: Int32) { if process.isRunning { Foundation.kill(process.processIdentifier, signal) } }
  }
}
