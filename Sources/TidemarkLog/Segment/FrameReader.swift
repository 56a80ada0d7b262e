/// Walks the frames of a segment file through a window of memory, checking each before it is believed.
struct FrameReader {
  enum Step {
    /// The frame at `at`; its contents are in ``payload`` after ``decode()``.
    case frame(FrameHeader, at: UInt64)
    /// Zeros, or the end of the file.
    case end(at: UInt64)
    case bad(at: UInt64, why: String)
  }

  static let windowByteCount = 256 << 10

  /// Nil for a reader of nothing.
  private var file: (any File)?
  private(set) var seed: UInt64
  /// Where the frames of this file end at the latest.
  private(set) var limit: UInt64
  /// Where the next frame begins.
  private(set) var position: UInt64
  private var window: [UInt8]
  private var windowStart: UInt64 = 0
  private var windowCount = 0
  private var current: FrameHeader?
  private var currentStart = 0
  private var payloadStart = 0
  private var payloadCount = 0
  private var payloadIsScratch = false
  private var scratch: [UInt8] = []

  init(
    _ file: (any File)?, seed: UInt64, from position: UInt64 = UInt64(SegmentHeader.byteCount), limit: UInt64,
    window byteCount: Int = windowByteCount
  ) {
    self.file = file
    self.seed = seed
    self.position = position
    self.limit = limit
    let needed = limit > position ? min(UInt64(byteCount), limit - position) : 0
    window = [UInt8](repeating: 0, count: max(Int(needed), FrameHeader.byteCount))
  }

  /// A reader of nothing, to be pointed at a file.
  static var empty: FrameReader { FrameReader(nil, seed: 0, from: 0, limit: 0) }

  /// The file's, for errors.
  var path: String { file?.path ?? "" }

  /// Goes on in another file, with the same memory.
  mutating func point(at file: any File, seed: UInt64, from position: UInt64, limit: UInt64) {
    self.file = file
    self.seed = seed
    self.limit = 0
    windowCount = 0
    seek(to: position)
    extend(limit: limit)
  }

  mutating func seek(to position: UInt64) {
    self.position = position
    current = nil
    payloadCount = 0
    payloadIsScratch = false
  }

  /// Reads the file again from `position` on: a bad look may have been a bad read.
  mutating func reread(from position: UInt64) {
    windowCount = 0
    seek(to: position)
  }

  /// A file that is being appended to has grown.
  mutating func extend(limit: UInt64) {
    self.limit = max(self.limit, limit)
    windowCount = 0
    if limit > position {
      let needed = Int(min(UInt64(Self.windowByteCount), limit - position))
      if window.count < needed { window = [UInt8](repeating: 0, count: needed) }
    }
  }

  /// Looks at the frame at ``position`` and steps behind it, unless it is bad.
  ///
  /// Throws ``LogError/Code/unsupportedVersion`` for a sound frame of a later version, and errors of reading.
  mutating func next() throws(LogError) -> Step {
    let step = try look()
    if case .frame(let header, _) = step {
      current = header
      position += UInt64(header.frameLength)
      payloadStart = currentStart + FrameHeader.byteCount
      payloadCount = header.storedLength
    }
    return step
  }

  private mutating func look() throws(LogError) -> Step {
    current = nil
    payloadCount = 0
    payloadIsScratch = false
    let at = position
    guard at < limit else { return .end(at: at) }
    let remaining = limit - at
    var need = FrameHeader.byteCount
    while true {
      try load(min(need, Int(clamping: remaining)))
      currentStart = Int(at - windowStart)
      let loaded = window.rawSpan.slice(0, windowCount)
      switch FrameHeader.check(loaded, at: currentStart, remaining: remaining, seed: seed) {
      case .frame(let header): return .frame(header, at: at)
      case .incomplete(let length):
        // The file may be shorter than it said a moment ago.
        if windowCount - currentStart < need { return .bad(at: at, why: "the file ends inside a frame") }
        need = length
      case .unsupported(let why):
        throw LogError(
          .unsupportedVersion, "the log is newer than this program", file: path, position: at, why: why,
          advice: "use the version that wrote it")
      case .bad(let why):
        let visible = loaded.slice(currentStart, min(FrameHeader.byteCount, windowCount - currentStart))
        return visible.isZero() ? .end(at: at) : .bad(at: at, why: why)
      }
    }
  }

  /// Brings `count` bytes from ``position`` on into the window.
  private mutating func load(_ count: Int) throws(LogError) {
    if position >= windowStart && position + UInt64(count) <= windowStart + UInt64(windowCount) { return }
    if count > window.count { window += [UInt8](repeating: 0, count: count - window.count) }
    windowStart = position
    windowCount = 0
    let wanted = Int(clamping: min(UInt64(window.count), limit - position))
    windowCount = try file?.read(wanted, at: position, into: &window, at: 0) ?? 0
  }

  /// Makes the contents of the current frame readable. False if they can't be decompressed.
  mutating func decode() -> Bool {
    guard let current else { return false }
    guard current.isCompressed else { return true }
    guard Self.decompress(window, from: payloadStart, current, into: &scratch) else { return false }
    payloadIsScratch = true
    payloadCount = current.rawLength
    return true
  }

  /// Makes the first bytes of the current frame's contents readable, or all of them where it is not compressed. False if they can't be
  /// decompressed.
  mutating func decode(first byteCount: Int) -> Bool {
    guard let current, current.isCompressed, byteCount < current.rawLength else { return decode() }
    guard let count = Self.decompress(window, from: payloadStart, current, first: byteCount, into: &scratch) else { return false }
    payloadIsScratch = true
    payloadCount = count
    return true
  }

  private static func decompress(
    _ window: [UInt8], from start: Int, _ frame: FrameHeader, first byteCount: Int, into scratch: inout [UInt8]
  ) -> Int? {
    decompressLZ4(beginningOf: window.rawSpan.slice(start, frame.storedLength), into: &scratch, byteCount: byteCount)
  }

  private static func decompress(_ window: [UInt8], from start: Int, _ frame: FrameHeader, into scratch: inout [UInt8]) -> Bool {
    decompressLZ4(window.rawSpan.slice(start, frame.storedLength), into: &scratch, rawLength: frame.rawLength)
  }

  /// The raw contents of the current frame.
  @inline(__always) var payload: RawSpan {
    @_lifetime(borrow self) get {
      payloadIsScratch ? scratch.rawSpan.slice(0, payloadCount) : window.rawSpan.slice(payloadStart, payloadCount)
    }
  }

  /// Looks for the next valid frame that begins at `start` or at a later multiple of 8, and stands behind it if there is one.
  mutating func search(from start: UInt64) throws(LogError) -> (header: FrameHeader, at: UInt64)? {
    seek(to: (start + 7) & ~7)
    while position < limit {
      guard try skipToMagic() else { return nil }
      if case .frame(let header, let at) = try next() { return (header, at) }
      position += 8
    }
    return nil
  }

  /// Moves ``position`` to the next place where the magic bytes stand. False if there is none.
  private mutating func skipToMagic() throws(LogError) -> Bool {
    while position + UInt64(FrameHeader.byteCount) <= limit {
      try load(FrameHeader.byteCount)
      let from = Int(position - windowStart)
      guard from + FrameHeader.byteCount <= windowCount else { return false }
      let (at, isMagic) = Self.findMagic(window.rawSpan.slice(0, windowCount), from: from)
      position = windowStart + UInt64(at)
      if isMagic { return true }
    }
    return false
  }

  /// The next multiple of 8 from `from` on where the magic bytes stand, or where too little is left to tell.
  private static func findMagic(_ bytes: RawSpan, from: Int) -> (at: Int, isMagic: Bool) {
    var at = from
    while at + FrameHeader.byteCount <= bytes.byteCount {
      if bytes.u32(at + 8) == FrameHeader.magic { return (at, true) }
      at += 8
    }
    return (at, false)
  }

  /// Whether everything from ``position`` to the end is zero; otherwise the position behind the last byte that is not.
  mutating func endOfNonZero() throws(LogError) -> UInt64? {
    var last: UInt64?
    var at = position
    while at < limit {
      seek(to: at)
      try load(Int(clamping: min(limit - at, UInt64(window.count))))
      let start = Int(at - windowStart)
      guard windowCount > start else { break }
      let loaded = window.rawSpan.slice(start, windowCount - start)
      if !loaded.isZero() {
        var index = loaded.byteCount - 1
        while loaded.u8(index) == 0 { index -= 1 }
        last = at + UInt64(index) + 1
      }
      at += UInt64(loaded.byteCount)
    }
    return last
  }
}
