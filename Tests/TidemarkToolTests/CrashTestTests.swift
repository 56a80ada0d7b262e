import Foundation
import Testing

@Suite("crashtest")
struct CrashTestTests {
  let space: Workspace

  init() throws { space = try Workspace() }

  static let wrongUse: [([String], String)] = [
    (["crashtest"], "DIR is missing"), (["crashtest", "d", "--faults", "kill,plug"], "there is no fault `plug`"),
    (["crashtest", "d", "--faults", "kill,"], "there is no fault ``"),
    (["crashtest", "d", "--engines", "tidemark-sync"], "did you mean tidemark-synced?"),
    (["crashtest", "d", "--count", "0"], "--count 0"), (["crashtest", "d", "--count", "5", "--seconds", "5"], "only one of them"),
    (["crashtest", "d", "--peers", "nowhere"], "it is no directory"),
  ]

  @Test("wrong use gives exit code 2, and nothing is made", arguments: wrongUse)
  func wrong(_ arguments: [String], _ text: String) throws {
    let result = try space.run(arguments, input: [])
    #expect(result.code == 2 && result.errors.contains(text), "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: space.path("d")))
  }

  @Test("a directory that is not empty, or a file, is refused and left as it is")
  func notEmpty() throws {
    try FileManager.default.createDirectory(atPath: space.path("full"), withIntermediateDirectories: true)
    try space.write("full/mine", "text")
    try space.write("file", "text")
    for (name, why) in [("full", "is not empty"), ("file", "it is no directory")] {
      let result = try space.run("crashtest", name, "--faults", "kill", "--count", "1")
      #expect(result.code == 2 && result.errors.contains(why), "\(result.errors)")
    }
    #expect(try space.bytes("full/mine") == Array("text".utf8))
    #expect(try space.bytes("file") == Array("text".utf8))
  }

  @Test("a mount point is refused")
  func mountPoint() throws {
    let result = try space.run("crashtest", "/proc", "--faults", "kill", "--count", "1")
    #expect(result.code == 2 && result.errors.contains("a file system is mounted on it"), "\(result.errors)")
  }

  @Test("kill -9 at random loses nothing of ours, its control loses events, and the directory is empty afterwards")
  func kill() throws {
    let result = try space.run(
      "crashtest", "d", "--faults", "kill-random", "--count", "12", "--engines", "tidemark-written", "--lines", "--json", "r.json",
      "--html",
      "r.html")
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    let line = try #require(result.lines.first)
    #expect(line.hasPrefix("layer=kill states=12 violations=0 ") && !line.contains("control_lost=0 "), "\(line)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("d")).isEmpty)
    let report = try #require(JSONSerialization.jsonObject(with: Data(space.bytes("r.json"))) as? [String: Any])
    #expect(report["partial"] as? Bool == false && report["good"] as? Bool == true)
    #expect((report["results"] as? [[String: Any]])?.map { $0["engine"] as? String } == ["control-acks-before-write", "tidemark-written"])
    #expect(try String(decoding: space.bytes("r.html"), as: UTF8.self).hasSuffix("</html>\n"))
  }

  @Test("kill -9 at each call: a new store, then one that a kill left; ours loses nothing, its control does")
  func killAtEachCall() throws {
    let result = try space.run(
      "crashtest", "d", "--faults", "kill-call", "--count", "60", "--engines", "plain-nosync", "--lines", "--json", "r.json")
    #expect(result.code == 0, "\(result.output)\(result.errors)")
    let line = try #require(result.lines.first)
    #expect(line.hasPrefix("layer=kill-call states=60 violations=0 ") && !line.contains("control_lost=0 "), "\(line)")
    #expect(line.contains("whole_workloads=") && !line.contains("whole_workloads=0"), "\(line)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("d")).isEmpty)
  }

  @Test("a program is killed at its first call that changes files, at the next one, and not after its last")
  func killAtCall() throws {
    func run(_ call: Int) throws -> Workspace.Result {
      try? FileManager.default.removeItem(atPath: space.path("store"))
      return try space.run(
        "crashtest-kill-call", "\(call)", Workspace.tool, "crashtest-subject", "plain-fdatasync", "write", "store", "--first", "0",
        "--count", "2")
    }
    func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: space.path(name)) }
    #expect(try run(1).code == -9)
    #expect(!isThere("store"))
    #expect(try run(2).code == -9)
    #expect(isThere("store") && !isThere("store/events"))
    // Of each event a write, a sync, and the acknowledgement, which counts as a write; what is before them makes the store.
    let outputs = try (3...40).map { try run($0) }
    let end = try #require(outputs.firstIndex { $0.code == 0 })
    #expect(outputs[..<end].allSatisfy { $0.code == -9 } && outputs[end...].allSatisfy { $0.code == 0 && $0.output == "0\n1\n" })
    #expect(outputs[..<end].map(\.output.count).suffix(5) == [0, 2, 2, 2, 4])
    let code = try space.run("crashtest-kill-call", "1000", Workspace.tool, "crashtest-subject", "nobody", "describe").code
    #expect(code == 2, "it ends as the program does")
  }

  @Test("nothing is left of a traced program when the tool dies")
  func nothingIsLeft() throws {
    let running = try space.start(
      ["crashtest", "d", "--faults", "kill-call", "--seconds", "60", "--engines", "tidemark-synced", "--lines"],
      standardInput: FileHandle.nullDevice)
    usleep(500_000)
    running.kill(SIGKILL)
    _ = try running.finish()
    usleep(300_000)
    let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { $0.allSatisfy(\.isNumber) }
    let left = processes.filter { number in
      (try? String(contentsOfFile: "/proc/\(number)/cmdline", encoding: .utf8))?.contains(space.path("d") + "/") == true
    }
    #expect(left.isEmpty)
  }

  @Test("Ctrl-C gives a partial report and leaves nothing behind")
  func interrupted() throws {
    let running = try space.start(
      ["crashtest", "d", "--faults", "kill", "--seconds", "60", "--engines", "plain-nosync", "--lines", "--json", "r.json"],
      standardInput: FileHandle.nullDevice)
    usleep(700_000)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 3 && result.errors.contains("interrupted"), "\(result.errors)")
    let report = try #require(JSONSerialization.jsonObject(with: Data(space.bytes("r.json"))) as? [String: Any])
    #expect(report["partial"] as? Bool == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("d")).isEmpty)
  }

  @Test("a setting of ours keeps to the contract of a subject")
  func contract() throws {
    let subject = "crashtest-subject"
    #expect(
      try space.run(subject, "tidemark-synced", "describe").output.hasPrefix(
        #"{"name":"tidemark","setting":"synced","claims":"power","library":""#))
    for setting in ["tidemark-synced", "plain-fdatasync"] {
      #expect(try space.run(subject, setting, "verify", "never-made").output == "end 0 0\n")
      #expect(try space.run(subject, setting, "write", setting, "--first", "0", "--count", "7", "--batch", "3").output == "2\n5\n6\n")
      #expect(try space.run(subject, setting, "write", setting, "--first", "7", "--count", "1", "--size", "8").output == "7\n")
      let lines = try space.run(subject, setting, "verify", setting).lines
      #expect(lines.dropLast() == ["0", "1", "2", "3", "4", "5", "6", "7"] && lines.last?.hasPrefix("end 8 ") == true)
    }
    #expect(try space.run(subject, "tidemark-synced", "write", "d").code == 2)
    #expect(try space.run(subject, "nobody", "describe").code == 2)
    try space.write("file", "text")
    #expect(try space.run(subject, "tidemark-synced", "verify", "file").code == 1)
  }

  @Test("a peer that does not keep to the contract is named")
  func badPeer() throws {
    try FileManager.default.createDirectory(atPath: space.path("peers"), withIntermediateDirectories: true)
    try space.write("peers/odd", "#!/bin/sh\necho hello\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: space.path("peers/odd"))
    let result = try space.run("crashtest", "d", "--peers", "peers", "--faults", "kill", "--count", "1")
    #expect(result.code == 3 && result.errors.contains("no subject (peers/odd)"), "\(result.errors)")
  }
}
