import Testing

@Suite("tidemark append")
struct ImportTests {
  let space: Workspace

  init() throws {
    space = try Workspace()
    #expect(try space.run("init", "log").code == 0)
  }

  /// What a log holds, without what differs from one run to the next.
  func content(_ log: String = "log") throws -> [String] { try space.run("cat", log, "--format", "raw").lines }

  @Test("keeps a line's JSON byte for byte, and takes attributes from it")
  func jsonLines() throws {
    let lines = [
      #"{"id":"a","gate":"7","by":"ann","at":"2013-11-03T01:30:00.250-04:00","kind":"scan","price":1.50}"#,
      #"{ "id" : 12 , "gate":null, "text":"é\u00e9\ud800" }"#,
      #"{"id":"0190163d-8694-739b-aea5-966c26f8ad91","at":null,"big":123456789012345678901234567890}"#,
    ]
    let input = "  " + lines[0] + "\r\n\n \t\n" + lines[1] + "\n" + lines[2]
    let result = try space.run(
      "append", "log", "--id-from", "/id", "--subject-from=/gate", "--actor-from", "/by", "--time-from", "/at", "--type-from", "/kind",
      "--type", "seen", input: input)
    #expect(result.code == 0, "\(result.errors)")
    #expect(try result.summary["count"] == 3)
    // Offset 0 is the session's.
    #expect(try result.summary["first"] == 1)
    #expect(try content() == lines)
    let events = try space.run("cat", "log").lines
    try #require(events.count == 3)
    #expect(events[0].contains(#""type":"scan","subject":"7","actor":"ann","time":"2013-11-03T05:30:00.250Z""#))
    #expect(events[0].hasSuffix(#""datacontenttype":"application/json","data":"# + lines[0] + "}"))
    #expect(events[1].contains(#""type":"seen","time":"#))
    #expect(events[2].hasPrefix(#"{"offset":3,"id":"0190163d-8694-739b-aea5-966c26f8ad91","type":"seen""#))
  }

  @Test("can be repeated where ids are given, with any batch size")
  func idempotent() throws {
    let input = (0..<50).map { "{\"n\":\($0)}\n" }.joined()
    var summary = try space.run("append", "log", "--id-from", "/n", "--batch", "7", input: input).summary
    #expect(summary["count"] == 50 && summary["duplicates"] == 0)
    let before = try space.run("cat", "log").output
    for batch in ["1", "7", "1000"] {
      summary = try space.run("append", "log", "--id-from", "/n", "--batch", batch, input: input).summary
      #expect(summary["count"] == 0 && summary["duplicates"] == 50 && summary["first"] == nil)
    }
    #expect(try space.run("cat", "log").output == before)
    // Of an import in part: the first that was appended.
    summary = try space.run("append", "log", "--id-from", "/n", "--batch", "2", input: "{\"n\":49}\n{\"n\":50}\n{\"n\":51}\n").summary
    #expect(summary["count"] == 2 && summary["duplicates"] == 1)
    let events = try space.run("cat", "log").lines
    #expect(events[50].hasPrefix("{\"offset\":\(summary["first"] ?? -1),"))
    // Numbers and strings of the same text are one id.
    #expect(try space.run("append", "log", "--id-from", "/n", input: #"{"n":"0"}"#).code == 1)
  }

  @Test("stops at a conflict with both digests, changes nothing by it and says so with exit code 1")
  func conflict() throws {
    try space.run("append", "log", "--id-from", "/n", input: "{\"n\":1,\"v\":1}\n")
    let result = try space.run(
      "append", "log", "--id-from", "/n", "--batch", "2", input: "{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n{\"n\":1,\"v\":2}\n{\"n\":5}\n")
    #expect(result.code == 1)
    #expect(try result.summary["count"] == 2 && result.summary["conflicts"] == 1)
    #expect(result.errors.contains("(standard input, line 4)") && result.errors.contains("before line 3 is in the log"), "\(result.errors)")
    #expect(try content() == [#"{"n":1,"v":1}"#, #"{"n":2}"#, #"{"n":3}"#])
  }

  static let mistakes: [(String, [String], String, String, Int)] = [
    ("{\"a\":1}\n{\"a\":tru}\n", [], "line 2, column 6", "only true", 1), ("{\"a\":1}\n\n{\"a\":1\n", [], "line 3, column 7", "ends", 1),
    ("{}{}\n", [], "line 1, column 3", "follows", 0),
    ("{\"a\":1}\n{\"b\":2}\n", ["--id-from", "/a"], "line 2, column 1", "no id at /a", 1),
    ("{\"a\":null}\n", ["--id-from", "/a"], "line 1, column 6", "no id at /a", 0),
    ("{\"a\":\"\"}\n", ["--id-from", "/a"], "line 1, column 6", "no id at /a", 0),
    ("{\"a\":[1]}\n", ["--id-from", "/a"], "line 1, column 6", "neither a string nor a number", 0),
    ("{\"t\":\"2013-13-01T00:00:00Z\"}\n", ["--time-from", "/t"], "line 1, column 12", "month", 0),
    ("{\"t\":\"1492-10-12T00:00:00Z\"}\n", ["--time-from", "/t"], "line 1, column 7", "out of range", 0),
    ("{\"t\":5}\n", ["--time-from", "/t"], "line 1, column 6", "RFC 3339", 0), ("x\n", [], "line 1, column 1", "no JSON value", 0),
    ("a,b\n1,2\n3\n", ["--format", "csv"], "line 3, column 2", "1 of 2 fields", 1),
    ("a,b\n1,\"2\n3,4\n", ["--format", "csv"], "line 2, column 3", "never closed", 0),
    ("a,a\n", ["--format", "csv"], "line 1, column 3", "twice", 0),
    ("a,t\n\"1\n2\",nonsense\n", ["--format", "csv", "--time-from", "/t"], "line 3, column 4", "year", 0),
    ("{\"specversion\":\"1.0\",\"id\":\"1\",\"type\":\"t\"}\n", ["--format", "cloudevents"], "line 1, column 1", "no source", 0),
    ("{\"specversion\":\"0.3\"}\n", ["--format", "cloudevents"], "line 1, column 16", "specversion", 0),
    ("[]\n", ["--format", "cloudevents"], "line 1, column 1", "object", 0),
  ]

  @Test("tells line and column of malformed input, and keeps what came before", arguments: mistakes)
  func malformed(_ input: String, _ options: [String], _ place: String, _ why: String, _ kept: Int) throws {
    for batch in ["1", "10"] {
      let log = "log\(batch)"
      try space.run("init", log)
      let result = try space.run(["append", log, "--batch", batch] + options, input: Array(input.utf8))
      #expect(result.code == 2)
      #expect(result.errors.hasPrefix("tidemark: malformed input (standard input, \(place)): "), "\(result.errors)")
      #expect(result.errors.contains(why), "\(result.errors)")
      #expect(try content(log).count == kept)
      // The summary comes all the same, once reading has begun.
      if !input.hasPrefix("a,a") { #expect(try result.summary["count"] == kept) }
    }
  }

  @Test("tells line and column of invalid UTF-8 in every format")
  func invalidUTF8() throws {
    let formats: [(String, String, String)] = [
      ("jsonl", "{\"a\":\"x", "\"}\n"), ("lines", "abcdefg", "\n"), ("csv", "a\nabcdefg", "\n"), ("cloudevents", "{\"a\":\"x", "\"}\n"),
    ]
    for (format, before, after) in formats {
      let result = try space.run(["append", "log", "--format", format], input: Array(before.utf8) + [0xC3] + Array(after.utf8))
      #expect(result.code == 2)
      #expect(result.errors.contains("line \(format == "csv" ? 2 : 1), column 8): not valid UTF-8"), "\(result.errors)")
    }
  }

  @Test("makes a JSON object of strings of each CSV row")
  func csv() throws {
    let input = "name,at,\"the \"\"note\"\"\"\r\n=1+1,2013-01-01T00:00:00+01:00,\"two\nlines, and \"\"quotes\"\"\"\r\n\r\nøre,,\r\n"
    let result = try space.run(
      "append", "log", "--format", "csv", "--id-from", "/name", "--time-from", "/at", "--subject-from", "/the \"note\"", input: input)
    #expect(result.code == 0, "\(result.errors)")
    let rows = [
      #"{"name":"=1+1","at":"2013-01-01T00:00:00+01:00","the \"note\"":"two\nlines, and \"quotes\""}"#,
      #"{"name":"øre","at":"","the \"note\"":""}"#,
    ]
    #expect(try content() == rows)
    #expect(try space.run("append", "log", "--format", "csv", "--id-from", "/nmae", input: input).errors.contains("did you mean /name?"))
  }

  @Test("takes plain lines as text, the last one without a line break too")
  func plainLines() throws {
    try space.run("append", "log", "--format", "lines", "--type", "note", input: "one\r\n\nthree \"3\"")
    let events = try space.run("cat", "log").lines
    try #require(events.count == 3)
    #expect(events[0].hasSuffix(#""datacontenttype":"text/plain","data":"one"}"#))
    #expect(events[1].hasSuffix(#""datacontenttype":"text/plain"}"#))
    #expect(events[2].hasSuffix(#""data":"three \"3\""}"#))
  }

  @Test("takes CloudEvents, and gives them back as they came")
  func cloudEvents() throws {
    let events = [
      #"{"specversion":"1.0","id":"A234-1234-1234","source":"https://example.org/gates","type":"scan","subject":"badge","#
        + #""time":"2018-04-05T17:31:00.120Z","datacontenttype":"application/json","#
        + #""comexampleextension1":"value","data":{"a":[1.0,null]}}"#,
      #"{"specversion":"1.0","id":"0190163d-8694-739b-aea5-966c26f8ad91","source":"/x","type":"t","#
        + #""time":"2018-04-05T17:31:00Z","datacontenttype":"text/xml","#
        + #""actor":"ann","correlationid":"0190163d-8694-739b-aea5-966c26f8ad92","#
        + #""data":"<much wow=\"xml\"/>"}"#,
      #"{"specversion":"1.0","id":"b","source":"/x","type":"t","time":"2018-04-05T17:31:00Z","data_base64":"AP8="}"#,
    ]
    let input = events.joined(separator: "\n")
    let result = try space.run("append", "log", "--format", "cloudevents", input: input)
    #expect(result.code == 0, "\(result.errors)")
    let exported = try space.run("cat", "log", "--format", "cloudevents").lines
    #expect(try exported.map { try $0.replacing(Regex(#""offset":[0-9]+,"#), with: "") } == events)
    #expect(try space.run("append", "log", "--format", "cloudevents", input: exported.joined(separator: "\n")).summary["duplicates"] == 3)
    // Data without a content type is JSON.
    try space.run(
      "append", "log", "--format", "cloudevents", input: #"{"specversion":"1.0","id":"c","source":"/x","type":"t","data":[1.0]}"#)
    #expect(try space.run("cat", "log").output.hasSuffix(#""datacontenttype":"application/json","data":[1.0]}"# + "\n"))
    // The same id from another source is another event.
    #expect(
      try space.run("append", "log", "--format", "cloudevents", input: #"{"specversion":"1.0","id":"b","source":"/y","type":"t"}"#).summary[
        "count"] == 1)
  }

  @Test("refuses an attribute of a CloudEvent that is there twice")
  func doubledAttribute() throws {
    let input = #"{"specversion":"1.0","id":"b","source":"/x","type":"t","x":"1","x":"2"}"#
    let result = try space.run("append", "log", "--format", "cloudevents", input: input)
    #expect(result.code == 2 && result.errors.contains("line 1, column 68): the attribute x is there twice"), "\(result.errors)")
  }

  @Test("acknowledges each batch with the next offset")
  func acknowledgements() throws {
    let result = try space.run("append", "log", "--acks", "--batch", "2", input: "1\n2\n3\n")
    let size = try space.run("cat", "log", "--control").lines.count
    #expect(result.lines.count == 3)
    #expect(result.lines[1] == "ack \(size)" && result.lines[0] == "ack \(size - 1)")
    #expect(try result.summary["durable"] ?? 0 >= size)
  }

  @Test("ends durable, whatever the batches' durability", arguments: ["written", "buffered"])
  func durable(_ durability: String) throws {
    let result = try space.run("append", "log", "--durability", durability, input: "1\n2\n3\n")
    #expect(try result.summary["durable"] == 4)
  }

  @Test("refuses what is too long with its line")
  func tooLong() throws {
    let long = String(repeating: "x", count: 1_025)
    let subject = try space.run("append", "log", "--subject-from", "/s", input: "{}\n{\"s\":\"\(long)\"}\n")
    #expect(subject.code == 2)
    #expect(subject.errors.contains("line 2, column 6") && subject.errors.contains("the limit is 1024"))
    let data = try space.run("append", "log", input: "1\n\"\(String(repeating: "x", count: 1 << 20))\"\n2\n")
    #expect(data.code == 2)
    #expect(data.errors.contains("line 2"), "\(data.errors)")
    #expect(try content() == ["{}", "1"])
    let batch = try space.run("append", "log", "--batch", "9", input: "2\n\"\(String(repeating: "x", count: 1 << 20))\"\n3\n")
    #expect(
      batch.code == 2 && batch.errors.contains("line 2): ") && batch.errors.contains("before line 1 is in the log"), "\(batch.errors)")
    let lines = String(repeating: "\"\(String(repeating: "x", count: 1_000_000))\"\n", count: 9)
    let whole = try space.run("append", "log", "--batch", "9", input: lines)
    #expect(whole.code == 2 && whole.errors.contains("lines 1 to 9): ") && whole.errors.contains("; name a smaller --batch"))
  }
}
