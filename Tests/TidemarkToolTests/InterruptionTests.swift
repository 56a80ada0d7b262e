import Foundation
import Testing

@Suite("Interruptions of the tool")
struct InterruptionTests {
  let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
  }

  @Test("an import that is killed at any moment and run again gives the same events as one that ran through")
  func killedImport() throws {
    let input = (0..<1_500).map { "{\"id\":\"scan-\($0)\",\"gate\":\($0 % 7)}\n" }.joined()
    try space.write("in.jsonl", input)
    let command = ["--id-from", "/id", "--subject-from", "/gate", "--batch", "3", "in.jsonl"]
    try space.run("init", "whole")
    #expect(try space.run(["append", "whole", "--durability", "written"] + command, input: []).code == 0)
    for round in 0..<8 {
      let running = try space.start(["append", "log", "--acks"] + command, standardInput: FileHandle.nullDevice)
      try running.waitForLines(1 + round * 50)
      running.kill(SIGKILL)
      let result = try running.finish()
      #expect(result.code == -SIGKILL)
      // What was acknowledged before the kill is there.
      let acknowledged = result.lines.last { $0.hasPrefix("ack ") && result.output.contains($0 + "\n") }
      let next = try #require(acknowledged.flatMap { Int($0.dropFirst(4)) })
      #expect(try space.run("cat", "log", "--control", "--to", "\(next)").lines.count == next)
    }
    let last = try space.run(["append", "log"] + command, input: [])
    #expect(last.code == 0)
    #expect(try (last.summary["count"] ?? 0) + (last.summary["duplicates"] ?? 0) == 1_500)
    func events(_ log: String) throws -> [String] {
      // Offsets differ by the sessions between, times and clocks by the moment.
      try space.run("cat", log).lines.map { line in
        try line.replacing(Regex(#""offset":[0-9]+,"#), with: "").replacing(
          Regex(#""(time|boot_id)":"[^"]*",|"elapsed_ns":[0-9]+,"#), with: "")
      }
    }
    #expect(try events("log") == events("whole"))
    #expect(try space.run("verify", "log").code == 0)
  }

  @Test("Ctrl-C stops an import between events; what was read is in the log")
  func interruptedImport() throws {
    let pipe = Pipe()
    let running = try space.start(["append", "log", "--acks", "--batch", "2"], standardInput: pipe)
    pipe.fileHandleForWriting.write(Data("1\n2\n3\n".utf8))
    try running.waitForLines(1)
    usleep(50_000)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 3)
    #expect(result.errors.contains("import stopped (standard input, after line 3): interrupted"), "\(result.errors)")
    #expect(try result.summary["count"] == 3)
    #expect(try space.run("cat", "log", "--format", "raw").output == "1\n2\n3\n")
    #expect(try space.run("recover", "log").output.hasPrefix("was closed cleanly"))
  }

  @Test("Ctrl-C stops an import from a file at once, and running it again does the rest")
  func interruptedFile() throws {
    try space.write("in.jsonl", (0..<3_000).map { "{\"n\":\($0)}\n" }.joined())
    let command = ["append", "log", "--acks", "--id-from", "/n", "in.jsonl"]
    let running = try space.start(command, standardInput: FileHandle.nullDevice)
    try running.waitForLines(10)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 3)
    let count = try #require(try result.summary["count"])
    #expect(count >= 10 && count < 3_000)
    #expect(result.errors.contains("after line \(count))"), "\(result.errors)")
    let rest = try space.run(command + ["--batch", "100"], input: [])
    #expect(try rest.summary["count"] == 3_000 - count && rest.summary["duplicates"] == count)
  }

  @Test("long work tells how far it has come, in lines where there is no terminal")
  func progress() throws {
    let pipe = Pipe()
    let running = try space.start(["append", "log"], standardInput: pipe)
    for number in 0..<14 {
      pipe.fileHandleForWriting.write(Data("\(number)\n".utf8))
      usleep(100_000)
    }
    try pipe.fileHandleForWriting.close()
    let result = try running.finish()
    #expect(result.code == 0)
    #expect(try Regex("append: [0-9]+ events, 1 s\n").wholeMatch(in: result.errors) != nil, "\(result.errors)")
  }

  @Test("a file size limit is told as a full disk, and what was acknowledged is there")
  func fileSizeLimit() throws {
    try space.write("in.jsonl", (0..<4_000).map { "{\"n\":\($0),\"text\":\"\(String(repeating: "x", count: 200))\"}\n" }.joined())
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.currentDirectoryURL = URL(fileURLWithPath: space.directory)
    #if os(Linux)
      // The test's own process may have the signal ignored, which is inherited.
      let reset = "env --default-signal=XFSZ"
    #else
      let reset = ""
    #endif
    let append = "\(reset) '\(Workspace.tool)' append log in.jsonl --batch 10 --id-from /n --acks >acks 2>errors"
    // In units of 512 bytes.
    shell.arguments = ["-c", "ulimit -f 600; exec \(append)"]
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationReason == .exit && shell.terminationStatus == 3)
    let errors = try String(decoding: space.bytes("errors"), as: UTF8.self)
    #expect(errors.contains("in.jsonl is not appended from line ") && errors.contains("log/segments/"), "\(errors)")
    let acknowledged = try String(decoding: space.bytes("acks"), as: UTF8.self).split(separator: "\n").count { $0.hasPrefix("ack ") }
    #expect(acknowledged > 50)
    #expect(try space.run("cat", "log").lines.count >= acknowledged * 10)
    let again = try space.run("append", "log", "in.jsonl", "--batch", "10", "--id-from", "/n")
    #expect(again.code == 0, "\(again.errors)")
    let numbers = try space.run("cat", "log", "--format", "raw").lines.map { $0.prefix { $0 != "," } }
    #expect(numbers == (0..<4_000).map { "{\"n\":\($0)" })
  }

  @Test("follow prints events of another process at once, and Ctrl-C ends it well")
  func follow() throws {
    try space.run("append", "log", "--type", "a", input: "1\n")
    let running = try space.start(["cat", "log", "--follow", "--format", "raw"], standardInput: FileHandle.nullDevice)
    try running.waitForLines(1)
    try space.run("append", "log", "--type", "a", input: "2\n3\n")
    try running.waitForLines(3)
    try space.run("append", "log", "--type", "b", input: "4\n")
    try running.waitForLines(4)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 0)
    #expect(result.output == "1\n2\n3\n4\n")
  }

  @Test("follow waits for an offset that is still to come")
  func followBeyondTheEnd() throws {
    let running = try space.start(
      ["cat", "log", "--follow", "--format", "raw", "--from", "3", "--limit", "2"], standardInput: FileHandle.nullDevice)
    usleep(100_000)
    try space.run("append", "log", input: "1\n2\n3\n4\n5\n")
    let result = try running.finish()
    #expect(result.code == 0 && result.output == "3\n4\n", "\(result)")
  }

  @Test("follow obeys limit, type and to")
  func followSelection() throws {
    try space.run("append", "log", "--type", "a", input: "1\n")
    let limited = try space.start(
      ["cat", "log", "--follow", "--format", "raw", "--type", "a", "--limit", "2"], standardInput: FileHandle.nullDevice)
    let size = try space.run("cat", "log", "--control").lines.count
    let bounded = try space.start(
      ["cat", "log", "--follow", "--format", "raw", "--to", "\(size + 2)"], standardInput: FileHandle.nullDevice)
    let timed = try space.start(
      ["cat", "log", "--follow", "--format", "raw", "--since", "2200-01-01T00:00:00Z", "--limit", "1"],
      standardInput: FileHandle.nullDevice)
    try space.run("append", "log", "--type", "b", input: "2\n")
    // A session and one event.
    #expect(try bounded.finish().output == "1\n2\n")
    try space.run("append", "log", "--type", "a", "--time-from", "", input: "\"2100-01-01T00:00:00Z\"\n\"2250-01-01T00:00:00Z\"\n")
    #expect(try limited.finish().output == "1\n\"2100-01-01T00:00:00Z\"\n")
    #expect(try timed.finish().output == "\"2250-01-01T00:00:00Z\"\n")
  }

  @Test("output that nobody reads ends the tool")
  func closedOutput() throws {
    try space.run("append", "log", "--batch", "1000", input: String(repeating: "\"some text that takes space\"\n", count: 5_000))
    let cat = "'\(Workspace.tool)' cat '\(space.path("log"))'"
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = [
      "-c",
      "\(cat) | head -1 >/dev/null; \(cat) >/dev/full; test $? = 3",
    ]
    shell.standardError = FileHandle.nullDevice
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
  }
}
