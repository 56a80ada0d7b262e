import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct HistoryTests {
  private let hasher = SHA256()

  @Test func `its root at every size is that of the descriptors`() throws {
    let fixture = try Fixture()
    for _ in 0..<4 {
      try fixture.append(230)
      try fixture.reopen()
    }
    var history = try History(fixture.log)
    let head = try history.update()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    #expect(head.size == fixture.log.size && leaves.count == Int(head.size))
    #expect(head.root == naiveRoot(leaves[...], hasher))
    for size in stride(from: 0, through: leaves.count, by: 7) {
      #expect(try history.root(at: Offset(size)) == naiveRoot(leaves[..<size], hasher))
    }
    #expect(try (0..<head.size).allSatisfy { try history.leaf(at: $0) == leaves[Int($0)] })
  }

  @Test func `it does not depend on when it was hashed, on sealing, or on who reads`() throws {
    let fixture = try Fixture()
    for step in 1...9 {
      try fixture.append(step * 17)
      try fixture.evidence.update()
      if step % 3 == 0 { try fixture.log.seal() }
      if step % 4 == 0 { try fixture.reopen() }
    }
    let head = try fixture.evidence.update()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    #expect(head.root == naiveRoot(leaves[...], hasher))
    let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    var history = try History(reader)
    #expect(try history.update() == head)
    #expect(try history.inclusionProof(of: 5, in: head.size) == fixture.evidence.inclusionProof(of: 5, in: head.size))
  }

  /// Whatever becomes of the files that are kept: the tree is that of the log, or it is said that it is not.
  @Test func `each kept file may be missing, cut at any length, or have any byte changed`() throws {
    let fixture = try Fixture()
    try fixture.append(900)
    let head = try fixture.evidence.update()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    let older = naiveRoot(leaves[..<890], hasher)
    try fixture.evidence.save()
    try fixture.log.close()
    let names = ["frontier", "level-1", "leaves-0"]
    let originals = try names.map { try #require(try fixture.disk.contents("\(fixture.directory)/\($0)")) }
    for (name, original) in zip(names, originals) {
      let path = "\(fixture.directory)/\(name)"
      let steps = max(1, original.count / 150) * stateStep(debug: 3)
      for at in stride(from: 0, through: original.count, by: steps) {
        for change in 0..<2 {
          var bytes = original
          if change == 0 { bytes = Array(bytes[..<at]) } else if at < bytes.count { bytes[at] ^= 0x41 } else { continue }
          try fixture.disk.replace(path, with: bytes)
          let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
          var history = try History(log)
          #expect(try history.update() == head, "\(name) \(at) \(change)")
          for offset: Offset in [0, 300, 880] {
            // A proof may be refused for what is damaged; it is never wrong.
            guard let proof = try? history.inclusionProof(of: offset, in: 890) else { continue }
            #expect(proof.isValid(leaf: leaves[Int(offset)], root: older, hasher), "\(name) \(at) \(change) \(offset)")
          }
          try log.close()
          for (name, original) in zip(names, originals) { try fixture.disk.replace("\(fixture.directory)/\(name)", with: original) }
        }
      }
    }
  }

  @Test func `lost events have leaves of their own, the same for everybody`() throws {
    let fixture = try Fixture()
    try fixture.append(300)
    try fixture.log.close()
    // A byte in the middle of the second segment.
    let name = try #require(try fixture.disk.list("/log/segments").sorted().dropFirst().first)
    var bytes = try #require(try fixture.disk.contents("/log/segments/\(name)"))
    bytes[5000] ^= 1
    try fixture.disk.replace("/log/segments/\(name)", with: bytes)
    let log = try Log.open(at: "/log", options: fixture.options, environment: fixture.environment)
    var history = try History(log)
    let head = try history.update()
    let lost = try #require(history.lost.first?.offsets)
    #expect(!lost.isEmpty && head.size == log.size)
    #expect(try history.leaf(at: lost.lowerBound) == Descriptor(lost: lost.lowerBound).leaf(hasher))
    let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    var other = try History(reader)
    #expect(try other.update() == head)
  }

  @Test func `it goes on after trimming, also when all that was kept is gone`() throws {
    let fixture = try Fixture()
    try fixture.append(1500)
    try fixture.log.seal()
    try fixture.receipt()
    try fixture.append(100)
    let before = try fixture.evidence.update()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    let first = try fixture.evidence.trim(below: 900)
    #expect(first > 300 && first <= 900 && fixture.log.first == first)
    let head = try fixture.evidence.update()
    let proof = try fixture.evidence.consistencyProof(from: before.size, to: head.size)
    #expect(proof.isValid(from: before.root, to: head.root, hasher))
    for offset in [first, first + 1, before.size - 1] {
      let proof = try fixture.evidence.inclusionProof(of: offset, in: before.size)
      #expect(proof.isValid(leaf: leaves[Int(offset)], root: before.root, hasher))
    }
    for name in try fixture.disk.list(fixture.directory) where name != "notes" { try fixture.disk.remove("\(fixture.directory)/\(name)") }
    try fixture.kill()
    #expect(code { _ = try fixture.evidence.inclusionProof(of: 3, in: before.size) } == .trimmed)
    let again = try fixture.evidence.consistencyProof(from: head.size, to: fixture.evidence.update().size)
    #expect(again.isValid(from: head.root, to: try fixture.evidence.update().root, hasher))
    #expect(try fixture.audit().verdict == .proven)
  }
  /// The group of 256 that the log then begins in has lost its first leaves.
  @Test(arguments: [150, 300, 420, 700]) func `roots behind the floor are known from the trim event alone`(floor: UInt64) throws {
    let fixture = try Fixture()
    for step in 0..<8 {
      try fixture.append(100)
      try fixture.receipt(1_700_000_000 + Int64(step))
      try fixture.log.seal()
    }
    try fixture.append(1)
    let notes = try fixture.evidence.notes.map { try Checkpoint($0.text).head }
    let first = try fixture.evidence.trim(below: floor)
    try fixture.append(3)
    try fixture.receipt(1_700_000_100)
    try fixture.append(1)
    #expect(first > 0 && first <= floor)
    // What an audit has: nothing of what was kept.
    let reader = try Log.openForReading(at: "/log", options: fixture.options, environment: fixture.environment)
    for name in try fixture.disk.list(fixture.directory) where name != "notes" { try fixture.disk.remove("\(fixture.directory)/\(name)") }
    var history = try History(reader)
    try history.update()
    for head in notes where head.size >= first { #expect(try history.root(at: head.size) == head.root, "size \(head.size)") }
    let report = try fixture.audit()
    #expect(report.verdict == .proven, "\(report.findings)")
    #expect(report.receipts.count == Set(notes.map(\.size)).count { $0 >= first } + 1)
  }
  @Test func `the descriptor of one event is the one that reading all gives`() throws {
    let fixture = try Fixture()
    for count in [1, 5, 30] {
      try fixture.append(count)
      try fixture.receipt()
      fixture.clock.reboot()
      try fixture.reopen()
    }
    let all = try fixture.descriptors()
    for _ in 0..<2 {
      for offset in 0..<fixture.evidence.receiptedSize {
        #expect(try fixture.evidence.proof(of: offset).descriptor == all[Int(offset)], "offset \(offset)")
      }
      try fixture.log.seal()
    }
  }
}
