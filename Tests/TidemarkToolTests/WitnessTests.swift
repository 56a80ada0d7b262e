import Foundation
import Testing
import TidemarkCrash

/// The two machines are this one: what a plug would take is cut off by hand, and the boots have names of our own.
@Suite("crashtest with a witness")
struct WitnessTests {
  let space: Workspace

  init() throws { space = try Workspace() }

  /// A witness at work, and where.
  private func witness(_ folder: String = "wit") throws -> (Workspace.Running, UInt16) {
    let running = try space.start(["crashtest", "witness", folder, "--port", "0"], standardInput: FileHandle.nullDevice)
    try running.waitForLines(1)
    let line = try running.output
    let digits = line.drop { !$0.isNumber }.prefix { $0.isNumber }
    return (running, try #require(UInt16(digits), "\(line)"))
  }

  private func subject(_ setting: OwnSetting) -> Subject { setting.subject(program: Workspace.tool, version: "1") }

  private func plan(_ port: UInt16, boot: String, _ settings: [OwnSetting] = [.plainFdatasync]) -> PlugPlan {
    PlugPlan(
      address: WitnessAddress(host: "localhost", port: port), subjects: settings.map { subject($0) }, control: subject(.neverSyncs),
      boot: boot, tool: Workspace.tool)
  }

  /// Opens the run of `d` and judges what was pending; the lines that were said go to `said`.
  private func begin(_ plan: PlugPlan, _ said: inout [String]) throws -> (PlugRun, CrashReport) {
    var lines: [String] = []
    let run = try PlugRun(plan, directory: space.path("d")) { lines.append($0) }
    let report = try run.judge()
    said = lines
    return (run, report)
  }

  /// Whether the witness has heard of both engines in this round.
  private func isHeard() -> Bool {
    let folder = space.path("wit")
    guard let name = try? FileManager.default.contentsOfDirectory(atPath: folder).first(where: { $0.hasPrefix("run-") }),
      let kept = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8),
      let round = kept.range(of: "begin\n", options: .backwards)
    else { return false }
    return [OwnSetting.neverSyncs, .plainFdatasync].allSatisfy { kept[round.upperBound...].contains("ack \($0.rawValue) ") }
  }

  /// Writes a round until something was acknowledged, then makes the directory as if the plug had been pulled: no end is noted, and of the
  /// named engines all is gone.
  private func pull(_ run: PlugRun, losing engines: [OwnSetting]) throws {
    let marker = try space.bytes("d/plug")
    let deadline = Date().addingTimeInterval(20)
    try run.write {
      isHeard() || Date() > deadline
    } progress: { _ in
    }
    #expect(isHeard())
    try space.write("d/plug", marker)
    for engine in engines { try space.write("d/stores/\(engine.rawValue)/events", "") }
  }

  @Test("results of many pulls add up to both verdicts, and only pulls in which the control lost something count")
  func pulls() throws {
    let (running, port) = try witness()
    defer { running.kill(SIGKILL) }
    var said: [String] = []
    func next(_ boot: Int, losing engines: [OwnSetting]) throws -> CrashReport {
      let (run, report) = try begin(plan(port, boot: "boot-\(boot)"), &said)
      try pull(run, losing: engines)
      return report
    }
    for number in 0..<4 {
      #expect(try next(number, losing: [.neverSyncs]).cell("plain-fdatasync", .plug)?.injections ?? 0 == number)
      #expect(said == (number == 0 ? [] : ["round \(number): judged"]))
    }
    let good = try next(4, losing: [])
    #expect(good.driveCache("plain-fdatasync") == "nothing lost in 4 plug pulls (below 75.0 % with 95 % confidence)")
    #expect(good.isGood && good.controlLost(.plug))
    let same = try next(5, losing: [.neverSyncs, .plainFdatasync])
    #expect(said.first?.contains("nothing shows that the plug was pulled") == true, "\(said)")
    #expect(same.cell("plain-fdatasync", .plug)?.injections == 4)
    let bad = try next(6, losing: [])
    #expect(bad.driveCache("plain-fdatasync") == "loses acknowledged events" && !bad.isGood)
    #expect(bad.cell("plain-fdatasync", .plug)?.injections == 5)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 0 && result.lines.contains { $0.hasSuffix(": round 6 was judged") }, "\(result)")
  }

  @Test("a round without a plug counts as nothing: in the same boot, or ended before the boot")
  func noPlug() throws {
    let (running, port) = try witness()
    defer { running.kill(SIGKILL) }
    var said: [String] = []
    do {
      let (run, _) = try begin(plan(port, boot: "same"), &said)
      try pull(run, losing: [.neverSyncs])
    }
    do {
      let (run, report) = try begin(plan(port, boot: "same"), &said)
      #expect(said == ["round 1: the boot is the same, so no plug was pulled; the round counts as nothing"])
      #expect(report.cells.isEmpty)
      var heard: UInt64 = 0
      try run.write {
        heard > 20
      } progress: {
        heard = $0
      }
      #expect(heard > 20)
    }
    let (run, report) = try begin(plan(port, boot: "other"), &said)
    #expect(said == ["round 2: it was ended before the boot; the round counts as nothing"])
    #expect(report.cells.isEmpty)
    withExtendedLifetime(run) {}
  }

  @Test("an engine that wrote and is not named now, a second run, another witness, and a foreign directory are refused by name")
  func refusals() throws {
    let (running, port) = try witness()
    defer { running.kill(SIGKILL) }
    var said: [String] = []
    do {
      let (run, _) = try begin(plan(port, boot: "1"), &said)
      #expect(throws: CrashError.self) { _ = try begin(plan(port, boot: "1"), &said) }
      try pull(run, losing: [.neverSyncs])
    }
    func why(_ plan: PlugPlan) -> String {
      do {
        _ = try begin(plan, &said)
        return ""
      } catch { return "\(error)" }
    }
    #expect(why(plan(port, boot: "2", [.plainNosync])).contains("can't judge round 1 (plain-fdatasync)"))
    let (other, otherPort) = try witness("other")
    defer { other.kill(SIGKILL) }
    #expect(why(plan(otherPort, boot: "2")).hasPrefix("this is another witness ("))
    try space.write("d/plug", "something else\n")
    #expect(why(plan(port, boot: "2")).contains("the marker is damaged"))
    try FileManager.default.removeItem(atPath: space.path("d/plug"))
    #expect(why(plan(port, boot: "2")).contains("is not empty"))
    running.kill(SIGKILL)
    _ = try running.finish()
    #expect(why(plan(port, boot: "2")).hasPrefix("can't reach the witness (localhost, port \(port)): "))
  }

  @Test("when the witness goes away the engines are ended, and it is an error")
  func witnessGone() throws {
    let (running, port) = try witness()
    defer { running.kill(SIGKILL) }
    var said: [String] = []
    let (run, _) = try begin(plan(port, boot: "1"), &said)
    let error = #expect(throws: CrashError.self) {
      try run.write {
        false
      } progress: { heard in
        if heard > 20 { running.kill(SIGKILL) }
      }
    }
    #expect(error?.what == "the witness is gone", "\(String(describing: error))")
    #expect(try String(decoding: space.bytes("d/plug"), as: UTF8.self).hasSuffix("\nended 1\n"))
    let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { $0.allSatisfy(\.isNumber) }
    let left = processes.filter { number in
      (try? String(contentsOfFile: "/proc/\(number)/cmdline", encoding: .utf8))?.contains(space.path("d") + "/") == true
    }
    #expect(left.isEmpty)
  }

  @Test(
    "something else that listens on the port is not taken for a witness", arguments: ["220 mail\n", "ok\n", "refused not me\n", "", "x"])
  func impostor(_ answer: String) throws {
    let (listener, port) = try Libc.listen(0)
    defer { Libc.close(listener) }
    Thread.detachNewThread {
      guard let connection = Libc.accept(listener) else { return }
      var heard: [UInt8] = []
      _ = Libc.read(connection, into: &heard)
      let text = answer == "x" ? String(repeating: "x", count: 10_000) : answer
      try? Libc.writeAll(connection, Array(text.utf8), "connection")
      Libc.close(connection)
    }
    var said: [String] = []
    let error = #expect(throws: CrashError.self) { _ = try begin(plan(port, boot: "1"), &said) }
    let expected = ["": "the witness is gone", "refused not me\n": "the witness refused"][answer] ?? "the witness is not understood"
    #expect(error?.what == expected)
    #expect(!FileManager.default.fileExists(atPath: space.path("d")))
  }

  // MARK: The witness alone

  /// Sends text and returns all that the witness answers until it ends the connection, or for half a second.
  private func talk(_ port: UInt16, _ text: [UInt8]) throws -> String {
    let connection = try Libc.connect("localhost", port)
    defer { Libc.close(connection) }
    try Libc.writeAll(connection, text, "connection")
    var answer: [UInt8] = []
    while Libc.isReadable(connection, milliseconds: 500), Libc.read(connection, into: &answer) > 0 {}
    return String(decoding: answer, as: UTF8.self)
  }

  private func talk(_ port: UInt16, _ lines: String...) throws -> String {
    try talk(port, Array((lines.joined(separator: "\n") + "\n").utf8))
  }

  @Test("the witness refuses what is too long, malformed or out of turn, goes on, and writes nowhere else")
  func robust() throws {
    let (running, port) = try witness()
    defer { running.kill(SIGKILL) }
    let run = "00000000000000000000000000000001"
    let unfinished = try Libc.connect("localhost", port)
    defer { Libc.close(unfinished) }
    try Libc.writeAll(unfinished, Array("hel".utf8), "connection")
    #expect(try talk(port, [UInt8](repeating: 0x61, count: 100_000)).hasPrefix("refused a line that is too long"))
    #expect(try talk(port, Array(repeating: 0xFF, count: 10) + [0x0A]).hasPrefix("refused a line that is malformed"))
    #expect(try talk(port, "hello 2") == "refused this witness speaks version 1\n")
    #expect(try talk(port, "create \(run)") == "refused no run can be named now\n")
    #expect(try talk(port, "hello 1", "create ../../../../../../../../../x").hasSuffix("refused a line that is malformed or too long\n"))
    #expect(try talk(port, "hello 1", "ack a 1").hasSuffix("refused no run was named\n"))
    #expect(try talk(port, "hello 1", "resume \(run)").hasSuffix("refused there is no such run\n"))
    #expect(
      try talk(port, "hello 1", "create \(run)", "round 1 b", "writer a 1 10", "begin", "ack a 3", "ack a 3").hasSuffix(
        "\nok\nok\nrefused that number can't be\n"))
    #expect(try talk(port, "hello 1", "create \(run)").hasSuffix("refused that run is there already\n"))
    #expect(try talk(port, "hello 1", "resume \(run)").hasSuffix("\nround 1 b\nwriter a 1 10\nbegin\nack a 3\nok\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("wit")).sorted() == ["run-\(run)", "witness"])
    // A crash of the witness may leave a part of a line, which never counted.
    try space.write("wit/run-\(run)", space.bytes("wit/run-\(run)") + Array("ack a 999999999".utf8))
    #expect(try talk(port, "hello 1", "resume \(run)", "ack a 4").contains("\nack a 3\nok\n"))
    #expect(try talk(port, "hello 1", "resume \(run)").hasSuffix("\nack a 4\nok\n"))
    try space.write("wit/run-\(run)", "round 7 b\n")
    #expect(try talk(port, "hello 1", "resume \(run)").contains("refused the record is damaged"))
    // It follows no link out of its folder.
    try space.write("outside", "")
    let linked = "00000000000000000000000000000002"
    try FileManager.default.createSymbolicLink(atPath: space.path("wit/run-\(linked)"), withDestinationPath: space.path("outside"))
    for word in ["resume", "create"] {
      #expect(try talk(port, "hello 1", "\(word) \(linked)", "round 1 b").contains("\nrefused "))
    }
    #expect(try space.bytes("outside").isEmpty)
    #expect(running.process.isRunning)
  }

  @Test("two witnesses do not share a folder, and one takes over no folder of others")
  func folders() throws {
    let (running, _) = try witness()
    defer { running.kill(SIGKILL) }
    let second = try space.run("crashtest", "witness", "wit", "--port", "0")
    #expect(second.code == 3 && second.errors.contains("another process is at work"), "\(second.errors)")
    try FileManager.default.createDirectory(atPath: space.path("full"), withIntermediateDirectories: true)
    try space.write("full/mine", "text")
    let foreign = try space.run("crashtest", "witness", "full")
    #expect(foreign.code == 2 && foreign.errors.contains("is not empty"), "\(foreign.errors)")
    try FileManager.default.removeItem(atPath: space.path("full/mine"))
    try space.write("full/witness", "text")
    #expect(try space.run("crashtest", "witness", "full").errors.contains("not the name of a witness"))
  }

  @Test("the command line of both ends: help, and wrong use")
  func commandLine() throws {
    #expect(try space.run("help", "crashtest", "witness").output.hasPrefix("usage: tidemark crashtest witness FOLDER [options]\n"))
    #expect(try space.run("crashtest", "witness", "--help").output == space.run("help", "crashtest", "witness").output)
    for (arguments, text) in [
      (["crashtest", "witness"], "FOLDER is missing"), (["crashtest", "witness", "w", "--port", "70000"], "--port 70000"),
      (["crashtest", "d", "--witness", "a:b"], "it is not HOST"),
      (["crashtest", "d", "--witness", "a", "--count", "3"], "the only fault is the plug"),
      (["crashtest", "d", "--witness", "a", "--quick"], "the only fault is the plug"),
    ] {
      let result = try space.run(arguments, input: [])
      #expect(result.code == 2 && result.errors.contains(text), "\(result.errors)")
    }
  }

  @Test("the tool itself: a round that Ctrl-C ends, then the next one in the same boot")
  func tool() throws {
    let (running, port) = try witness()
    defer { running.kill(SIGKILL) }
    for round in 1...2 {
      let writing = try space.start(
        ["crashtest", "d", "--witness", "localhost:\(port)", "--engines", "plain-fdatasync"], standardInput: FileHandle.nullDevice)
      try writing.waitForLines(round + 1)
      writing.kill(SIGINT)
      let result = try writing.finish()
      #expect(result.code == 0, "\(result)")
      #expect(
        result.lines.first
          == (round == 1
            ? "no plug pull is recorded so far" : "round 1: the boot is the same, so no plug was pulled; the round counts as nothing"))
      #expect(result.lines.last == "round \(round): ended without a plug; the round counts as nothing")
    }
  }
}
