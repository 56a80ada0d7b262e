import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct ValueTests {
  /// Subject is the key, data the number; no subject: of no concern.
  static let number: Extractor<ExactDecimal> = { event in
    guard let subject = event.subject else { return nil }
    return Keyed(.text(subject), try ExactDecimal(event.data))
  }

  private func reading(_ text: String, _ number: Int? = nil, of key: String? = "a", superseding: Int? = nil) -> NewEvent {
    event(text, number, superseding: superseding, subject: key)
  }

  private func state<P: Projection>(_ projection: P, _ events: [NewEvent]) throws -> P.State {
    let fixture = try Fixture()
    for event in events { try fixture.log.append(event) }
    return try ProjectionRunner(projection, of: fixture.log).current().state
  }

  @Test func `counts, and takes corrections out`() throws {
    let count = CountByKey("count") { _ in .subject }
    #expect(try state(count, [reading("1", 1), reading("2"), reading("3", of: "b"), reading("4", of: nil)]) == ["a": 2, "b": 1])
    #expect(try state(count, [reading("1", 1), reading("", 2, of: nil, superseding: 1)]) == [:])
  }

  @Test func `sums exactly, and averages`() throws {
    let state = try state(
      SumByKey("sum", extract: Self.number), [reading("0.1", 1), reading("0.2"), reading("1e3", of: "b"), reading("0.3", superseding: 1)])
    #expect(state["a"] == SumByKey.Total(sum: try ExactDecimal("0.5"), count: 2) && state["b"]?.sum == ExactDecimal(1000))
    #expect(state["a"]?.average(fractionDigits: 2).description == "0.25" && state["a"]?.average(fractionDigits: 1).description == "0.2")
  }

  @Test func `the extremes are those of what counts`() throws {
    let extremes = ExtremesByKey("extremes", extract: Self.number)
    let events = [reading("5", 1), reading("-3", 2), reading("7", 3), reading("7.0", 4)]
    var found = try state(extremes, events)["a"]
    #expect(found?.minimum == ExactDecimal(-3) && found?.maximum == ExactDecimal(7) && found?.maximumCount == 2)
    found = try state(extremes, events + [reading("4", 5, superseding: 2), reading("6", 6, superseding: 4)])["a"]
    #expect(found?.minimum == ExactDecimal(4) && found?.maximum == ExactDecimal(7) && found?.maximumCount == 1)
  }

  @Test func `the latest by offset is not an old one that was amended`() throws {
    let latest = LatestByKey("latest") { event in Keyed(.subject, event.data.array()) }
    let found = try state(latest, [reading("1", 1), reading("2", 2), reading("9", 3, superseding: 1)])["a"]
    #expect(found?.value == Array("2".utf8) && found?.offset == 2)
    let amended = try state(latest, [reading("1", 1), reading("2", 2), reading("9", 3, superseding: 2)])["a"]
    #expect(amended?.value == Array("9".utf8) && amended?.offset == 3 && amended?.place.offset == 2)
    let moved = try state(latest, [reading("1", 1), reading("2", 2), reading("9", 3, of: "b", superseding: 2)])
    #expect(moved["a"]?.value == Array("1".utf8) && moved["b"]?.value == Array("9".utf8))
  }

  @Test func `the latest by time goes by the time stated, and of equal times by the place`() throws {
    let latest = LatestByKey("latest", order: .time) { event in
      guard let time = Int64(event.text) else { throw UnreadableEvent("no time") }
      return Keyed(.subject, event.data.array(), time: Timestamp(nanoseconds: time))
    }
    let events = [reading("5", 1), reading("7", 2), reading("6", 3), reading("7", 4), reading("3", 5)]
    #expect(try state(latest, events)["a"]?.offset == 4)
    #expect(try state(latest, events + [reading("1", 6, superseding: 4)])["a"]?.offset == 2)
    #expect(try state(latest, events + [reading("6", 6, superseding: 4), reading("1", 7, superseding: 2)])["a"]?.offset == 6)
    // Without a stated time that of the place counts, also for an amendment.
    let plain = LatestByKey("plain", order: .time) { event in Keyed(.subject, event.data.array()) }
    #expect(try state(plain, [reading("1", 1), reading("2", 2), reading("9", 3, superseding: 1)])["a"]?.offset == 2)
  }

  /// Whether a correction was carried out by the state alone, or by folding again, must not show.
  @Test func `values are those of folding what counts, however corrections come in`() throws {
    for seed in UInt64(0)..<60 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      var options = ProjectionOptions()
      options.onUnreadable = .skip
      options.finestSpacing = 4
      var elsewhere = options
      elsewhere.directory = "/once"
      let key: @Sendable (EventView) -> EventKey = { event in "key \(event.data.byteCount)" }
      let extract: Extractor<ExactDecimal> = { Keyed(key($0), try ExactDecimal($0.data)) }
      let time: Extractor<[UInt8]> = { Keyed(key($0), $0.data.array(), time: Timestamp(nanoseconds: Int64($0.data.u8(0) & 3))) }
      let (count, sum, extremes) = (
        CountByKey("count", key: key), SumByKey("sum", extract: extract), ExtremesByKey("extremes", extract: extract)
      )
      let (byOffset, byTime) = (LatestByKey("by-offset", extract: time), LatestByKey("by-time", order: .time, extract: time))
      let live = (
        try ProjectionRunner(count, of: fixture.log, options: options), try ProjectionRunner(sum, of: fixture.log, options: options),
        try ProjectionRunner(extremes, of: fixture.log, options: options),
        try ProjectionRunner(byOffset, of: fixture.log, options: options),
        try ProjectionRunner(byTime, of: fixture.log, options: options)
      )
      for event in tangle(&random, count: 24, oneIn: random.number(in: 1...4)) {
        try fixture.log.append(event)
        if random.isOneIn(3) { continue }
        _ = (try live.0.catchUp(), try live.1.catchUp(), try live.2.catchUp(), try live.3.catchUp(), try live.4.catchUp())
        if random.isOneIn(4) { _ = (try live.2.save(), try live.3.save(), try live.4.save()) }
      }
      func once<P: Projection>(_ projection: P) throws -> P.State {
        try ProjectionRunner(Refolded(projection: projection), of: fixture.log, options: elsewhere).current().state
      }
      #expect(try live.0.current().state == once(count), "seed \(seed)")
      #expect(try live.1.current().state == once(sum), "seed \(seed)")
      #expect(try live.2.current().state == once(extremes), "seed \(seed)")
      #expect(try live.3.current().state == once(byOffset), "seed \(seed)")
      #expect(try live.4.current().state == once(byTime), "seed \(seed)")
      #expect(
        try sum.decode(sum.encode(live.1.state())) == live.1.state() && extremes.decode(extremes.encode(live.2.state())) == live.2.state())
      #expect(
        try byTime.decode(byTime.encode(live.4.state())) == live.4.state() && count.decode(count.encode(live.0.state())) == live.0.state())
    }
  }

  @Test func `bytes that are no state are refused`() throws {
    let sum = SumByKey("sum", extract: Self.number)
    var random = SeededRandom(seed: 4)
    let whole = sum.encode(["a": SumByKey.Total(sum: try ExactDecimal("1.5"), count: 2), "bc": SumByKey.Total(sum: .zero, count: 1)])
    for length in 0..<whole.count { #expect(throws: UnreadableEvent.self) { try sum.decode(Array(whole[..<length])) } }
    // A count from which one more would overflow.
    let count = CountByKey("count") { _ in "a" }
    var full = count.encode(["a": 1])
    full.store(UInt64.max, at: full.count - 8)
    #expect(throws: UnreadableEvent.self) { try count.decode(full) }
    for _ in 0..<5_000 {
      var bytes = whole
      bytes[random.number(below: bytes.count)] = UInt8(truncatingIfNeeded: random.next())
      _ = try? sum.decode(bytes)
      _ = try? LatestByKey("latest") { _ in nil }.decode(bytes)
      _ = try? ExtremesByKey("extremes", extract: Self.number).decode(bytes)
    }
  }
}

/// The same without an answer of its own to corrections: everything is folded again, in the order of places.
struct Refolded<Base: Projection>: Projection {
  let projection: Base
  var name: String { projection.name }
  var version: UInt32 { projection.version }
  var initial: Base.State { projection.initial }
  func apply(_ event: EventView, at place: Place, to state: inout Base.State) throws { try projection.apply(event, at: place, to: &state) }
  func encode(_ state: Base.State) -> [UInt8] { projection.encode(state) }
  func decode(_ bytes: [UInt8]) throws -> Base.State { try projection.decode(bytes) }
}
