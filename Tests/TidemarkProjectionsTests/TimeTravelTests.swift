import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct TimeTravelTests {
  private var options: ProjectionOptions {
    var options = ProjectionOptions()
    options.onUnreadable = .park
    options.finestSpacing = 4
    return options
  }

  @Test func `as of an offset is refolding what lies below it`() throws {
    for seed in UInt64(0)..<12 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      for event in tangle(&random, count: 80, oneIn: 5) {
        try fixture.log.append(event)
        if random.isOneIn(4) { try runner.catchUp() }
        if random.isOneIn(9) { try runner.save() }
      }
      let now = try runner.current()
      for size in 0...fixture.log.size {
        let then = try runner.state(asOf: size)
        #expect(try then.state == Reference.trail(fixture.log, below: size), "seed \(seed), size \(size)")
        #expect(then.position == size && then.report.discardedSnapshots.isEmpty)
      }
      #expect(try runner.state() == now.state && runner.position == now.position)
      #expect(error { _ = try runner.state(asOf: fixture.log.size + 1) }?.code == .offsetOutOfRange)
    }
  }

  @Test func `as of a time is folding all events whose time is not later, wherever they lie`() throws {
    for seed in UInt64(0)..<12 {
      var random = SeededRandom(seed: seed)
      let fixture = try Fixture(seed: seed + 1)
      let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      var times: [Int64] = []
      for var event in tangle(&random, count: 60, oneIn: 5) {
        // Clocks rise at first and then jump.
        times.append(times.count < 30 ? Int64(times.count) : Int64(random.number(below: 60)))
        event.time = Timestamp(nanoseconds: times.last ?? 0)
        try fixture.log.append(event)
        if random.isOneIn(5) { try runner.catchUp() }
        if random.isOneIn(5) { try runner.save() }
        if random.isOneIn(20) { try fixture.log.seal() }
      }
      for time in Int64(-1)...60 {
        let latest = Timestamp(nanoseconds: time)
        let expected = try Reference.trail(fixture.log, below: fixture.log.size) { $0.time <= latest }
        #expect(try runner.state(asOf: latest).state == expected, "seed \(seed), time \(time)")
      }
    }
  }

  @Test func `an amendment made later does not count then`() throws {
    let fixture = try Fixture()
    var (original, amendment) = (event("a", 1), event("A", 2, superseding: 1))
    original.time = Timestamp(nanoseconds: 100)
    amendment.time = Timestamp(nanoseconds: 200)
    try fixture.log.append([original, amendment])
    let runner = try ProjectionRunner(Trail(), of: fixture.log)
    #expect(
      try runner.state(asOf: Timestamp(nanoseconds: 199)).state == ["1:a"]
        && runner.state(asOf: Timestamp(nanoseconds: 200)).state == ["1:A"])
    #expect(try runner.state(asOf: 2).state == ["1:a"] && runner.state(asOf: 3).state == ["1:A"])
  }

  /// Events folded for a question, as the progress tells.
  private func folded(_ body: (@escaping (FoldProgress) -> Bool) throws -> Void) rethrows -> Offset {
    var first: Offset?
    var last: Offset = 0
    try body {
      first = first ?? $0.position - 1024
      last = $0.end
      return true
    }
    return first.map { last - $0 } ?? 0
  }

  @Test func `snapshots lie so that no question folds more than a 32nd of the log`() throws {
    let fixture = try Fixture()
    var options = options
    options.finestSpacing = 64
    let runner = try ProjectionRunner(Total(), of: fixture.log, options: options)
    for _ in 0..<20 {
      try fixture.log.append((0..<2000).map { _ in event("1") })
      try runner.catchUp()
    }
    try runner.save()
    let positions = fixture.disk.image.files(under: "/log/projections/total").compactMap { Offset($0.suffix(29).prefix(20)) }.sorted()
    let end = fixture.log.size
    let even = positions.filter { $0 % 1024 == 0 }
    #expect(even.count >= 32 && even == (1...end / 1024).map { $0 * 1024 })
    #expect(positions.count < even.count + 24 && positions.last == end)
    for distance in [UInt64(64), 128, 256, 512] {
      #expect(positions.contains { (end - $0) / distance == 1 }, "distance \(distance)")
    }
    for size in stride(from: UInt64(0), through: end, by: 997) {
      let most = try folded { progress in _ = try runner.state(asOf: size, progress: progress) }
      #expect(most <= end / 32, "size \(size)")
      #expect(try runner.state(asOf: size).state == Int(max(1, size)) - 1)
    }
  }

  @Test func `doubling distances stay while a log grows little by little`() throws {
    let fixture = try Fixture()
    var options = options
    options.finestSpacing = 16
    for _ in 0..<10 { try fixture.log.append((0..<2000).map { _ in event("1") }) }
    let runner = try ProjectionRunner(Total(), of: fixture.log, options: options)
    try runner.catchUp()
    for round in 0..<120 {
      try fixture.log.append((0..<16).map { _ in event("1") })
      try runner.catchUp()
      try runner.save()
      guard round > 40 else { continue }
      let end = fixture.log.size
      let distances = fixture.disk.image.files(under: "/log/projections/total").compactMap { Offset($0.suffix(29).prefix(20)) }.map {
        end - $0
      }
      for distance in [UInt64(16), 32, 64, 128, 256] {
        #expect(distances.contains { $0 / distance == 1 }, "round \(round), distance \(distance)")
      }
    }
  }

  @Test func `one long fold leaves the same places to go on from`() throws {
    let fixture = try Fixture()
    var options = options
    options.finestSpacing = 64
    for _ in 0..<20 { try fixture.log.append((0..<2000).map { _ in event("1") }) }
    let runner = try ProjectionRunner(Total(), of: fixture.log, options: options)
    try runner.catchUp()
    let positions = fixture.disk.image.files(under: "/log/projections/total").compactMap { Offset($0.suffix(29).prefix(20)) }.sorted()
    let end = fixture.log.size
    #expect((1...end / 1024).allSatisfy { positions.contains($0 * 1024) })
    for distance in [UInt64(64), 128, 256, 512] { #expect(positions.contains(end - distance), "distance \(distance)") }
  }

  @Test func `corrections of what is near leave these places, too, where everything is folded again`() throws {
    let fixture = try Fixture()
    var options = options
    options.finestSpacing = 16
    let count = 2000
    for start in stride(from: 0, to: count, by: 100) {
      try fixture.log.append(
        (start..<start + 100).map { event("\($0)", $0, superseding: $0 % 10 == 9 ? $0 - $0 % 7 - 1 : nil) })
    }
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    #expect(try runner.state() == Reference.trail(fixture.log, below: fixture.log.size))
    let positions = Set(fixture.disk.image.files(under: "/log/projections/trail").compactMap { Offset($0.suffix(29).prefix(20)) })
    #expect((1...fixture.log.size / 32).allSatisfy { positions.contains($0 * 32) })
    for size in stride(from: UInt64(0), through: fixture.log.size, by: 173) {
      #expect(try runner.state(asOf: size).state == Reference.trail(fixture.log, below: size), "size \(size)")
    }
    // One that reaches far back is carried out once, at the end.
    try fixture.log.append([event("far", count, superseding: 0)] + (1...500).map { event("\($0)", count + $0) })
    #expect(try runner.current().state == Reference.trail(fixture.log, below: fixture.log.size))
  }

  @Test func `damaged snapshots are passed over on the way back`() throws {
    let fixture = try Fixture()
    for number in 0..<60 { try fixture.log.append(event("\(number)")) }
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try runner.catchUp()
    for file in fixture.disk.image.files(under: "/log/projections") where file.contains("32.") || file.contains("28.") {
      try fixture.disk.image.flipBit(700, of: file)
    }
    let then = try runner.state(asOf: 33)
    #expect(then.state.count == 32 && then.report.discardedSnapshots.count == 2)
  }

  @Test func `on a trimmed log it goes back as far as snapshots reach`() throws {
    let fixture = try Fixture()
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    for segment in 0..<4 {
      for number in 0..<10 { try fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
      try runner.catchUp()
    }
    let trail = try runner.state()
    try fixture.log.trim(below: 25)
    #expect(fixture.log.first == 21)
    #expect(error { _ = try runner.state(asOf: 20) }?.code == .historyTrimmed)
    #expect(error { _ = try runner.state(asOf: Timestamp(nanoseconds: 0)) }?.code == .historyTrimmed)
    #expect(try runner.state(asOf: 30).state == Array(trail.prefix(29)))
  }

  @Test func `a question can be cancelled`() throws {
    let fixture = try Fixture()
    for _ in 0..<3 { try fixture.log.append((0..<1000).map { _ in event("1") }) }
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    #expect(error { _ = try runner.state(asOf: 3000) { _ in false } }?.code == .cancelled)
    #expect(error { _ = try runner.state(asOf: Timestamp(nanoseconds: .max)) { _ in false } }?.code == .cancelled)
  }
}
