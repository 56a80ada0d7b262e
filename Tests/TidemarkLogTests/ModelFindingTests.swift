import TestSupport
import Testing
import TidemarkLog

/// What the model of commit and recovery found: crashes and failed syncs that no simulated workload had met.
@Suite struct ModelFindingTests {
  @Test func `an event behind two closings whose syncs failed is kept`() throws {
    // The close frames must lie in different sectors, or writing one writes the other.
    for padding in stride(from: 0, to: 520, by: 8) {
      let fixture = try Fixture()
      try fixture.log.append(event(String(repeating: "a", count: padding)))
      for _ in 0..<2 {
        fixture.disk.plan = FaultPlan(.failedSync(.marksPagesClean), during: 0...Int.max, only: .sync)
        _ = code { try fixture.log.close() }
        fixture.disk.plan = FaultPlan()
        try fixture.reopen()
      }
      try fixture.log.append(event("b"))
      try fixture.cutPower()
      #expect(try fixture.texts().count == 2, "padding \(padding)")
    }
  }

  @Test func `a name that a failed roll took back is no corruption after a crash in the recovery that follows`() throws {
    var cuts = 0
    for call in 0..<60 {
      for seed in 0..<40 {
        let fixture = try Fixture()
        try fixture.log.append(event("a"))
        fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .syncDirectory)
        #expect(code { try fixture.log.roll() } != nil)
        fixture.disk.processKill()
        let before = fixture.disk.faultCount
        fixture.disk.plan = FaultPlan(.cut(), at: fixture.disk.callCount + call)
        _ = try? Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
        if fixture.disk.faultCount > before { cuts += 1 }
        fixture.disk.plan = FaultPlan()
        try fixture.cutPower(.seeded(UInt64(seed)))
        #expect(try fixture.texts() == ["a"] && fixture.verify().isOK, "call \(call), seed \(seed)")
      }
    }
    #expect(cuts > 400)
  }

  @Test func `a name that a failed replacement took back does not displace what was acknowledged afterwards`() throws {
    for seed in 0..<40 {
      let fixture = try Fixture()
      try fixture.log.append(event("a"))
      try fixture.reopen()
      // The append fails and leaves nothing; the segment that is to follow gets a name, and loses it again.
      fixture.disk.plan = FaultPlan(.failedSync(.dropsPages), during: 0...Int.max, only: .sync)
      #expect(code { try fixture.log.append(event("b")) } != nil)
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max, only: .syncDirectory)
      #expect(code { try fixture.log.append(event("c")) } != nil)
      fixture.disk.plan = FaultPlan()
      try fixture.kill()
      try fixture.log.append(event("d"))
      try fixture.cutPower(.seeded(UInt64(seed)))
      #expect(try fixture.texts() == ["a", "d"], "seed \(seed)")
    }
  }
}
