import TidemarkText

/// Standard output, in large writes.
final class Output {
  /// Append here, then call ``flushIfFull()``.
  var bytes: [UInt8] = []
  private static let fullByteCount = 64 << 10

  func line(_ text: String) {
    bytes.append(text)
    bytes.append(UInt8(ascii: "\n"))
  }

  func line(_ json: JSONWriter) {
    bytes.append(contentsOf: json.bytes)
    bytes.append(UInt8(ascii: "\n"))
  }

  func flushIfFull() throws {
    if bytes.count >= Self.fullByteCount { try flush() }
  }

  func flush() throws {
    guard !bytes.isEmpty else { return }
    defer { bytes.removeAll(keepingCapacity: true) }
    try System.writeAll(System.standardOutput, bytes)
  }

  /// Prints an error, or a remark, on standard error. Nothing can be done where that fails.
  static func complain(_ text: String) {
    try? System.writeAll(System.standardError, Array("tidemark: \(text)\n".utf8))
  }
}
