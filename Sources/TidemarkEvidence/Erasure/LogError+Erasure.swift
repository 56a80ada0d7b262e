public import TidemarkLog

extension LogError.Code {
  /// A sealed event's data is cut short or altered, or not what was sealed under its id, type, subject and actor.
  public static let damagedEnvelope = LogError.Code(rawValue: "damagedEnvelope")
  /// A sealed event's data commits to another key than the one that its event names: it is another event's, another subject's, or altered.
  public static let keyMismatch = LogError.Code(rawValue: "keyMismatch")
  /// The store never had the key that a sealed event names, nor knows of its destruction.
  public static let unknownKey = LogError.Code(rawValue: "unknownKey")
  /// The store has no key of that subject: there never was one, or it was erased. Which of both can't be told any more.
  public static let unknownSubject = LogError.Code(rawValue: "unknownSubject")
  /// What a key was kept in can't be read as a key.
  public static let damagedKey = LogError.Code(rawValue: "damagedKey")
  /// Others than their owner may read the keys.
  public static let keysNotPrivate = LogError.Code(rawValue: "keysNotPrivate")
  /// Snapshots that erasure would remove hold values of events that were trimmed, which nothing can give again.
  public static let snapshotsOfTrimmedHistory = LogError.Code(rawValue: "snapshotsOfTrimmedHistory")
}
