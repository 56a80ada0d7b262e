import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// What comes from elsewhere is refused or put right; it never stops a process, and never counts for more than it is.
@Suite struct ForeignInputTests {
  @Test func `offsets up to the largest are refused, not added to`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    try fixture.receipt()
    let policy = try Policy("log \(#require(try fixture.evidence.key))\nwitness server \(fixture.server.key)\nquorum server\n")
    let offsets: [Offset] = [.max, .max - 1, 1 << 44]
    for offset in offsets {
      #expect(code { _ = try fixture.evidence.proof(of: offset) } == .notProven)
      var history = try History(fixture.log)
      #expect(code { _ = try history.leaf(at: offset) } == .offsetOutOfRange)
      let bundle = try BundleExport(fixture.evidence, policy: "witness server \(fixture.server.key)\nquorum server\n")
      #expect(code { try bundle.write([offset], to: "/bundle") } == .notProven)
      let text = try fixture.evidence.proof(of: 2).description.replacing("index 2\n", with: "index \(offset)\n")
      #expect(throws: LogError.self) { try EventProof(Array(text.utf8)).verify(policy) }
    }
  }

  @Test func `clocks of two servers that differ contradict nothing, one that goes back does`() throws {
    for (seconds, verdict) in [(-20 as Int64, AuditReport.Verdict.proven), (-100, .refuted)] {
      let fixture = try Fixture()
      let servers = try ["server.example/1", "other.example/1"].map { name in
        let memory = MemoryHeads()
        memory.forgetsTimes = true
        return try makeServer(name, memory)
      }
      let policy = try Policy("witness a \(servers[0].key)\nwitness b \(servers[1].key)\ngroup g any a b\nquorum g\n")
      for step: Int64 in 0..<4 {
        try fixture.append(10)
        let note = try fixture.evidence.checkpoint()
        let key = try #require(try fixture.evidence.key)
        let server = servers[Int(step % 2)]
        let size = try Checkpoint(note.text).head.size
        let proof = try fixture.evidence.consistencyProof(from: server.size(of: key.name), to: size)
        let time = 1_700_000_000 + step * 10 + (step > 1 ? seconds : 0) + (step % 2 == 1 ? -15 : 0)
        let signed = try server.countersign(note, proof, signedBy: key, at: Timestamp(nanoseconds: time * 1_000_000_000))
        try fixture.evidence.accept(signed, policy)
      }
      try fixture.append(1)
      #expect(try fixture.audit(.receipted, policy).verdict == verdict)
    }
  }

  @Test func `a bundle takes its lower ends from receipts that its policy accepts`() throws {
    let fixture = try Fixture()
    let other = try makeServer("other.example/1")
    let both = try Policy("witness a \(fixture.server.key)\nwitness b \(other.key)\ngroup g any a b\nquorum g\n")
    try fixture.append(10)
    let first = try fixture.receipt()
    try fixture.append(10)
    let note = try fixture.evidence.checkpoint()
    let key = try #require(try fixture.evidence.key)
    let proof = ConsistencyProof(oldSize: 0, size: try Checkpoint(note.text).head.size, hashes: [])
    let time = Timestamp(nanoseconds: 1_700_000_010_000_000_000)
    try fixture.evidence.accept(other.countersign(note, proof, signedBy: key, at: time), both)
    try fixture.append(10)
    let chosen = fixture.log.size - 1
    try fixture.receipt(1_700_000_020)
    try BundleExport(fixture.evidence, policy: "witness server \(fixture.server.key)\nquorum server\n").write([chosen], to: "/bundle")
    let lines = String(decoding: try #require(try fixture.disk.contents("/bundle/events.jsonl")), as: UTF8.self).split(separator: "\n")
    let receipts = lines.filter { $0.contains("\"role\":\"receipt\"") }
    #expect(receipts.count == 1 && receipts[0].contains("\"offset\":\(first.size),"))
  }

  @Test func `a receipt of another history says nothing about this one's times`() throws {
    let fixture = try Fixture()
    let other = try Fixture(seed: 2)
    try other.append(2)
    let note = try other.countersigned()
    try fixture.append(50)
    try fixture.log.stage(control: .receipt, data: note.bytes)
    try fixture.append(1)
    #expect(try fixture.log.receiptTimes(other.policy).isEmpty)
    #expect(try fixture.log.acceptedSize(at: Timestamp(nanoseconds: .max), other.policy) == 0)
  }
}
