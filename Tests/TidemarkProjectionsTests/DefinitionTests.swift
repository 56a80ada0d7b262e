import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct DefinitionTests {
  private func definition(_ members: String) throws -> ProjectionDefinition {
    try ProjectionDefinition(json: Array("{\"name\": \"d\", \(members)}".utf8), file: "d.json")
  }

  /// The rows of a definition over events with this data, as `key=value`.
  private func rows(_ members: String, _ data: [String], subject: String? = nil, skips: Bool = false) throws -> [String] {
    let fixture = try Fixture()
    for text in data { try fixture.log.append(event(text, subject: subject)) }
    var options = ProjectionOptions()
    if skips { options.onUnreadable = .skip }
    let projection = try definition(members).projection
    let state = try ProjectionRunner(projection, of: fixture.log, options: options).current().state
    // What was saved is read again.
    #expect(try projection.decode(projection.encode(state)) == state)
    return projection.rows(of: state).map { "\($0.key)=\($0.value)" }
  }

  @Test func `each fold gives its rows`() throws {
    let data = [#"{"k":"b","v":1.5}"#, #"{"k":"a","v":-2}"#, #"{"k":"b","v":0.25}"#]
    let expected = [
      "count": ["a=1", "b=2"], "sum": ["a=-2", "b=1.75"], "average": ["a=-2", "b=0.875"], "minimum": ["a=-2", "b=0.25"],
      "maximum": ["a=-2", "b=1.5"], "latest": ["a=-2", "b=0.25"],
    ]
    for fold in ProjectionDefinition.Fold.allCases where expected[fold.rawValue] != nil {
      let value = fold == .count ? "" : #""value": "/v", "#
      #expect(try rows(#""key": ["/k"], \#(value)"fold": "\#(fold.rawValue)""#, data) == expected[fold.rawValue])
    }
  }

  @Test func `keys of several parts, attributes and nested values`() throws {
    let data = [#"{"at":{"gate":["x",7]},"on":true}"#, #"{"at":{"gate":["x",8]},"on":"true"}"#]
    #expect(
      try rows(#""key": ["@subject", "/at/gate/1", "/on"], "fold": "count""#, data, subject: "s\"") == [
        #"["s\"","7","true"]=1"#, #"["s\"","8","true"]=1"#,
      ])
    #expect(try rows(#""key": ["@type"], "fold": "latest""#, data) == ["test=" + data[1]])
    #expect(try rows(#""key": ["@type"], "value": "/at", "fold": "latest""#, data) == [#"test={"gate":["x",8]}"#])
  }

  /// The rows after each of some events, given as type and data.
  private func trail(_ members: String, _ events: [(String, String)]) throws -> [[String]] {
    let fixture = try Fixture()
    let projection = try definition(members).projection
    let runner = try ProjectionRunner(projection, of: fixture.log)
    return try events.map { type, data in
      try fixture.log.append(event(data, type: type))
      let state = try runner.current().state
      #expect(try projection.decode(projection.encode(state)) == state)
      return projection.rows(of: state).map { "\($0.key)=\($0.value)" }
    }
  }

  @Test func `presence by roles: who is where since when, and how many`() throws {
    let members = #""key": ["/who"], "place": "/at", "fold": "presence", "roles": {"in": "enter", "out": "leave"}"#
    let events = [
      ("in", #"{"who":"kim","at":"gate"}"#), ("in", #"{"who":"ola","at":"gate"}"#), ("in", #"{"who":"kim","at":"yard"}"#),
      ("else", "not JSON"), ("out", #"{"who":"kim","at":"gate"}"#), ("out", #"{"who":"ola"}"#),
    ]
    let keys = try trail(members, events).map { $0.map { String($0.prefix { $0 != "=" }) } }
    #expect(keys[2] == [#"["gate","kim"]"#, #"["gate","ola"]"#, #"["yard","kim"]"#] && keys[3] == keys[2])
    #expect(keys[4] == [#"["gate","ola"]"#, #"["yard","kim"]"#] && keys[5] == [#"["yard","kim"]"#])
    #expect(try trail(members + #", "per": "place""#, events)[3] == ["gate=2", "yard=1"])
    #expect(error { _ = try trail(members, [("in", #"{"who":"kim"}"#)]) }?.why.contains("the place") ?? false)
    #expect(error { _ = try trail(members, [("out", #"{"at":"gate"}"#)]) }?.why.contains("the person") ?? false)
  }

  @Test func `acknowledgements by roles bind to versions`() throws {
    let members =
      #""key": ["/item", "/who"], "place": "/at", "version": "/v", "material": "/m", "fold": "acknowledgements", "#
      + #""roles": {"publish": "publish", "withdraw": "withdraw", "ask": "ask", "seen": "acknowledge"}"#
    let events = [
      ("publish", #"{"item":"n","v":3,"m":false}"#), ("ask", #"{"item":"n","who":"kim","at":"gate"}"#),
      ("seen", #"{"item":"n","who":"kim","v":3}"#), ("publish", #"{"item":"n","v":4,"m":false}"#),
      ("publish", #"{"item":"n","v":5}"#), ("seen", #"{"item":"n","who":"kim","v":5}"#), ("withdraw", #"{"item":"n"}"#),
    ]
    let key = #"["n","kim"]"#
    #expect(
      try trail(members, events) == [
        [], ["\(key)=pending"], ["\(key)=acknowledged 3"], ["\(key)=acknowledged 3"], ["\(key)=re-acknowledge 5, acknowledged 3"],
        ["\(key)=acknowledged 5"], ["\(key)=withdrawn"],
      ])
    #expect(try trail(members + #", "per": "place""#, events)[4] == ["gate=re-acknowledge 1"])
    for data in [#"{"item":"n","v":"3"}"#, #"{"item":"n","v":-3}"#, #"{"item":"n"}"#, #"{"v":3}"#, #"{"item":"n","v":3,"m":0}"#] {
      #expect(error { _ = try trail(members, [("publish", data)]) }?.code == .unreadableEvent, "\(data)")
    }
  }

  @Test(arguments: [
    (#""key": ["/k"], "place": "/p", "fold": "presence""#, "\"roles\" is missing"),
    (#""key": ["/k"], "place": "/p", "fold": "presence", "roles": {}"#, "\"roles\" is missing"),
    (#""key": ["/k"], "place": "/p", "fold": "presence", "roles": {"a": "ask"}"#, "does not go with"),
    (#""key": ["/k"], "place": "/p", "fold": "presence", "roles": {"a": "fly"}"#, "a role is one of"),
    (#""key": ["/k"], "place": "/p", "fold": "presence", "roles": ["a"]"#, "is an object"),
    (#""key": ["/k"], "place": "/p", "fold": "presence", "roles": {"a": "enter", "a": "leave"}"#, "twice"),
    (#""key": ["/k", "/l"], "place": "/p", "fold": "presence", "roles": {"a": "enter"}"#, "one part"),
    (#""key": ["/k"], "fold": "presence", "roles": {"a": "enter"}"#, "\"place\" is missing"),
    (#""key": ["/k"], "place": "/p", "types": ["a"], "fold": "presence", "roles": {"a": "enter"}"#, "does not go with"),
    (#""key": ["/k"], "place": "/p", "version": "/v", "fold": "presence", "roles": {"a": "enter"}"#, "does not go with"),
    (#""key": ["/k"], "version": "/v", "fold": "acknowledgements", "roles": {"a": "ask"}"#, "two parts"),
    (#""key": ["/k", "/l"], "fold": "acknowledgements", "roles": {"a": "ask"}"#, "\"version\" is missing"),
    (#""key": ["/k"], "fold": "count", "roles": {"a": "ask"}"#, "\"presence\" and"),
    (#""key": ["/k"], "fold": "count", "per": "place""#, "\"presence\" and"),
    (#""key": ["/k"], "place": "/p", "per": "gate", "fold": "presence", "roles": {"a": "enter"}"#, "one of"),
  ])
  func `roles that do not fit are refused`(_ members: String, _ why: String) {
    let found = error { _ = try definition(members) }
    #expect(found?.code == .invalidArgument && found?.why.contains(why) ?? false, "\(String(describing: found))")
  }

  @Test func `only the types that are named`() throws {
    let fixture = try Fixture()
    for type in ["a", "b", "a", "c"] { try fixture.log.append(event("{}", type: type)) }
    let projection = try definition(#""key": ["@type"], "types": ["a", "c"], "fold": "count""#).projection
    let rows = projection.rows(of: try ProjectionRunner(projection, of: fixture.log).current().state)
    #expect(rows.map { "\($0.key)=\($0.value)" } == ["a=2", "c=1"])
  }

  @Test func `by a stated time the latest is not the last`() throws {
    let data = [
      #"{"t":"2026-01-02T00:00:00+02:00","v":"late"}"#, #"{"t":"2026-01-01T21:59:59Z","v":"early"}"#,
    ]
    #expect(try rows(#""key": ["@type"], "value": "/v", "time": "/t", "fold": "latest""#, data) == ["test=late"])
    #expect(try rows(#""key": ["@type"], "value": "/v", "fold": "latest""#, data) == ["test=early"])
  }

  /// What is in the data, and whether a sum over /v takes it (nil), or why not.
  @Test(
    arguments: [
      (#"{"v":1}"#, nil), (#"{"v":"1"}"#, "no number at /v"), (#"{"v":NaN}"#, "no JSON"), (#"{"v":null}"#, "no number at /v"),
      (#"{"w":1}"#, "no number at /v"), (#"{"v":1e999}"#, "number"), (#"{"v":[1]}"#, "no number at /v"), (#"{"v":true}"#, "number"),
      (#"{"v":1"#, "no JSON"), ("", "no JSON"), (#"{"v":1,"v":2}"#, nil), (String(repeating: "[", count: 600), "no JSON"),
      (#"{"v":123456789012345678901234567890.5}"#, nil),
    ] as [(String, String?)])
  func `a value that is no number is not taken for one`(_ data: String, _ why: String?) throws {
    let members = #""key": ["@type"], "value": "/v", "fold": "sum""#
    let found = error { _ = try rows(members, [#"{"v":1}"#, data]) }
    #expect(
      (found?.code == .unreadableEvent) == (why != nil) && (found?.why.contains(why ?? "") ?? (why == nil)), "\(String(describing: found))")
    #expect(try rows(members, [#"{"v":1}"#, data], skips: true).isEmpty == false)
  }

  @Test func `events without a value are left alone if the definition says so`() throws {
    let members = #""key": ["@type"], "value": "/v", "absent": "skip", "fold": "#
    let data = [#"{"v":1}"#, #"{"v":null}"#, "{}"]
    #expect(try rows(members + #""sum""#, data) == ["test=1"] && rows(members + #""latest""#, data) == ["test=1"])
    #expect(error { _ = try rows(members + #""sum""#, data + [#"{"v":"1"}"#]) }?.code == .unreadableEvent)
    // Likewise without a part of the key, without the time of the window, and without the time that the latest goes by.
    let whole = #"{"k":"a","v":1,"t":"2026-01-01T00:00:00Z"}"#
    let lacking = [whole, #"{"v":2,"t":"2026-01-01T00:00:00Z"}"#, #"{"k":"a","v":4}"#]
    let keyed = #""key": ["/k"], "value": "/v", "absent": "skip", "#
    let days = #""fold": "sum", "window": {"unit": "day", "zone": "UTC", "time": "/t"}"#
    #expect(try rows(keyed + days, lacking) == [#"["a","2026-01-01"]=1"#])
    #expect(try rows(keyed + #""fold": "latest", "time": "/t""#, lacking) == ["a=1"])
  }

  @Test func `a changed definition is another version, another order of members is not`() throws {
    let base = #""key": ["/k"], "value": "/v", "fold": "sum""#
    let version = try definition(base).projection.version
    #expect(try definition(#""fold": "sum", "value": "/v",  "key": ["/k"]"#).projection.version == version)
    for other in [
      #""key": ["/l"], "value": "/v", "fold": "sum""#, #""key": ["/k"], "value": "/w", "fold": "sum""#,
      #""key": ["/k"], "value": "/v", "fold": "average""#, base + #", "types": ["a"]"#, base + #", "absent": "skip""#,
      #""key": ["/k", "/v"], "value": "/v", "fold": "sum""#, #""key": ["/k"], "fold": "latest""#,
    ] {
      #expect(try definition(other).projection.version != version, "\(other)")
    }
  }

  @Test(arguments: [
    ("", 0, "JSON"), ("[]", 0, "no JSON object"), ("{}", 0, "\"name\" is missing"),
    (#"{"name": 1, "key": ["/k"], "fold": "count"}"#, 9, "string"),
    (#"{"name": "d", "key": ["/k"]}"#, 0, "\"fold\" is missing"), (#"{"name": "d", "fold": "count"}"#, 0, "\"key\" is missing"),
    (#"{"name": "d", "key": [], "fold": "count"}"#, 21, "no part"), (#"{"name": "d", "key": "/k", "fold": "count"}"#, 21, "array"),
    (#"{"name": "d", "key": ["k"], "fold": "count"}"#, 22, "JSON Pointer"),
    (#"{"name": "d", "key": [1], "fold": "count"}"#, 22, "only strings"),
    (#"{"name": "d", "key": ["/k"], "fold": "product"}"#, 37, "one of"),
    (#"{"name": "../d", "key": ["/k"], "fold": "count"}"#, 9, "no name"),
    (#"{"name": "d", "key": ["/k"], "fold": "sum"}"#, 0, "\"value\" is missing"),
    (#"{"name": "d", "key": ["/k"], "fold": "count", "value": "/v"}"#, 55, "another fold"),
    (#"{"name": "d", "key": ["/k"], "fold": "sum", "value": "/v", "time": "/t"}"#, 67, "\"latest\" only"),
    (#"{"name": "d", "key": ["/k"], "fold": "sum", "value": "/v", "digits": 2}"#, 69, "\"average\" only"),
    (#"{"name": "d", "key": ["/k"], "fold": "average", "value": "/v", "digits": 101}"#, 73, "whole number"),
    (#"{"name": "d", "key": ["/k"], "fold": "count", "name": "e"}"#, 46, "twice"),
    (#"{"name": "d", "key": ["/k"], "fold": "count", "windows": {}}"#, 46, "no member"),
    (#"{"name": "d", "key": ["/k"], "fold": "count", "absent": "maybe"}"#, 56, "one of"),
  ])
  func `what is wrong with a definition is said, and where`(_ text: String, _ position: UInt64, _ why: String) {
    let found = error { _ = try ProjectionDefinition(json: Array(text.utf8), file: "d.json") }
    #expect(found?.code == .invalidArgument && found?.file == "d.json" && found?.position == position, "\(String(describing: found))")
    #expect(found?.why.contains(why) ?? false, "\(String(describing: found))")
  }

  @Test func `a definition is cut off anywhere, or one byte of it changed, and nothing traps`() {
    let whole =
      Array(
        #"{"name": "d", "types": ["a\"", "b"], "key": ["/k", "@type"], "value": "/v", "fold": "average", "digits": 3, "window": "#.utf8)
      + Array(#"{"unit": "hour", "zone": "UTC", "time": "/t"}}"#.utf8)
    for count in 0..<whole.count { #expect(error { _ = try ProjectionDefinition(json: Array(whole[..<count])) } != nil) }
    for index in whole.indices {
      for byte in [0, 0x22, 0x2C, 0x5B, 0x5C, 0x5D, 0x7D, 0xFF] as [UInt8] {
        var changed = whole
        changed[index] = byte
        _ = error { _ = try ProjectionDefinition(json: changed) }
      }
    }
  }
}
