import Foundation
import Testing

@Suite("tidemark clocks")
struct ClocksTests {
  let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
    #expect(try space.run("append", "log", input: "1\n2\n").code == 0)
    let policy = try String(contentsOf: Self.policy, encoding: .utf8)
    try space.write("late.json", policy.replacing("2026-01-01", with: "2099-01-01").replacing("\"version\": 1", with: "\"version\": 7"))
  }

  static let policy = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Specs/clock-policy.json")

  @Test("a log whose clock is steady has no flags, and what was not checked is named")
  func steady() throws {
    let result = try space.run("clocks", "log")
    #expect(result.code == 0 && result.errors.isEmpty)
    #expect(
      result.lines == [
        "events 3, policy version 1, no flags",
        "not checked, because no receipts are at hand: receipt-went-back, receipt-ahead-of-wall, claim-outside-bracket",
      ])
    #expect(try space.run("clocks", "log", "--rule", "reboot,wall-stepped").lines == ["events 3, policy version 1, no flags"])
  }

  @Test("one line for each flag, then how many of each rule; the exit code stays 0")
  func flags() throws {
    let result = try space.run("clocks", "log", "--clock-policy", "late.json")
    #expect(result.code == 0 && result.lines.count == 5)
    for (offset, line) in result.lines.prefix(3).enumerated() {
      #expect(line.hasPrefix("\(offset)  wall-before-build  the wall clock shows 20") && line.hasSuffix("2099-01-01T00:00:00.000Z"))
    }
    #expect(result.lines[3] == "events 3, policy version 7, flags 3: wall-before-build 3")
    let other = try space.run("clocks", "log", "--clock-policy", "late.json", "--rule", "reboot")
    #expect(other.lines == ["events 3, policy version 7, no flags"])
  }

  @Test("with --json, one object for each flag, then a summary")
  func json() throws {
    let result = try space.run("clocks", "log", "--clock-policy", "late.json", "--json")
    #expect(result.code == 0 && result.lines.count == 4)
    let objects = try result.lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    let flag = objects[1]
    #expect(flag["offset"] as? Int == 1 && flag["rule"] as? String == "wall-before-build" && flag["policy_version"] as? Int == 7)
    #expect(flag["informational"] as? Bool == false && (flag["id"] as? String)?.count == 36 && flag["explanation"] is String)
    let facts = try #require(flag["facts"] as? [String: Any])
    #expect(facts["build_date"] as? String == "2099-01-01T00:00:00.000000000Z" && (facts["difference_ns"] as? Int ?? 0) < 0)
    let summary = try #require(objects.last)
    #expect(summary["events"] as? Int == 3 && summary["receipts"] as? Int == 0 && summary["policy_version"] as? Int == 7)
    #expect(summary["flags"] as? [String: Int] == ["wall-before-build": 3])
    #expect((summary["not_checked"] as? [String])?.count == 3)
  }

  @Test("a rule that is not there and a policy that can't be used are wrong use, a file that is not there is not")
  func wrongUse() throws {
    let rule = try space.run("clocks", "log", "--rule", "wall-stepped,wall-went-bak")
    #expect(rule.code == 2 && rule.errors.contains("did you mean wall-went-back?") && rule.output.isEmpty)
    #expect(try space.run("clocks", "log", "--rule", "").code == 2)
    try space.write("bad.json", #"{"version": 1, "slew": 2}"#)
    let bad = try space.run("clocks", "log", "--clock-policy", "bad.json")
    #expect(bad.code == 2 && bad.errors.contains("(bad.json, byte 15): there is no member \"slew\"; correct it"), "\(bad.errors)")
    #expect(try space.run("clocks", "log", "--clock-policy", "none.json").code == 3)
    #expect(try space.run("clocks", "none").code == 3)
    #expect(try space.run("clocks").code == 2)
  }

  @Test("changes nothing, and reads beside a writer")
  func readsOnly() throws {
    let files = try FileManager.default.subpathsOfDirectory(atPath: space.path("log")).sorted()
    let segment = try #require(files.first { $0.hasSuffix(".open") })
    let before = try space.bytes("log/\(segment)")
    #expect(try space.run("clocks", "log").code == 0)
    #expect(try space.bytes("log/\(segment)") == before)
    #expect(try FileManager.default.subpathsOfDirectory(atPath: space.path("log")).sorted() == files)
    let pipe = Pipe()
    let running = try space.start(["append", "log", "--acks"], standardInput: pipe)
    pipe.fileHandleForWriting.write(Data("3\n".utf8))
    try running.waitForLines(1)
    #expect(try space.run("clocks", "log").lines.first == "events 5, policy version 1, no flags")
    try pipe.fileHandleForWriting.close()
    #expect(try running.finish().code == 0)
  }

  @Test("at damage, the flags before it are printed, then the error, and the exit code is 4")
  func damage() throws {
    for input in ["3\n", "4\n"] {
      #expect(try space.run("seal", "log").code == 0)
      #expect(try space.run("append", "log", input: input).code == 0)
    }
    #expect(try space.run("seal", "log").code == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: space.path("log/segments")).filter { $0.hasSuffix(".sealed") }.sorted()
    let name = try "log/segments/" + #require(names.dropFirst().first)
    var bytes = try space.bytes(name)
    bytes[4_096 + 100] ^= 0x10
    try FileManager.default.removeItem(atPath: space.path(name))
    try space.write(name, bytes)
    let result = try space.run("clocks", "log", "--clock-policy", "late.json")
    #expect(result.code == 4 && result.errors.contains("byte 4096"), "\(result)")
    #expect(result.lines.count == 3 && result.lines.allSatisfy { $0.contains("wall-before-build") }, "\(result)")
  }

  @Test("the help says that flags are no verdict, and names the rules")
  func help() throws {
    let help = try space.run("help", "clocks")
    #expect(help.code == 0 && help.output.contains("no verdict: the exit code is 0"))
    #expect(help.output.contains("wall-went-back") && help.output.contains("claim-outside-bracket"))
    #expect(help.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    #expect(try space.run("help").output.contains("\n  clocks "))
  }
}
