public import TidemarkLog
internal import TidemarkText

/// Shows to anybody, offline, that an event was at its offset when a server countersigned the history: a C2SP tlog-proof, whose extra data
/// is the event's descriptor.
///
/// ```swift
/// let proof = try evidence.proof(of: 41)
/// print(proof)                                         // a text file
/// let receipt = try proof.verify(policy, deviceKey: key)
/// ```
public struct EventProof: Sendable, Hashable, CustomStringConvertible {
  /// What the leaf is hashed from.
  public let descriptor: Descriptor
  /// The way to the checkpoint's root.
  public let inclusion: InclusionProof
  /// The checkpoint, with the signatures under it.
  public let note: SignedNote

  private static let firstLine = "c2sp.org/tlog-proof@v1"

  init(descriptor: Descriptor, inclusion: InclusionProof, note: SignedNote) {
    self.descriptor = descriptor
    self.inclusion = inclusion
    self.note = note
  }

  /// The text of the file.
  public var description: String {
    let hashes = inclusion.hashes.map { Base64.text($0.bytes) + "\n" }.joined()
    return "\(Self.firstLine)\nextra \(Base64.text(descriptor.bytes))\nindex \(inclusion.offset)\n\(hashes)\n\(note)"
  }

  /// Reads a proof. Nothing is verified. Throws `LogError.Code.invalidText`.
  public init(_ bytes: [UInt8]) throws {
    guard bytes.count <= 2 * SignedNote.byteCountLimit, let split = Self.emptyLine(bytes) else {
      throw LogError.malformed("a proof", "no empty line parts its hashes from its checkpoint")
    }
    let lines = String(decoding: bytes[..<split], as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    guard lines.count >= 3, lines[0] == Self.firstLine else { throw LogError.malformed("a proof", line: 1, "it is not \(Self.firstLine)") }
    guard lines[1].hasPrefix("extra "), let extra = Base64.bytes(lines[1].dropFirst(6)) else {
      throw LogError.malformed("a proof", line: 2, "it is no base64 of a descriptor")
    }
    guard lines[2].hasPrefix("index "), let offset = Offset(lines[2].dropFirst(6)), "index \(offset)" == lines[2],
      offset < Record.offsetLimit
    else {
      throw LogError.malformed("a proof", line: 3, "it is no offset")
    }
    var hashes: [Digest256] = []
    for (index, line) in lines.dropFirst(3).enumerated() {
      guard let hash = Base64.bytes(line).flatMap({ Digest256($0) }) else {
        throw LogError.malformed("a proof", line: 4 + index, "it is no hash")
      }
      hashes.append(hash)
    }
    note = try SignedNote(Array(bytes[(split + 1)...]))
    descriptor = Descriptor(bytes: extra)
    inclusion = InclusionProof(offset: offset, size: try Checkpoint(note.text).head.size, hashes: hashes)
  }

  /// Where the first empty line is.
  private static func emptyLine(_ bytes: [UInt8]) -> Int? {
    bytes.indices.dropFirst().first { bytes[$0] == 0x0A && bytes[$0 - 1] == 0x0A }
  }

  /// Checks all of it: the way to the root, the device's signature, and that the policy is met.
  ///
  /// - Parameters:
  ///   - policy: whose signatures count.
  ///   - deviceKey: the key in force at the checkpoint's size; nil to take one that the policy names.
  ///
  /// Throws `LogError.Code.notProven` with the reason.
  @discardableResult
  public func verify(_ policy: Policy, deviceKey: VerifierKey? = nil) throws -> Receipt {
    let receipt = try Receipt(note, policy)
    let hasher = SHA256()
    guard inclusion.isValid(leaf: descriptor.leaf(hasher), root: receipt.checkpoint.head.root, hasher) else {
      throw LogError(
        .notProven, "an event is not in the history that was signed", offsets: inclusion.offset..<inclusion.offset + 1,
        why: "its descriptor does not lead to the root", advice: "compare it with the server's copy")
    }
    let keys = deviceKey.map { [$0] } ?? policy.keys(of: receipt.checkpoint.origin)
    guard keys.contains(where: { $0.name == receipt.checkpoint.origin && note.isSigned(by: $0) }) else {
      throw LogError(
        .notProven, "a checkpoint is not signed by its device", why: "no key that counts for \(receipt.checkpoint.origin) signed it",
        advice: "add the device's key to the policy")
    }
    return receipt
  }
}

extension Evidence {
  /// A proof of an event, against the first receipt that covers it.
  ///
  /// Throws `LogError.Code.notProven` if none does, and as ``inclusionProof(of:in:)``.
  public func proof(of offset: Offset) throws -> EventProof {
    let receipt = try Self.firstReceipt(covering: offset, in: notes)
    return EventProof(
      descriptor: try Descriptor(of: offset, in: log),
      inclusion: try inclusionProof(of: offset, in: try Checkpoint(receipt.text).head.size), note: receipt)
  }

  static func firstReceipt(covering offset: Offset, in notes: [SignedNote]) throws -> SignedNote {
    let receipts = try notes.filter { $0.signatures.count > 1 }.map { ($0, try Checkpoint($0.text).head.size) }
    guard let found = receipts.filter({ $0.1 > offset }).min(by: { $0.1 < $1.1 }) else {
      throw LogError(
        .notProven, "no receipt covers offset \(offset)", offsets: offset < .max ? offset..<offset + 1 : nil,
        why: "receipts cover \(receipts.map(\.1).max() ?? 0) events", advice: "get a receipt first")
    }
    return found.0
  }
}

extension Descriptor {
  /// Of what stands at an offset of a log.
  init(of offset: Offset, in log: Log) throws {
    guard offset >= log.first else {
      throw LogError(
        .trimmed, "offset \(offset) is gone", why: "the log was trimmed below offset \(log.first)",
        advice: "get the proof from the server or an archive")
    }
    let hasher = SHA256()
    let session = try hasher.hash(session: LeafReader.sessionData(log, at: offset))
    var cursor = try log.read(seen: Query(offsets: offset..<offset + 1, includesControlEvents: true, onDamage: .skip))
    guard let event = try cursor.next() else {
      self.init(lost: offset)
      return
    }
    self.init(event, session: session, hasher)
  }
}
