/// A file of a time zone database (TZif), made by hand.
package struct ZoneFile {
  /// Zero, or a digit.
  package var version = UInt8(ascii: "2")
  /// Seconds, and which kind of local time begins there.
  package var times: [(at: Int64, kind: UInt8)] = []
  /// Offsets in seconds of the kinds, the first of which holds before all times.
  package var kinds: [Int32] = [0]
  /// What holds after them.
  package var rule = ""

  package init() {}

  /// One without times: the rule holds always.
  package static func ofRule(_ rule: String) -> [UInt8] {
    var file = ZoneFile()
    file.version = UInt8(ascii: "3")
    file.rule = rule
    return file.bytes
  }

  package var bytes: [UInt8] {
    if version == 0 { return block(times, 4) }
    return block([], 4) + block(times, 8) + Array("\n\(rule)\n".utf8)
  }

  private func block(_ times: [(at: Int64, kind: UInt8)], _ timeByteCount: Int) -> [UInt8] {
    var bytes = Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
    for count in [0, 0, 0, times.count, kinds.count, 4] { Self.add(Int64(count), 4, &bytes) }
    for time in times { Self.add(time.at, timeByteCount, &bytes) }
    for time in times { bytes.append(time.kind) }
    for offset in kinds {
      Self.add(Int64(offset), 4, &bytes)
      bytes += [0, 0]
    }
    return bytes + Array("ABC\0".utf8)
  }

  private static func add(_ value: Int64, _ count: Int, _ bytes: inout [UInt8]) {
    for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
  }
}
