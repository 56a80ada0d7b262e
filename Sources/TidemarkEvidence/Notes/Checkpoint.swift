public import TidemarkLog
internal import TidemarkText

/// A tree head of a named history, as the text of a note (C2SP tlog-checkpoint): origin, size and root, one a line.
///
/// ```swift
/// let checkpoint = Checkpoint(origin: Checkpoint.origin(of: log.identity), head: head)
/// print(checkpoint.text)
/// ```
public struct Checkpoint: Sendable, Hashable {
  /// Which history: see ``origin(of:)``.
  public let origin: String
  /// Its size and root.
  public let head: TreeHead

  /// A checkpoint that is to be signed.
  public init(origin: String, head: TreeHead) {
    self.origin = origin
    self.head = head
  }

  /// What a log's history is called in its current epoch: `tidemark/<log id>/<epoch id>`, ids as 32 hexadecimal digits.
  public static func origin(of identity: LogIdentity) -> String { origin(log: identity.logID, epoch: identity.epochID) }

  static func origin(log: EventID, epoch: EventID) -> String { "tidemark/\(log.hexadecimal)/\(epoch.hexadecimal)" }

  /// The text of the note.
  public var text: String { "\(origin)\n\(head.size)\n\(Base64.text(head.root.bytes))\n" }

  /// Reads a note's text. Further lines are allowed there and ignored. Throws `LogError.Code.invalidText` for what is no checkpoint.
  public init(_ text: String) throws {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 4, lines.last == "", lines.dropLast().allSatisfy({ !$0.isEmpty }) else {
      throw LogError.malformed("a checkpoint", "it has not three lines or more")
    }
    guard let size = Offset(lines[1]), String(size) == lines[1], size <= Record.offsetLimit else {
      throw LogError.malformed("a checkpoint", line: 2, "it is no size")
    }
    guard let bytes = Base64.bytes(lines[2]), let root = Digest256(bytes) else {
      throw LogError.malformed("a checkpoint", line: 3, "it is no root hash")
    }
    self.init(origin: String(lines[0]), head: TreeHead(size: size, root: root))
  }
}
