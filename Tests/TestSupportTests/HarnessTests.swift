import TestSupport
import Testing
import TidemarkLog

@Suite("Disk and model together")
struct HarnessTests {
  let workload = [[40], [30, 30], [600], [8, 0, 24]]

  @Test("find nothing wrong with a log that keeps its promises")
  func soundLog() {
    var harness = ToyHarness()
    for seed in 0..<40 { harness.random(seed: UInt64(seed)) }
    harness.exhaustive(workload)
    for fault: Fault in [
      .error(DiskError.inputOutput), .shortWrite(byteCount: 20, errno: DiskError.noSpace), .failedSync(.marksPagesClean),
      .failedSync(.keepsPages),
      .failedSync(.dropsPages), .cut(), .cut(writing: 20),
    ] { harness.fault(fault, workload) }
    #expect(harness.violations == [])
    #expect(harness.states > 1000)
  }

  @Test("catch each bug by random cuts or by faults", arguments: ToyLog.Bug.allCases)
  func seededBugs(_ bug: ToyLog.Bug) {
    var harness = ToyHarness(bug)
    if bug == .trustsSecondSync {
      harness.fault(.failedSync(.marksPagesClean), workload)
    } else {
      for seed in 0..<200 where harness.violations.isEmpty { harness.random(seed: UInt64(seed)) }
    }
    #expect(!harness.violations.isEmpty)
  }

  // Writing on after a torn tail shows only after two cuts, which this does not make.
  @Test("catch each bug by every subset", arguments: ToyLog.Bug.allCases.filter { $0 != .trustsSecondSync && $0 != .writesOnAfterTornTail })
  func everySubset(_ bug: ToyLog.Bug) {
    var harness = ToyHarness(bug)
    harness.exhaustive(workload)
    #expect(!harness.violations.isEmpty)
  }

  @Test("find the same with the same seed")
  func determinism() {
    var first = ToyHarness(.noHash)
    var second = ToyHarness(.noHash)
    for seed in 0..<10 {
      first.random(seed: UInt64(seed))
      second.random(seed: UInt64(seed))
    }
    #expect(first.states == second.states && first.violations == second.violations && !first.violations.isEmpty)
  }
}
