import Foundation
import Testing

@Suite("A server, and what its operator does")
struct ServeTests {
  let space: Workspace

  init() throws { space = try Workspace() }

  /// A server in `srv` that has said where it listens.
  func serve(_ options: String...) throws -> Workspace.Running {
    let running = try space.start(["serve", "srv", "--listen", "127.0.0.1:0"] + options, standardInput: FileHandle.nullDevice)
    try running.waitForLines(1)
    return running
  }

  @Test(
    "it says where it listens, does what admin asks, logs requests without secrets, and ends well when it is told to",
    arguments: [SIGTERM, SIGINT])
  func serves(_ signal: Int32) throws {
    let running = try serve("--log", "requests")
    #expect(try running.output.hasPrefix("listening on http://127.0.0.1:"))
    #expect(try space.run("admin", "tenant", "acme", "--data", "srv").output == "tenant acme\n")
    let code = try space.run("admin", "code", "acme", "--place", "gate-7", "--hours", "2", "--data", "srv")
    #expect(code.code == 0 && code.output.count > 10 && code.errors.contains("valid until 20"))
    let token = try space.run("admin", "office-token", "acme", "--data", "srv", "--json")
    #expect(token.output.hasPrefix("{\"token\":\"tmo_"))
    #expect(try space.run("admin", "devices", "--data", "srv").output.isEmpty)
    #expect(try space.run("admin", "quarantine", "--data", "srv", "--json").output == "{\"quarantined\":[]}\n")
    running.kill(signal)
    let result = try running.finish()
    #expect(result.code == 0 && result.lines.count == 1, "\(result.errors)")
    let lines = String(decoding: try space.bytes("requests"), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 5)
    let operatorToken = String(decoding: try space.bytes("srv/operator-token"), as: UTF8.self).prefix(20)
    for line in lines {
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      #expect(object["route"] as? String == "admin" && !line.contains(operatorToken) && !line.contains("tmo_"))
    }
  }

  @Test("what the server refuses, and that it is not there, is told with an exit code")
  func refusals() throws {
    let running = try serve()
    let id = String(repeating: "0", count: 32)
    try space.write("other-token", "tmx_1\n")
    try space.write("broken.json", "{")
    let cases: [([String], Int32, String)] = [
      (["admin", "revoke", id], 1, "no such device"), (["admin", "code", "nobody"], 1, "no such tenant"),
      (["admin", "tenant", "a/b"], 2, "letters, digits"), (["admin", "devices", "--token-file", "other-token"], 3, "check that the token"),
      (["admin", "publish", "acme", "x"], 2, "--file is missing"),
      (["admin", "publish", "acme", "x", "--file", "broken.json"], 2, "no JSON"),
      (["admin", "revoke", "../x"], 2, "DEVICE ../x"), (["admin", "quarantine", "keep"], 2, "released or dismissed"),
      (["admin", "quarantine", "release", "acme"], 2, "NUMBER is missing"), (["admin", "devcies"], 2, "did you mean"),
    ]
    for (words, code, text) in cases {
      let result = try space.run(words + (words[1] == "devcies" ? [] : ["--data", "srv"]), input: [])
      #expect(result.code == code && result.errors.contains(text) && result.output.isEmpty, "\(words): \(result.code) \(result.errors)")
    }
    let noData = try space.run("admin", "devices")
    #expect(noData.code == 2 && noData.errors.contains("--data is missing"))
    running.kill(SIGTERM)
    #expect(try running.finish().code == 0)
    #expect(try space.run("admin", "devices", "--data", "srv").code == 3)
  }

  @Test("how it may not be started")
  func wrongUse() throws {
    try space.write("certificate.pem", "none")
    let cases: [([String], Int32, String)] = [
      (["--listen", "127.0.0.1"], 2, "no port"), (["--listen", "0.0.0.0:0"], 2, "allow plain HTTP"),
      (["--listen", "example:1"], 2, "no IPv4 or IPv6 address"), (["--certificate", "certificate.pem"], 2, "of no use without"),
      (["--certificate", "certificate.pem", "--key", "certificate.pem", "--listen", "127.0.0.1:0"], 3, "certificate"),
    ]
    for (options, code, text) in cases {
      let result = try space.run(["serve", "srv"] + options, input: [])
      #expect(result.code == code && result.errors.contains(text) && result.output.isEmpty, "\(options): \(result.code) \(result.errors)")
    }
    let first = try serve()
    let second = try space.run("serve", "srv", "--listen", "127.0.0.1:0")
    #expect(second.code == 3, "\(second.errors)")
    first.kill(SIGTERM)
    #expect(try first.finish().code == 0)
  }
}
