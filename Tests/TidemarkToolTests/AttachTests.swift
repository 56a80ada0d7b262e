import Foundation
import Testing

@Suite("Files that events name, from the command line") struct AttachTests {
  private let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
    try space.write("gate.jpg", "one")
    try space.write("lock.PNG", "two")
    try space.write("again.bin", "one")
  }

  private func json(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  private let one = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
  private let two = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"

  @Test("files are stored once, and one event names them") func attach() throws {
    let result = try space.run("attach", "log", "gate.jpg", "lock.PNG", "again.bin", "--type", "audit", "--subject", "gate-7")
    #expect(result.code == 0, "\(result.errors)")
    let printed = try json(result.output)
    let files = try #require(printed["attachments"] as? [[String: Any]])
    #expect(files.map { $0["sha256"] as? String } == [one, two, one])
    #expect(files.map { $0["media_type"] as? String } == ["image/jpeg", "image/png", "application/octet-stream"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: space.path("log/attachments")).sorted() == [two, one])
    #expect(try space.bytes("log/attachments/\(one)") == Array("one".utf8))
    let lines = try space.run("cat", "log").lines
    #expect(lines.count == 1)
    let event = try json(lines[0])
    #expect(event["type"] as? String == "audit" && event["subject"] as? String == "gate-7")
    #expect((event["attachments"] as? [[String: Any]])?.map { $0["name"] as? String } == ["gate.jpg", "lock.PNG", "again.bin"])
    #expect(try space.run("cat", "log", "--format", "table").output.contains("+ gate.jpg + lock.PNG + again.bin"))
  }

  @Test("status shows what is to be sent and what is missing") func status() throws {
    try space.run("attach", "log", "gate.jpg", "lock.PNG", "--media-type", "image/x")
    try FileManager.default.removeItem(atPath: space.path("log/attachments/\(two)"))
    let text = try space.run("status", "log").output
    #expect(text.contains("files      0 at the server, 1 to send (3 bytes), 1 missing here"))
    #expect(text.contains("\(one)") && text.contains("missing    offset"))
    let status = try json(try space.run("status", "log", "--json").output)
    #expect((status["incomplete"] as? [[String: Any]])?.map { $0["state"] as? String } == ["pending", "missing"])
    #expect((status["files"] as? [String: Int])?["pending"] == 1)
    let refused = try space.run("sign-out", "log")
    #expect(refused.code != 0)
  }

  @Test("a file that is not there appends nothing") func missing() throws {
    let result = try space.run("attach", "log", "gate.jpg", "none.jpg")
    #expect(result.code != 0 && result.errors.contains("none.jpg"))
    #expect(try space.run("cat", "log").output.isEmpty)
    #expect(try space.run("attach", "log").code == 2)
  }
}
