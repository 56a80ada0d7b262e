public import TidemarkLog

/// Where the keys of subjects are kept: ``FileKeyStore``, or what the host's platform has for secrets.
///
/// A store makes three promises. A key that it gave for sealing was durable before. From ``beginErasure(of:)`` on, which is durable when it
/// returns, neither ``key(for:)`` nor ``find(_:)`` gives the keys of that subject, in whatever process. After ``destroy(_:)`` nothing in
/// the store holds the secret or the subject's name, but that there was a key of that id is still known.
///
/// Methods may be called from any thread, and throw a `LogError`.
public protocol SubjectKeyStore: Sendable {
  /// The key that new events of a subject are sealed under; made if there is none.
  func key(for subject: String) throws -> SubjectKey
  /// All keys of a subject that are not being erased.
  func keys(of subject: String) throws -> [SubjectKey]
  /// The key of an id, or what became of it.
  func find(_ id: EventID) throws -> FoundKey
  /// Marks all keys of a subject as being erased, durably. Nothing happens if it has none.
  func beginErasure(of subject: String) throws
  /// Keys whose erasure has begun and not ended.
  func pendingErasures() throws -> [PendingErasure]
  /// Destroys a key, durably. Nothing happens if that was done before.
  func destroy(_ id: EventID) throws
}

/// What a store knows of a key's id.
public enum FoundKey: Sendable, Equatable {
  /// It has the key.
  case key(SubjectKey)
  /// It had it; the key is destroyed, or about to be.
  case destroyed
  /// It never had it.
  case unknown
}

/// A key that is about to be destroyed.
public struct PendingErasure: Sendable, Equatable {
  /// The key's id.
  public var id: EventID
  /// Nil if its destruction was interrupted when it could no longer be read.
  public var key: SubjectKey?

  /// For stores of hosts.
  public init(id: EventID, key: SubjectKey?) {
    self.id = id
    self.key = key
  }
}
