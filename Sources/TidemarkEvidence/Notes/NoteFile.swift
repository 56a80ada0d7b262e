internal import TidemarkLog

/// The notes of a history, one behind the other, each followed by an empty line: checkpoints that the device signed, and receipts. Only
/// added to.
struct NoteFile {
  let path: String
  private let files: any FileSystem
  private(set) var notes: [SignedNote] = []
  /// The length of what is whole.
  private var end: UInt64 = 0
  /// Whether something unfinished stands, or may stand, behind it.
  private var isTorn = false

  static let name = "notes"

  init(_ directory: String, _ files: any FileSystem) throws {
    path = "\(directory)/\(Self.name)"
    self.files = files
    let bytes = try files.contents(path) ?? []
    let parsed = try Self.parse(bytes, path)
    notes = parsed.notes
    end = parsed.end
    isTorn = end < UInt64(bytes.count)
  }

  /// The notes that are whole, and where they end. What a crash left unfinished at the end is passed over; anything else is an error.
  static func parse(_ bytes: [UInt8], _ path: String) throws -> (notes: [SignedNote], end: UInt64) {
    var notes: [SignedNote] = []
    var start = 0
    var isBehindText = false
    var lineStart = 0
    for (index, byte) in bytes.enumerated() where byte == 0x0A {
      let isEmptyLine = index == lineStart
      lineStart = index + 1
      guard isEmptyLine else { continue }
      if !isBehindText {
        isBehindText = true
        continue
      }
      guard let note = try? SignedNote(Array(bytes[start..<index])) else {
        // Of a note that was never synced, a power cut may leave the end without the beginning.
        if index + 1 == bytes.count { break }
        throw LogError(
          .corrupt, "the file of notes is damaged", file: path, position: UInt64(start), why: "what stands there is no note",
          advice: "restore it from a copy; receipts are in the log as well")
      }
      notes.append(note)
      start = index + 1
      isBehindText = false
    }
    return (notes, UInt64(start))
  }

  /// Takes in what somebody else has added meanwhile.
  private mutating func refresh() throws {
    guard try files.status(path)?.byteCount ?? 0 > end else { return }
    let found = try NoteFile(files.directory(of: path), files)
    if found.end > end || !isTorn { self = found }
  }

  /// Adds a note, durably.
  mutating func append(_ note: SignedNote) throws {
    try refresh()
    let length = try files.status(path)?.byteCount ?? 0
    if isTorn || length != end { try rewrite() }
    let isNew = try files.status(path) == nil
    let file = try files.open(path, isNew ? .create : .write)
    defer { file.close() }
    // Written already, by a call that could not make it durable.
    if notes.last == note { return try file.sync() }
    isTorn = true
    let bytes = note.bytes + [0x0A]
    try file.write(bytes.rawSpan, at: end)
    try file.sync()
    if isNew { try files.syncDirectory(files.directory(of: path)) }
    notes.append(note)
    end += UInt64(bytes.count)
    isTorn = false
  }

  /// Leaves out what a crash left unfinished.
  private mutating func rewrite() throws {
    try files.replace(path, with: notes.reduce(into: [UInt8]()) { $0 += $1.bytes + [0x0A] })
    isTorn = false
  }
}
