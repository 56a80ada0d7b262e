import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct AuditTests {
  @Test func `an untouched log is proven as far as receipts go, whatever was done to it`() throws {
    let fixture = try Fixture()
    for step in 0..<6 {
      try fixture.append(90)
      try fixture.receipt(1_700_000_000 + Int64(step))
      try fixture.append(1)
      switch step {
      case 0: try fixture.log.seal()
      case 1: try fixture.kill()
      case 2: try fixture.evidence.rotateKey()
      case 3: try fixture.evidence.trim(below: 200)
      case 4: try fixture.reopen()
      default: break
      }
      let report = try fixture.audit()
      #expect(report.verdict == .proven && report.receipts.count <= step + 1, "\(step): \(report.findings)")
      #expect(try fixture.audit(.all).verdict == .unproven)
      #expect(try fixture.audit(.below(report.covered)).verdict == .proven)
      #expect(try fixture.audit(.below(report.covered + 1)).verdict == .unproven)
    }
  }

  @Test func `without a policy, or with a stranger's, nothing is proven`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    try fixture.receipt()
    try fixture.append(1)
    #expect(try Auditor(nil, asked: .receipted).audit(at: "/log", environment: fixture.environment).verdict == .unproven)
    #expect(try fixture.audit(.receipted, Policy(server: makeServer("server.example/1").key)).verdict == .unproven)
    #expect(try fixture.audit(.receipted, Policy("quorum none\n")).verdict == .unproven)
    // A device's key that never signed.
    let stranger = try VerifierKey(name: fixture.evidence.origin, kind: .note, publicKey: fixture.keys.makeKey())
    let pinned = try Policy("log \(stranger)\nwitness server \(fixture.server.key)\nquorum server\n")
    let report = try fixture.audit(.receipted, pinned)
    #expect(report.verdict == .refuted && report.findings.contains { $0.kind == .deviceKey && $0.weight == .refuted })
    let key = try #require(try fixture.evidence.key)
    let right = try Policy("log \(key)\nwitness server \(fixture.server.key)\nquorum server\n")
    #expect(try fixture.audit(.receipted, right).verdict == .proven)
  }

  @Test func `a policy that names keys of other histories only proves nothing of this one`() throws {
    let fixture = try Fixture()
    let other = try Fixture(seed: 2)
    for log in [fixture, other] {
      try log.append(5)
      try log.receipt()
      try log.append(1)
    }
    let key = try #require(try other.evidence.key)
    let report = try fixture.audit(.receipted, Policy("log \(key)\nwitness server \(fixture.server.key)\nquorum server\n"))
    #expect(report.verdict == .unproven)
    #expect(report.findings.contains { $0.kind == .deviceKey && $0.weight == .unproven })
  }

  @Test func `a log that was just trimmed is proven by the receipts that it had`() throws {
    let fixture = try Fixture()
    for step in 0..<2 {
      try fixture.append(100)
      try fixture.receipt(1_700_000_000 + Int64(step))
      try fixture.append(1)
      try fixture.log.seal()
    }
    let chain = try KeyChain(of: fixture.log)
    try fixture.evidence.trim(below: 150)
    // The key's event is gone, and repeated behind what the receipt covers.
    #expect(try fixture.log.first > #require(chain.entries.first).offset)
    let report = try fixture.audit()
    #expect(report.verdict == .proven && report.receipts.count == 1, "\(report.findings)")
  }

  @Test func `where nothing else has the newest receipt, the one in the trim event counts`() throws {
    let fixture = try trimmable()
    // The key's event is kept: nothing is committed before the trim event, and what is staged is lost.
    try fixture.evidence.rotateKey()
    try fixture.append(100)
    let receipt = try fixture.receipt(1_700_000_010)
    try fixture.evidence.trim(below: 150)
    fixture.disk.processKill()
    try fixture.disk.remove("\(fixture.directory)/notes")
    let report = try fixture.audit()
    #expect(report.verdict == .proven && report.covered == receipt.size, "\(report.findings)")
    #expect(report.receipts.map(\.offset).contains(nil))
  }

  @Test func `a log with evidence is trimmed by it alone`() throws {
    let fixture = try trimmable()
    #expect(code { try fixture.log.trim(below: 150) } == .evidenceNeedsHistory)
    #expect(code { try fixture.log.trim(below: 0) } == .evidenceNeedsHistory)
    #expect(try fixture.log.first == 0 && fixture.audit().verdict == .proven)
    #expect(try fixture.evidence.trim(below: 150) > 0)
    #expect(try fixture.audit().verdict == .proven)
  }

  private func trimmable() throws -> Fixture {
    let fixture = try Fixture()
    try fixture.append(200)
    try fixture.receipt()
    try fixture.append(1)
    try fixture.log.seal()
    return fixture
  }

  @Test func `where events were removed without their tree, nothing is proven and nothing refuted`() throws {
    let fixture = try trimmable()
    try fixture.evidence.save()
    // Who hides what is kept can trim all the same.
    try fixture.disk.rename("/log/evidence", to: "/log/hidden")
    #expect(try fixture.log.trim(below: 150) > 0)
    let epoch = fixture.directory.split(separator: "/").last ?? ""
    let notes = try #require(try fixture.disk.contents("/log/hidden/\(epoch)/notes"))
    try fixture.disk.makeDirectory("/log/evidence")
    try fixture.disk.makeDirectory(fixture.directory)
    try fixture.disk.replace("\(fixture.directory)/notes", with: notes)
    let report = try fixture.audit()
    #expect(report.verdict == .unproven, "\(report.findings)")
    #expect(report.findings.contains { $0.kind == .trimmed && $0.weight == .unproven })
    for _ in 0..<2 { #expect(code { try fixture.reopen() } == .trimmed) }
    #expect(try fixture.audit().verdict == .unproven)
    // With its tree the device goes on.
    for name in try fixture.disk.list(fixture.directory) { try fixture.disk.remove("\(fixture.directory)/\(name)") }
    for name in try fixture.disk.list("/log/hidden/\(epoch)") {
      try fixture.disk.replace("\(fixture.directory)/\(name)", with: #require(try fixture.disk.contents("/log/hidden/\(epoch)/\(name)")))
    }
    try fixture.reopen()
    try fixture.append(1)
    #expect(throws: Never.self) { try fixture.receipt(1_700_000_010) }
  }

  @Test func `a log that was trimmed before it had evidence is proven from there on, and refuted where it was changed`() throws {
    let fixture = try Fixture()
    try Log.create(at: "/plain", options: fixture.options, environment: fixture.environment)
    let log = try Log.open(at: "/plain", options: fixture.options, environment: fixture.environment)
    for number in 0..<200 { try log.append(NewEvent(type: "scan", data: Array("event \(number)".utf8))) }
    #expect(try log.trim(below: 150) > 0)
    let evidence = try Evidence(log, keys: fixture.keys)
    let note = try evidence.checkpoint()
    let proof = ConsistencyProof(oldSize: 0, size: try Checkpoint(note.text).head.size, hashes: [])
    let time = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
    try evidence.accept(
      fixture.server.countersign(note, proof, signedBy: #require(try evidence.key), at: time), fixture.policy, commits: true)
    try evidence.save()
    try log.seal()
    try log.close()
    let auditor = Auditor(fixture.policy, asked: .receipted)
    let report = try auditor.audit(at: "/plain", environment: fixture.environment)
    #expect(report.first > 0 && report.verdict == .proven, "\(report.findings)")
    try fixture.disk.image.flipBit(4200 * 8, of: #require(fixture.disk.image.files(under: "/plain/segments").sorted().first))
    try fixture.disk.remove("/plain/evidence/\(log.identity.epochID.hexadecimal)/frontier")
    let changed = try auditor.audit(at: "/plain", environment: fixture.environment)
    #expect(changed.findings.contains { $0.kind == .rootDiffers && $0.weight == .refuted }, "\(changed.findings)")
  }

  @Test func `a receipt that was swapped for one of another history is refuted`() throws {
    let fixture = try Fixture()
    let other = try Fixture(seed: 2)
    try fixture.append(5)
    try other.append(5)
    _ = try fixture.evidence.checkpoint()
    try fixture.log.stage(control: .receipt, data: other.countersigned().bytes)
    try fixture.append(1)
    let report = try fixture.audit(.receipted, other.policy)
    #expect(report.verdict == .refuted && report.findings.contains { $0.kind == .otherHistory })
  }

  @Test func `brackets hold every event between the server's times`() throws {
    let fixture = try Fixture()
    for step in 0..<4 {
      try fixture.append(10)
      try fixture.receipt(1_700_000_000 + Int64(step) * 60)
    }
    try fixture.append(3)
    let report = try fixture.audit()
    #expect(report.brackets.first?.offsets.lowerBound == 0 && report.brackets.last?.offsets.upperBound == report.head.size)
    for (left, right) in zip(report.brackets, report.brackets.dropFirst()) { #expect(left.offsets.upperBound == right.offsets.lowerBound) }
    for bracket in report.brackets {
      if let after = bracket.after, let before = bracket.before { #expect(after <= before) }
    }
    #expect(report.brackets.first?.after == nil && report.brackets.last?.before == nil)
  }

  @Test func `a proof stands for itself, and with any byte changed it does not`() throws {
    let fixture = try Fixture()
    try fixture.append(40)
    try fixture.receipt()
    let key = try #require(try fixture.evidence.key)
    let pinned = try Policy("log \(key)\nwitness server \(fixture.server.key)\nquorum server\n")
    let proof = try fixture.evidence.proof(of: 17)
    let bytes = Array(proof.description.utf8)
    #expect(try EventProof(bytes) == proof && EventProof(bytes).verify(pinned).size == fixture.evidence.receiptedSize)
    #expect(try proof.descriptor == fixture.descriptors()[17])
    #expect(code { try proof.verify(fixture.policy) } == .notProven)
    for at in bytes.indices {
      var changed = bytes
      changed[at] ^= 2
      #expect((try? EventProof(changed).verify(pinned)) == nil, "byte \(at)")
      #expect((try? EventProof(Array(bytes[..<at])).verify(pinned)) == nil)
    }
    #expect(code { _ = try fixture.evidence.proof(of: fixture.evidence.receiptedSize) } == .notProven)
  }

  @Test func `tiles hold the descriptors and the tree`() throws {
    let fixture = try Fixture()
    try fixture.append(600)
    let note = try fixture.countersigned()
    try TileExport(fixture.log).write(to: "/tiles", checkpoint: note)
    #expect(try fixture.disk.contents("/tiles/checkpoint") == note.bytes)
    let hasher = SHA256()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    #expect(try fixture.disk.contents("/tiles/tile/0/001") == leaves[256..<512].flatMap(\.bytes))
    #expect(try fixture.disk.contents("/tiles/tile/0/002.p/\(leaves.count - 512)") == leaves[512...].flatMap(\.bytes))
    let tops = [leaves[..<256], leaves[256..<512]].flatMap { naiveRoot($0, hasher).bytes }
    #expect(try fixture.disk.contents("/tiles/tile/1/000.p/2") == tops)
    #expect(code { try TileExport(fixture.log).write(to: "/tiles", checkpoint: note) } == .alreadyExists)
  }

  @Test func `a bundle is complete, and refuses what no receipt covers`() throws {
    let fixture = try Fixture()
    try fixture.append(20)
    try fixture.receipt()
    try fixture.append(20)
    try fixture.receipt(1_700_000_100)
    let policy = "witness server \(fixture.server.key)\nquorum server\n"
    let bundle = try BundleExport(fixture.evidence, policy: policy)
    try bundle.write([30, 7], to: "/bundle")
    let names = Set(try fixture.disk.list("/bundle"))
    #expect(names == ["manifest.json", "policy", "events.jsonl", "proofs", "notes", "consistency.json", "index.html", "verify.py"])
    let lines = String(decoding: try #require(try fixture.disk.contents("/bundle/events.jsonl")), as: UTF8.self).split(separator: "\n")
    let proofs = try fixture.disk.list("/bundle/proofs")
    #expect(lines.count == proofs.count && lines.count { $0.contains("\"role\":\"chosen\"") } == 2)
    #expect(lines.count { $0.contains("\"role\":\"key\"") } == 1 && lines.count { $0.contains("\"role\":\"receipt\"") } == 1)
    #expect(code { try bundle.write([fixture.evidence.receiptedSize], to: "/other") } == .notProven)
    #expect(code { try bundle.write([7], to: "/bundle") } == .alreadyExists)
  }
}
