import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

/// Whatever stops at whatever call of the server's disk: what was acknowledged is there, the offset is never more than what is durable, and
/// the file is whole at the end.
@Suite struct UploadCrashTests {
  enum Stop: CaseIterable { case kill, loses, keeps, seeded, oneError, failedSync }

  /// What was acknowledged.
  private final class Acknowledged {
    var isBegun = false
    var offset: UInt64 = 0
    var isComplete = false
  }

  private func run(_ fixture: UploadFixture, _ file: TestFile, _ acknowledged: Acknowledged) throws {
    var answer = try fixture.begin(file)
    acknowledged.isBegun = true
    while case .open(let upload, let offset) = answer.state {
      let end = min(file.bytes.count, Int(offset) + 700)
      answer = try fixture.uploads.append(Array(file.bytes[Int(offset)..<end]), at: offset, to: upload, UploadFixture.tenant)
      acknowledged.offset = answer.offset ?? UInt64(file.bytes.count)
    }
    acknowledged.isComplete = true
  }

  private func plan(_ stop: Stop, _ call: Int) -> FaultPlan {
    switch stop {
    case .oneError: FaultPlan(.error(DiskError.inputOutput), at: call)
    case .failedSync: FaultPlan(.failedSync(.dropsPages, reaching: UInt64(call)), at: call)
    default: FaultPlan(.cut(writing: call * 37), at: call)
    }
  }

  @Test(arguments: Stop.allCases) func `it goes on after each call`(stop: Stop) throws {
    let file = TestFile(2_000)
    let rehearsal = try UploadFixture()
    let before = rehearsal.disk.callCount
    try run(rehearsal, file, Acknowledged())
    let count = rehearsal.disk.callCount - before
    #expect(count > 30)
    for call in 0..<count {
      let fixture = try UploadFixture()
      let acknowledged = Acknowledged()
      let first = fixture.disk.callCount
      fixture.disk.plan = plan(stop, first + call)
      do {
        try run(fixture, file, acknowledged)
      } catch {}
      fixture.disk.plan = FaultPlan()
      switch stop {
      case .kill: fixture.disk.processKill()
      case .loses: fixture.disk.powerCycle(.losesEverything)
      case .keeps: fixture.disk.powerCycle(.keepsEverything)
      case .seeded: fixture.disk.powerCycle(.seeded(UInt64(call) + 1, garbage: .inFreshSectors))
      case .oneError, .failedSync: break
      }
      if stop != .oneError && stop != .failedSync { try fixture.reopen() }
      let answer = try fixture.uploads.answer(file.digest, UploadFixture.tenant)
      if acknowledged.isComplete { #expect(answer?.isComplete == true, "call \(call)") }
      if acknowledged.isBegun && !acknowledged.isComplete && answer?.isComplete != true {
        #expect(try #require(answer?.offset) >= acknowledged.offset, "call \(call)")
      }
      // An offset beyond what is durable would give another file.
      #expect(try fixture.send(file, part: 333), "call \(call)")
      #expect(try fixture.contents(file) == file.bytes, "call \(call)")
      // A receipt is given for what a power cut leaves.
      fixture.disk.powerCycle(.losesEverything)
      try fixture.reopen()
      #expect(try fixture.contents(file) == file.bytes, "call \(call)")
      #expect(try fixture.names() == [file.digest.hexadecimal], "call \(call)")
    }
  }

  @Test func `what is renamed and not synced is not signed for`() throws {
    let file = TestFile(10)
    let fixture = try UploadFixture()
    let upload = try #require(try fixture.begin(file).upload)
    fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: 0...Int.max - 1, only: .syncDirectory)
    #expect(throws: (any Error).self) { _ = try fixture.uploads.append(file.bytes, at: 0, to: upload, UploadFixture.tenant) }
    #expect(throws: (any Error).self) { _ = try fixture.begin(file) }
    #expect(throws: (any Error).self) { _ = try fixture.uploads.answer(file.digest, UploadFixture.tenant) }
    fixture.disk.plan = FaultPlan()
    #expect(try fixture.begin(file).isComplete)
    fixture.disk.powerCycle(.losesEverything)
    try fixture.reopen()
    #expect(try fixture.begin(file).isComplete)
  }

  @Test func `a disk that is full for a while`() throws {
    let file = TestFile(4_000)
    let fixture = try UploadFixture()
    let upload = try #require(try fixture.begin(file).upload)
    _ = try fixture.uploads.append(Array(file.bytes[..<1_000]), at: 0, to: upload, UploadFixture.tenant)
    let used = fixture.disk.image.usedByteCount
    for room in stride(from: 0, through: 1_200, by: 100) {
      fixture.disk.capacity = used + room
      _ = try? fixture.uploads.append(Array(file.bytes[1_000..<3_000]), at: 1_000, to: upload, UploadFixture.tenant)
      #expect(try fixture.begin(file).offset == 1_000)
    }
    fixture.disk.capacity = nil
    #expect(try fixture.send(file, part: 3_000))
  }
}
