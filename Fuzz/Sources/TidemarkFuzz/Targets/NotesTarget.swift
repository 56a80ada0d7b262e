@testable import TidemarkEvidence
@testable import TidemarkLog

/// What evidence reads from others: notes, checkpoints, keys, policies, proofs, key events, how far a tree has come, thresholds of clocks.
///
/// The first byte says which. What is taken is written again and has to be the same, but for policies and thresholds.
enum NotesTarget {
  private static let identity = LogIdentity(
    logID: EventID(high: 1, low: 2), created: Timestamp(nanoseconds: 0), contentDigestKind: 1,
    epochs: [.init(id: EventID(high: 3, low: 4), parent: nil, forkSize: 0, created: Timestamp(nanoseconds: 0), rootHash: nil)])

  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let choice = input.u8()
    let rest = input.rest()
    let text = String(decoding: rest, as: UTF8.self)
    switch choice % 8 {
    case 0:
      guard let note = taken({ try SignedNote(rest) }) else { return }
      require(note.bytes == rest, "a note changes when it is written again")
      require(!note.isSigned(by: key), "a note counts as signed by a key that never signed")
      require(note.cosignature(by: cosigner) == nil, "a note counts as cosigned by a key that never signed")
      if let checkpoint = taken({ try Checkpoint(note.text) }) { require(note.text.hasPrefix(checkpoint.text), "a checkpoint changes") }
    case 1: if let checkpoint = taken({ try Checkpoint(text) }) { require(text.hasPrefix(checkpoint.text), "a checkpoint changes") }
    case 2: if let key = taken({ try VerifierKey(text) }) { require(key.description == text, "a key changes when it is written again") }
    case 3:
      guard let policy = taken({ try Policy(text) }) else { return }
      require(!policy.isMet(by: SignedNote(text: "a\n", signatures: [])), "a policy is met by nothing")
    case 4:
      guard let proof = taken({ try EventProof(rest) }) else { return }
      require(Array(proof.description.utf8) == rest, "a proof changes when it is written again")
      require((try? proof.verify(Policy("quorum none\n"))) == nil, "a proof that nobody signed counts")
    case 5:
      let record = KeyRecord(Array((rest + [UInt8](repeating: 0, count: KeyRecord.byteCount)).prefix(KeyRecord.byteCount)), of: identity)
      require(record == nil, "a key event counts that nobody signed")
    case 6:
      var file = rest
      if file.count >= 8 { file.store(xxh3(Array(file.dropLast(8)).rawSpan), at: file.count - 8) }
      guard let frontier = Frontier(file, identity) else { return }
      require(frontier.encode(identity) == file, "what was kept of a tree changes when it is written again")
      require(frontier.range.subtrees.count == frontier.range.size.nonzeroBitCount, "a tree has too many or too few subtrees")
    default: _ = taken { try ClockPolicy(json: rest, file: "policy.json") }
    }
  }

  /// What was refused was refused by a clear error.
  private static func taken<Value>(_ read: () throws -> Value) -> Value? {
    do { return try read() } catch let error as LogError {
      explain("\(error)")
      require(!error.why.isEmpty && !error.advice.isEmpty, "something is refused with \(error)")
    } catch { violated("something is refused with \(error)") }
    return nil
  }

  private static let publicKey = Ed25519.keys(seed: [UInt8](repeating: 7, count: 32)).publicKey
  private static let key = make(.note)
  private static let cosigner = make(.cosignature)

  private static func make(_ kind: VerifierKey.Kind) -> VerifierKey {
    guard let key = try? VerifierKey(name: "a", kind: kind, publicKey: publicKey) else { violated("a key can't be made") }
    return key
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
    let checkpoint = "a\n7\n\(root)\n"
    let signature = SignedNote.Signature(name: "a", keyID: key.keyID, bytes: [UInt8](repeating: 1, count: 64))
    let other = SignedNote.Signature(name: "a", keyID: cosigner.keyID, bytes: [UInt8](repeating: 1, count: 72))
    let note = SignedNote(text: checkpoint, signatures: [signature, other])
    let proof = EventProof(
      descriptor: Descriptor(lost: 3), inclusion: InclusionProof(offset: 3, size: 7, hashes: [.zero, .zero, .zero]), note: note)
    let policy = "# two\nlog \(key)\nwitness w \(cosigner)\ngroup g any w\nquorum g\n"
    var range = CompactRange()
    for _ in 0..<5 { range.append(.zero, SHA256()) }
    let frontier = Frontier(range: range, session: .zero, floor: CompactRange()).encode(identity)
    let thresholds = #"{"version":1,"build_date":"2026-01-01T00:00:00Z","slew_ppm":500}"#
    let texts = [note.description, checkpoint, key.description, policy, proof.description]
    return texts.enumerated().map { ("\($0.offset)", [UInt8($0.offset)] + Array($0.element.utf8)) } + [
      ("5", [5, 1, 0]), ("6", [6] + frontier), ("7", [7] + Array(thresholds.utf8)),
    ]
  }
}
