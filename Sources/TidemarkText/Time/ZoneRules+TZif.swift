// A file of the time zone database, TZif (RFC 9636), versions 1 to 4. All integers are big-endian.
//
//   0      4         5      20        24         28        32        36        40        44
//   +------+---------+------+---------+----------+---------+---------+---------+---------+
//   | TZif | version | zero | isutcnt | isstdcnt | leapcnt | timecnt | typecnt | charcnt |   header
//   +------+---------+------+---------+----------+---------+---------+---------+---------+
//   | timecnt times | timecnt types, u8 | typecnt × (i32 offset, u8 is daylight, u8 name) | charcnt bytes of names |
//   | leapcnt × (time, i32) | isstdcnt bytes | isutcnt bytes |
//
// Version 1 (a zero byte) has times of 32 bits and ends here. Later versions (`2` to `4`) repeat header and block with times of 64 bits,
// which alone count, and end with a line break, a rule in the form of the variable TZ (see ``ZoneRule``), and a line break.

extension ZoneRules {
  /// Reads a file. Throws at anything that breaks the format, and for leap seconds, which the times of events do not count; never takes
  /// more memory than the bytes have.
  package init(_ bytes: [UInt8]) throws(TextError) {
    var block = try Block(bytes, at: 0, timeByteCount: 4)
    var rule: ZoneRule?
    if block.version != 0 {
      let version = block.version
      block = try Block(bytes, at: block.end, timeByteCount: 8)
      guard block.version == version else { throw TextError(at: block.start + 4, "the two headers are of different versions") }
      rule = try Self.footer(bytes, at: block.end)
    }
    try self.init(bytes, block, rule)
  }

  private init(_ bytes: [UInt8], _ block: Block, _ rule: ZoneRule?) throws(TextError) {
    if block.leapCount > 0 { throw TextError(at: block.start + 28, "it counts leap seconds, which the times of events do not") }
    guard (1...256).contains(block.typeCount) else {
      throw TextError(at: block.start + 36, "it has \(block.typeCount) kinds of local time")
    }
    var kinds: [Int32] = []
    for index in 0..<block.typeCount {
      let at = block.types + 6 * index
      let offset = Int32(truncatingIfNeeded: bigEndian(bytes, at, 4))
      // What RFC 9636, section 3.2, recommends as bounds.
      guard (-89_999...93_599).contains(offset) else { throw TextError(at: at, "an offset from UTC of \(offset) seconds") }
      guard bytes[at + 4] <= 1 else { throw TextError(at: at + 4, "neither standard nor daylight saving time") }
      guard bytes[at + 5] < block.nameByteCount else { throw TextError(at: at + 5, "a name outside the names") }
      kinds.append(offset)
    }
    var transitions: [Int64] = []
    var offsets: [Int32] = []
    transitions.reserveCapacity(block.timeCount)
    offsets.reserveCapacity(block.timeCount)
    for index in 0..<block.timeCount {
      let at = block.times + block.timeByteCount * index
      let time = bigEndian(bytes, at, block.timeByteCount)
      if let last = transitions.last, last >= time { throw TextError(at: at, "the times do not rise") }
      let kind = Int(bytes[block.timeTypes + index])
      guard kind < kinds.count else { throw TextError(at: block.timeTypes + index, "a kind of local time that is not there") }
      transitions.append(time)
      offsets.append(kinds[kind])
    }
    self.init(transitions: transitions, offsets: offsets, firstOffset: kinds[0], rule: rule)
  }

  /// Nil where it is empty: nothing is known of later times, and the last offset is kept.
  private static func footer(_ bytes: [UInt8], at start: Int) throws(TextError) -> ZoneRule? {
    guard start < bytes.count, bytes[start] == UInt8(ascii: "\n") else { throw TextError(at: start, "a line break is due") }
    guard let end = bytes[(start + 1)...].firstIndex(of: UInt8(ascii: "\n")) else { throw TextError(at: bytes.count, "it ends early") }
    return end == start + 1 ? nil : try ZoneRule(bytes, start + 1..<end)
  }
}

/// A signed number of so many bytes.
private func bigEndian(_ bytes: [UInt8], _ position: Int, _ count: Int) -> Int64 {
  var value: Int64 = bytes[position] & 0x80 == 0 ? 0 : -1
  for index in position..<position + count { value = value << 8 | Int64(bytes[index]) }
  return value
}

/// A header, and where its parts lie.
private struct Block {
  let start: Int
  let timeByteCount: Int
  let version: UInt8
  let leapCount: Int
  let timeCount: Int
  let typeCount: Int
  let nameByteCount: Int
  let times: Int
  let timeTypes: Int
  let types: Int
  let end: Int

  init(_ bytes: [UInt8], at start: Int, timeByteCount: Int) throws(TextError) {
    guard bytes.count - start >= 44 else { throw TextError(at: bytes.count, "it ends early") }
    guard bytes[start..<start + 4].elementsEqual("TZif".utf8) else { throw TextError(at: start, "it does not begin with TZif") }
    self.start = start
    self.timeByteCount = timeByteCount
    version = bytes[start + 4]
    guard version == 0 || (UInt8(ascii: "2")...UInt8(ascii: "4")).contains(version) else {
      throw TextError(at: start + 4, "a version that is not known")
    }
    func count(_ index: Int) -> Int { Int(bigEndian(bytes, start + 20 + 4 * index, 4) & 0xFFFF_FFFF) }
    leapCount = count(2)
    timeCount = count(3)
    typeCount = count(4)
    nameByteCount = count(5)
    times = start + 44
    timeTypes = times + timeCount * timeByteCount
    types = timeTypes + timeCount
    // Six numbers of 32 bits: their sum is far from the limits of 64.
    end = types + typeCount * 6 + nameByteCount + leapCount * (timeByteCount + 4) + count(1) + count(0)
    guard end <= bytes.count else { throw TextError(at: start + 20, "it claims more than it holds") }
    for (index, name) in ["UTC", "standard time"].enumerated() where count(index) != 0 && count(index) != typeCount {
      throw TextError(at: start + 20 + 4 * index, "it has \(count(index)) marks of \(name) for \(typeCount) kinds of local time")
    }
  }
}
