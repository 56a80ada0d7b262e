import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Of a log that was salvaged nobody signed anything yet, and nobody tampered with it either.
@Suite struct SalvageTests {
  private func made() throws -> Fixture {
    let fixture = try Fixture()
    try fixture.append(20)
    try fixture.receipt()
    try fixture.evidence.rotateKey()
    try fixture.append(20)
    try fixture.receipt(1_700_000_010)
    try fixture.append(1)
    return fixture
  }

  private func audit(_ path: String, _ fixture: Fixture, _ asked: Auditor.Asked = .all) throws -> AuditReport {
    try Auditor(fixture.policy, asked: asked).audit(at: path, environment: fixture.environment)
  }

  private func refuted(_ report: AuditReport) -> [AuditFinding.Kind] { report.findings.filter { $0.weight == .refuted }.map(\.kind) }

  private func salvages(_ report: AuditReport) -> [AuditFinding] { report.findings.filter { $0.kind == .salvaged } }

  private func continued(_ path: String, _ fixture: Fixture) throws -> (log: Log, evidence: Evidence) {
    let log = try Log.open(at: path, options: fixture.options, environment: fixture.environment)
    return (log, try Evidence(log, keys: fixture.keys))
  }

  /// A receipt for all that stands in a log, in it.
  private func receipt(_ log: Log, _ evidence: Evidence, _ fixture: Fixture) throws -> SignedNote {
    let note = try evidence.checkpoint()
    let key = try #require(try evidence.key)
    let proof = try evidence.consistencyProof(from: fixture.server.size(of: evidence.origin), to: Checkpoint(note.text).head.size)
    let receipt = try fixture.server.countersign(note, proof, signedBy: key, at: Timestamp(nanoseconds: 1_700_000_100_000_000_000))
    try evidence.accept(receipt, fixture.policy, commits: true)
    return receipt
  }

  @Test func `it is unproven, with the log that it is of, and proven as soon as the server signs it`() throws {
    let fixture = try made()
    try fixture.log.seal()
    let origin = fixture.evidence.origin
    let size = fixture.log.size
    _ = try Log.salvage(from: "/log", to: "/saved", environment: fixture.environment)
    let report = try audit("/saved", fixture)
    #expect(report.verdict == .unproven && refuted(report).isEmpty, "\(report.findings)")
    let finding = try #require(salvages(report).first)
    #expect(salvages(report).count == 1 && finding.weight == .notChecked && finding.message.contains(origin))
    // The session of who salvaged it stands before the event that says so.
    #expect(finding.offsets == 0..<size + 1)
    let (log, evidence) = try continued("/saved", fixture)
    try log.append(NewEvent(type: "scan"))
    _ = try receipt(log, evidence, fixture)
    let later = try audit("/saved", fixture, .receipted)
    #expect(later.verdict == .proven && later.covered > size && salvages(later).count == 1, "\(later.findings)")
    #expect(try KeyChain(of: log).refused.isEmpty && KeyChain(of: log).entries.count == 1)
    // What it proves offline leaves the other history's keys and receipts out.
    let policy = "witness server \(fixture.server.key)\nquorum server\n"
    try BundleExport(evidence, policy: policy).write([3], to: "/bundle")
    let lines = String(decoding: try #require(try fixture.disk.contents("/bundle/events.jsonl")), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 2 && lines.count { $0.contains("\"role\":\"key\"") } == 1)
    // The log itself is what it was.
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `salvaged again, each part has its own origin`() throws {
    let fixture = try made()
    _ = try Log.salvage(from: "/log", to: "/saved", environment: fixture.environment)
    let (log, evidence) = try continued("/saved", fixture)
    try log.append(NewEvent(type: "scan"))
    _ = try receipt(log, evidence, fixture)
    try log.close()
    _ = try Log.salvage(from: "/saved", to: "/again", environment: fixture.environment)
    let report = try audit("/again", fixture)
    #expect(report.verdict == .unproven && refuted(report).isEmpty, "\(report.findings)")
    #expect(salvages(report).map { $0.message.contains(evidence.origin) } == [false, true])
  }

  @Test func `a gap does not refute it, nor does trimming before`() throws {
    let fixture = try made()
    try fixture.append(600)
    try fixture.receipt(1_700_000_020)
    try fixture.append(1)
    try fixture.log.seal()
    try fixture.evidence.trim(below: 300)
    try fixture.log.close()
    let segment = try #require(fixture.disk.image.files(under: "/log/segments").sorted().dropFirst().first)
    try fixture.disk.image.flipBit(5000 * 8, of: segment)
    _ = try Log.salvage(from: "/log", to: "/saved", environment: fixture.environment)
    let report = try audit("/saved", fixture)
    #expect(report.first > 0 && report.verdict == .unproven && refuted(report).isEmpty, "\(report.findings)")
    #expect(report.findings.contains { $0.kind == .lost })
  }

  @Test func `what is neither of it nor of the log that it was salvaged from is refuted`() throws {
    let fixture = try made()
    let other = try Fixture(seed: 2)
    try other.append(5)
    try other.receipt()
    let key = try other.log.event(at: #require(KeyChain(of: other.log).entries.first).offset).data
    _ = try fixture.log.commit(control: .receipt, data: other.countersigned(1_700_000_200).bytes)
    _ = try fixture.log.commit(control: .keyRotation, data: key)
    _ = try Log.salvage(from: "/log", to: "/saved", environment: fixture.environment)
    #expect(try Set(refuted(audit("/saved", fixture))) == [.otherHistory, .keyRecord])
  }

  @Test func `what comes of that log behind the salvage, or lies beside it, is refuted`() throws {
    let fixture = try made()
    let note = fixture.evidence.notes[1]
    let key = try fixture.log.event(at: #require(KeyChain(of: fixture.log).entries.first).offset).data
    _ = try Log.salvage(from: "/log", to: "/saved", environment: fixture.environment)
    let (log, evidence) = try continued("/saved", fixture)
    _ = try receipt(log, evidence, fixture)
    #expect(try audit("/saved", fixture, .receipted).verdict == .proven)
    let notes = "/saved/evidence/\(log.identity.epochID.hexadecimal)/notes"
    let kept = try #require(try fixture.disk.contents(notes))
    try fixture.disk.replace(notes, with: kept + note.bytes + [0x0A])
    #expect(try refuted(audit("/saved", fixture)) == [.otherHistory])
    try fixture.disk.replace(notes, with: kept)
    _ = try log.commit(control: .receipt, data: note.bytes)
    #expect(try refuted(audit("/saved", fixture)) == [.otherHistory])
    _ = try log.commit(control: .keyRotation, data: key)
    #expect(try refuted(audit("/saved", fixture)) == [.otherHistory, .keyRecord])
  }

  @Test func `only the engine says that a log was salvaged`() throws {
    let fixture = try Fixture()
    #expect(code { _ = try fixture.log.commit(control: .salvage, data: [UInt8](repeating: 0, count: 32)) } == .invalidEvent)
    #expect(code { try fixture.log.stage(control: .salvage, data: []) } == .invalidEvent)
  }
}
