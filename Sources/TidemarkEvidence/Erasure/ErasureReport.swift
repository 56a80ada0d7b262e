public import TidemarkLog

/// What an erasure destroyed, and what remains; or, from ``ErasableEvents/planErasure(of:from:removing:)``, what it would.
public struct ErasureReport: Sendable, Equatable {
  /// A key that is destroyed in this store.
  public struct Key: Sendable, Equatable {
    /// Its id, as sealed events name it.
    public var id: EventID
    /// What stands in the events for the subject; nil if that could no longer be read.
    public var pseudonym: EventID?
    /// Events of the log that are sealed under it. They remain, as ciphertext.
    public var eventCount: UInt64
    /// The first and the last of them; nil if there are none.
    public var offsets: ClosedRange<Offset>?
    /// Who else was given a copy, and must destroy it.
    public var holders: [String]
  }

  /// A file that is gone.
  public struct RemovedFile: Sendable, Equatable {
    /// Its path.
    public var path: String
    /// Whether its bytes were overwritten before; not those of a file that nobody may write to.
    public var isOverwritten: Bool
  }

  /// The keys, in the order of their ids. Those of other subjects are among them if an earlier erasure of theirs was interrupted.
  public var keys: [Key] = []
  /// The events of the log that say so, in order.
  public var erasureOffsets: [Offset] = []
  /// Derived copies that are gone.
  public var removed: [RemovedFile] = []

  // What remains.

  /// Snapshots that were left, as the caller asked.
  public var keptSnapshots: [String] = []
  /// Databases that were named and not there: removed before, or misspelt.
  public var missingDatabases: [String] = []
  /// Names of attachments of the subject that lie in none of the directories given, or with other content.
  public var missingAttachments: [String] = []
  /// Events that name the subject as subject or actor in the clear: they were never sealed, and can't be erased.
  public var plainEventCount: UInt64 = 0
  /// Sealed events of the subject that could not be opened to look for attachments.
  public var unreadableEventCount: UInt64 = 0
  /// Offsets that damage hides.
  public var damagedOffsetCount: UInt64 = 0

  /// All others that must destroy their copies, each once, in order.
  public var holders: [String] { Set(keys.flatMap(\.holders)).sorted() }
}
