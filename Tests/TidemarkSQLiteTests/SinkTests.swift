import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections
import TidemarkSQLite

@Suite struct SinkTests {
  static let folds = ProjectionDefinition.Fold.allCases.filter { $0 != .presence && $0 != .acknowledgements }.map(\.rawValue)

  /// However the events come, however they are batched, whoever goes on, and whatever corrects what.
  @Test(arguments: folds) func `the rows are those of a fold anew at the applied offset`(_ fold: String) throws {
    for seed in UInt64(0)..<25 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      let definition = try define(fold, key: random.isOneIn(2) ? #"["/k"]"# : #"["/k", "/l"]"#)
      let change = { (options: inout SQLiteSinkOptions) in options.eventsPerTransaction = random.number(in: 1...9) }
      var sink = try fixture.sink(definition, change)
      for event in events(&random, count: 40, correctionOneIn: random.number(in: 2...6)) {
        try fixture.log.append(event)
        if random.isOneIn(3) {
          let position = try sink.catchUp()
          #expect(position == fixture.log.size)
          let (rows, expected) = (try fixture.rows(definition), try fixture.expected(definition, below: position))
          #expect(rows == expected, "seed \(seed), offset \(position)")
          // Spelled alike, too.
          #expect(rows.map { Array($0[0].utf8) } == expected.map { Array($0[0].utf8) }, "seed \(seed), offset \(position)")
          #expect(try fixture.number("SELECT applied_offset FROM tidemark_applied") == Int(position))
          #expect(try fixture.number("SELECT unreadable_count FROM tidemark_applied") == Int(sink.report.unreadableCount))
        }
        if random.isOneIn(6) {
          sink = try fixture.sink(definition, change)
          #expect(sink.whyAnew == nil)
        }
      }
    }
  }

  @Test func `a second sink goes on where the first stopped, and writes nothing that is there`() throws {
    let fixture = try Fixture()
    let definition = try define("sum")
    try fixture.log.append([event(#"{"k":"a","v":1}"#), event(#"{"k":"b","v":2}"#)])
    try fixture.sink(definition).catchUp()
    let generation = try fixture.number("SELECT generation FROM tidemark_applied")
    let sink = try fixture.sink(definition)
    #expect(sink.position == fixture.log.size)
    try sink.catchUp()
    #expect(try fixture.number("SELECT generation FROM tidemark_applied") == generation)
    try fixture.log.append(event(#"{"k":"b","v":0.5}"#))
    // What nobody touched stays as it is, so this shows whether it is written again.
    try Connection(fixture.file).execute("UPDATE d SET value = '7' WHERE key = 'a'")
    try sink.catchUp()
    #expect(try fixture.rows(definition) == [["a", "7", "1"], ["b", "2.5", "2"]])
  }

  @Test func `another version, another log and a row that is missing make the table anew`() throws {
    let fixture = try Fixture()
    for number in 0..<6 { try fixture.log.append(event(#"{"k":"\#(number)","v":1,"w":2}"#)) }
    let sum = try define("sum")
    try fixture.sink(sum).catchUp()
    try Connection(fixture.file).execute("CREATE TABLE mine(x); INSERT INTO mine VALUES(1)")
    for definition in [try define("maximum"), try define("sum", rest: #""types": ["test"], "#), try define("sum", key: #"["/k", "/w"]"#)] {
      let sink = try fixture.sink(definition)
      #expect(sink.whyAnew != nil || sink.position == 0)
      try sink.catchUp()
      #expect(try fixture.rows(definition) == fixture.expected(definition, below: fixture.log.size))
      #expect(try fixture.number("SELECT count(*) FROM tidemark_applied") == 1)
    }
    try fixture.sink(sum).catchUp()
    try Connection(fixture.file).execute("DELETE FROM d WHERE key = '3'")
    try fixture.sink(sum).catchUp()
    #expect(try fixture.rows(sum) == fixture.expected(sum, below: fixture.log.size))
    try Connection(fixture.file).execute("DROP TABLE d")
    try fixture.sink(sum).catchUp()
    #expect(try fixture.rows(sum).count == 6)

    let other = try Fixture(seed: 9)
    for _ in 0..<9 { try other.log.append(event(#"{"k":"other","v":1}"#)) }
    let sink = try SQLiteSink(sum, of: other.log, file: fixture.file)
    #expect(sink.whyAnew?.contains("another log") ?? false)
    try sink.catchUp()
    #expect(try fixture.rows(sum) == [["other", "9", "9"]])
    #expect(try fixture.number("SELECT x FROM mine") == 1)
  }

  @Test func `other digits of an average write all rows again, and fold nothing`() throws {
    let fixture = try Fixture()
    try fixture.log.append([event(#"{"k":"a","v":1}"#), event(#"{"k":"a","v":1}"#), event(#"{"k":"a","v":0}"#)])
    try fixture.sink(define("average", rest: #""digits": 2, "#)).catchUp()
    #expect(try fixture.rows(define("average")) == [["a", "0.67", "3"]])
    let sink = try fixture.sink(define("average", rest: #""digits": 4, "#))
    #expect(sink.position == fixture.log.size)
    try sink.catchUp()
    #expect(try fixture.rows(define("average")) == [["a", "0.6667", "3"]])
  }

  @Test func `the parts of a key are columns`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event(#"{"k":"x\"y","l":7}"#))
    try fixture.sink(define("count", key: #"["/k", "/l", "@type"]"#)).catchUp()
    #expect(try Connection(fixture.file).rows("SELECT key_1, key_2, key_3, value FROM d") == [["x\"y", "7", "test", "1"]])
  }

  @Test func `several definitions share a database`() throws {
    let fixture = try Fixture()
    try fixture.log.append(event(#"{"k":"a","v":1}"#))
    let definitions = try SinkTests.folds.map { try define($0, name: "by-\($0).1") }
    for definition in definitions { try fixture.sink(definition).catchUp() }
    for definition in definitions {
      #expect(try fixture.rows(definition) == fixture.expected(definition, below: fixture.log.size), "\(definition.name)")
    }
    #expect(try fixture.number("SELECT count(*) FROM tidemark_applied") == definitions.count)
  }

  @Test func `values that are no text are kept as bytes`() throws {
    let fixture = try Fixture()
    let json = #"{"name": "d", "key": ["@type"], "fold": "latest"}"#
    let definition = try ProjectionDefinition(json: Array(json.utf8))
    try fixture.log.append(NewEvent(type: "test", data: [0xFF, 0, 0xFE]))
    try fixture.sink(definition).catchUp()
    #expect(try Connection(fixture.file).rows("SELECT typeof(value), hex(value) FROM d") == [["blob", "FF00FE"]])
    try fixture.log.append(NewEvent(type: "test", data: Array("text".utf8)))
    try fixture.sink(definition).catchUp()
    #expect(try Connection(fixture.file).rows("SELECT typeof(value), value FROM d") == [["text", "text"]])
  }

  @Test func `what can't be read follows the policy and is counted, and what comes before it is applied`() throws {
    let fixture = try Fixture()
    let definition = try define("sum")
    try fixture.log.append([event(#"{"k":"a","v":1}"#), event(#"{"k":"a","v":"?"}"#, 2), event(#"{"k":"a","v":4}"#)])
    let strict = try fixture.sink(definition) { $0.onUnreadable = .fail }
    for _ in 0..<2 { #expect(error { try strict.catchUp() }?.code == .unreadableEvent) }
    #expect(try fixture.rows(definition) == [["a", "1", "1"]])
    #expect(try fixture.number("SELECT applied_offset FROM tidemark_applied") == 2)
    let lenient = try fixture.sink(definition) { $0.onUnreadable = .skip }
    try lenient.catchUp()
    #expect(try fixture.rows(definition) == [["a", "5", "2"]])
    #expect(try fixture.number("SELECT unreadable_count FROM tidemark_applied") == 1)
    // Rows that lack an event do not serve who wants all.
    let again = try fixture.sink(definition) { $0.onUnreadable = .fail }
    #expect(again.position == 0 && again.whyAnew != nil)
    try fixture.log.append(event(#"{"k":"a","v":2}"#, superseding: 2))
    try again.catchUp()
    #expect(try fixture.rows(definition) == [["a", "7", "3"]])
  }

  @Test func `a reader applies what is durable, a writer makes it so`() throws {
    let fixture = try Fixture(durability: .written)
    let definition = try define("count")
    try fixture.log.append([event(#"{"k":"a"}"#), event(#"{"k":"a"}"#)])
    try fixture.log.sync()
    let synced = fixture.log.size
    try fixture.log.append(event(#"{"k":"a"}"#))
    let reader = try fixture.reader()
    let sink = try SQLiteSink(definition, of: reader, file: fixture.file)
    #expect(try sink.catchUp() == synced && reader.size == synced + 1)
    #expect(try fixture.rows(definition) == [["a", "2", "2"]])
    // The same by the writer: then no power cut takes it back.
    let own = try fixture.sink(definition)
    #expect(try own.catchUp() == synced + 1)
    try fixture.cutPower()
    let after = try fixture.sink(definition)
    #expect(after.whyAnew == nil && after.position == synced + 1)
    try after.catchUp()
    #expect(try fixture.rows(definition) == fixture.expected(definition, below: fixture.log.size))
  }

  @Test func `a trimmed log needs rows, or a snapshot, that reach to its beginning`() throws {
    let fixture = try Fixture()
    let definition = try define("count")
    func append(_ count: Int) throws { for _ in 0..<count { try fixture.log.append(event(#"{"k":"a"}"#)) } }
    try append(300)
    try fixture.sink(definition).catchUp()
    try fixture.log.roll()
    try append(3)
    let first = try fixture.log.trim(below: fixture.log.size)
    #expect(first > 0)
    let sink = try fixture.sink(definition)
    try sink.catchUp()
    #expect(sink.whyAnew == nil)
    #expect(try fixture.rows(definition) == [["a", "303", "303"]])
    let refused = error { _ = try SQLiteSink(definition, of: fixture.log, file: fixture.folder + "/other.sqlite") }
    #expect(refused?.code == .historyTrimmed)
    #expect(error { _ = try fixture.sink(define("sum")) }?.code == .historyTrimmed)
    // Rows that do not serve are left as they are, for who can use them.
    #expect(try fixture.rows(definition) == [["a", "303", "303"]])
  }

  @Test func `a fold that is stopped keeps what was applied`() throws {
    let fixture = try Fixture()
    let definition = try define("count")
    try fixture.log.append((0..<3000).map { event(#"{"k":"\#($0 % 10)"}"#) })
    let sink = try fixture.sink(definition) { $0.eventsPerTransaction = 2_000 }
    // Progress is told after each 1,024 events.
    #expect(error { try sink.catchUp { _ in false } }?.code == .cancelled)
    let position = try fixture.number("SELECT applied_offset FROM tidemark_applied")
    #expect(position == 1025)
    #expect(try fixture.rows(definition) == fixture.expected(definition, below: Offset(position)))
    try sink.catchUp()
    #expect(try fixture.rows(definition) == fixture.expected(definition, below: fixture.log.size))
  }
}
