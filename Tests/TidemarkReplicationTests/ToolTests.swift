import Foundation
import TestSupport
import Testing
import TidemarkLog
import TidemarkProtocol

/// The server double on a port of this machine.
private final class DoubleServer: Sendable {
  let double: Locked<ServerDouble>
  private let sockets: SocketServer
  var address: String { "http://127.0.0.1:\(sockets.port)" }

  init() throws {
    let double = Locked(try ServerDouble())
    self.double = double
    sockets = try SocketServer { connection in
      while let (head, body) = connection.readRequest() {
        let lines = head.split(separator: "\r\n")
        let words = lines[0].split(separator: " ").map(String.init)
        var request = HTTPRequest(words[0], words[1], body: body)
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          if parts.count == 2 { request.fields[String(parts[0])] = String(parts[1].drop { $0 == " " }) }
        }
        let response = double.withLock { $0.answer(request) }
        let fields = response.fields.all.map { "\($0.name): \($0.value)\r\n" }.joined()
        let start = "HTTP/1.1 \(response.status) X\r\n\(fields)Content-Length: \(response.body.count)\r\n\r\n"
        connection.write(Array(start.utf8) + response.body)
      }
    }
  }
}

@Suite("The tool as a device") struct ToolTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
  private var log: String { folder + "/log" }

  private static let tool: String = {
    if let path = ProcessInfo.processInfo.environment["TIDEMARK_TOOL"] { return path }
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("tidemark").path
  }()

  private func start(_ arguments: [String], _ output: Pipe, _ errors: Pipe, input: String = "") throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Self.tool)
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = errors
    let pipe = Pipe()
    process.standardInput = pipe
    try process.run()
    try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try pipe.fileHandleForWriting.close()
    return process
  }

  @discardableResult
  private func run(_ arguments: String..., input: String = "") throws -> (code: Int32, output: String, errors: String) {
    let (output, errors) = (Pipe(), Pipe())
    let process = try start(arguments, output, errors, input: input)
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let complaints = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text, complaints)
  }

  private func append(_ count: Int, type: String = "scan") throws {
    let lines = (0..<count).map { "line \($0) of \(UUID().uuidString)\n" }.joined()
    #expect(try run("append", log, "--type", type, "--format", "lines", "-", input: lines).code == 0)
  }

  private func status() throws -> [String: Any] {
    let result = try run("status", log, "--json")
    #expect(result.code == 0, "\(result.errors)")
    return try #require(JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
  }

  private func events() throws -> [String: Int] { try #require(try status()["events"] as? [String: Int]) }

  @Test("enrol, replicate, status and sign-out, from nothing to nothing") func wholeLife() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try DoubleServer()
    server.double.withLock { $0.refusedTypes = ["bad"] }
    try run("init", log)
    try append(20)
    #expect(try run("replicate", log).code == 2)
    #expect(try run("enrol", log, "--server", server.address, "--code", "NONE").code == 1)
    let enrolled = try run("enrol", log, "--server", server.address, "--code", "CODE-1", "--name", "gate 7")
    #expect(enrolled.code == 0, "\(enrolled.errors)")
    #expect(enrolled.output.contains("of acme"))
    #expect(try events() == ["all": 20, "saved": 20, "accepted": 0, "duplicate": 0, "quarantined": 0])
    try append(2, type: "bad")
    let shipped = try run("replicate", log)
    #expect(shipped.code == 0, "\(shipped.errors)")
    #expect(shipped.output.contains("idle: saved below"))
    #expect(try events() == ["all": 22, "saved": 0, "accepted": 20, "duplicate": 0, "quarantined": 2])
    let text = try run("status", log).output
    #expect(text.contains("set apart") && text.contains("events of type bad are not taken"))
    #expect(try run("info", log, "--json").output.contains("\"accepted\":2"))
    // Nothing happens twice.
    #expect(try run("replicate", log, "--once").code == 0)
    #expect(server.double.withLock { $0.changes } == 20)
    try append(1)
    #expect(try run("sign-out", log).code == 1)
    #expect(try run("replicate", log).code == 0)
    #expect(try run("sign-out", log).code == 0)
    #expect(!FileManager.default.fileExists(atPath: log))
  }

  @Test("--once ends at a failure, and tells; a removed device is told so, and keeps its log") func failures() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try DoubleServer()
    try run("init", log)
    try append(3)
    #expect(try run("enrol", log, "--server", server.address, "--code", "CODE-1").code == 0)
    server.double.withLock { double in
      for id in double.devices.keys { double.devices[id]?.problem = Problem(.storage, "no space", retryAfter: 60) }
    }
    #expect(try run("replicate", log, "--once").code == 3)
    var status = try status()
    #expect(status["state"] as? String == "waiting")
    #expect((status["trouble"] as? [String: String])?["category"] == "retryable")
    #expect(status["attempts"] as? Int == 1)
    server.double.withLock { double in
      for id in double.devices.keys { double.devices[id]?.problem = Problem(.revoked, "removed by the operator") }
    }
    #expect(try run("replicate", log).code == 1)
    status = try self.status()
    #expect(status["state"] as? String == "removed")
    #expect(status["way_out"] != nil)
    #expect(try run("sign-out", log, "--discard-unsent").code == 0)
  }

  @Test("--follow ships what others append meanwhile") func follows() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try DoubleServer()
    try run("init", log)
    #expect(try run("enrol", log, "--server", server.address, "--code", "CODE-1").code == 0)
    let process = try start(["replicate", log, "--follow"], Pipe(), Pipe())
    defer { process.terminate() }
    for round in 1...3 {
      for _ in 0..<100 {
        if try run("append", log, "--type", "scan", "--format", "lines", "-", input: "one \(round)\n").code == 0 { break }
        Thread.sleep(forTimeInterval: 0.05)
      }
      for _ in 0..<200 where server.double.withLock({ $0.changes }) < round { Thread.sleep(forTimeInterval: 0.05) }
      #expect(server.double.withLock { $0.changes } == UInt64(round))
    }
  }
}
