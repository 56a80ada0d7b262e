public import TidemarkLog

/// What a countersigner signed of a history.
public struct CountersignedHead: Sendable, Hashable {
  /// The history's size and root.
  public let head: TreeHead
  /// The time that was signed, in seconds since 1970.
  public let seconds: UInt64

  /// A head, and when it was signed.
  public init(_ head: TreeHead, seconds: UInt64) {
    self.head = head
    self.seconds = seconds
  }
}

/// Where a countersigner keeps what it signed last of each history.
public protocol CountersignerMemory {
  /// What it signed last; nil for a history that it has not seen.
  func last(of origin: String) throws -> CountersignedHead?
  /// Keeps what it is about to sign, durably, before the signature is given out.
  func keep(_ next: CountersignedHead, of origin: String) throws
}

/// Signs under a device's checkpoint, with its own time, if the history only grew since it last did: the rules of a C2SP witness. The
/// server uses it, and whoever stands in for a server.
///
/// ```swift
/// let server = try Countersigner(name: "server.example/1", keys: keys, publicKey: key, memory: memory)
/// let receipt = try server.countersign(checkpoint, proof, signedBy: deviceKey, at: now)
/// ```
public struct Countersigner {
  /// What it signs with.
  public let key: VerifierKey
  private let keys: any SigningKeyProvider
  private let memory: any CountersignerMemory

  /// A key that is in `keys` already. Throws `LogError.Code.invalidText` for a name that a note can't carry.
  public init(name: String, keys: any SigningKeyProvider, publicKey: [UInt8], memory: any CountersignerMemory) throws {
    key = try VerifierKey(name: name, kind: .cosignature, publicKey: publicKey)
    self.keys = keys
    self.memory = memory
  }

  /// The size that the next proof has to begin at: 0 for a history not seen before.
  public func size(of origin: String) throws -> Offset { try memory.last(of: origin)?.head.size ?? 0 }

  /// Returns the checkpoint with one more signature. An earlier one of this key under it goes.
  ///
  /// - Parameters:
  ///   - note: a checkpoint that the device signed.
  ///   - proof: from the size that this signed last (see ``size(of:)``) to the checkpoint's.
  ///   - deviceKey: the key that signs this history now, from elsewhere than the note.
  ///   - time: by this server's clock; whole seconds are signed.
  ///
  /// Throws `LogError.Code.notProven` if the device's signature or the proof does not verify, `LogError.Code.inconsistent` if the size
  /// falls or two heads of one size differ, `LogError.Code.unexpectedSize` if the proof begins elsewhere, `LogError.Code.timeOutOfRange`
  /// before the time that was signed last of this history, and what the memory throws. Then nothing is signed: a time that the clock does
  /// not show would be a wrong one, and an earlier one would contradict the receipts before it.
  public func countersign(_ note: SignedNote, _ proof: ConsistencyProof, signedBy deviceKey: VerifierKey, at time: Timestamp) throws
    -> SignedNote
  {
    let checkpoint = try Checkpoint(note.text)
    guard checkpoint.origin == deviceKey.name, note.isSigned(by: deviceKey) else {
      throw LogError(
        .notProven, "a checkpoint is not signed by its device", why: "no signature of \(deviceKey.name) verifies",
        advice: "enrol the device's key, or send what the device signed")
    }
    let head = checkpoint.head
    let hasher = SHA256()
    let last = try memory.last(of: checkpoint.origin) ?? CountersignedHead(TreeHead(size: 0, root: hasher.hash([])), seconds: 0)
    let known = last.head
    if head.size < known.size || (head.size == known.size && head.root != known.root) {
      throw LogError(
        .inconsistent, "a history went back or was changed", offsets: min(head.size, known.size)..<known.size,
        why: "size \(known.size) was signed with root \(known.root.hexadecimal), now it is size \(head.size) with \(head.root.hexadecimal)",
        advice: "keep both, and let the device go on in a new epoch")
    }
    guard proof.oldSize == known.size, proof.size == head.size else {
      throw LogError(
        .unexpectedSize, "a consistency proof is for other sizes", why: "it is needed from \(known.size) to \(head.size)",
        advice: "send that one")
    }
    guard proof.isValid(from: known.root, to: head.root, hasher) else {
      throw LogError(
        .notProven, "a history is not proven to be a continuation", offsets: known.size..<head.size,
        why: "the proof does not lead from the root at \(known.size) to the one at \(head.size)",
        advice: "keep both, and let the device go on in a new epoch")
    }
    guard time.nanoseconds >= 0 else {
      throw LogError(.timeOutOfRange, "a receipt's time is before 1970", advice: "set the server's clock")
    }
    let seconds = UInt64(time.nanoseconds / 1_000_000_000)
    guard seconds >= last.seconds else {
      throw LogError(
        .timeOutOfRange, "a receipt would be earlier than the last one of its history",
        why: "the clock says \(seconds) seconds since 1970, \(last.seconds) were signed",
        advice: "set the server's clock; if it ran ahead before, wait until it is past that time, or sign with a new key under a new name")
    }
    try memory.keep(CountersignedHead(head, seconds: seconds), of: checkpoint.origin)
    return try note.cosigned(by: key, keys, seconds: seconds)
  }
}
