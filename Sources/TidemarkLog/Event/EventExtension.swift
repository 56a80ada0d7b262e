/// A further attribute of an event.
public enum EventExtension: Sendable, Hashable {
  /// All events of one undertaking share it.
  case correlation(EventID)
  /// The event that led to this one.
  case causation(EventID)
  /// The event that this one corrects.
  case supersedes(EventID)
  case attachment(Attachment)
  case locationFix(LocationFix)
  /// The key that the subject's data is encrypted under.
  case subjectKey(EventID)
  /// Any other CloudEvents context attribute. Name: 1 to 255 bytes.
  case attribute(name: String, value: String)
  /// Written by a later version: kept as it is.
  case unknown(tag: UInt16, value: [UInt8])

  /// A file that belongs to the event and is stored beside the log.
  public struct Attachment: Sendable, Hashable {
    public var byteCount: UInt64
    /// SHA-256 of the contents: 32 bytes.
    public var digest: [UInt8]
    public var mediaType: String
    public var name: String

    public init(byteCount: UInt64, digest: [UInt8], mediaType: String, name: String) {
      self.byteCount = byteCount
      self.digest = digest
      self.mediaType = mediaType
      self.name = name
    }
  }

  /// When and how well the device knew where it was.
  public struct LocationFix: Sendable, Hashable {
    public var time: Timestamp
    /// Nanoseconds since boot at the fix.
    public var elapsed: UInt64
    public var accuracyMillimetres: UInt32

    public init(time: Timestamp, elapsed: UInt64, accuracyMillimetres: UInt32) {
      self.time = time
      self.elapsed = elapsed
      self.accuracyMillimetres = accuracyMillimetres
    }
  }
}
