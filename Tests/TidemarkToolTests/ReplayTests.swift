import Foundation
import Testing

@Suite("tidemark cat")
struct ReplayTests {
  let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
    let input = (0..<10).map { "{\"n\":\($0),\"s\":\"s\($0 % 3)\",\"k\":\"k\($0 % 2)\",\"t\":\"2020-01-01T00:00:0\($0)Z\"}\n" }.joined()
    #expect(
      try space.run("append", "log", "--subject-from", "/s", "--type-from", "/k", "--time-from", "/t", "--id-from", "/n", input: input).code
        == 0)
  }

  /// The numbers of the events that were printed.
  func numbers(_ options: String...) throws -> [Int] {
    let result = try space.run(["cat", "log"] + options, input: [])
    #expect(result.code == 0, "\(result.errors)")
    return try result.lines.map { line in
      let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      let data = event?["data"] as? [String: Any]
      return try #require(data?["n"] as? Int)
    }
  }

  @Test("selects by offset, time, type, subject and number")
  func selection() throws {
    let first = try #require(try space.run("cat", "log", "--control").lines.firstIndex { $0.contains("\"k0\"") })
    #expect(try numbers() == Array(0..<10))
    #expect(try numbers("--limit", "3") == [0, 1, 2])
    #expect(try numbers("--limit", "0") == [])
    #expect(try numbers("--from", "\(first + 4)", "--to", "\(first + 6)") == [4, 5])
    #expect(try numbers("--from", "\(first + 9)", "--to", "1000") == [9])
    #expect(try numbers("--from", "\(first + 10)") == [])
    #expect(try numbers("--since", "2020-01-01T00:00:07Z") == [7, 8, 9])
    #expect(try numbers("--until", "2020-01-01T00:00:01Z") == [0, 1])
    #expect(try numbers("--since", "2020-01-01T01:00:02.5+01:00", "--until", "2020-01-01T00:00:05Z") == [3, 4, 5])
    #expect(try numbers("--type", "k1", "--subject", "s0") == [3, 9])
    #expect(try numbers("--type", "k1", "--limit", "2") == [1, 3])
    #expect(try numbers("--type", "none") == [])
  }

  @Test("shows control events only when asked, with their kind")
  func control() throws {
    let plain = try space.run("cat", "log").lines
    #expect(!plain.contains { $0.contains("\"kind\":") })
    let all = try space.run("cat", "log", "--control").lines
    #expect(all.count == 11)
    #expect(all[0].hasPrefix(#"{"offset":0,"kind":2,"id":""#))
    #expect(Array(all.dropFirst()) == plain)
  }

  @Test("prints keys in their order, with boot id and clock")
  func keys() throws {
    let line = try #require(try space.run("cat", "log", "--limit", "1").lines.first)
    let pattern =
      #"\{"offset":1,"id":"[0-9a-f-]{36}","type":"k0","subject":"s0","time":"2020-01-01T00:00:00Z","#
      + #"("boot_id":"[0-9a-f-]{36}",)?"elapsed_ns":[0-9]+,"#
      + #""datacontenttype":"application/json","data":\{"n":0,"s":"s0","k":"k0","t":"2020-01-01T00:00:00Z"\}\}"#
    #expect(try Regex(pattern).wholeMatch(in: line) != nil, "\(line)")
  }

  @Test("writes CSV that comes back as it was")
  func csv() throws {
    try space.write("notes", "plain\nwith \"quotes\", and commas\n")
    try space.run("append", "log", "--format", "lines", "--type", "note", "notes")
    let csv = try space.run("cat", "log", "--format", "csv").output
    #expect(csv.hasPrefix("offset,id,type,subject,actor,time,boot_id,elapsed_ns,datacontenttype,data\n"))
    try space.run("init", "copy")
    #expect(
      try space.run("append", "copy", "--format", "csv", "--id-from", "/id", "--time-from", "/time", "--type-from", "/type", input: csv)
        .summary["count"] == 12)
    let row = try #require(try space.run("cat", "copy", "--format", "raw").lines.last)
    #expect(row.hasSuffix(#""data":"with \"quotes\", and commas"}"#), "\(row)")
  }

  @Test("shows a table")
  func table() throws {
    let odd = ["\u{1B}[31mred", String(repeating: "ø", count: 100), String(repeating: "a", count: 72), String(repeating: "a", count: 73)]
    try space.run("append", "log", "--format", "lines", input: odd.joined(separator: "\n"))
    let lines = try space.run("cat", "log", "--format", "table").lines
    try #require(lines.count == 15)
    #expect(lines[11].hasSuffix("  ·[31mred"))
    #expect(lines[12].hasSuffix("  " + String(repeating: "ø", count: 71) + "…"))
    #expect(lines[13].hasSuffix("  " + odd[2]))
    #expect(lines[14].hasSuffix("  " + String(repeating: "a", count: 71) + "…"))
    #expect(lines[0].hasPrefix("offset      time"))
    #expect(lines[1].contains("2020-01-01T00:00:00Z") && lines[1].contains("{\"n\":0,"))
  }

  static let mistakes: [[String]] = [
    ["--from", "x"], ["--from", "5", "--to", "4"], ["--since", "yesterday"], ["--since", "2020-01-01T00:00:00"],
    ["--since", "2020-01-02T00:00:00Z", "--until", "2020-01-01T00:00:00Z"],
    ["--format", "xml"], ["--from", "10000"], ["--from", "18446744073709551615"],
    ["--control", "--format", "cloudevents"], ["--limit", "-1"], ["--json", "--format", "csv"], ["--until", "1492-01-01T00:00:00Z"],
  ]

  @Test("refuses selections that make no sense with exit code 2", arguments: mistakes)
  func mistake(_ options: [String]) throws {
    let result = try space.run(["cat", "log"] + options, input: [])
    #expect(result.code == 2)
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("tidemark: ") && result.errors.contains(": ") && result.errors.contains("; "), "\(result.errors)")
  }
}
