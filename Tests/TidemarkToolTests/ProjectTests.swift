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

  @Test("as-of goes back to an offset and to a time")
  func asOf() throws {
    // Offset 0 is the session.
    #expect(try space.run("as-of", "log", "sum.json", "4").lines == ["a   0.2", "b,  0.1"])
    #expect(try space.run("as-of", "log", "sum.json", "2020-01-01T00:00:03Z").lines == ["a   0.2", "b,  0.4"])
    #expect(try space.run("as-of", "log", "sum.json", "now").lines == space.run("project", "log", "sum.json").lines)
    #expect(try space.run("as-of", "log", "sum.json", "1").output.isEmpty)
    #expect(try space.run("as-of", "log", "sum.json", "99").code == 2)
    #expect(try space.run("as-of", "log", "sum.json", "noon").code == 2)
  }

  @Test("diff shows what differs between two moments, in each format")
  func diff() throws {
    let table = try space.run("diff", "log", "sum.json", "2", "5")
    #expect(table.code == 1 && table.lines == ["a   0  0.2", "b,  -  0.4"])
    #expect(
      try space.run("diff", "log", "sum.json", "2", "5", "--format", "csv").lines == [
        "key,before,before_count,after,after_count", "a,0,1,0.2,2", "\"b,\",,,0.4,2",
      ])
    #expect(
      try space.run("diff", "log", "sum.json", "5", "2020-01-01T00:00:00Z", "--format", "jsonl").lines == [
        #"{"key":"a","before":"0.2","before_count":2,"after":"0","after_count":1}"#, #"{"key":"b,","before":"0.4","before_count":2}"#,
      ])
    let same = try space.run("diff", "log", "sum.json", "now", "7")
    #expect(same.code == 0 && same.output.isEmpty)
    #expect(try space.run("diff", "log", "sum.json", "2").code == 2)
  }

  @Test("projections lists what was saved, and what of it can't be used")
  func projections() throws {
    #expect(try space.run("projections", "log").lines.count == 1)
    #expect(try space.run("project", "log", "sum.json").code == 0)
    #expect(try space.run("append", "log", input: "{\"k\":\"a\",\"v\":1}\n").code == 0)
    let rows = try space.run("projections", "log").lines
    #expect(rows.count == 2 && rows[1].split(separator: " ").prefix(3) == ["s", "7", "2"])
    let json = try space.run("projections", "log", "--json").output
    #expect(json.contains(#""projection":"s","offset":7,"behind":2"#) && json.contains(#""latest_event":"2020-01-01T00:00:05"#))
    let file = "log/projections/s/00000000000000000007.snapshot"
    var bytes = try space.bytes(file)
    #expect(json.contains("\"bytes\":\(bytes.count)"))
    bytes[20] ^= 1
    try space.write(file, bytes)
    #expect(try space.run("projections", "log").lines[1].contains("can't be used: its checksum does not match"))
    try space.write(file, [])
    #expect(try space.run("projections", "log", "--json").output.contains(#""trouble":"it is no whole snapshot""#))
  }

  @Test("trim leaves what projections need; without it, values are refused or say what they lack")
  func trimmed() throws {
    #expect(try space.run("seal", "log").code == 0)
    #expect(try space.run("append", "log", input: "{\"k\":\"a\",\"v\":1}\n").code == 0)
    try space.write("count.json", #"{"name": "c", "key": ["/k"], "fold": "count"}"#)
    #expect(try space.run("project", "log", "count.json").code == 0)
    let refused = try space.run("trim", "log", "--below", "7")
    #expect(refused.code == 3 && refused.errors.contains("projection c needs"))
    try FileManager.default.removeItem(atPath: space.path("log/projections"))
    #expect(try space.run("trim", "log", "--below", "7").code == 0)
    #expect(try space.run("project", "log", "sum.json").code == 3)
    let partial = try space.run("project", "log", "sum.json", "--restart")
    #expect(partial.code == 0 && partial.lines == ["a  1"] && partial.errors.contains("lack all events below offset 7"))
    #expect(try space.run("project", "log", "sum.json").errors.contains("lack all events below offset 7"))
    #expect(try space.run("projections", "log").lines[1].contains("lacks all events below offset 7"))
  }

  @Test("follow adds the rows that change, and Ctrl-C ends it well")
  func follow() throws {
    let running = try space.start(["project", "log", "sum.json", "--follow"], standardInput: FileHandle.nullDevice)
    try running.waitForLines(2)
    #expect(try space.run("append", "log", input: "{\"k\":\"c\",\"v\":1}\n").code == 0)
    try running.waitForLines(3)
    #expect(try space.run("append", "log", input: "{\"k\":\"a\",\"v\":0.4}\n").code == 0)
    try running.waitForLines(4)
    running.kill(SIGINT)
    let result = try running.finish()
    #expect(result.code == 0 && result.lines == ["a   0.6", "b,  0.9", "c  1", "a  1"])
  }

  @Test("counts by hours of a place, and says whose rules it went by")
  func windows() throws {
    try space.write("hours.json", #"{"name": "h", "fold": "count", "window": {"unit": "hour", "zone": "America/New_York"}}"#)
    let hours = try space.run("project", "log", "hours.json")
    #expect(hours.code == 0 && hours.lines == ["2019-12-31T19-05:00  6"])
    #expect(hours.errors.contains("time zone database 20"))
    try space.write("bad.json", #"{"name": "h", "fold": "count", "window": {"unit": "hour", "zone": "America/NewYork"}}"#)
    let bad = try space.run("project", "log", "bad.json")
    #expect(bad.code != 0 && bad.errors.contains("there is no time zone \"America/NewYork\""))
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
    #expect(try space.run("project", "log", "sum.json", "--sqlite", "rows.sqlite", "--follow").code == 2)
    let refused = try space.run("project", "log", "sum.json", "--sqlite", "sum.json")
    #expect(refused.code == 3 && refused.errors.contains("sum.json"))
    #expect(try String(decoding: space.bytes("sum.json"), as: UTF8.self).hasSuffix("\"maximum\"}"))
  }
}
