import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// Erasing changes no byte that was hashed.
@Suite struct ErasureEvidenceTests {
  @Test func `every proof that was given before an erasure still verifies, and so does the audit`() throws {
    let fixture = try Fixture()
    let events = ErasableEvents(keys: FileKeyStore(directory: "/subjects", files: fixture.disk))
    for number in 0..<30 {
      let person = "person-\(number % 3)"
      try fixture.log.append(events.seal(NewEvent(type: "visit", subject: person, data: Array("at \(number)".utf8)), for: person))
    }
    try fixture.receipt()
    let key = try #require(try fixture.evidence.key)
    let policy = try Policy("log \(key)\nwitness server \(fixture.server.key)\nquorum server\n")
    let proofs = try (0..<fixture.evidence.receiptedSize).map { try fixture.evidence.proof(of: $0) }
    _ = try events.erase("person-1", from: fixture.log)
    for (offset, proof) in proofs.enumerated() {
      #expect(throws: Never.self) { try proof.verify(policy) }
      #expect(try fixture.evidence.proof(of: Offset(offset)).descriptor == proof.descriptor)
    }
    try fixture.receipt(1_700_000_100)
    try fixture.append(1)
    let report = try fixture.audit(.receipted, policy)
    #expect(report.verdict == .proven && report.erasures.count == 1)
  }

  @Test func `what the server had accepted at a time is told by the receipts`() throws {
    let fixture = try Fixture()
    var sizes: [Offset] = []
    for step in 0..<3 {
      try fixture.append(4)
      sizes.append(try fixture.receipt(100 + Int64(step) * 10).size)
    }
    func accepted(_ seconds: Int64) throws -> Offset {
      try fixture.log.acceptedSize(at: Timestamp(nanoseconds: seconds * 1_000_000_000), fixture.policy)
    }
    #expect(try [99, 100, 109, 110, 119, 120, 1000].map(accepted) == [0, sizes[0], sizes[0], sizes[1], sizes[1], sizes[2], sizes[2]])
    #expect(try fixture.log.acceptedSize(at: Timestamp(nanoseconds: .max), Policy("quorum none\n")) == 0)
  }
}
