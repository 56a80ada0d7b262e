/// Where records of the next frame gather, behind room for its header. Reused from frame to frame, and never copied.
@safe struct FrameBuffer: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = FrameHeader.byteCount

  init(capacity: Int) { unsafe memory = .allocate(byteCount: max(capacity, 256), alignment: 16) }

  deinit { unsafe memory.deallocate() }

  var recordByteCount: Int { count - FrameHeader.byteCount }

  /// Everything that was filled, header included. The header counts only after ``finish(_:seed:)``.
  var bytes: RawSpan { @_lifetime(borrow self) get { unsafe _overrideLifetime(RawSpan(_unsafeBytes: memory), borrowing: self) } }
  var records: RawSpan { @_lifetime(borrow self) get { bytes.slice(FrameHeader.byteCount, recordByteCount) } }

  mutating func removeAll() { count = FrameHeader.byteCount }

  /// Empties it, and gives back memory that a large batch needed when the last frames were small.
  mutating func reset() {
    smallFrames = count * 4 < capacity ? smallFrames + 1 : 0
    if smallFrames > 64 && capacity > Self.keptByteCount {
      unsafe memory.deallocate()
      unsafe memory = .allocate(byteCount: Self.keptByteCount, alignment: 16)
      smallFrames = 0
    }
    removeAll()
  }

  private var capacity: Int { unsafe memory.count }
  private static let keptByteCount = 16 << 10
  private var smallFrames = 0

  private mutating func reserve(_ additional: Int) {
    let needed = count + additional + 8
    guard needed > capacity else { return }
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(needed, 2 * capacity), alignment: 16)
    unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    unsafe memory.deallocate()
    unsafe memory = larger
  }

  /// Adds records that are encoded already.
  mutating func append(_ records: RawSpan) {
    reserve(records.byteCount)
    unsafe records.withUnsafeBytes { source in
      unsafe UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: source)
    }
    count += records.byteCount
  }

  /// Takes the last record out again.
  mutating func takeLast() -> [UInt8]? {
    var position = 0
    var last: Int?
    while let length = Record.length(at: position, in: records) {
      last = position
      position += length
    }
    guard let last else { return nil }
    let record = records.slice(last, recordByteCount - last).array()
    count = FrameHeader.byteCount + last
    return record
  }

  /// Encodes an event as a record of `length` bytes, as ``Record/length(of:maximum:)`` has it.
  mutating func append(_ event: UnsafePointer<NewEvent>, _ stamp: RecordStamp, length: Int) {
    reserve(length)
    guard let base = unsafe memory.baseAddress else { return }
    unsafe Record.encode(event, stamp, length: length, into: base + count)
    count += length
  }

  /// Puts the header before the records and zeros behind them. Returns the length of the finished frame.
  mutating func finish(_ header: FrameHeader, seed: UInt64) -> Int {
    let length = header.frameLength
    reserve(8)
    for position in count..<max(count, length) { unsafe memory[position] = 0 }
    var frame = unsafe MutableRawSpan(_unsafeBytes: memory)
    header.encode(into: &frame, seed: seed)
    return length
  }
}
