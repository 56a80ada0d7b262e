internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkText

/// The server's signed words that it has a file, as a file: a line each, in the order in which they came.
///
/// ```
/// <XXH3-64 of the rest, 16 hexadecimal digits> {"digest":…,"length":…,"complete":true,"signature":…,"tenant":…,"key":…}
/// ```
///
/// Only added to. What can't be read is passed over: the server gives the same word again when it is asked.
struct AttachmentReceipts {
  let path: String
  private let files: any FileSystem
  /// The length of each file that the server has.
  private(set) var accepted: [Digest256: UInt64] = [:]
  /// So much of the file was read.
  private var end: UInt64 = 0
  private var inode: UInt64 = 0
  /// A write failed: what the file seems to hold need not be on the disk.
  private var isDoubtful = false

  static let name = "receipts"

  /// A directory that is not there has none.
  init(_ directory: String, _ files: any FileSystem) throws {
    path = "\(directory)/\(Self.name)"
    self.files = files
    try refresh()
  }

  /// Takes in what was added meanwhile, by whoever.
  mutating func refresh() throws {
    guard let status = try files.status(path) else { return }
    if status.inode != inode || status.byteCount < end { (accepted, end, inode) = ([:], 0, status.inode) }
    guard status.byteCount > end else { return }
    let file = try files.open(path, .read)
    defer { file.close() }
    var bytes = [UInt8](repeating: 0, count: Int(status.byteCount - end))
    bytes.removeLast(bytes.count - (try file.read(bytes.count, at: end, into: &bytes, at: 0)))
    guard let last = bytes.lastIndex(of: 0x0A) else { return }
    for line in bytes[..<last].split(separator: 0x0A) {
      if let answer = Self.answer(line) { accepted[answer.digest] = answer.byteCount }
    }
    end += UInt64(last + 1)
  }

  /// Keeps one, durably. It was verified.
  mutating func append(_ answer: AttachmentAnswer, tenant: String, key: VerifierKey) throws {
    try refresh()
    if accepted[answer.digest] == answer.byteCount && !isDoubtful { return try sync() }
    let line = Self.line(answer, tenant, key)
    let length = try files.status(path)?.byteCount
    if isDoubtful || length.map({ $0 != end }) ?? false {
      // A crash left something unfinished.
      let kept = try (files.contents(path) ?? []).split(separator: 0x0A).filter { Self.answer($0) != nil }
      try files.replace(path, with: kept.flatMap { $0 + [0x0A] } + line)
      isDoubtful = false
      return try refresh()
    }
    let file = try files.open(path, length == nil ? .create : .write)
    defer { file.close() }
    isDoubtful = true
    try file.write(line.rawSpan, at: end)
    try file.sync()
    if length == nil { try files.syncDirectory(files.directory(of: path)) }
    isDoubtful = false
    try refresh()
  }

  /// Makes what was read durable: a process that was killed may not have come to that.
  func sync() throws {
    guard try files.status(path) != nil else { return }
    let file = try files.open(path, .write)
    defer { file.close() }
    try file.sync()
    try files.syncDirectory(files.directory(of: path))
  }

  // MARK: Lines

  private static func line(_ answer: AttachmentAnswer, _ tenant: String, _ key: VerifierKey) -> [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    answer.write(to: &json)
    json.member("tenant", tenant)
    json.member("key", key.description)
    json.endObject()
    return Array(checksum(json.bytes[...]).utf8) + [UInt8(ascii: " ")] + json.bytes + [0x0A]
  }

  private static func checksum(_ bytes: ArraySlice<UInt8>) -> String {
    var word: [UInt8] = []
    word.add(xxh3(Array(bytes).rawSpan).byteSwapped)
    return word.hexadecimal
  }

  private static func answer(_ line: ArraySlice<UInt8>) -> AttachmentAnswer? {
    let json = line.dropFirst(17)
    guard !json.isEmpty, line.prefix(17).elementsEqual((checksum(json) + " ").utf8) else { return nil }
    return (try? AttachmentAnswer(json: Array(json))).flatMap { $0.isComplete ? $0 : nil }
  }
}
