import Foundation
import Testing

@Suite("tidemark project")
struct ProjectTests {
  let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
    let input = (0..<6).map { "{\"k\":\"\($0 % 2 == 0 ? "a" : "b,")\",\"v\":0.\($0),\"t\":\"2020-01-01T00:00:0\($0)Z\"}\n" }.joined()
    #expect(try space.run("append", "log", "--time-from", "/t", input: input).code == 0)
    try space.write("sum.json", #"{"name": "s", "key": ["/k"], "value": "/v", "fold": "sum"}"#)
  }

  @Test("prints a table, CSV and JSON lines")
  func formats() throws {
    #expect(try space.run("project", "log", "sum.json").lines == ["a   0.6", "b,  0.9"])
    #expect(try space.run("project", "log", "sum.json", "--format", "csv").lines == ["key,value,count", "a,0.6,3", "\"b,\",0.9,3"])
    #expect(try space.run("project", "log", "sum.json", "--format", "jsonl").lines.first == #"{"key":"a","value":"0.6","count":3}"#)
  }

  @Test("goes back to an offset and to a time")
  func asOf() throws {
    // Offset 0 is the session.
    #expect(try space.run("project", "log", "sum.json", "--as-of", "4").lines == ["a   0.2", "b,  0.1"])
    #expect(try space.run("project", "log", "sum.json", "--as-of", "2020-01-01T00:00:03Z").lines == ["a   0.2", "b,  0.4"])
    #expect(try space.run("project", "log", "sum.json", "--as-of", "99").code == 2)
    #expect(try space.run("project", "log", "sum.json", "--as-of", "noon").code == 2)
  }

  @Test("takes up what was appended since, and refuses what it can't read unless told")
  func unreadable() throws {
    #expect(try space.run("project", "log", "sum.json").code == 0)
    #expect(try space.run("append", "log", input: "{\"k\":\"a\",\"v\":1}\n{\"k\":\"a\"}\n").code == 0)
    let refused = try space.run("project", "log", "sum.json")
    #expect(refused.code != 0 && refused.errors.contains("/v") && refused.output.isEmpty)
    let passed = try space.run("project", "log", "sum.json", "--on-unreadable", "skip")
    #expect(passed.code == 0 && passed.lines.first == "a   1.6" && passed.errors.contains("1 event"))
  }

  @Test("says what is wrong with a definition, and when nothing was found")
  func definitions() throws {
    try space.write("bad.json", #"{"name": "s", "key": ["/k"], "fold": "product"}"#)
    let bad = try space.run("project", "log", "bad.json")
    #expect(bad.code == 2 && bad.errors.contains("bad.json, byte 37"))
    #expect(try space.run("project", "log", "none.json").code == 3)
    try space.write("typo.json", #"{"name": "t", "key": ["/k"], "value": "/w", "absent": "skip", "fold": "sum"}"#)
    let typo = try space.run("project", "log", "typo.json")
    #expect(typo.code == 0 && typo.output.isEmpty && typo.errors.contains("no event gave a value"))
  }

  @Test("keeps rows in a SQLite database, and goes on there")
  func sqlite() throws {
    #expect(try space.run("project", "log", "sum.json", "--sqlite", "rows.sqlite").lines == ["offset 7, 2 rows"])
    #expect(try space.run("append", "log", input: "{\"k\":\"c\",\"v\":1}\n").code == 0)
    // Each writer's session is an event as well.
    #expect(try space.run("project", "log", "sum.json", "--sqlite", "rows.sqlite").lines == ["offset 9, 3 rows"])
    try space.write("sum.json", #"{"name": "s", "key": ["/k"], "value": "/v", "fold": "maximum"}"#)
    let changed = try space.run("project", "log", "sum.json", "--sqlite", "rows.sqlite")
    #expect(changed.code == 0 && changed.errors.contains("made anew"))
    #expect(try space.run("project", "log", "sum.json", "--sqlite", "rows.sqlite", "--as-of", "3").code == 2)
    let refused = try space.run("project", "log", "sum.json", "--sqlite", "sum.json")
    #expect(refused.code == 3 && refused.errors.contains("sum.json"))
    #expect(try String(decoding: space.bytes("sum.json"), as: UTF8.self).hasSuffix("\"maximum\"}"))
  }
}
