import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Many devices' lives, made up from a seed.
@Suite struct ClockPropertyTests {
  /// A clock that nobody touches: slewed within bounds, asleep for weeks, opened again and again, with stated times and fixes.
  private func steady(_ random: inout SeededRandom, count: Int) -> ClockStory {
    var story = ClockStory()
    for _ in 0..<count {
      let passed = Int64(random.isOneIn(20) ? random.number(below: 30) : 0) * day + Int64(random.number(below: 10_000_000_000))
      let slew = Int64(random.number(in: -500...500))
      story.pass(passed, wallGains: passed / 1_000_000 * slew)
      if random.isOneIn(10) { story.reopen() }
      let fix = EventExtension.LocationFix(time: time(story.wall), elapsed: story.elapsed, accuracyMillimetres: 1)
      story.append(claim: random.isOneIn(5) ? Int64(bitPattern: random.next()) : nil, fixes: random.isOneIn(5) ? [fix] : [])
    }
    return story
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>) func `a steady clock never yields a flag`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let story = steady(&random, count: 300)
    #expect(story.found().isEmpty)
    // Nor with receipts of a server whose clock is right.
    let receipts = stride(from: 10, to: 300, by: 10).map { offset in
      ReceiptTime(offset: Offset(offset), size: Offset(offset), time: Self.lastWall(story, upTo: offset))
    }
    #expect(story.found(receipts: receipts).allSatisfy { $0.hasSuffix("claim-outside-bracket") })
  }

  private static func lastWall(_ story: ClockStory, upTo offset: Int) -> Timestamp {
    story.events[...offset].last { $0.wall != nil }?.wall ?? time(ClockStory.start)
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>) func `one step gives its flags at its offset, and no others`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var story = ClockStory()
    let at = random.number(in: 1...60)
    var passed: Int64 = 0
    let size = Int64(128_000_001 + random.number(below: random.isOneIn(3) ? 1_000_000_000 : 40_000_000_000_000_000))
    let step = random.isOneIn(2) ? size : -size
    for offset in 1...60 {
      passed = Int64(random.number(below: 1_000_000))
      story.pass(passed, wallGains: offset == at ? step + step.signum() * passed / 2000 : 0)
      // The device's own time at the step and beside it: elsewhere callers may state theirs.
      story.append(claim: abs(offset - at) > 1 && random.isOneIn(3) ? 0 : nil)
    }
    var expected: [ClockRule] = [.wallStepped]
    if step > 180 * day { expected.insert(.wallJumpedForward, at: 0) }
    if step < -second - millisecond { expected.insert(.wallWentBack, at: 0) }
    let open = policy { $0.buildDate = time(.min) }
    let flags = story.flags(open)
    #expect(flags.map(\.rule) == expected && flags.allSatisfy { $0.offset == at }, "\(step) at \(at): \(flags)")
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>) func `one step within the threshold gives none`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var story = ClockStory()
    let at = random.number(in: 1...60)
    for offset in 1...60 {
      story.append(
        after: Int64(random.number(below: 1_000_000)), wallGains: offset == at ? Int64(random.number(in: -128_000_000...128_000_000)) : 0)
    }
    #expect(story.found().isEmpty)
  }

  /// By the letter of `Specs/clocks.md`: any earlier event since the last flag.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func `steps equal a search over all earlier events of the boot`(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var story = ClockStory()
    for _ in 0..<200 {
      story.append(
        after: Int64(random.number(below: 20_000)) * millisecond,
        wallGains: Int64(random.number(in: -40...40)) * (random.isOneIn(5) ? 2 : 1) * millisecond)
    }
    let readings = story.events.map { (Int128($0.wall?.nanoseconds ?? 0) - Int128($0.elapsed), Int128($0.elapsed)) }
    var expected: [Offset] = []
    var first = 0
    for (offset, reading) in readings.enumerated() {
      let isStep = readings[first..<offset].contains { earlier in
        let change = (reading.0 - earlier.0).magnitude
        return Int128(change) * 2000 > 2000 * 128_000_000 + (reading.1 - earlier.1)
      }
      if isStep {
        expected.append(Offset(offset))
        first = offset
      }
    }
    #expect(!expected.isEmpty && story.flags().filter { $0.rule == .wallStepped }.map(\.offset) == expected)
  }

  /// Values at the ends of what 64 bits hold, near each other and far apart.
  private static let walls: [Int64] = [.min, .min + 1, -1, 0, 1, ClockStory.start, .max - 1, .max]
  private static let elapsed: [UInt64] = [0, 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max]

  @Test(arguments: [ClockPolicy.standard, policy(Self.close), policy(Self.open)]) func `no clocks are beyond the arithmetic`(
    _ policy: ClockPolicy
  ) {
    var random = SeededRandom(seed: 7)
    var review = ClockReview(
      policy: policy,
      receipts: (0..<500).map { offset in
        ReceiptTime(
          offset: Offset(offset) * 3, size: random.isOneIn(9) ? .max : Offset(offset), time: time(Self.walls[random.number(below: 8)]))
      })
    var flags: [ClockFlag] = []
    for offset in 0..<3000 {
      let wall = time(Self.walls[random.number(below: 8)])
      let isClaim = random.isOneIn(5)
      let fix = EventExtension.LocationFix(
        time: time(Self.walls[random.number(below: 8)]), elapsed: Self.elapsed[random.number(below: 6)], accuracyMillimetres: .max)
      flags += review.review(
        ObservedEvent(
          offset: offset == 2999 ? .max : Offset(offset), id: .zero, wall: isClaim ? nil : wall, claim: isClaim ? wall : nil,
          elapsed: Self.elapsed[random.number(below: 6)], isStepNoted: random.isOneIn(3), fixes: random.isOneIn(3) ? [fix] : [],
          boot: random.isOneIn(4) ? nil : EventID(high: 0, low: UInt64(random.number(below: 2))),
          incarnation: random.isOneIn(4) ? nil : UInt64(random.number(below: 2))))
    }
    #expect(flags.map(\.offset) == flags.map(\.offset).sorted())
    #expect(flags.allSatisfy { !$0.explanation.isEmpty && !$0.facts.isEmpty })
    if policy == .standard { #expect(Set(flags.map(\.rule)) == Set(ClockRule.allCases)) }
  }

  @Sendable private static func close(_ policy: inout ClockPolicy) {
    policy.buildDate = time(.max)
    policy.latestDate = time(.min)
    policy.wallWentBackNanoseconds = 0
    policy.wallJumpedForwardNanoseconds = 0
    policy.wallStepNanoseconds = 0
    policy.slewPartsPerMillion = 0
    policy.fixDifferenceNanoseconds = 0
    policy.receiptDifferenceNanoseconds = 0
    policy.claimDifferenceNanoseconds = 0
  }

  @Sendable private static func open(_ policy: inout ClockPolicy) {
    policy.wallWentBackNanoseconds = .max
    policy.wallJumpedForwardNanoseconds = .max
    policy.wallStepNanoseconds = .max
    policy.slewPartsPerMillion = .max
    policy.fixDifferenceNanoseconds = .max
    policy.receiptWentBackNanoseconds = .max
    policy.receiptDifferenceNanoseconds = .max
    policy.elapsedWentBackNanoseconds = .max
    policy.claimDifferenceNanoseconds = .max
  }

  @Test func `the same events give the same flags`() {
    var random = SeededRandom(seed: 3)
    var story = ClockStory()
    for _ in 0..<500 { story.append(after: second, wallGains: random.isOneIn(10) ? Int64(random.number(in: -9...9)) * hour : 0) }
    #expect(!story.flags().isEmpty && story.flags() == story.flags())
    // Whoever begins in the middle misses nothing from the second event on.
    #expect(flags(Array(story.events[200...])).filter { $0.offset > 201 } == story.flags().filter { $0.offset > 201 })
  }
}
