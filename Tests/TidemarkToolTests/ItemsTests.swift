import Foundation
import Testing

@Suite("What the office publishes, on a device")
struct ItemsTests {
  let space: Workspace

  init() throws { space = try Workspace() }

  private func admin(_ words: String...) throws -> Workspace.Result { try space.run(["admin"] + words + ["--data", "srv"], input: []) }

  private func enrol(_ log: String, _ address: String, _ options: String...) throws {
    let code = try space.run(["admin", "code", "acme", "--data", "srv"] + options, input: []).output.filter { $0 != "\n" }
    #expect(try space.run("init", log).code == 0)
    let enrolled = try space.run("enrol", log, "--server", address, "--code", code)
    #expect(enrolled.code == 0, "\(enrolled.errors)")
  }

  private func items(_ log: String) throws -> [[String: Any]] {
    let result = try space.run("items", log, "--json")
    let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
    return try #require(object?["items"] as? [[String: Any]])
  }

  @Test("published, fetched, acknowledged, changed, refused, waived, withdrawn") func wholeLife() throws {
    let server = try space.start(["serve", "srv", "--listen", "127.0.0.1:0"], standardInput: FileHandle.nullDevice)
    try server.waitForLines(1)
    let address = try server.output.split(separator: " ").last.map { $0.filter { $0 != "\n" } } ?? ""
    try space.write("content.json", #"{"text":"the gate is shut","n":1.50}"#)
    #expect(try admin("tenant", "acme").code == 0)
    try enrol("a", address, "--place", "gate-7")
    try enrol("b", address)
    #expect(try space.run("items", "a").errors.contains("there are no items"))
    let due = ["--due", "2033-01-01T00:00:00Z", "--required", "1", "--state", "open"]
    let words = ["admin", "publish", "acme", "notice", "--file", "content.json", "--data", "srv", "--material", "--version", "1"] + due
    for _ in 0..<2 { #expect(try space.run(words, input: []).output == "notice  version 1\n") }
    #expect(try admin("publish", "acme", "there", "--file", "content.json", "--place", "gate-7").output == "there  version 1\n")
    for log in ["a", "b"] {
      let result = try space.run("replicate", log)
      #expect(result.code == 0, "\(result.errors)")
    }
    #expect(try items("a").count == 2 && items("b").count == 1)
    #expect(try space.run("items", "a", "--json").output.contains(#""content":{"n":1.50,"text":"the gate is shut"}"#))
    #expect(try space.run("acknowledge", "a", "notice", "1", "--actor", "kim").code == 0)
    #expect(try space.run("transition", "a", "notice", "open", "closed", "--actor", "kim").code == 0)
    #expect(try space.run("transition", "b", "notice", "open", "escalated").code == 0)
    let own = try #require(items("a").first)
    #expect(own["status"] as? String == "met" && own["server_status"] as? String == "open" && own["status_is_own"] as? Bool == true)
    #expect(own["state"] as? String == "closed" && own["state_is_own"] as? Bool == true)
    #expect(try space.run("items", "a").output.contains("met, 1 of 1 (own; the server's: open)"))
    for log in ["a", "b"] { #expect(try space.run("replicate", log).code == 0) }
    let decided = try #require(items("a").first)
    #expect(decided["status_is_own"] as? Bool == false && decided["state_is_own"] as? Bool == false)
    #expect(decided["persons"] as? [String: String] == ["kim": "acknowledged"])
    #expect(try space.run("items", "b").output.contains("state closed") && space.run("items", "b").output.contains("refused: "))
    #expect(try admin("waive", "acme", "there").code == 0)
    #expect(try admin("withdraw", "acme", "notice").code == 0)
    let device = try admin("devices").output.split(separator: "\n").first { $0.contains("gate-7") }?.prefix(32) ?? ""
    #expect(try admin("assign", String(device), "--place", "gate-8").code == 0)
    for log in ["a", "b"] { #expect(try space.run("replicate", log).code == 0) }
    #expect(try items("a").isEmpty && items("b").isEmpty)
    #expect(try space.run("items", "a", "--all").output.contains("withdrawn"))
    let changes = try admin("changes", "acme", "--since", "2")
    #expect(changes.output.hasPrefix("3  ") && changes.output.contains("refused") && changes.errors.contains("go on from"))
    server.kill(SIGTERM)
    #expect(try server.finish().code == 0)
    let alone = try space.run("replicate", "a", "--once")
    #expect(alone.code != 0)
  }

  @Test("what is not said right") func wrongUse() throws {
    try space.run("init", "log")
    #expect(try space.run("acknowledge", "log", "notice", "0", "--actor", "kim").errors.contains("whole number"))
    #expect(try space.run("acknowledge", "log", "notice", "1").errors.contains("--actor is missing"))
    #expect(try space.run("transition", "log", "notice", "open", String(repeating: "x", count: 65)).errors.contains("too long"))
  }
}
