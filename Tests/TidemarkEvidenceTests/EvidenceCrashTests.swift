import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Whatever is stopped at whatever call of the disk: the device signs on, and nothing refutes it.
@Suite struct EvidenceCrashTests {
  enum Work: CaseIterable { case checkpoint, rotate, accept, acceptAndCommit, trim, trimAfterRotation }
  enum Stop: CaseIterable { case kill, powerCut, oneError }

  private func fixture(_ work: Work) throws -> Fixture {
    let fixture = try Fixture()
    try fixture.append(300)
    try fixture.receipt()
    try fixture.append(1)
    if work == .trimAfterRotation { try fixture.evidence.rotateKey() }
    try fixture.append(150)
    return fixture
  }

  private func run(_ work: Work, _ fixture: Fixture, _ note: SignedNote?) throws {
    switch work {
    case .checkpoint: _ = try fixture.evidence.checkpoint()
    case .rotate: try fixture.evidence.rotateKey()
    case .accept: try fixture.evidence.accept(#require(note), fixture.policy)
    case .acceptAndCommit: try fixture.evidence.accept(#require(note), fixture.policy, commits: true)
    case .trim, .trimAfterRotation: try fixture.evidence.trim(below: 250)
    }
  }

  @Test(arguments: Work.allCases, Stop.allCases) func `it goes on after each call`(work: Work, stop: Stop) throws {
    var call = 0
    var isDone = false
    while !isDone {
      let fixture = try fixture(work)
      let note = work == .accept || work == .acceptAndCommit ? try fixture.countersigned(1_700_000_010) : nil
      let first = fixture.disk.callCount + call
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: first...(stop == .oneError ? first : first + 1_000_000))
      do {
        try run(work, fixture, note)
        isDone = call > 0
      } catch {}
      fixture.disk.plan = FaultPlan()
      switch stop {
      case .kill: try fixture.kill()
      case .powerCut:
        fixture.disk.powerCycle(.losesEverything)
        try fixture.kill()
      case .oneError: break
      }
      try fixture.append(10)
      try fixture.receipt(1_700_000_020)
      try fixture.append(1)
      let report = try fixture.audit()
      #expect(report.verdict == .proven, "\(call): \(report.findings)")
      try fixture.reopen()
      try fixture.evidence.trim(below: 400)
      try fixture.append(10)
      try fixture.receipt(1_700_000_030)
      #expect(try fixture.audit().verdict == .proven, "\(call)")
      call += stateStep(debug: 4)
    }
  }
}
