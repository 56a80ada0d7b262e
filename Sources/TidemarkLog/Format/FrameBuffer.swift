/// Where records of the next frame gather, behind room for its header. Reused from frame to frame.
struct FrameBuffer {
  private(set) var bytes: [UInt8]
  private(set) var count = FrameHeader.byteCount

  init(capacity: Int) { bytes = [UInt8](repeating: 0, count: max(capacity, 256)) }

  var recordByteCount: Int { count - FrameHeader.byteCount }
  var records: RawSpan { @_lifetime(borrow self) get { bytes.rawSpan.slice(FrameHeader.byteCount, recordByteCount) } }

  mutating func removeAll() { count = FrameHeader.byteCount }

  /// Gives back memory that one large batch needed.
  mutating func shrink(to capacity: Int) {
    if bytes.count > capacity && count <= capacity { bytes = [UInt8](repeating: 0, count: capacity) }
  }

  private mutating func reserve(_ additional: Int) {
    let needed = count + additional + 8
    if needed > bytes.count { bytes += [UInt8](repeating: 0, count: max(needed - bytes.count, bytes.count)) }
  }

  /// Adds records that are encoded already.
  mutating func append(_ records: RawSpan) {
    reserve(records.byteCount)
    bytes.store(records, at: count)
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
  mutating func append(_ event: borrowing NewEvent, _ stamp: RecordStamp, length: Int) {
    reserve(length)
    let extensions = event.extensions.isEmpty ? [] : EventExtension.encode(event.extensions)
    let start = count
    count += length
    unsafe bytes.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      unsafe Self.encode(event, stamp, length: length, extensions: extensions, into: base + start)
    }
  }

  private static func encode(
    _ event: borrowing NewEvent, _ stamp: RecordStamp, length: Int, extensions: [UInt8], into record: UnsafeMutableRawPointer
  ) {
    let time = event.time ?? stamp.reading.time
    let flags =
      (stamp.continuesBatch ? Record.batchContinues : 0) | (event.time != nil ? Record.timeFromCaller : 0)
      | UInt8(truncatingIfNeeded: event.time != nil ? max(0, min(9, event.timeFractionDigits)) : 9) << 4
    let source = event.time != nil ? ClockSource.caller : stamp.reading.source
    let clock =
      (stamp.reading.isSynchronized ? Record.clockIsSynchronized : 0) | (stamp.wasStepped ? Record.clockWasStepped : 0) | source.rawValue << 4
    unsafe record.storeBytes(of: UInt32(length).littleEndian, as: UInt32.self)
    unsafe record.storeBytes(of: stamp.kind.rawValue, toByteOffset: 4, as: UInt8.self)
    unsafe record.storeBytes(of: flags, toByteOffset: 5, as: UInt8.self)
    unsafe record.storeBytes(of: clock, toByteOffset: 6, as: UInt8.self)
    unsafe record.storeBytes(of: stamp.id.high.bigEndian, toByteOffset: 8, as: UInt64.self)
    unsafe record.storeBytes(of: stamp.id.low.bigEndian, toByteOffset: 16, as: UInt64.self)
    unsafe record.storeBytes(of: time.nanoseconds.littleEndian, toByteOffset: 24, as: Int64.self)
    unsafe record.storeBytes(of: stamp.reading.elapsed.littleEndian, toByteOffset: 32, as: UInt64.self)
    let offset = event.time != nil ? event.utcOffsetMinutes : stamp.reading.utcOffsetMinutes
    unsafe record.storeBytes(of: offset.littleEndian, toByteOffset: 40, as: Int16.self)
    var at = unsafe record + Record.fixedLength
    let type = unsafe copy(event.type, to: &at)
    let subject = unsafe copy(event.subject, to: &at)
    let actor = unsafe copy(event.actor, to: &at)
    let contentType = unsafe copy(event.contentType, to: &at)
    unsafe record.storeBytes(of: UInt8(truncatingIfNeeded: type), toByteOffset: 7, as: UInt8.self)
    unsafe record.storeBytes(of: UInt8(truncatingIfNeeded: actor), toByteOffset: 42, as: UInt8.self)
    unsafe record.storeBytes(of: UInt8(truncatingIfNeeded: contentType), toByteOffset: 43, as: UInt8.self)
    unsafe record.storeBytes(of: UInt16(truncatingIfNeeded: subject).littleEndian, toByteOffset: 44, as: UInt16.self)
    unsafe record.storeBytes(of: UInt16(truncatingIfNeeded: extensions.count).littleEndian, toByteOffset: 46, as: UInt16.self)
    unsafe copy(extensions, to: &at)
    unsafe copy(event.data, to: &at)
  }

  @inline(__always) private static func copy(_ text: borrowing String?, to target: inout UnsafeMutableRawPointer) -> Int {
    guard var text = copy text else { return 0 }
    return text.withUTF8 { source in
      if let from = source.baseAddress { unsafe target.copyMemory(from: from, byteCount: source.count) }
      unsafe target += source.count
      return source.count
    }
  }

  @inline(__always) private static func copy(_ bytes: borrowing [UInt8], to target: inout UnsafeMutableRawPointer) {
    unsafe bytes.withUnsafeBytes { source in
      if let from = source.baseAddress { unsafe target.copyMemory(from: from, byteCount: source.count) }
      unsafe target += source.count
    }
  }

  /// Puts the header before the records and zeros behind them. Returns the length of the finished frame.
  mutating func finish(_ header: FrameHeader, seed: UInt64) -> Int {
    let length = header.frameLength
    reserve(8)
    for position in count..<max(count, length) { bytes[position] = 0 }
    header.encode(into: &bytes, seed: seed)
    return length
  }
}
