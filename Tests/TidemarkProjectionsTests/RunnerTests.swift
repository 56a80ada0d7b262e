import TestSupport
import Testing
import TidemarkLog
import TidemarkProjections

@Suite struct RunnerTests {
  @Test func `batches split anyhow give the same value`() throws {
    for seed in UInt64(0)..<40 {
      var random = SeededRandom(seed: seed)
      let events = tangle(&random, count: 40)
      let fixture = try Fixture()
      var options = ProjectionOptions()
      options.onUnreadable = .skip
      options.finestSpacing = 8
      let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      var at = 0
      while at < events.count {
        let count = min(random.number(in: 1...9), events.count - at)
        try fixture.log.append(Array(events[at..<at + count]))
        at += count
        if random.isOneIn(2) { try runner.catchUp() }
        if random.isOneIn(5) { try fixture.log.seal() }
      }
      try runner.catchUp()
      #expect(try runner.state() == Reference.trail(fixture.log, below: fixture.log.size), "seed \(seed)")
    }
  }

  @Test func `on a trimmed log it begins at a snapshot or not at all`() throws {
    let fixture = try Fixture()
    for segment in 0..<4 {
      for number in 0..<10 { try fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
    }
    let runner = try ProjectionRunner(Trail(), of: fixture.log)
    try runner.catchUp()
    try runner.save()
    let behind = try ProjectionRunner(Trail(name: "behind"), of: fixture.log)
    let first = try fixture.log.trim(below: 25)
    #expect(first == 21)

    let refused = error { _ = try ProjectionRunner(Trail(name: "new"), of: fixture.log) }
    #expect(refused?.code == .historyTrimmed && refused?.offsets == 0..<21)
    let late = error { _ = try behind.catchUp() }
    #expect(late?.code == .historyTrimmed && late?.offsets == 0..<21)
    #expect(error { _ = try ProjectionRunner(Trail(version: 2), of: fixture.log) }?.code == .historyTrimmed)

    // What was saved goes on.
    try fixture.log.append(event("more"))
    let again = try ProjectionRunner(Trail(), of: fixture.log)
    try again.catchUp()
    #expect(try again.state().count == 41 && again.state().first == "1:0-0")
  }

  /// Four sealed segments of ten events behind the session's record.
  private func segments() throws -> Fixture {
    let fixture = try Fixture()
    for segment in 0..<4 {
      for number in 0..<10 { try fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
    }
    return fixture
  }

  @Test func `on a trimmed log it begins again if that is asked for, and says so from then on`() throws {
    let fixture = try segments()
    try fixture.log.trim(below: 25)
    var options = ProjectionOptions()
    options.restartsWhereTrimmed = true
    let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    #expect(runner.position == 21)
    let partial = try runner.current()
    #expect(partial.report.missingBelow == 21 && partial.state.first == "21:2-0" && partial.state.count == 20)
    #expect(try runner.state(asOf: 30).report.missingBelow == 21)
    #expect(error { _ = try runner.state(asOf: 20) }?.code == .historyTrimmed)
    try runner.save()
    try fixture.log.append(event("more"))
    // Who does not ask for it goes on with what was saved, and learns what it lacks.
    let again = try ProjectionRunner(Trail(), of: fixture.log).current()
    #expect(again.report.missingBelow == 21 && again.state.count == 21)
    #expect(try fixture.log.savedSnapshots().map(\.missingBelow) == [21])
    // Where nothing was trimmed there is nothing to begin again.
    let whole = try ProjectionRunner(Trail(), of: try segments().log, options: options).current()
    #expect(whole.report.missingBelow == 0 && whole.state.count == 40)
  }

  @Test func `trimming leaves two snapshots of each projection, or is refused`() throws {
    let fixture = try segments()
    let log = fixture.log
    var options = ProjectionOptions()
    options.finestSpacing = 1
    let runner = try ProjectionRunner(Trail(), of: log, options: options)
    try runner.catchUp()
    try runner.save()
    let positions = try log.savedSnapshots().map(\.position)
    #expect(positions.last == log.size && positions.count > 3)
    // A second projection that was saved once keeps everything.
    let other = try ProjectionRunner(Trail(name: "other"), of: log)
    try other.catchUp()
    try other.save()
    let refused = error { try log.trimKeepingProjections(below: 35) }
    #expect(refused?.code == .projectionsNeedHistory && refused?.what.contains("other") ?? false && log.first == 0)
    // Saved again later, it has two; the trim stops at the first of them.
    try log.append(event("more"))
    try log.seal()
    try other.catchUp()
    try other.save()
    try runner.catchUp()
    try runner.save()
    #expect(try log.trimKeepingProjections(below: log.size) == 41)
    for name in ["trail", "other"] {
      let kept = try log.savedSnapshots().filter { $0.name == name && $0.trouble == nil }
      #expect(kept.count >= 2, "\(name)")
    }
    // One that is damaged does not count.
    let last = try #require(try log.savedSnapshots().last { $0.name == "other" }?.path)
    try fixture.disk.image.flipBit(400, of: last)
    #expect(try log.savedSnapshots().count { $0.name == "other" && $0.trouble != nil } >= 1)
    #expect(error { try log.trimKeepingProjections(below: log.size) }?.code == .projectionsNeedHistory)
    // Each still goes on.
    try log.append(event("more"))
    for name in ["trail", "other"] { #expect(try ProjectionRunner(Trail(name: name), of: log).current().state.count == 42) }
  }

  /// On the way of a long fold older snapshots go; where history was trimmed, a power cut must not take the newer ones.
  @Test func `on a trimmed log a power cut leaves a snapshot`() throws {
    var options = ProjectionOptions()
    options.finestSpacing = 2
    for seed in UInt64(0)..<60 {
      let fixture = try segments()
      let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      try runner.catchUp()
      try runner.save()
      try fixture.log.trimKeepingProjections(below: 31)
      #expect(fixture.log.first > 0)
      for _ in 0..<12 { try fixture.log.append((0..<50).map { event("\($0)") }) }
      // So wide that those from before the trim go.
      options.finestSpacing = 64
      try ProjectionRunner(Trail(), of: fixture.log, options: options).catchUp()
      #expect(try fixture.log.savedSnapshots().allSatisfy { $0.position < fixture.log.first || $0.position > 60 })
      options.finestSpacing = 2
      try fixture.cutPower(.seeded(seed, garbage: .inFreshSectors))
      let again = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      #expect(try again.current().state.count >= 40, "seed \(seed)")
    }
  }

  @Test func `a file among the projections, and a trim that removes nothing, disturb nobody`() throws {
    let fixture = try segments()
    let runner = try ProjectionRunner(Trail(), of: fixture.log)
    try runner.catchUp()
    try runner.save()
    try fixture.disk.open("/log/projections/notes.txt", .create).close()
    #expect(try fixture.log.savedSnapshots().map(\.name) == ["trail"])
    #expect(try fixture.log.trimKeepingProjections(below: 5) == 0)
    #expect(error { try fixture.log.trimKeepingProjections(below: 1000) }?.code == .offsetOutOfRange)
  }

  @Test func `a correction of what was trimmed leaves the value, and is counted`() throws {
    let fixture = try Fixture()
    for number in 0..<30 {
      try fixture.log.append(event("1", number))
      if number % 10 == 9 { try fixture.log.seal() }
    }
    let total = try ProjectionRunner(Total(), of: fixture.log)
    let trail = try ProjectionRunner(Trail(), of: fixture.log)
    // One family is known before its original goes.
    try fixture.log.append(event("3", 50, superseding: 2))
    try total.catchUp()
    try trail.catchUp()
    #expect(try total.state() == 32)
    let expected = try trail.state()
    try fixture.log.seal()
    try fixture.log.append(event("x"))
    try fixture.log.trim(below: 31)
    #expect(fixture.log.first > 5)
    try fixture.log.append(event("100", 51, superseding: 3))
    try fixture.log.append(event("100", 52, superseding: 50))
    var options = ProjectionOptions()
    options.onUnreadable = .skip
    try trail.save()
    let resumed = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try resumed.catchUp()
    #expect(try resumed.state().prefix(30) == expected.prefix(30))
    #expect(resumed.report.setAsideCount == 2)
    #expect(error { try total.catchUp() }?.code == .unreadableEvent)
    // An amendment of what is kept is carried out, where the state alone tells how.
    try fixture.log.append(event("5", 53))
    try fixture.log.append(event("7", 54, superseding: 53))
    try total.save()
    let sum = try ProjectionRunner(Total(), of: fixture.log, options: options)
    try sum.catchUp()
    #expect(try sum.state() == 32 + 97 + 7 && sum.report.setAsideCount == 1)
    #expect(sum.report.unreadableCount == 1)
  }

  @Test func `unreadable events follow the policy`() throws {
    let fixture = try Fixture()
    for text in ["1", "?", "2", "?", "3"] { try fixture.log.append(event(text)) }
    var options = ProjectionOptions()
    options.onUnreadable = .fail
    let failing = try ProjectionRunner(Total(), of: fixture.log, options: options)
    for _ in 0..<2 {
      let failure = error { _ = try failing.catchUp() }
      #expect(failure?.code == .unreadableEvent && failure?.offsets == 2..<3 && failure?.why == "no number")
      #expect(try failing.state() == 1 && failing.position == 2)
    }
    options.onUnreadable = .skip
    let skipping = try ProjectionRunner(Total(), of: fixture.log, options: options)
    try skipping.catchUp()
    #expect(try skipping.state() == 6 && skipping.report.unreadableCount == 2 && skipping.report.parked.isEmpty)
    options.onUnreadable = .park
    let parking = try ProjectionRunner(Total(name: "parking"), of: fixture.log, options: options)
    try parking.catchUp()
    try parking.save()
    let resumed = try ProjectionRunner(Total(name: "parking"), of: fixture.log, options: options)
    #expect(resumed.report.parked.map(\.offset) == [2, 4] && resumed.report.unreadableCount == 2)
  }

  @Test func `a fold that stopped before an event goes on when that is corrected`() throws {
    let fixture = try Fixture()
    for (number, text) in ["1", "?", "2", "?", "3"].enumerated() { try fixture.log.append(event(text, number)) }
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    try fixture.log.append(event("10", 10, superseding: 1))
    #expect(error { try runner.catchUp() }?.offsets == 4..<5)
    #expect(try runner.state() == 1 && runner.position == 2)
    try fixture.log.append(event("?", 11, superseding: 3))
    #expect(error { try runner.catchUp() }?.code == .unreadableEvent)
    try fixture.log.append(event("20", 12, superseding: 11))
    #expect(try runner.current().state == 36)
    #expect(try runner.state(asOf: 9).state == 36)
    #expect(error { _ = try runner.state(asOf: 8) }?.code == .unreadableEvent)
    try fixture.log.append(event("1", 13))
    #expect(try runner.current().state == 37)
  }

  @Test func `damaged history follows the policy`() throws {
    let fixture = try Fixture()
    for segment in 0..<3 {
      for number in 0..<10 { try fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
    }
    let damaged = fixture.disk.image.files(under: "/log/segments").sorted().filter { $0.hasSuffix(".sealed") }[1]
    try fixture.log.close()
    try fixture.disk.image.flipBit(4200 * 8, of: damaged)
    try fixture.reopen()
    var options = ProjectionOptions()
    let failing = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    for _ in 0..<2 {
      let failure = error { _ = try failing.catchUp() }
      #expect(failure?.code == .corrupt && failure?.offsets == 11..<21 && failing.position == 11)
    }
    options.onUnreadable = .skip
    let skipping = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    try skipping.catchUp()
    #expect(try skipping.state().count == 20 && skipping.report.damagedOffsetCount == 10)
  }

  /// Snapshots on the way lie before, in and behind the damage.
  @Test func `damage is counted once, wherever a fold stood still`() throws {
    let fixture = try Fixture()
    for segment in 0..<3 {
      for number in 0..<10 { try fixture.log.append(event("\(segment)-\(number)")) }
      try fixture.log.seal()
    }
    let damaged = fixture.disk.image.files(under: "/log/segments").sorted().filter { $0.hasSuffix(".sealed") }[1]
    try fixture.log.close()
    try fixture.disk.image.flipBit(4200 * 8, of: damaged)
    try fixture.reopen()
    for spacing in [1, 2, 3, 5, 8, 16] as [Offset] {
      var options = ProjectionOptions()
      options.onUnreadable = .skip
      options.finestSpacing = spacing
      options.directory = "/spacing-\(spacing)"
      let runner = try ProjectionRunner(Trail(), of: fixture.log, options: options)
      try runner.catchUp()
      #expect(runner.report.damagedOffsetCount == 10 && runner.report.savingTrouble == nil)
      let positions = try fixture.log.savedSnapshots(in: options.directory).map(\.position)
      #expect(!positions.isEmpty)
      for position in positions {
        let then = try runner.state(asOf: position)
        #expect(then.report.damagedOffsetCount == max(min(position, 21), 11) - 11, "\(spacing): \(position)")
        #expect(then.state.count == Int(max(min(position, 11), 1) - 1 + max(position, 21) - 21), "\(spacing): \(position)")
      }
    }
  }

  @Test func `damage that hides a correction, or what is corrected, follows the policy`() throws {
    let fixture = try Fixture()
    let amended = event("A", 30, superseding: 0)
    for segment in 0..<3 {
      for number in 0..<10 {
        try fixture.log.append(segment == 1 && number == 0 ? amended : event("\(segment)-\(number)", segment * 10 + number))
      }
      try fixture.log.seal()
    }
    var options = ProjectionOptions()
    options.onUnreadable = .park
    let before = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    #expect(try before.current().state.first == "1:A")
    try before.save()
    let damaged = fixture.disk.image.files(under: "/log/segments").sorted().filter { $0.hasSuffix(".sealed") }[1]
    try fixture.log.close()
    try fixture.disk.image.flipBit(4200 * 8, of: damaged)
    try fixture.reopen()
    // One of what lies in front, so that everything is folded again; one of what is hidden.
    try fixture.log.append([event("B", 31, superseding: 1), event("C", 32, superseding: 12)])
    let after = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    let state = try after.current().state
    #expect(after.report.parked.map(\.offset) == [11] && after.report.damagedOffsetCount == 10)
    #expect(state.first == "2:B" && state.count == 20 && state.last == "33:C")
    options.onUnreadable = .fail
    #expect(error { _ = try ProjectionRunner(Trail(), of: fixture.log, options: options).catchUp() }?.code == .corrupt)
  }

  @Test func `an event that became unreadable by a correction is healed by a later one, however long the way`() throws {
    let fixture = try Fixture()
    var options = ProjectionOptions()
    options.finestSpacing = 4
    for number in 0..<20 { try fixture.log.append(event("\(number)", number)) }
    try fixture.log.append(event("?", 20, superseding: 18))
    for number in 21..<60 { try fixture.log.append(event("\(number)", number)) }
    let trail = try ProjectionRunner(Trail(), of: fixture.log, options: options)
    #expect(error { try trail.catchUp() }?.offsets == 21..<22)
    #expect(error { _ = try trail.state() }?.code == .unreadableEvent)
    try fixture.log.append(event("fine", 60, superseding: 20))
    #expect(try trail.current().state == Reference.trail(fixture.log, below: fixture.log.size))
    let fresh = try ProjectionRunner(Trail(name: "fresh"), of: fixture.log, options: options)
    #expect(try fresh.current().state == trail.state())
  }

  @Test func `a long fold tells how far it is, stops when asked to, and goes on later`() async throws {
    let fixture = try Fixture()
    for _ in 0..<6 { try await fixture.log.append((0..<1000).map { _ in event("1") }) }
    let runner = try ProjectionRunner(Total(), of: fixture.log)
    var told: [FoldProgress] = []
    let failure = error {
      try runner.catchUp {
        told.append($0)
        return told.count < 3
      }
    }
    #expect(failure?.code == .cancelled && told.count == 3 && runner.position == told.last?.position)
    #expect(try runner.state() == 3 * 1024)
    let cancelled = Task {
      while !Task.isCancelled { await Task.yield() }
      return error { _ = try runner.catchUp() }?.code
    }
    cancelled.cancel()
    #expect(await cancelled.value == .cancelled)
    try runner.catchUp()
    #expect(try runner.state() == 6000)
  }

  @Test func `names that are no directory's are refused`() throws {
    let fixture = try Fixture()
    for name in ["", "..", ".a", "a/b", "Å", "A", String(repeating: "a", count: 65)] {
      #expect(error { _ = try ProjectionRunner(Trail(name: name), of: fixture.log) }?.code == .invalidArgument, "\(name)")
    }
  }

  @Test func `in a log opened for reading it follows the writer, and saves what is durable elsewhere`() throws {
    let fixture = try Fixture()
    let reader = try fixture.reader()
    var options = ProjectionOptions()
    options.directory = "/values"
    let runner = try ProjectionRunner(Total(), of: reader, options: options)
    for number in 1...20 {
      try fixture.log.append(event("\(number)"))
      try runner.catchUp()
      #expect(try runner.state() == number * (number + 1) / 2)
    }
    #expect(try runner.save())
    #expect(try ProjectionRunner(Total(), of: reader, options: options).position == 21)
  }
}
