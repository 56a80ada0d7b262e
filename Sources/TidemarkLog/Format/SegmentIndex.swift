/// The index of a sealed segment: where its frames are and what is in it.
struct SegmentIndex: Equatable {
  struct Frame: Equatable {
    var base: Offset
    var position: UInt64
    var times: (low: Timestamp, high: Timestamp)

    static func == (left: Frame, right: Frame) -> Bool {
      left.base == right.base && left.position == right.position && left.times == right.times
    }
  }

  struct SessionEntry: Equatable {
    var offset: Offset
    var data: [UInt8]
  }

  static let subjectLimit = 4096

  var frames: [Frame] = []
  /// Sorted by their bytes.
  var types: [(name: [UInt8], count: UInt32)] = []
  /// Sorted by their bytes; nil if there are too many.
  var subjects: [(name: [UInt8], count: UInt32)]? = []
  var sessions: [SessionEntry] = []

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.add(UInt32(frames.count))
    bytes.add(UInt32(types.count))
    bytes.add(UInt32(subjects?.count ?? 0))
    bytes.add(UInt32(sessions.count))
    bytes.add(UInt32(subjects == nil ? 0 : 1))
    bytes.add(UInt32(0))
    for frame in frames {
      bytes.add(frame.base)
      bytes.add(frame.position)
      bytes.add(frame.times.low.nanoseconds)
      bytes.add(frame.times.high.nanoseconds)
    }
    for (name, count) in types {
      bytes.append(UInt8(name.count))
      bytes += name
      bytes.add(count)
    }
    for (name, count) in subjects ?? [] {
      bytes.add(UInt16(name.count))
      bytes += name
      bytes.add(count)
    }
    for session in sessions {
      bytes.add(session.offset)
      bytes.add(UInt16(session.data.count))
      bytes += session.data
    }
    return bytes
  }

  init() {}

  /// Nil if the bytes are no index.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= 24 else { return nil }
    let counts = (0..<4).map { Int(bytes.u32($0 * 4)) }
    var position = 24
    guard counts[0] <= (bytes.byteCount - position) / 32 else { return nil }
    for _ in 0..<counts[0] {
      frames.append(
        Frame(
          base: bytes.u64(position), position: bytes.u64(position + 8),
          times: (Timestamp(nanoseconds: bytes.i64(position + 16)), Timestamp(nanoseconds: bytes.i64(position + 24)))))
      position += 32
    }
    for _ in 0..<counts[1] {
      guard position < bytes.byteCount else { return nil }
      let length = Int(bytes.u8(position))
      guard length + 5 <= bytes.byteCount - position else { return nil }
      types.append((bytes.slice(position + 1, length).array(), bytes.u32(position + 1 + length)))
      position += length + 5
    }
    var listed: [(name: [UInt8], count: UInt32)] = []
    for _ in 0..<counts[2] {
      guard bytes.byteCount - position >= 2 else { return nil }
      let length = Int(bytes.u16(position))
      guard length + 6 <= bytes.byteCount - position || planted(.index) else { return nil }
      listed.append((bytes.slice(position + 2, length).array(), bytes.u32(position + 2 + length)))
      position += length + 6
    }
    subjects = bytes.u32(16) == 1 ? listed : nil
    for _ in 0..<counts[3] {
      guard bytes.byteCount - position >= 10 else { return nil }
      let length = Int(bytes.u16(position + 8))
      guard length + 10 <= bytes.byteCount - position else { return nil }
      sessions.append(SessionEntry(offset: bytes.u64(position), data: bytes.slice(position + 10, length).array()))
      position += length + 10
    }
    guard position == bytes.byteCount else { return nil }
  }

  static func == (left: SegmentIndex, right: SegmentIndex) -> Bool { left.encode() == right.encode() }
}
