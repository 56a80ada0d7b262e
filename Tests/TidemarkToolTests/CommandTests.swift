import Foundation
import Testing

@Suite("Commands of the tool")
struct CommandTests {
  static let commands = [
    "init", "append", "cat", "info", "verify", "dump", "recover", "salvage", "seal", "trim", "erase", "crashtest", "crashtest witness",
    "attach", "items", "acknowledge", "transition", "serve", "admin", "admin tenant", "admin code", "admin office-token", "admin devices",
    "admin revoke", "admin suspend", "admin resume", "admin assign", "admin publish", "admin withdraw", "admin waive", "admin changes",
    "admin quarantine", "admin archive",
  ]
  let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
  }

  func json(_ result: Workspace.Result) throws -> [String: Any] {
    #expect(result.code == 0, "\(result.errors)")
    let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
    return try #require(object)
  }

  @Test("each has help with examples", arguments: commands)
  func help(_ command: String) throws {
    let help = try space.run("help", command)
    #expect(help.code == 0)
    #expect(help.output.hasPrefix("usage: tidemark \(command) "))
    #expect(help.output.contains("examples:\n  # ") && help.output.contains("\n  tidemark \(command) "))
    #expect(try space.run(command, "--help").output == help.output)
    #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }

  @Test("are listed, with exit codes")
  func overview() throws {
    let help = try space.run("help")
    #expect(help.code == 0)
    for command in Self.commands { #expect(help.output.contains("\n  \(command) ")) }
    let nothing = try space.run()
    #expect(nothing.code == 2)
    #expect(nothing.errors == help.output)
    #expect(try space.run("--version").output.hasPrefix("tidemark "))
  }

  static let wrongUse: [([String], String)] = [
    (["inti", "x"], "did you mean init?"), (["append", "log", "--fromat", "csv"], "did you mean --format?"), (["cat"], "LOG is missing"),
    (["trim", "log"], "--below is missing"),
    (["append", "log", "--batch", "0"], "--batch 0"), (["append", "log", "--format", "lines", "--id-from", "/a"], "--id-from"),
    (["append", "log", "--id-from", "a"], "starts with"),
    (["append", "log", "--durability", "sync"], "did you mean synced?"), (["info", "log", "more"], "unexpected argument more"),
    (["help", "cat", "more"], "unexpected argument more"), (["--version", "more"], "unexpected argument more"),
  ]

  @Test("wrong use gives exit code 2 and advice", arguments: wrongUse)
  func wrong(_ arguments: [String], _ text: String) throws {
    let result = try space.run(arguments, input: [])
    #expect(result.code == 2)
    #expect(result.errors.hasPrefix("tidemark: ") && result.errors.contains(text), "\(result.errors)")
    #expect(result.output.isEmpty)
  }

  @Test("a log that is not there, is no directory or is there already gives exit code 3")
  func places() throws {
    try space.write("file", "text")
    try FileManager.default.createDirectory(atPath: space.path("empty"), withIntermediateDirectories: true)
    let cases: [([String], String)] = [
      (["init", "log"], "log"), (["init", "file"], "file"), (["cat", "absent"], "absent"), (["append", "file"], "file"),
      (["append", "empty"], "empty"), (["verify", "empty"], "empty"),
      (["info", "file"], "file"), (["append", "log", "no-input"], "no-input"), (["dump", "absent"], "absent"),
    ]
    for (arguments, name) in cases {
      let result = try space.run(arguments, input: [])
      #expect(result.code == 3, "\(arguments): \(result.errors)")
      #expect(
        result.errors.hasPrefix("tidemark: ") && result.errors.contains("(\(name)") && result.errors.contains("; "), "\(result.errors)")
    }
  }

  @Test("a second writer is refused with exit code 3, readers are not")
  func secondWriter() throws {
    let pipe = Pipe()
    let running = try space.start(["append", "log", "--acks"], standardInput: pipe)
    pipe.fileHandleForWriting.write(Data("1\n".utf8))
    try running.waitForLines(1)
    let second = try space.run("append", "log", input: "2\n")
    #expect(second.code == 3)
    #expect(second.errors.contains("\(running.process.processIdentifier)"), "\(second.errors)")
    #expect(try space.run("cat", "log", "--format", "raw").output == "1\n")
    #expect(try space.run("info", "log").code == 0)
    try pipe.fileHandleForWriting.close()
    #expect(try running.finish().code == 0)
  }

  /// Starts the tool by way of a shell, which can pass on what a `Process` can't.
  func shell(_ script: String) throws -> (code: Int32, errors: String) {
    let shell = Process()
    let errors = Pipe()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", script]
    shell.environment = ["TOOL": Workspace.tool]
    shell.currentDirectoryURL = URL(fileURLWithPath: space.directory)
    shell.standardError = errors
    try shell.run()
    let text = try errors.fileHandleForReading.readToEnd() ?? Data()
    shell.waitUntilExit()
    return (shell.terminationStatus, String(decoding: text, as: UTF8.self))
  }

  @Test("a closed standard descriptor is an error, and no file of the log takes its place")
  func closedDescriptors() throws {
    try space.write("input", "1\n2\n")
    let reading = try shell("\"$TOOL\" append log <&-")
    #expect(reading.code == 3 && reading.errors.contains("can't read the input (standard input)"), "\(reading)")
    let writing = try shell("\"$TOOL\" info log >&-")
    #expect(writing.code == 3 && writing.errors.contains("can't write the output (standard output)"), "\(writing)")
    #expect(try shell("\"$TOOL\" append log input --acks <&- >&- 2>&-").code == 3)
    #expect(try shell("\"$TOOL\" cat absent <&- >&- 2>&-").code == 3)
    #expect(try space.run("verify", "log").code == 0)
    #expect(try space.run("cat", "log", "--format", "raw").lines.first == "1")
  }

  @Test("an argument that is not UTF-8 is refused")
  func invalidArguments() throws {
    for arguments in ["init \"$BAD\"", "append log --type \"$BAD\"", "cat \"$BAD\""] {
      let result = try shell("BAD=$(printf 'lo\\377'); \"$TOOL\" \(arguments) </dev/null")
      #expect(result.code == 2 && result.errors.contains("not valid UTF-8"), "\(result)")
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.directory).allSatisfy { !$0.hasPrefix("lo") || $0 == "log" })
  }

  @Test("info names sizes and counts")
  func info() throws {
    try space.run("append", "log", input: "1\n2\n3\n")
    let info = try json(try space.run("info", "log", "--json"))
    #expect(info["events"] as? Int == 3)
    #expect(info["control_events"] as? Int == 1)
    #expect(info["size"] as? Int == 4 && info["durable"] as? Int == 4 && info["first"] as? Int == 0 && info["gaps"] as? Int == 0)
    #expect(info["accepted"] as? Int == 0 && info["settled"] as? Int == 0)
    #expect((info["bytes_on_disk"] as? Int ?? 0) > 0 && (info["bytes_of_events"] as? Int ?? 0) > 3 * 48)
    #expect((info["log_id"] as? String)?.count == 32 && (info["epoch"] as? String)?.count == 32)
    #expect(try space.run("info", "log").output.contains("events    3, and 1 control events\n"))
  }

  @Test("verify, seal, trim and recover agree on a sound log")
  func maintenance() throws {
    try space.run("append", "log", "--batch", "50", input: (0..<500).map { "\($0)\n" }.joined())
    let sealed = try json(try space.run("seal", "log", "--json"))
    #expect(sealed["sealed_segments"] as? Int == 1)
    try space.run("append", "log", input: "500\n")
    let report = try json(try space.run("verify", "log", "--json"))
    #expect(report["ok"] as? Bool == true && report["events"] as? Int == 501)
    #expect((report["findings"] as? [Any])?.isEmpty == true)
    #expect(try space.run("verify", "log").output.contains("ok: 501 events"))
    #expect(try space.run("recover", "log").output.hasPrefix("was closed cleanly: offsets 0 to "))
    #expect(try json(try space.run("recover", "log", "--json"))["clean"] as? Bool == true)
    let trimmed = try json(try space.run("trim", "log", "--below", "501", "--json"))
    #expect(trimmed["first"] as? Int == 501 && trimmed["removed"] as? Int == 501)
    #expect(try space.run("cat", "log", "--format", "raw").output == "500\n")
    #expect(try space.run("cat", "log", "--from", "3").code == 2)
    let below = try space.run("cat", "log", "--to", "3")
    #expect(below.code == 0 && below.output.isEmpty)
    #expect(try space.run("verify", "log").code == 0)
  }

  @Test("dump shows each frame with its position")
  func dump() throws {
    try space.run("append", "log", input: "1\n2\n")
    let lines = try space.run("dump", "log").lines
    #expect(lines.first?.hasSuffix(".open") == true)
    #expect(lines.contains { $0.hasPrefix("         0  ") } && lines.contains { $0.hasPrefix("      4096  ") }, "\(lines)")
    let name = try #require(lines.first)
    for line in try space.run("dump", name, "--json").lines {
      let entry = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      #expect(entry?["position"] is Int && entry?["kind"] is String)
    }
  }
}
