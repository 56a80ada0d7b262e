public import TidemarkLog

/// The key of one subject: what its events are encrypted under, and who the subject is.
///
/// The name of the subject stands here and inside the encrypted data, nowhere else, so that it goes with the key.
public struct SubjectKey: Sendable, Equatable {
  /// Random; events name it in the clear.
  public let id: EventID
  /// Stands in the events for the subject's name. Random: nothing about the name follows from it.
  public let pseudonym: EventID
  /// Whose key it is, as the host names its subjects: 1 to 1,024 bytes of UTF-8.
  public let subject: String
  /// 32 random bytes.
  public let secret: [UInt8]
  /// Others that were given a copy, such as a server: each must destroy its own.
  public var holders: [String]

  /// A key that a host keeps in its own store. Traps if the secret has another length than 32 bytes.
  public init(id: EventID, pseudonym: EventID, subject: String, secret: [UInt8], holders: [String] = []) {
    precondition(secret.count == Self.secretByteCount, "a subject's key has \(Self.secretByteCount) bytes")
    self.id = id
    self.pseudonym = pseudonym
    self.subject = subject
    self.secret = secret
    self.holders = holders
  }

  /// A new key from the system's random source.
  ///
  /// - Parameters:
  ///   - subject: whose key it is.
  ///   - pseudonym: that of the subject's other keys, if it has any.
  public init(newFor subject: String, pseudonym: EventID? = nil) {
    self.init(
      id: Self.randomID(), pseudonym: pseudonym ?? Self.randomID(), subject: subject, secret: Ed25519.random(Self.secretByteCount))
  }

  static let secretByteCount = 32

  static func randomID() -> EventID { Ed25519.random(16).rawSpan.id(0) }
}

// What is derived from the secret. `Specs/erasure.md` has the table.
extension SubjectKey {
  /// The key of one event's data.
  func eventKey(for id: EventID) -> [UInt8] {
    BLAKE2b.keyed([], byteCount: 32, key: secret, personalisation: "tidemark event 1", salt: id)
  }

  /// Binds an envelope to the one key that opens it: another key that gives the same would be a collision of BLAKE2b.
  static func commitment(to eventKey: [UInt8]) -> [UInt8] {
    BLAKE2b.keyed([], byteCount: 32, key: eventKey, personalisation: "tidemark commit1")
  }

  /// A nonce that only the same message of the same event gives again. Nobody without the secret can tell it from a random one.
  func nonce(for id: EventID, _ associatedData: [UInt8], _ message: [UInt8]) -> [UInt8] {
    var input: [UInt8] = []
    input.add(UInt64(associatedData.count))
    input += associatedData
    input += message
    return BLAKE2b.keyed(
      input, byteCount: XChaCha20Poly1305.nonceByteCount, key: secret, personalisation: "tidemark nonce 1", salt: id)
  }

  /// Stands for an id that tells something about the subject, as a hash of its name would: a UUIDv8 (RFC 9562, section 5.8).
  func eventID(for id: EventID) -> EventID {
    var message: [UInt8] = []
    message.add(id)
    let hidden = BLAKE2b.keyed(message, byteCount: 16, key: secret, personalisation: "tidemark ident 1").rawSpan.id(0)
    return EventID(high: hidden.high & ~0xF000 | 0x8000, low: hidden.low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }

  /// Stands for an actor in this subject's events: the same in all of them, another one in those of other subjects.
  func pseudonym(ofActor actor: String) -> EventID {
    BLAKE2b.keyed(Array(actor.utf8), byteCount: 16, key: secret, personalisation: "tidemark actor 1").rawSpan.id(0)
  }
}
