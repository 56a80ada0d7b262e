import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// A history that goes on under another name, with a key of its own.
@Suite struct EpochTests {
  private func audit(_ fixture: Fixture) throws -> AuditReport {
    try Auditor(fixture.policy, asked: .receipted).audit(at: "/log", environment: fixture.environment)
  }

  @Test func `what earlier epochs signed is neither counted nor refuted, and the new one is proven by itself`() throws {
    let fixture = try Fixture()
    var signed = 0
    for epoch in 0..<3 {
      try fixture.append(20)
      try fixture.receipt(1_700_000_000 + Int64(epoch) * 100)
      try fixture.evidence.rotateKey()
      try fixture.append(5)
      try fixture.receipt(1_700_000_050 + Int64(epoch) * 100)
      try fixture.append(1)
      signed += 2
      let report = try audit(fixture)
      #expect(report.verdict == .proven && !report.findings.contains { $0.weight == .refuted }, "epoch \(epoch): \(report.findings)")
      #expect(report.receipts.count == 2)
      #expect(report.findings.contains { $0.kind == .elsewhere && $0.message.contains("goes on from epoch") } == (epoch > 0))
      let chain = try KeyChain(of: fixture.log)
      #expect(chain.refused.isEmpty && chain.entries.count == 2)
      try fixture.evidence.beginEpoch(fork: fixture.log.size - 3)
      #expect(try fixture.evidence.key == nil && fixture.evidence.receiptedSize == 0)
      #expect(try audit(fixture).verdict == .unproven)
    }
    #expect(signed == 6)
  }

  @Test func `a receipt or key event of a log that is no earlier epoch stays refuted`() throws {
    let fixture = try Fixture()
    try fixture.append(20)
    let other = try Fixture(seed: 9)
    try other.append(20)
    let foreign = try other.receipt()
    try fixture.evidence.update()
    try fixture.evidence.beginEpoch(fork: 7)
    _ = try fixture.log.commit(control: .receipt, data: foreign.note.bytes)
    try fixture.receipt()
    let report = try audit(fixture)
    #expect(report.verdict == .refuted && report.findings.contains { $0.kind == .otherHistory })
  }

  @Test func `the first key signs sizes before its event, a later one does not`() throws {
    let fixture = try Fixture()
    try fixture.append(50)
    _ = try fixture.evidence.checkpoint()
    for size in [Offset(1), 20, 51] {
      let note = try fixture.evidence.checkpoint(at: size)
      let key = try #require(try fixture.evidence.key)
      let proof = try fixture.evidence.consistencyProof(from: fixture.server.size(of: fixture.evidence.origin), to: size)
      let receipt = try fixture.server.countersign(note, proof, signedBy: key, at: Timestamp(nanoseconds: 1_700_000_000_000_000_000))
      try fixture.evidence.accept(receipt, fixture.policy, commits: true)
    }
    let report = try audit(fixture)
    #expect(report.verdict == .proven && report.receipts.map(\.size) == [1, 20, 51], "\(report.findings)")
    try fixture.evidence.rotateKey()
    let rotated = fixture.log.size
    // The old key signed what there was before it went, and nothing else below that.
    let old = try fixture.evidence.checkpoint(at: rotated - 1)
    #expect(!old.isSigned(by: try #require(try fixture.evidence.key)))
    #expect(throws: LogError.self) { try fixture.evidence.checkpoint(at: rotated - 2) }
    #expect(try fixture.evidence.signableSize(above: rotated - 2) == (rotated - 1, false))
    #expect(try fixture.evidence.signableSize(above: rotated - 1) == (rotated, true))
    _ = try fixture.evidence.checkpoint(at: rotated)
  }
}
