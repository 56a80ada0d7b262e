internal import TidemarkLog
internal import TidemarkText

/// A countersigner's memory as files, one a history: the last head as the text of a checkpoint.
///
/// ```swift
/// let memory = try HeadDirectory(at: "server/heads")
/// ```
public struct HeadDirectory: CountersignerMemory {
  /// The directory.
  public let path: String
  private let files: any FileSystem

  /// Makes the directory if it is not there. Throws errors of the file system.
  public init(at path: String) throws { try self.init(at: path, POSIXFileSystem()) }

  init(at path: String, _ files: any FileSystem) throws {
    self.path = path
    self.files = files
    guard try files.status(path) == nil else { return }
    try files.makeDirectory(path)
    try files.syncDirectory(files.directory(of: path))
  }

  /// An origin is any text: its digest is a file's name.
  private func file(_ origin: String) -> String { "\(path)/\(SHA256().hash(Array(origin.utf8)).hexadecimal)" }

  public func head(of origin: String) throws -> TreeHead? {
    guard let bytes = try files.contents(file(origin)) else { return nil }
    let checkpoint = try? Checkpoint(String(decoding: bytes, as: UTF8.self))
    guard let checkpoint, checkpoint.origin == origin else {
      throw LogError(
        .corrupt, "what was signed last can't be read", file: file(origin), why: "it is no head of \(origin)",
        advice: "restore it; without it a history that went back would not be seen")
    }
    return checkpoint.head
  }

  public func keep(_ head: TreeHead, of origin: String) throws {
    try files.replace(file(origin), with: Array(Checkpoint(origin: origin, head: head).text.utf8))
  }
}
