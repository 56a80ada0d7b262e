import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

/// An honest device goes on, and is not accused, whatever stopped it or runs beside it.
@Suite struct ContinuityTests {
  private let hasher = SHA256()

  private func pinned(_ fixture: Fixture) throws -> Policy {
    let key = try #require(try fixture.evidence.key)
    return try Policy("log \(key)\nwitness server \(fixture.server.key)\nquorum server\n")
  }

  private func removeTree(_ fixture: Fixture) throws {
    for name in try fixture.disk.list(fixture.directory) where name != "notes" { try fixture.disk.remove("\(fixture.directory)/\(name)") }
  }

  // MARK: Keys

  @Test func `a key that no note was signed with yet is known to the next process`() throws {
    let fixture = try Fixture()
    try fixture.append(2)
    try fixture.reopen()
    try fixture.evidence.rotateKey()
    let key = try fixture.evidence.key
    try fixture.reopen()
    #expect(try fixture.evidence.key == key)
    try fixture.evidence.rotateKey()
    try fixture.receipt()
    let chain = try KeyChain(of: fixture.log)
    #expect(chain.entries.count == 2 && chain.refused.isEmpty)
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `the first checkpoint may be cut short at each call`() throws {
    var call = 0
    var isDone = false
    while !isDone {
      let fixture = try Fixture()
      try fixture.append(5)
      try fixture.evidence.update()
      try fixture.evidence.save()
      let first = fixture.disk.callCount + call
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), during: first...first + 1_000_000)
      isDone = (try? fixture.evidence.checkpoint()) != nil
      fixture.disk.plan = FaultPlan()
      try fixture.kill()
      try fixture.receipt()
      let report = try fixture.audit()
      #expect(report.verdict == .proven, "\(call): \(report.findings)")
      call += 1
    }
  }

  @Test func `trimming straight after a rotation keeps the new key`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    try fixture.receipt()
    try fixture.append(900)
    try fixture.receipt(1_700_000_010)
    let key = try fixture.evidence.rotateKey()
    #expect(try fixture.evidence.trim(below: 800) > 0)
    try fixture.append(5)
    try fixture.receipt(1_700_000_020)
    try fixture.reopen()
    let chain = try KeyChain(of: fixture.log)
    #expect(try fixture.evidence.key == key && chain.refused.isEmpty && chain.entries.last?.publicKey == key.publicKey)
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `a pinned key is enough for a log whose key events were trimmed, as long as it leads to one that is there`() throws {
    let fixture = try Fixture()
    try fixture.append(900)
    try fixture.receipt()
    let first = try pinned(fixture)
    try fixture.evidence.trim(below: 800)
    // The repetition stands behind the receipt.
    #expect(try fixture.audit(.receipted, first).verdict == .proven)
    try fixture.evidence.rotateKey()
    try fixture.append(900)
    try fixture.receipt(1_700_000_010)
    try fixture.evidence.trim(below: 1750)
    try fixture.append(1)
    try fixture.receipt(1_700_000_020)
    #expect(try fixture.audit(.receipted, pinned(fixture)).verdict == .proven)
    #expect(try fixture.audit(.receipted, first).verdict == .proven)
    try fixture.evidence.rotateKey()
    try fixture.append(900)
    try fixture.receipt(1_700_000_030)
    try fixture.evidence.trim(below: 2600)
    try fixture.append(1)
    try fixture.receipt(1_700_000_040)
    #expect(try fixture.audit(.receipted, pinned(fixture)).verdict == .proven)
    // Nothing that is left leads to the first key; nothing contradicts it.
    #expect(try fixture.audit(.receipted, first).verdict == .unproven)
  }

  // MARK: Notes

  @Test func `an older receipt that comes late hides neither the newest checkpoint nor the newest receipt`() throws {
    let fixture = try Fixture()
    try fixture.append(300)
    let late = try fixture.countersigned()
    try fixture.append(600)
    let newest = try fixture.receipt(1_700_000_010)
    try fixture.append(1)
    let note = try fixture.evidence.checkpoint()
    try fixture.evidence.accept(late, fixture.policy)
    #expect(try fixture.evidence.checkpoint() == note)
    try fixture.reopen()
    #expect(fixture.evidence.receiptedSize == newest.size)
    #expect(try fixture.evidence.trim(below: 800) > 300)
    try fixture.reopen()
    try fixture.append(1)
    try fixture.receipt(1_700_000_020)
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `a receipt that lacks the device's signature, or has another one under its name, is not taken`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let note = try fixture.countersigned()
    let device = note.signatures[0], server = note.signatures[1]
    let wrong = SignedNote.Signature(name: device.name, keyID: device.keyID, bytes: device.bytes.map { $0 ^ 1 })
    for signatures in [[server], [wrong, server], [device, wrong, server]] {
      let bad = SignedNote(text: note.text, signatures: signatures)
      #expect(code { try fixture.evidence.accept(bad, fixture.policy) } == .notProven)
    }
    #expect(fixture.evidence.notes.count == 1)
    // One that was signed before the key changed counts.
    try fixture.evidence.rotateKey()
    try fixture.evidence.accept(note, fixture.policy)
    try fixture.append(5)
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `signatures do not pile up where nothing is appended, and what could not be read again is not taken`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    for step in 0..<70 { try fixture.receipt(1_700_000_000 + Int64(step)) }
    #expect(fixture.evidence.notes.allSatisfy { $0.signatures.count <= 2 })
    try fixture.reopen()
    try fixture.append(1)
    #expect(try fixture.audit().verdict == .proven)
    let note = try fixture.countersigned(1_700_000_100)
    let more = (0..<63).map { SignedNote.Signature(name: "a", keyID: UInt32($0), bytes: [1]) }
    let kept = fixture.evidence.notes
    let crowded = SignedNote(text: note.text, signatures: note.signatures + more)
    #expect(code { try fixture.evidence.accept(crowded, fixture.policy) } == .invalidText)
    #expect(fixture.evidence.notes == kept)
  }

  @Test func `a receipt that could not be staged is not called kept`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let note = try fixture.countersigned()
    try fixture.log.close()
    for _ in 0..<2 { #expect(code { try fixture.evidence.accept(note, fixture.policy) } == .closed) }
  }

  @Test func `what a power cut left of the last note does not stop the next one`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    try fixture.receipt()
    let path = "\(fixture.directory)/notes"
    let bytes = try #require(try fixture.disk.contents(path))
    let kept = fixture.evidence.notes
    var torn = try #require(kept.last).bytes + [0x0A]
    for index in 0..<20 { torn[index] = 0 }
    try fixture.disk.replace(path, with: bytes + torn)
    try fixture.reopen()
    #expect(fixture.evidence.notes == kept)
    try fixture.append(5)
    try fixture.receipt(1_700_000_010)
    try fixture.reopen()
    #expect(try fixture.evidence.notes.count == kept.count + 2 && fixture.audit().verdict == .proven)
    // In the middle it is damage.
    try fixture.disk.replace(path, with: torn + bytes)
    try fixture.log.close()
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    #expect(code { _ = try Evidence(log) } == .corrupt)
  }

  @Test func `two that share a log take turns at its notes and its key`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let other = try Evidence(fixture.log, keys: fixture.keys)
    var notes: [SignedNote] = []
    for step in 0..<3 {
      notes.append(try fixture.evidence.checkpoint())
      try fixture.append(1)
      notes.append(try other.checkpoint())
      try (step % 2 == 0 ? fixture.evidence : other).rotateKey()
    }
    try fixture.append(1)
    try fixture.reopen()
    #expect(fixture.evidence.notes == notes)
    try fixture.receipt()
    #expect(try fixture.audit().verdict == .proven)
  }

  // MARK: Readers

  @Test func `a reader signs and keeps nothing`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let note = try fixture.countersigned()
    try fixture.append(5)
    let reader = try Evidence(
      Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment), keys: fixture.keys)
    let path = "\(fixture.directory)/notes"
    let bytes = try fixture.disk.contents(path)
    #expect(code { _ = try reader.checkpoint() } == .readOnly)
    #expect(code { try reader.accept(note, fixture.policy) } == .readOnly)
    #expect(try fixture.disk.contents(path) == bytes)
  }

  @Test func `a reader that was there before the writer went on is not told that the log is shorter`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let log = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    try fixture.append(600)
    _ = try fixture.evidence.checkpoint()
    let head = try fixture.evidence.update()
    let reader = try Evidence(log)
    #expect(try reader.update() == head)
    try fixture.append(600)
    _ = try fixture.evidence.checkpoint()
    #expect(try reader.update() == fixture.evidence.update())
  }

  @Test func `a reader goes on behind what the writer has trimmed meanwhile`() throws {
    let fixture = try Fixture()
    try fixture.append(5)
    let log = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    let reader = try Evidence(log)
    try fixture.append(900)
    let receipt = try fixture.receipt()
    try fixture.evidence.trim(below: 800)
    try fixture.append(5)
    let head = try fixture.evidence.update()
    #expect(try reader.update() == head)
    let proof = try reader.consistencyProof(from: receipt.size, to: head.size)
    #expect(proof.isValid(from: receipt.checkpoint.head.root, to: head.root, hasher))
  }

  @Test func `an audit beside a writer that goes on refutes nothing`() throws {
    let fixture = try Fixture()
    try fixture.append(50)
    try fixture.receipt()
    try fixture.append(1)
    let watched = WatchedFiles(fixture.disk) { path in
      guard path.hasSuffix("/frontier") else { return false }
      try? fixture.append(50)
      _ = try? fixture.evidence.checkpoint()
      return true
    }
    let environment = Environment(fileSystem: watched, clock: fixture.clock, random: SeededRandomSource(seed: 9))
    let report = try Auditor(fixture.policy, asked: .receipted).audit(at: "/log", environment: environment)
    #expect(watched.isDone && report.verdict == .proven, "\(report.findings)")
  }

  @Test func `a reader that failed in the middle of hashing goes on rightly`() throws {
    let fixture = try Fixture()
    try fixture.append(10)
    let log = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    var history = try History(log)
    try fixture.append(1500)
    let head = try fixture.evidence.update()
    try log.refresh()
    var failures = 0
    for call in stride(from: 20, to: 400, by: 20) {
      fixture.disk.plan = FaultPlan(.error(DiskError.inputOutput), at: fixture.disk.callCount + call)
      if (try? history.update()) != nil { break }
      failures += 1
    }
    fixture.disk.plan = FaultPlan()
    #expect(try failures > 1 && history.update() == head)
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    for offset in stride(from: 0, to: head.size, by: 50) {
      #expect(try history.inclusionProof(of: offset, in: head.size).isValid(leaf: leaves[Int(offset)], root: head.root, hasher))
    }
  }

  // MARK: Trees

  @Test func `events behind a lost session record have one leaf, whoever hashes them from where`() throws {
    let fixture = try Fixture()
    try fixture.append(250)
    try fixture.reopen()
    try fixture.append(1)
    let session = try #require(try (0..<fixture.log.size).last { try fixture.log.event(at: $0).kind == .session })
    try fixture.append(400)
    try fixture.log.close()
    // The frame that holds the record.
    for name in try fixture.disk.list("/log/segments").sorted() {
      let bytes = try #require(try fixture.disk.contents("/log/segments/\(name)"))
      guard let place = place(of: session, in: bytes) else { continue }
      var changed = bytes
      changed[place] ^= 1
      try fixture.disk.replace("/log/segments/\(name)", with: changed)
    }
    try removeTree(fixture)
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    var hashing = try History(log)
    let head = try hashing.update()
    #expect(hashing.lost.contains { $0.offsets?.contains(session) ?? false })
    try hashing.save()
    // As behind a receipt.
    try fixture.disk.remove("\(fixture.directory)/leaves-0")
    var history = try History(log)
    for offset in stride(from: 0, to: head.size, by: 9) {
      let proof = try history.inclusionProof(of: offset, in: head.size)
      #expect(proof.isValid(leaf: try history.leaf(at: offset), root: head.root, hasher))
    }
  }

  /// A byte in the frame of a segment that holds an event.
  private func place(of offset: Offset, in bytes: [UInt8]) -> Int? {
    func number(_ at: Int, _ count: Int) -> UInt64 { (0..<count).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64(8 * $1) } }
    return stride(from: 0, to: bytes.count - 64, by: 8).first { at in
      guard bytes[at + 8..<at + 12].elementsEqual("TMFR".utf8), bytes[at + 13] == 1 else { return false }
      let base = number(at + 24, 8)
      return base <= offset && offset < base + number(at + 32, 4)
    }.map { $0 + 60 }
  }

  @Test(arguments: Array(stride(from: 300, to: 900, by: 37)))
  func `a trimmed log needs nothing but its notes, wherever it begins`(count: Int) throws {
    let fixture = try Fixture()
    try fixture.append(count)
    let receipt = try fixture.receipt()
    let first = try fixture.evidence.trim(below: receipt.size)
    #expect(first > 0)
    #expect(try fixture.audit(.receipted, pinned(fixture)).verdict == .proven)
    try fixture.log.close()
    try removeTree(fixture)
    try fixture.reopen()
    try fixture.append(20)
    let head = try fixture.evidence.update()
    let proof = try fixture.evidence.consistencyProof(from: receipt.size, to: head.size)
    #expect(proof.isValid(from: receipt.checkpoint.head.root, to: head.root, hasher))
    var history = try History(fixture.log)
    for offset in first..<head.size {
      let proof = try history.inclusionProof(of: offset, in: head.size)
      #expect(proof.isValid(leaf: try history.leaf(at: offset), root: head.root, hasher))
    }
    try fixture.receipt(1_700_000_010)
    #expect(try fixture.audit().verdict == .proven)
  }

  @Test func `hashes that were damaged in the middle of a level are made again`() throws {
    let fixture = try Fixture()
    while fixture.log.size < 66_000 {
      try fixture.log.append((0..<1000).map { NewEvent(type: "t", data: [UInt8(truncatingIfNeeded: $0)]) })
    }
    let head = try fixture.evidence.update()
    try fixture.evidence.save()
    var history = try History(fixture.log)
    let root = try history.root(at: 300)
    try fixture.log.close()
    let path = "\(fixture.directory)/level-1"
    let original = try #require(try fixture.disk.contents(path))
    for change in 0..<2 {
      var bytes = original
      for index in 0..<32 { bytes[3 * 32 + index] = change == 0 ? 0 : 7 }
      try fixture.disk.replace(path, with: bytes)
      let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
      var history = try History(log)
      #expect(try history.consistencyProof(from: 300, to: head.size).isValid(from: root, to: head.root, hasher))
      for offset: Offset in [5, 3 * 256 + 5, 40_000, 65_990] {
        let leaf = try history.leaf(at: offset)
        #expect(try history.inclusionProof(of: offset, in: head.size).isValid(leaf: leaf, root: head.root, hasher))
      }
      try log.close()
    }
  }
}
