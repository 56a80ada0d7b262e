/// A further attribute of an event.
public enum EventExtension: Sendable, Hashable {
  /// All events of one undertaking share it.
  case correlation(EventID)
  /// The event that led to this one.
  case causation(EventID)
  /// The event that this one corrects.
  case supersedes(EventID)
  /// A file that belongs to the event.
  case attachment(Attachment)
  /// When and how well the device knew where it was.
  case locationFix(LocationFix)
  /// The key that the subject's data is encrypted under.
  case subjectKey(EventID)
  /// Any other CloudEvents context attribute. Name: 1 to 255 bytes.
  case attribute(name: String, value: String)
  /// Written by a later version: kept as it is.
  case unknown(tag: UInt16, value: [UInt8])

  /// A file that belongs to the event and is stored beside the log.
  public struct Attachment: Sendable, Hashable {
    /// The file's length.
    public var byteCount: UInt64
    /// SHA-256 of the contents: 32 bytes.
    public var digest: [UInt8]
    /// Such as `image/jpeg`: up to 255 bytes.
    public var mediaType: String
    /// The file's name for people: up to 255 bytes.
    public var name: String

    /// Describes a file. A digest of other than 32 bytes is refused at appending.
    public init(byteCount: UInt64, digest: [UInt8], mediaType: String, name: String) {
      self.byteCount = byteCount
      self.digest = digest
      self.mediaType = mediaType
      self.name = name
    }
  }

  /// When and how well the device knew where it was.
  public struct LocationFix: Sendable, Hashable {
    /// The wall clock at the fix.
    public var time: Timestamp
    /// Nanoseconds since boot at the fix.
    public var elapsed: UInt64
    /// The radius within which the device believed to be.
    public var accuracyMillimetres: UInt32

    /// Describes a fix.
    public init(time: Timestamp, elapsed: UInt64, accuracyMillimetres: UInt32) {
      self.time = time
      self.elapsed = elapsed
      self.accuracyMillimetres = accuracyMillimetres
    }
  }
}
