import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct CountersignerTests {
  private let time = Timestamp(nanoseconds: 1_700_000_000_999_999_999)

  @Test func `it signs what continues what it signed, and nothing else`() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    let first = try fixture.evidence.checkpoint()
    let key = try #require(try fixture.evidence.key)
    let size = try Checkpoint(first.text).head.size
    func sign(_ note: SignedNote, _ from: Offset, _ to: Offset, _ server: Countersigner) throws -> SignedNote {
      try server.countersign(note, fixture.evidence.consistencyProof(from: from, to: to), signedBy: key, at: time)
    }
    #expect(code { _ = try sign(first, 1, size, fixture.server) } == .unexpectedSize)
    #expect(code { _ = try sign(first, 0, size - 1, fixture.server) } == .unexpectedSize)
    let receipt = try sign(first, 0, size, fixture.server)
    #expect(receipt.cosignature(by: fixture.server.key)?.seconds == 1_700_000_000 && receipt.isSigned(by: key))
    // The same again, for a reply that was lost.
    #expect(try sign(first, size, size, fixture.server) == receipt)
    try fixture.append(5)
    let second = try fixture.evidence.checkpoint()
    let larger = try Checkpoint(second.text).head.size
    #expect(code { _ = try sign(second, 0, larger, fixture.server) } == .unexpectedSize)
    #expect(throws: Never.self) { try sign(second, size, larger, fixture.server) }
    // Going back.
    #expect(code { _ = try sign(first, 0, size, fixture.server) } == .inconsistent)
  }

  @Test func `another history under the same name is refused, whatever its size`() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    try fixture.receipt()
    let key = try #require(try fixture.evidence.key)
    let head = try Checkpoint(fixture.evidence.checkpoint().text).head
    for size in [head.size - 1, head.size, head.size + 1] {
      let text = Checkpoint(origin: key.name, head: TreeHead(size: size, root: SHA256().hash([1]))).text
      let forged = try sign(text, key, fixture.keys)
      let known = try fixture.server.size(of: key.name)
      let proof = ConsistencyProof(oldSize: known, size: size, hashes: [])
      let refusal = code { _ = try fixture.server.countersign(forged, proof, signedBy: key, at: time) }
      #expect(refusal == (size <= known ? .inconsistent : .notProven) || (size == known && refusal == .inconsistent))
    }
  }

  @Test func `it signs for the key that it knows only, and nothing that it can't remember`() throws {
    let fixture = try Fixture()
    try fixture.append(1)
    let note = try fixture.evidence.checkpoint()
    let size = try Checkpoint(note.text).head.size
    let proof = try fixture.evidence.consistencyProof(from: 0, to: size)
    let key = try #require(try fixture.evidence.key)
    let stranger = try VerifierKey(name: key.name, kind: .note, publicKey: fixture.keys.makeKey())
    #expect(code { _ = try fixture.server.countersign(note, proof, signedBy: stranger, at: time) } == .notProven)
    let renamed = try VerifierKey(name: "other", kind: .note, publicKey: key.publicKey)
    #expect(code { _ = try fixture.server.countersign(note, proof, signedBy: renamed, at: time) } == .notProven)
    let memory = MemoryHeads()
    memory.isBroken = true
    let keys = try KeyDirectory(at: "/server", SimulatedDisk())
    let forgetful = try Countersigner(name: "server", keys: keys, publicKey: keys.makeKey(), memory: memory)
    #expect(throws: Missing.self) { try forgetful.countersign(note, proof, signedBy: key, at: time) }
    #expect(code { _ = try fixture.server.countersign(note, proof, signedBy: key, at: Timestamp(nanoseconds: -1)) } == .timeOutOfRange)
  }

  @Test func `it never signs a time before the last one of a history`() throws {
    let fixture = try Fixture(), other = try Fixture(seed: 2)
    let disk = SimulatedDisk()
    let keys = try KeyDirectory(at: "/server", disk)
    let publicKey = try keys.makeKey()
    func sign(_ fixture: Fixture, _ seconds: Int64) throws {
      // What it signed is there after a restart.
      let memory = try HeadDirectory(at: "/server/heads", disk)
      let server = try Countersigner(name: "server.example/1", keys: keys, publicKey: publicKey, memory: memory)
      try fixture.append(1)
      let note = try fixture.evidence.checkpoint()
      let size = try Checkpoint(note.text).head.size
      let proof = try fixture.evidence.consistencyProof(from: server.size(of: fixture.evidence.origin), to: size)
      let at = Timestamp(nanoseconds: seconds * 1_000_000_000)
      let receipt = try server.countersign(note, proof, signedBy: #require(try fixture.evidence.key), at: at)
      #expect(receipt.cosignature(by: server.key)?.seconds == UInt64(seconds))
      try fixture.evidence.accept(receipt, Policy(server: server.key), commits: true)
    }
    try sign(fixture, 1_700_000_100)
    let before = try HeadDirectory(at: "/server/heads", disk).last(of: fixture.evidence.origin)
    #expect(code { try sign(fixture, 1_700_000_099) } == .timeOutOfRange)
    #expect(try HeadDirectory(at: "/server/heads", disk).last(of: fixture.evidence.origin) == before)
    try sign(other, 1_700_000_050)
    try sign(fixture, 1_700_000_100)
    try sign(fixture, 1_700_000_101)
    let server = try Countersigner(name: "server.example/1", keys: keys, publicKey: publicKey, memory: MemoryHeads())
    #expect(try fixture.audit(.receipted, Policy(server: server.key)).verdict == .proven)
    let file = try #require(disk.image.files(under: "/server/heads").first)
    let bytes = try #require(try disk.contents(file))
    for count in bytes.indices.dropLast() {
      try disk.replace(file, with: Array(bytes[..<count]))
      let codes = [fixture, other].map { log in code { _ = try HeadDirectory(at: "/server/heads", disk).last(of: log.evidence.origin) } }
      #expect(codes.contains(LogError.Code.corrupt), "cut to \(count)")
    }
  }

  private func sign(_ text: String, _ key: VerifierKey, _ keys: KeyDirectory) throws -> SignedNote {
    let signature = SignedNote.Signature(
      name: key.name, keyID: key.keyID, bytes: try keys.sign(Array(text.utf8), publicKey: key.publicKey))
    return SignedNote(text: text, signatures: [signature])
  }
}

@Suite struct EvidenceTests {
  @Test func `without anything new the same note is given again`() throws {
    let fixture = try Fixture()
    try fixture.append(3)
    let note = try fixture.evidence.checkpoint()
    let size = fixture.log.size
    #expect(try fixture.evidence.checkpoint() == note && fixture.log.size == size && fixture.evidence.notes == [note])
    try fixture.append(1)
    #expect(try fixture.evidence.checkpoint() != note)
  }

  @Test func `a receipt stands before the next events, and by itself causes no commit`() throws {
    let fixture = try Fixture()
    try fixture.append(3)
    let note = try fixture.countersigned()
    let calls = fixture.log.size
    try fixture.evidence.accept(note, fixture.policy)
    #expect(fixture.log.size == calls && fixture.evidence.receiptedSize == calls)
    try fixture.append(1)
    #expect(try fixture.log.event(at: calls).data == note.bytes && fixture.log.event(at: calls + 1).kind == .event)
    // Accepting it again changes nothing.
    try fixture.evidence.accept(note, fixture.policy)
    try fixture.append(1)
    #expect(fixture.log.size == calls + 3)
  }

  @Test func `a receipt that was not committed before a kill is staged again, once`() throws {
    let fixture = try Fixture()
    try fixture.append(3)
    try fixture.receipt()
    for _ in 0..<3 { try fixture.kill() }
    try fixture.append(1)
    for _ in 0..<3 { try fixture.reopen() }
    try fixture.append(1)
    let kinds = try (0..<fixture.log.size).map { try fixture.log.event(at: $0).kind }
    #expect(kinds.count { $0 == .receipt } == 1)
  }

  @Test func `a receipt of another log, for another root, or by a stranger is refused, and nothing is kept`() throws {
    let fixture = try Fixture()
    let other = try Fixture(seed: 2)
    try fixture.append(3)
    try other.append(2)
    let note = try fixture.countersigned()
    let kept = fixture.evidence.notes
    #expect(code { try fixture.evidence.accept(try other.countersigned(), other.policy) } == .notProven)
    #expect(code { try fixture.evidence.accept(note, other.policy) } == .notProven)
    #expect(code { try fixture.evidence.accept(fixture.evidence.checkpoint(), fixture.policy) } == .notProven)
    #expect(fixture.evidence.notes == kept)
  }

  @Test func `keys are rotated by both, and each size knows its own`() throws {
    let fixture = try Fixture()
    #expect(try fixture.evidence.key == nil)
    try fixture.append(2)
    let notes = try (0..<4).map { _ in
      try fixture.receipt()
      let note = try fixture.evidence.checkpoint()
      try fixture.evidence.rotateKey()
      try fixture.append(2)
      try fixture.reopen()
      return note
    }
    let chain = try KeyChain(of: fixture.log)
    #expect(chain.entries.count == 5 && chain.refused.isEmpty)
    for (index, note) in notes.enumerated() {
      let checkpoint = try Checkpoint(note.text)
      let key = try VerifierKey(name: checkpoint.origin, kind: .note, publicKey: #require(chain.publicKey(at: checkpoint.head.size)))
      #expect(note.isSigned(by: key) && key.publicKey == chain.entries[index].publicKey)
    }
    // Only the newest secret is still there.
    #expect(try fixture.keys.publicKeys() == [chain.entries[4].publicKey])
    try fixture.receipt()
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `a key event with any byte changed changes nothing`() throws {
    let fixture = try Fixture()
    try fixture.append(1)
    _ = try fixture.evidence.checkpoint()
    try fixture.evidence.rotateKey()
    let records = try (0..<fixture.log.size).map { try fixture.log.event(at: $0) }.filter { $0.kind == .keyRotation }.map(\.data)
    #expect(records.count == 2)
    for record in records {
      #expect(KeyRecord(record, of: fixture.log.identity) != nil)
      for at in record.indices {
        var changed = record
        changed[at] ^= 4
        #expect(KeyRecord(changed, of: fixture.log.identity) == nil, "byte \(at)")
      }
      for count in record.indices { #expect(KeyRecord(Array(record[..<count]), of: fixture.log.identity) == nil) }
    }
  }

  @Test func `a log whose signed part was changed is not signed again`() throws {
    let fixture = try Fixture()
    try fixture.append(300)
    _ = try fixture.evidence.checkpoint()
    try fixture.evidence.save()
    try fixture.log.close()
    // The tree is made again from a log that lacks its first events' bytes.
    for name in try fixture.disk.list(fixture.directory) where name != "notes" { try fixture.disk.remove("\(fixture.directory)/\(name)") }
    let name = try #require(try fixture.disk.list("/log/segments").sorted().first)
    var bytes = try #require(try fixture.disk.contents("/log/segments/\(name)"))
    bytes[5000] ^= 1
    try fixture.disk.replace("/log/segments/\(name)", with: bytes)
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    #expect(code { _ = try Evidence(log, keys: fixture.keys) } == .inconsistent)
  }

  @Test func `a log that was put back to an older copy is not signed again`() throws {
    let fixture = try Fixture()
    try fixture.append(20)
    _ = try fixture.evidence.checkpoint()
    try fixture.reopen()
    let old = try #require(try fixture.disk.list("/log/segments").first)
    let copy = try #require(try fixture.disk.contents("/log/segments/\(old)"))
    try fixture.append(20)
    _ = try fixture.evidence.checkpoint()
    try fixture.evidence.save()
    try fixture.log.close()
    for name in try fixture.disk.list("/log/segments") { try fixture.disk.remove("/log/segments/\(name)") }
    try fixture.disk.replace("/log/segments/\(old)", with: copy)
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    #expect(code { _ = try Evidence(log, keys: fixture.keys) } == .corrupt)
  }

  @Test func `the file of notes may end at any byte`() throws {
    let fixture = try Fixture()
    try fixture.append(2)
    for _ in 0..<3 {
      try fixture.receipt()
      try fixture.append(1)
    }
    let path = "\(fixture.directory)/notes"
    let bytes = try #require(try fixture.disk.contents(path))
    let notes = fixture.evidence.notes
    for count in stride(from: 0, through: bytes.count, by: 5) {
      try fixture.disk.replace(path, with: Array(bytes[..<count]))
      try fixture.log.close()
      try fixture.reopen()
      #expect(notes.starts(with: fixture.evidence.notes) && fixture.evidence.notes.count >= notes.count * (count - 500) / bytes.count)
      let note = try fixture.evidence.checkpoint()
      try fixture.reopen()
      #expect(fixture.evidence.notes.last == note)
      try fixture.append(1)
    }
  }

  @Test func `nothing is signed that is not durable, at each fault of the disk`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let before = fixture.disk.callCount
    _ = try fixture.evidence.checkpoint()
    let calls = fixture.disk.callCount - before
    for call in 0..<calls + 2 {
      let fixture = try Fixture()
      try fixture.append(5)
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: fixture.disk.callCount + call...fixture.disk.callCount + call)
      let note = try? fixture.evidence.checkpoint()
      fixture.disk.plan = FaultPlan()
      // What was signed is there after a power cut.
      fixture.disk.powerCycle(.losesEverything)
      let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
      let evidence = try Evidence(log, keys: fixture.keys)
      if let note {
        let head = try Checkpoint(note.text).head
        #expect(head.size <= log.size && evidence.notes.contains(note))
        var history = try History(log)
        try history.update()
        #expect(try history.root(at: head.size) == head.root)
      }
      #expect(throws: Never.self) { try evidence.checkpoint() }
    }
  }
}
