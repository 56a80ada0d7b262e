import Foundation
import Testing

@Suite("Erasing by the tool")
struct EraseTests {
  let space: Workspace
  static let input = """
    {"badge":"person-17","scan":"a","temperature":38.4}
    {"badge":"person-18","scan":"b","temperature":36.6}
    {"badge":"person-17","scan":"c","temperature":39.1}

    """

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
    try space.write("in.jsonl", Self.input)
    #expect(try append().summary["count"] == 3)
  }

  private func append() throws -> Workspace.Result {
    try space.run(
      "append", "log", "in.jsonl", "--type", "visit", "--subject-from", "/badge", "--id-from", "/scan", "--encrypt-subjects", "keys")
  }

  private func erase(_ more: String...) throws -> Workspace.Result {
    try space.run(["erase", "log", "person-17", "--subject-keys", "keys"] + more, input: [])
  }

  /// Every file below the directory in which a text stands.
  private func files(with text: String) throws -> [String] {
    let all = try #require(FileManager.default.enumerator(atPath: space.directory))
    var found: [String] = []
    for case let name as String in all where !name.hasPrefix(".") {
      guard let bytes = FileManager.default.contents(atPath: space.path(name)) else { continue }
      if bytes.range(of: Data(text.utf8)) != nil { found.append(name) }
    }
    return found.sorted()
  }

  @Test("an import that encrypts can be repeated, and reads back with the keys alone")
  func sealed() throws {
    #expect(try append().summary["duplicates"] == 3)
    #expect(try files(with: "person-1").filter { $0.hasPrefix("log") } == [])
    let plain = try space.run("cat", "log", "--subject-keys", "keys", "--format", "raw")
    #expect(plain.code == 0 && plain.output == Self.input)
    let stored = try space.run("cat", "log")
    #expect(stored.lines.count == 3 && stored.lines.allSatisfy { $0.contains("application/vnd.tidemark.sealed") })
    let opened = try space.run("cat", "log", "--subject-keys", "keys")
    #expect(opened.lines.count == 3 && opened.lines[1].contains(#""subject":"person-18""#) && opened.lines[1].contains("36.6"))
    // The id of the text "a", which whoever guesses it can make, is not there.
    let ids = try space.run("append", "log", "in.jsonl", "--id-from", "/scan")
    #expect(try ids.summary["count"] == 3)
    let other = try space.run("cat", "log", "--subject-keys", "nowhere")
    #expect(other.code == 3 && other.errors.contains("not in this store"))
  }

  @Test("without confirmation it only says what it would do")
  func plan() throws {
    let before = try space.run("cat", "log", "--subject-keys", "keys").output
    let plan = try erase()
    #expect(plan.code == 0 && plan.output.hasSuffix("nothing was changed; --confirm person-17 does it\n"))
    let object = try erase("--json")
    #expect(object.code == 0 && object.output.hasPrefix(#"{"done":false,"keys":[{"id":""#))
    #expect(try space.run("cat", "log", "--subject-keys", "keys").output == before)
    let wrong = try erase("--confirm", "person-71")
    #expect(wrong.code == 2 && wrong.errors.contains("it is not person-17"))
    #expect(try space.run("cat", "log", "--subject-keys", "keys").output == before)
  }

  @Test("it destroys what it says, and the log stands")
  func erased() throws {
    try space.write("rows.sqlite", "SQLite format 3\0person-17")
    try space.write("rows.sqlite-wal", "person-17")
    try FileManager.default.createDirectory(atPath: space.path("log/projections/last"), withIntermediateDirectories: true)
    try space.write("log/projections/last/00000000000000000002.snapshot", "person-17")
    let result = try erase("--sink", "rows.sqlite", "--sink", "absent.sqlite", "--confirm", "person-17")
    #expect(result.code == 0, "\(result.errors)")
    for text in [
      "destroyed: key ", "recorded: event ", "removed: rows.sqlite\n", "removed: rows.sqlite-wal\n",
      "removed: log/projections/last/00000000000000000002.snapshot\n", "remains: 2 sealed events at offsets 1 to 3: ciphertext",
      "not found: absent.sqlite\n", "out of reach: backups",
    ] { #expect(result.output.contains(text), "\(text)") }
    #expect(try files(with: "person-17") == ["in.jsonl"])
    #expect(try space.run("verify", "log").code == 0)
    let left = try space.run("cat", "log", "--subject-keys", "keys")
    #expect(left.code == 0 && left.lines.count == 3 && left.output.contains("person-18") && !left.output.contains("person-17"))
    let again = try erase("--confirm", "person-17")
    #expect(again.code == 1 && again.errors.contains("it was erased, or never sealed anything"))
    // Whoever imports the same input again brings the subject back, as somebody new.
    let imported = try append()
    #expect(try imported.code == 0 && imported.summary["count"] == 2 && imported.summary["duplicates"] == 1)
  }

  @Test("keys that were put back are destroyed again")
  func again() throws {
    try FileManager.default.copyItem(atPath: space.path("keys"), toPath: space.path("backup"))
    #expect(try erase("--confirm", "person-17").code == 0)
    let result = try space.run("erase", "log", "--subject-keys", "backup", "--again")
    #expect(result.code == 0 && result.output.hasSuffix("1 keys were destroyed\n"))
    #expect(try files(with: "person-17") == ["in.jsonl"])
    let twice = try space.run("erase", "log", "--subject-keys", "backup", "--again", "--json")
    #expect(twice.code == 0 && twice.output == "{\"destroyed\":[]}\n")
  }

  @Test(
    "wrong use is told",
    arguments: [
      (["erase", "log", "person-17"], "--subject-keys is missing"), (["erase", "log", "--subject-keys", "keys"], "SUBJECT is missing"),
      (["erase", "log", "person-17", "--subject-keys", "keys", "--again"], "--again"),
      (["erase", "log", "--subject-keys", "keys", "--again", "--sink", "a"], "--sink"),
      (["append", "log", "in.jsonl", "--encrypt-subjects", "keys"], "it has no subject"),
      (["erase", "log", "person-17", "--subject-keys", "keys", "--sink", "in.jsonl"], "no SQLite database"),
    ])
  func wrong(_ arguments: [String], _ text: String) throws {
    let result = try space.run(arguments, input: [])
    #expect(result.code == 2 && result.errors.contains(text), "\(result.errors)")
  }

  @Test("a directory of keys that is not there, or open to others, is refused")
  func places() throws {
    let absent = try space.run("erase", "log", "person-17", "--subject-keys", "absent", "--confirm", "person-17")
    #expect(absent.code == 3 && absent.errors.contains("(absent)"))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: space.path("keys"))
    let open = try erase("--confirm", "person-17")
    #expect(open.code == 3 && open.errors.contains("chmod"))
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: space.path("keys"))
    #expect(try space.run("cat", "log", "--subject-keys", "keys", "--format", "raw").output == Self.input)
  }
}
