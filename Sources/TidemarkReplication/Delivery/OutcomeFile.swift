package import TidemarkLog
package import TidemarkProtocol
internal import TidemarkText

/// What became of the events that were not plainly accepted, as a file in the order of their offsets. A line each:
///
/// ```
/// <XXH3-64 of the rest, 16 hexadecimal digits> <the outcome as in an answer of the server, JSON>
/// ```
///
/// Only added to, except that a server which lost data decides again. It is read through, never held in memory.
package struct OutcomeFile {
  package let path: String
  private let files: any FileSystem
  /// The length of what is whole.
  private var end: UInt64 = 0
  /// Whether something unfinished stands, or may stand, behind it.
  private var isTorn = false
  /// Whether whole lines stand behind one that is not: then more was known than can be read now.
  package private(set) var isDamaged = false
  /// Of the last line.
  package private(set) var last: Offset?
  package private(set) var duplicateCount: UInt64 = 0
  package private(set) var quarantinedCount: UInt64 = 0

  private static let name = "outcomes"

  /// Reads it through. What a crash left unfinished at the end is passed over. Throws errors of the file system.
  package init(_ directory: String, _ files: any FileSystem) throws {
    path = "\(directory)/\(Self.name)"
    self.files = files
    var reader = try OutcomeReader(path, files)
    while let outcome = try reader.next() { count(outcome) }
    end = reader.position
    isTorn = try files.status(path)?.byteCount ?? 0 > end
    while try !isDamaged && reader.skipLine() { isDamaged = try reader.next() != nil }
  }

  private mutating func count(_ outcome: Outcome) {
    last = outcome.offset
    switch outcome.kind {
    case .duplicate: duplicateCount += 1
    case .quarantined: quarantinedCount += 1
    }
  }

  /// All of them, in order.
  package func read() throws -> OutcomeReader { try OutcomeReader(path, files, upTo: end) }

  /// Adds outcomes durably. Those that are known are passed over: an answer may come twice.
  package mutating func append(_ outcomes: [Outcome]) throws {
    let new = outcomes.filter { outcome in last.map { outcome.offset > $0 } ?? true }
    guard !new.isEmpty else { return }
    if isTorn { try rewrite(below: .max) }
    let isNew = try files.status(path) == nil
    let file = try files.open(path, isNew ? .create : .write)
    defer { file.close() }
    isTorn = true
    let bytes = new.flatMap(Self.line)
    try file.write(bytes.rawSpan, at: end)
    try file.sync()
    if isNew { try files.syncDirectory(files.directory(of: path)) }
    end += UInt64(bytes.count)
    isTorn = false
    for outcome in new { count(outcome) }
  }

  /// Forgets what was decided of an offset and of all behind it.
  package mutating func truncate(from offset: Offset) throws {
    guard let last, last >= offset else { return }
    try rewrite(below: offset)
  }

  private mutating func rewrite(below bound: Offset) throws {
    let unfinished = path + ".new"
    if try files.status(unfinished) != nil { try files.remove(unfinished) }
    let file = try files.open(unfinished, .create)
    defer { file.close() }
    var position: UInt64 = 0
    var reader = try read()
    var buffer: [UInt8] = []
    (last, duplicateCount, quarantinedCount) = (nil, 0, 0)
    while let outcome = try reader.next(), outcome.offset < bound {
      buffer += Self.line(outcome)
      count(outcome)
      if buffer.count >= OutcomeReader.blockByteCount { try Self.flush(&buffer, to: file, at: &position) }
    }
    try Self.flush(&buffer, to: file, at: &position)
    try file.sync()
    try files.rename(unfinished, to: path)
    try files.syncDirectory(files.directory(of: path))
    end = position
    isTorn = false
    isDamaged = false
  }

  private static func flush(_ buffer: inout [UInt8], to file: any File, at position: inout UInt64) throws {
    try file.write(buffer.rawSpan, at: position)
    position += UInt64(buffer.count)
    buffer.removeAll(keepingCapacity: true)
  }

  private static func line(_ outcome: Outcome) -> [UInt8] {
    let json = outcome.json
    return Array(checksum(json[...]).utf8) + [UInt8(ascii: " ")] + json + [0x0A]
  }

  fileprivate static func checksum(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(xxh3(Array(bytes).rawSpan), radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }

  fileprivate static func outcome(_ line: ArraySlice<UInt8>) -> Outcome? {
    guard line.count > 17, line[line.startIndex + 16] == UInt8(ascii: " ") else { return nil }
    let json = line.dropFirst(17)
    guard line.prefix(16).elementsEqual(checksum(json).utf8) else { return nil }
    return try? Outcome(json: Array(json))
  }
}

/// Walks a file of outcomes, 64 KiB at a time.
package struct OutcomeReader {
  private let file: (any File)?
  private let end: UInt64
  private var buffer: [UInt8] = []
  private var start = 0
  private var bufferEnd: UInt64 = 0
  /// Behind the last one given.
  package private(set) var position: UInt64 = 0

  static let blockByteCount = 64 << 10

  init(_ path: String, _ files: any FileSystem, upTo end: UInt64 = .max) throws {
    file = try files.status(path) == nil ? nil : files.open(path, .read)
    self.end = end
  }

  /// The next one; nil at the end, or where no whole line stands.
  package mutating func next() throws -> Outcome? {
    guard position < end, let stop = try lineEnd(), let outcome = OutcomeFile.outcome(buffer[start..<stop]) else { return nil }
    pass(stop)
    return outcome
  }

  /// Passes over a line, whatever it is. False at the end.
  mutating func skipLine() throws -> Bool {
    guard position < end, let stop = try lineEnd() else { return false }
    pass(stop)
    return true
  }

  private mutating func pass(_ stop: Int) {
    position += UInt64(stop + 1 - start)
    start = stop + 1
  }

  /// Where the line's end stands in the buffer.
  private mutating func lineEnd() throws -> Int? {
    guard let file else { return nil }
    var searched = start
    while true {
      if let stop = buffer[searched...].firstIndex(of: 0x0A) { return stop }
      buffer.removeFirst(start)
      start = 0
      let kept = buffer.count
      searched = kept
      buffer += [UInt8](repeating: 0, count: Self.blockByteCount)
      let count = try file.read(Self.blockByteCount, at: bufferEnd, into: &buffer, at: kept)
      buffer.removeLast(Self.blockByteCount - count)
      bufferEnd += UInt64(count)
      if count == 0 { return nil }
    }
  }
}
