/// Cuts what comes in into lines.
struct LineBuffer {
  private var rest: [UInt8] = []

  /// The lines that are whole now, without their ends.
  mutating func take(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    rest.append(contentsOf: bytes)
    guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
    let whole = rest[..<end]
    rest = Array(rest[(end + 1)...])
    return whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  }

  /// Whether the line that is coming in is longer than any may be.
  var isTooLong: Bool { rest.count > WitnessLine.byteLimit }

  /// Whether a line has begun and not ended.
  var isInLine: Bool { !rest.isEmpty }
}
