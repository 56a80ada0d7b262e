/// The one error type of this package.
///
/// Every public function that throws, throws a `LogError`. Match on ``code``; new codes can be added without breaking callers.
///
/// ```swift
/// do {
///   try log.append(event)
/// } catch LogError.Code.diskFull {
///   showStorageWarning()
/// }
/// ```
///
/// The description reads `<what> (<file>, <position>): <why>; <what to do>`.
public struct LogError: Error, Sendable, Equatable {
  /// What went wrong, as a stable name.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    private init(_ rawValue: String) { self.rawValue = rawValue }

    // Opening

    /// The path is something other than a directory.
    public static let notADirectory = Code("notADirectory")
    /// The directory holds no log.
    public static let notALog = Code("notALog")
    /// A log is there already.
    public static let alreadyExists = Code("alreadyExists")
    /// Another process, or this one, writes to the log.
    public static let locked = Code("locked")
    /// The log was written by a newer version. Nothing was changed.
    public static let unsupportedVersion = Code("unsupportedVersion")
    /// History is damaged; the message names file, position and offsets.
    public static let corrupt = Code("corrupt")
    /// The directory was moved or deleted, or another put in its place, while the log was open.
    public static let directoryMoved = Code("directoryMoved")
    /// The log was closed.
    public static let closed = Code("closed")
    /// The log was opened for reading only.
    public static let readOnly = Code("readOnly")

    // Environment

    /// The file system is mounted read-only.
    public static let readOnlyFileSystem = Code("readOnlyFileSystem")
    /// No space, quota or file size limit. What was acknowledged is safe; the first append after space is freed succeeds.
    public static let diskFull = Code("diskFull")
    /// The system refuses access. Nothing is taken for damaged; the same call succeeds once access is back.
    public static let permissionDenied = Code("permissionDenied")
    /// Any other failure of the file system, with its errno.
    public static let io = Code("io")

    // Appending

    /// The event, or the batch, is larger than the log accepts.
    public static let tooLarge = Code("tooLarge")
    /// A type, subject, actor, content type or extension is longer than the format allows.
    public static let stringTooLong = Code("stringTooLong")
    /// An event breaks a rule: an empty type, an empty batch, a reserved control kind.
    public static let invalidEvent = Code("invalidEvent")
    /// Text that is not valid UTF-8, an id that is no UUID, a time that can't be read.
    public static let invalidText = Code("invalidText")
    /// A time outside the years 1677 to 2262.
    public static let timeOutOfRange = Code("timeOutOfRange")
    /// The id was used before with other content. The message shows both digests; the first event stays.
    public static let conflict = Code("conflict")
    /// Another event was appended after the expected size.
    public static let unexpectedSize = Code("unexpectedSize")
    /// The write or sync failed, so it is unknown whether the events will be there after a restart. A retry with the same ids is safe.
    public static let outcomeUnknown = Code("outcomeUnknown")

    // Reading

    /// The offset lies beyond the end of the log.
    public static let offsetOutOfRange = Code("offsetOutOfRange")
    /// The offset lies below the first event that is still kept.
    public static let trimmed = Code("trimmed")
    /// A sealed segment's index, id pages, footer or header, or the merged id index, is damaged. No event is lost by it. The writer that
    /// meets it makes it again in the background; ``Log/seal()`` looks for it and makes it again at once.
    public static let damagedIndex = Code("damagedIndex")
    /// A log with evidence was to be trimmed without what its evidence needs.
    public static let evidenceNeedsHistory = Code("evidenceNeedsHistory")
    /// A bound makes no sense (a range upside down, an option out of its limits).
    public static let invalidArgument = Code("invalidArgument")

    /// Lets `catch LogError.Code.diskFull` work.
    public static func ~= (code: Code, error: any Error) -> Bool { (error as? LogError)?.code == code }
  }

  /// What went wrong.
  public let code: Code
  /// What was being done, or what is the matter.
  public let what: String
  /// The file concerned, as a path.
  public internal(set) var file: String?
  /// The byte position in that file.
  public internal(set) var position: UInt64?
  /// Offsets of the events concerned.
  public internal(set) var offsets: Range<UInt64>?
  /// Which event of an appended batch is meant, counted from 0; nil if it is the batch as a whole, or a single event.
  public internal(set) var batchIndex: Int?
  /// The reason.
  public internal(set) var why: String
  /// The system's error number, where one caused this.
  public internal(set) var errno: Int32?
  /// What the caller can do about it.
  public internal(set) var advice: String

  package init(
    _ code: Code, _ what: String, file: String? = nil, position: UInt64? = nil, offsets: Range<UInt64>? = nil,
    why: String = "", errno: Int32? = nil, advice: String = ""
  ) {
    self.code = code
    self.what = what
    self.file = file
    self.position = position
    self.offsets = offsets
    self.why = why
    self.errno = errno
    self.advice = advice
  }
}

extension LogError {
  /// The same, about one event of a batch of so many.
  func ofEvent(_ index: Int, in count: Int) -> LogError {
    var error = self
    error.batchIndex = count > 1 ? index : nil
    return error
  }
}

extension LogError: CustomStringConvertible {
  public var description: String {
    var text = what
    if let file {
      text += " (\(file)"
      if let position { text += ", byte \(position)" }
      text += ")"
    } else if let position {
      text += " (position \(position))"
    }
    if let offsets, !offsets.isEmpty { text += ", offsets \(offsets.lowerBound)..<\(offsets.upperBound)" }
    if let batchIndex { text += ", number \(batchIndex) of the batch" }
    if !why.isEmpty { text += ": \(why)" }
    if !advice.isEmpty { text += "; \(advice)" }
    return text
  }
}
