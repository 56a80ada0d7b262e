/// Where input comes from.
package protocol ByteSource: AnyObject {
  /// Reads at most as much as fits into `buffer` from `index` on and returns how much; 0 is the end.
  func read(into buffer: inout [UInt8], at index: Int) throws -> Int
}

/// Says where input breaks the rules of its format.
package struct InputError: Error, Equatable, Sendable {
  /// From 1.
  package var line: Int
  /// In bytes, from 1.
  package var column: Int
  package var why: String

  package init(line: Int, column: Int, _ why: String) {
    self.line = line
    self.column = column
    self.why = why
  }
}

/// The part of a stream that is being looked at. Memory grows with the longest line or record, not with the stream.
package struct InputBuffer {
  /// No event is longer than 16 MiB, so a longer line is a mistake (such as a quote that is never closed), not data.
  package static let defaultRecordByteLimit = 16 << 20

  let recordByteLimit: Int
  private let source: any ByteSource
  /// Valid from `start` up to `end`.
  package private(set) var bytes: [UInt8]
  package private(set) var start = 0
  private(set) var end = 0
  /// Bytes of the stream before `start`.
  package private(set) var consumedByteCount: UInt64 = 0
  private var isAtEnd = false

  init(source: any ByteSource, chunkByteCount: Int, recordByteLimit: Int) {
    self.source = source
    self.recordByteLimit = recordByteLimit
    bytes = Array(repeating: 0, count: chunkByteCount)
  }

  /// The byte `index` places after `start`, reading on where needed; nil behind the end of the stream.
  mutating func byte(_ index: Int) throws -> UInt8? {
    while start + index >= end {
      guard try fill() else { return nil }
    }
    return bytes[start + index]
  }

  /// Reads more; false at the end of the stream. Positions count from `start`, because the bytes may move.
  mutating func fill() throws -> Bool {
    guard !isAtEnd else { return false }
    if start > 0 {
      for index in start..<end { bytes[index - start] = bytes[index] }
      end -= start
      start = 0
    }
    if end == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count)) }
    let count = try source.read(into: &bytes, at: end)
    end += count
    isAtEnd = count == 0
    return !isAtEnd
  }

  /// Goes on behind `count` bytes.
  mutating func advance(_ count: Int) {
    start += count
    consumedByteCount += UInt64(count)
  }

  /// Goes over a byte order mark, which some programs put before UTF-8.
  mutating func skipByteOrderMark() throws {
    if try byte(0) == 0xEF, try byte(1) == 0xBB, try byte(2) == 0xBF { advance(3) }
  }
}
