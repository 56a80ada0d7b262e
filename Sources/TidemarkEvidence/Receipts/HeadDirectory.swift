package import TidemarkLog
internal import TidemarkText

/// A countersigner's memory as files, one a history: the last head as the text of a checkpoint, with a line `time <seconds since 1970>`
/// behind it.
///
/// ```swift
/// let memory = try HeadDirectory(at: "server/heads")
/// ```
public struct HeadDirectory: CountersignerMemory {
  /// The directory.
  public let path: String
  private let files: any FileSystem
  private static let timePrefix = "time "

  /// Makes the directory if it is not there. Throws errors of the file system.
  public init(at path: String) throws { try self.init(at: path, POSIXFileSystem()) }

  package init(at path: String, _ files: any FileSystem) throws {
    self.path = path
    self.files = files
    guard try files.status(path) == nil else { return }
    try files.makeDirectory(path)
    try files.syncDirectory(files.directory(of: path))
  }

  /// An origin is any text: its digest is a file's name.
  private func file(_ origin: String) -> String { "\(path)/\(SHA256().hash(Array(origin.utf8)).hexadecimal)" }

  public func last(of origin: String) throws -> CountersignedHead? {
    guard let bytes = try files.contents(file(origin)) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    let checkpoint = try? Checkpoint(text)
    let lines = text.split(separator: "\n")
    guard let checkpoint, checkpoint.origin == origin, lines.count == 4, lines[3].hasPrefix(Self.timePrefix),
      let seconds = UInt64(lines[3].dropFirst(Self.timePrefix.count))
    else {
      throw LogError(
        .corrupt, "what was signed last can't be read", file: file(origin), why: "it is no head of \(origin)",
        advice: "restore it; without it a history that went back would not be seen")
    }
    return CountersignedHead(checkpoint.head, seconds: seconds)
  }

  public func keep(_ next: CountersignedHead, of origin: String) throws {
    let text = "\(Checkpoint(origin: origin, head: next.head).text)\(Self.timePrefix)\(next.seconds)\n"
    try files.replace(file(origin), with: Array(text.utf8))
  }
}
