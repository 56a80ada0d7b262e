/// What a segment says of the one before it: enough to tell whether that one is whole.
struct Pin: Equatable, Sendable {
  /// Zero for the first segment of a log.
  var segmentID: EventID
  var end: Offset
  var count: UInt64
  /// Over the uncompressed records and the batch boundaries, the same for the open and the sealed form.
  var digest: Digest128

  static let none = Pin(segmentID: .zero, end: 0, count: 0, digest: .zero)

  var isPossible: Bool { end <= Record.offsetLimit && count <= end }

  init(segmentID: EventID, end: Offset, count: UInt64, digest: Digest128) {
    self.segmentID = segmentID
    self.end = end
    self.count = count
    self.digest = digest
  }

  init(_ page: RawSpan, at position: Int) {
    self.init(
      segmentID: page.id(position), end: page.u64(position + 16), count: page.u64(position + 24), digest: page.digest(position + 32))
  }

  func encode(into page: inout [UInt8], at position: Int) {
    page.store(segmentID, at: position)
    page.store(end, at: position + 16)
    page.store(count, at: position + 24)
    page.store(digest, at: position + 32)
  }
}

/// The first page of every segment file.
///
/// ```
///   32       48         64           80     88        96            104          112        128
///   +--------+----------+------------+------+---------+-------------+------------+----------+-- - -
///   | log id | epoch id | segment id | base | created | incarnation | trim floor | replaces |
///   +--------+----------+------------+------+---------+-------------+------------+----------+-- - -
///   128        176        184              192              194          195    256
///   +----------+----------+----------------+----------------+------------+------+--------------+
///   | pin (48) | user end | session offset | session length | durability | zero | session data |
///   +----------+----------+----------------+----------------+------------+------+--------------+
/// ```
package struct SegmentHeader: Equatable, Sendable {
  static let byteCount = 4096
  static let noSession = UInt64.max

  var logID: EventID
  var epochID: EventID
  var segmentID: EventID
  var base: Offset
  var created: Timestamp
  var incarnation: UInt64
  var trimFloor: Offset
  /// The segment of the same base that this one takes the place of, or zero.
  var replaces: EventID
  var predecessor: Pin
  /// The offset after the last user event before this segment.
  var userEnd: Offset
  /// The offset of the session record in force at the base, or ``noSession``.
  var sessionOffset: UInt64
  var session: [UInt8]
  var durability: Durability

  var seed: UInt64 { Self.seed(logID: logID, epochID: epochID, segmentID: segmentID) }

  package static func seed(logID: EventID, epochID: EventID, segmentID: EventID) -> UInt64 {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(48)
    bytes.add(logID)
    bytes.add(epochID)
    bytes.add(segmentID)
    return xxh3(bytes.rawSpan)
  }

  func encode() -> [UInt8] {
    var page = Page.make(.segmentHeader, byteCount: Self.byteCount)
    page.store(logID, at: 32)
    page.store(epochID, at: 48)
    page.store(segmentID, at: 64)
    page.store(base, at: 80)
    page.store(created.nanoseconds, at: 88)
    page.store(incarnation, at: 96)
    page.store(trimFloor, at: 104)
    page.store(replaces, at: 112)
    predecessor.encode(into: &page, at: 128)
    page.store(userEnd, at: 176)
    page.store(sessionOffset, at: 184)
    page.store(UInt16(session.count), at: 192)
    page.store(UInt8(durability == .synced ? 1 : durability == .written ? 2 : 3), at: 194)
    page.store(session.rawSpan, at: 256)
    Page.finish(&page)
    return page
  }

  /// Reads a page that ``Page/check(_:_:)`` has found sound. Nil if an offset in it is impossible.
  init?(_ page: RawSpan) {
    logID = page.id(32)
    epochID = page.id(48)
    segmentID = page.id(64)
    base = page.u64(80)
    created = Timestamp(nanoseconds: page.i64(88))
    incarnation = page.u64(96)
    trimFloor = page.u64(104)
    replaces = page.id(112)
    predecessor = Pin(page, at: 128)
    userEnd = page.u64(176)
    sessionOffset = page.u64(184)
    session = page.slice(256, min(Int(page.u16(192)), Session.byteCountLimit)).array()
    durability = page.u8(194) == 1 ? .synced : page.u8(194) == 2 ? .written : .buffered
    guard max(base, trimFloor, userEnd) <= Record.offsetLimit, predecessor.isPossible, Self.isPossible(session: sessionOffset) else {
      return nil
    }
  }

  /// Whether it is an offset that a session record may have, or says that there is none.
  static func isPossible(session offset: UInt64) -> Bool { offset <= Record.offsetLimit || offset == noSession }

  init(
    logID: EventID, epochID: EventID, segmentID: EventID, base: Offset, created: Timestamp, incarnation: UInt64, trimFloor: Offset,
    replaces: EventID, predecessor: Pin, userEnd: Offset, sessionOffset: UInt64, session: [UInt8], durability: Durability
  ) {
    self.logID = logID
    self.epochID = epochID
    self.segmentID = segmentID
    self.base = base
    self.created = created
    self.incarnation = incarnation
    self.trimFloor = trimFloor
    self.replaces = replaces
    self.predecessor = predecessor
    self.userEnd = userEnd
    self.sessionOffset = sessionOffset
    self.session = session
    self.durability = durability
  }
}

/// The name of a segment file: base offset, id and form.
struct SegmentName: Hashable, Sendable {
  enum Form: String, Sendable {
    case open
    case sealed
  }

  var base: Offset
  var segmentID: EventID
  var form: Form

  var text: String {
    var bytes = Self.decimal(base)
    bytes.reserveCapacity(60)
    bytes.append(UInt8(ascii: "-"))
    for word in [segmentID.high, segmentID.low] {
      for shift in stride(from: 60, through: 0, by: -4) { bytes.append(Self.hexadecimalDigits[Int(word >> UInt64(shift) & 15)]) }
    }
    bytes.append(UInt8(ascii: "."))
    bytes += form.rawValue.utf8
    return String(decoding: bytes, as: UTF8.self)
  }

  private static let hexadecimalDigits = Array("0123456789abcdef".utf8)

  init(base: Offset, segmentID: EventID, form: Form) {
    self.base = base
    self.segmentID = segmentID
    self.form = form
  }

  /// Nil if the name is not exactly one that ``text`` makes.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count > 54, bytes[20] == UInt8(ascii: "-"), bytes[53] == UInt8(ascii: ".") else { return nil }
    var base: Offset = 0
    for byte in bytes[..<20] {
      guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
      let (tens, overflows) = base.multipliedReportingOverflow(by: 10)
      let (sum, carries) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      if overflows || carries { return nil }
      base = sum
    }
    if base > Record.offsetLimit { return nil }
    var id = (high: UInt64(0), low: UInt64(0))
    for (index, byte) in bytes[21..<53].enumerated() {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      default: return nil
      }
      if index < 16 { id.high = id.high << 4 | UInt64(digit) } else { id.low = id.low << 4 | UInt64(digit) }
    }
    guard let form = Form(rawValue: String(decoding: bytes[54...], as: UTF8.self)) else { return nil }
    self.init(base: base, segmentID: EventID(high: id.high, low: id.low), form: form)
  }

  /// 20 decimal digits, so that names sort by offset.
  static func digits(_ offset: Offset) -> String { String(decoding: decimal(offset), as: UTF8.self) }

  private static func decimal(_ offset: Offset) -> [UInt8] {
    var digits = [UInt8](repeating: UInt8(ascii: "0"), count: 20)
    var rest = offset
    var position = 19
    while rest > 0 {
      digits[position] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
      position -= 1
    }
    return digits
  }
}
