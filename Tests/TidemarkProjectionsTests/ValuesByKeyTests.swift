import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct ValuesByKeyTests {
  /// Empty, long, beginning alike, and two that only Unicode calls equal.
  static let keys = ["", "a", "ab", "b", "\0", "caf\u{E9}", "cafe\u{301}", "\u{1F6EB}", String(repeating: "x", count: 70_000)]

  @Test func `it holds what a dictionary of bytes holds, and so do its copies`() {
    for seed in UInt64(0)..<30 {
      var random = SeededRandom(seed: seed)
      var values = ValuesByKey<Int>()
      var expected: [[UInt8]: Int] = [:]
      var copies: [(values: ValuesByKey<Int>, expected: [[UInt8]: Int])] = []
      let keyCount = random.number(in: 1...200)
      for _ in 0..<500 {
        let key = random.isOneIn(3) ? Self.keys[random.number(below: Self.keys.count)] : "key \(random.number(below: keyCount))"
        let bytes = Array(key.utf8)
        switch random.number(below: 6) {
        case 0: (values[key], expected[bytes]) = (nil, nil)
        case 1:
          let value = random.number(below: 1000)
          (values[key], expected[bytes]) = (value, value)
        case 2 where random.isOneIn(10): copies.append((values, expected))
        default:
          values[key, default: 7] += 1
          expected[bytes, default: 7] += 1
        }
        #expect(values[key] == expected[bytes] && values[key, default: -1] == expected[bytes, default: -1], "seed \(seed)")
      }
      copies.append((values, expected))
      for (values, expected) in copies {
        var found: [[UInt8]: Int] = [:]
        for (key, value) in values { #expect(found.updateValue(value, forKey: Array(key.utf8)) == nil, "seed \(seed)") }
        #expect(found == expected && values.count == expected.count && values.isEmpty == expected.isEmpty, "seed \(seed)")
        let order = expected.keys.sorted { $0.lexicographicallyPrecedes($1) }
        #expect(values.sortedKeys.map { Array($0.utf8) } == order, "seed \(seed)")
        // The same, made in another order.
        var again = ValuesByKey<Int>()
        for key in values.sortedKeys.reversed() { again[key] = values[key] }
        #expect(again == values, "seed \(seed)")
        again["another"] = 1
        #expect(again != values, "seed \(seed)")
      }
    }
  }

  /// Of so many, some have the same 32 bits of hash: all but certainly at least one pair.
  @Test func `keys that are hashed alike stay apart`() {
    var values = ValuesByKey<Int>()
    for number in 0..<400_000 { values["\(number)"] = number }
    #expect(values.count == 400_000)
    #expect((0..<400_000).allSatisfy { (number: Int) in values["\(number)"] == number } && values["400000"] == nil)
  }

  @Test func `keys come in the order in which they came, also where others went`() {
    var values: ValuesByKey = ["a": 1, "b": 2, "c": 3]
    values["a"] = nil
    values["d"] = 4
    #expect("\(values)" == #"["b": 2, "c": 3, "d": 4]"# && "\(ValuesByKey<Int>())" == "[:]")
    #expect(values.map(\.key) == ["b", "c", "d"] && values.count == 3)
    // Many come and go.
    for number in 0..<10_000 {
      values["\(number)"] = number
      values["\(number)"] = nil
    }
    #expect(values.map(\.key) == ["b", "c", "d"] && values == ["d": 4, "c": 3, "b": 2])
  }

  @Test func `a key is an attribute as its bytes stand, or a text`() throws {
    let fixture = try Fixture()
    for (subject, actor) in [("caf\u{E9}", "kim"), ("cafe\u{301}", nil), (nil, "kim")] {
      try fixture.log.append(NewEvent(type: "scan", subject: subject, actor: actor))
    }
    func counts(_ name: String, _ key: EventKey) throws -> ValuesByKey<UInt64> {
      let runner = try ProjectionRunner(CountByKey(name) { _ in key }, of: fixture.log)
      let projected = try runner.current()
      return projected.state
    }
    #expect(try counts("type", .type) == ["scan": 3] && counts("actor", .actor) == ["kim": 2])
    #expect(try counts("text", "") == ["": 3] && counts("other", .text("x")) == ["x": 3])
    let subjects = try counts("subject", .subject)
    #expect(subjects == ["caf\u{E9}": 1, "cafe\u{301}": 1])
    let count = CountByKey("count") { _ in .subject }
    #expect(try count.decode(count.encode(subjects)) == subjects)
  }

  @Test func `two spellings are two rows, and a person who is spelled otherwise is another`() throws {
    let fixture = try Fixture()
    let definition = try ProjectionDefinition(json: Array(#"{"name": "d", "key": ["@subject"], "fold": "count"}"#.utf8))
    let runner = try ProjectionRunner(definition.projection, of: fixture.log)
    try fixture.log.append(event("", subject: "caf\u{E9}"))
    let before = try runner.current().state
    try fixture.log.append(event("", subject: "cafe\u{301}"))
    let after = try runner.current().state
    #expect(definition.projection.rows(of: after).map { Array($0.key.utf8) } == ["cafe\u{301}", "caf\u{E9}"].map { Array($0.utf8) })
    let changed = definition.projection.differences(from: before, to: after)
    #expect(changed.map { Array($0.key.utf8) } == [Array("cafe\u{301}".utf8)] && changed.first?.before == nil)

    let presence = Presence("inside") { .signedIn(person: $0.subject ?? "", place: "a") }
    #expect(try ProjectionRunner(presence, of: fixture.log).current().state.totals == ["a": 2])
  }
}
