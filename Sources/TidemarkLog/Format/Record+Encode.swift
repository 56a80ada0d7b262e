extension Record {
  /// The length that an event takes, or why it can't be stored.
  ///
  /// Reached through a pointer: a copy of the event would count five references up and down, which costs more than all the rest.
  static func length(of event: UnsafePointer<NewEvent>, maximum: Int) throws(LogError) -> Int {
    let type = unsafe event.pointee.type.utf8.count
    let subject = unsafe event.pointee.subject?.utf8.count ?? 0
    let actor = unsafe event.pointee.actor?.utf8.count ?? 0
    let contentType = unsafe event.pointee.contentType?.utf8.count ?? 0
    if type == 0 { throw LogError(.invalidEvent, "an event has no type", advice: "name what kind of fact it is") }
    if type > 255 { throw tooLong("type", type, 255) }
    if subject > subjectLimit { throw tooLong("subject", subject, subjectLimit) }
    if actor > 255 { throw tooLong("actor", actor, 255) }
    if contentType > 255 { throw tooLong("content type", contentType, 255) }
    let extensions = unsafe event.pointee.extensions.isEmpty ? 0 : try EventExtension.encodedLength(event.pointee.extensions)
    let length = unsafe fixedLength + type + subject + actor + contentType + extensions + event.pointee.data.count
    if length > min(maximum, lengthLimit) {
      throw LogError(
        .tooLarge, "an event is too large", why: "it takes \(length) bytes, the limit is \(min(maximum, lengthLimit))",
        advice: "store bulk data as an attachment, or raise maximumEventByteCount (at most 16 MiB)")
    }
    return length
  }

  private static func tooLong(_ what: String, _ count: Int, _ limit: Int) -> LogError {
    LogError(
      .stringTooLong, "the \(what) of an event is too long", why: "it takes \(count) bytes of UTF-8, the limit is \(limit)",
      advice: "shorten it, or move it into the data")
  }
}

extension Record {
  /// Encodes an event as a record of `length` bytes, as ``length(of:maximum:)`` has it.
  static func encode(_ event: UnsafePointer<NewEvent>, _ stamp: RecordStamp, length: Int, into record: UnsafeMutableRawPointer) {
    let isTimed = unsafe event.pointee.time != nil
    let time = unsafe event.pointee.time ?? stamp.reading.time
    let digits = unsafe isTimed ? max(0, min(9, event.pointee.timeFractionDigits)) : 9
    let flags = (stamp.continuesBatch ? batchContinues : 0) | (isTimed ? timeFromCaller : 0) | UInt8(truncatingIfNeeded: digits) << 4
    let source = isTimed ? ClockSource.caller : stamp.reading.source
    let clock = (stamp.reading.isSynchronized ? clockIsSynchronized : 0) | (stamp.wasStepped ? clockWasStepped : 0) | source.rawValue << 4
    let utcOffset = unsafe isTimed ? event.pointee.utcOffsetMinutes : stamp.reading.utcOffsetMinutes
    var at = unsafe record + fixedLength
    let type = unsafe copy(event.pointee.type, to: &at)
    let subject = unsafe copy(event.pointee.subject, to: &at)
    let actor = unsafe copy(event.pointee.actor, to: &at)
    let contentType = unsafe copy(event.pointee.contentType, to: &at)
    let extensions = unsafe event.pointee.extensions.isEmpty ? 0 : copy(EventExtension.encode(event.pointee.extensions), to: &at)
    _ = unsafe copy(event.pointee.data, to: &at)
    // Eight bytes a store; the small fields of a word are put together first.
    let first =
      UInt64(UInt32(truncatingIfNeeded: length)) | UInt64(stamp.kind.rawValue) << 32 | UInt64(flags) << 40 | UInt64(clock) << 48
      | UInt64(UInt8(truncatingIfNeeded: type)) << 56
    let last =
      UInt64(UInt16(bitPattern: utcOffset)) | UInt64(UInt8(truncatingIfNeeded: actor)) << 16
      | UInt64(UInt8(truncatingIfNeeded: contentType)) << 24 | UInt64(UInt16(truncatingIfNeeded: subject)) << 32
      | UInt64(UInt16(truncatingIfNeeded: extensions)) << 48
    unsafe record.storeBytes(of: first.littleEndian, as: UInt64.self)
    unsafe record.storeBytes(of: stamp.id.high.bigEndian, toByteOffset: 8, as: UInt64.self)
    unsafe record.storeBytes(of: stamp.id.low.bigEndian, toByteOffset: 16, as: UInt64.self)
    unsafe record.storeBytes(of: time.nanoseconds.littleEndian, toByteOffset: 24, as: Int64.self)
    unsafe record.storeBytes(of: stamp.reading.elapsed.littleEndian, toByteOffset: 32, as: UInt64.self)
    unsafe record.storeBytes(of: last.littleEndian, toByteOffset: 40, as: UInt64.self)
  }

  @inline(__always) private static func copy(_ text: String?, to target: inout UnsafeMutableRawPointer) -> Int {
    guard let text else { return 0 }
    return unsafe text.utf8Span.span.withUnsafeBytes { source in
      if let from = source.baseAddress { unsafe target.copyMemory(from: from, byteCount: source.count) }
      unsafe target += source.count
      return source.count
    }
  }

  @inline(__always) private static func copy(_ bytes: [UInt8], to target: inout UnsafeMutableRawPointer) -> Int {
    unsafe bytes.withUnsafeBytes { source in
      if let from = source.baseAddress { unsafe target.copyMemory(from: from, byteCount: source.count) }
      unsafe target += source.count
      return source.count
    }
  }
}

/// Events of a batch, looked at where they lie.
extension [NewEvent] {
  /// The length of each one's record, as ``Record/length(of:maximum:)`` has it.
  func recordLengths(maximum: Int) throws(LogError) -> [Int] {
    try unsafe withUnsafeBufferPointer { (events) throws(LogError) -> [Int] in
      guard let first = events.baseAddress else { return [] }
      var lengths: [Int] = []
      lengths.reserveCapacity(events.count)
      for index in 0..<events.count {
        do throws(LogError) { lengths.append(try unsafe Record.length(of: first + index, maximum: maximum)) } catch {
          throw error.ofEvent(index, in: events.count)
        }
      }
      return lengths
    }
  }

  func id(_ index: Int) -> EventID? {
    unsafe withUnsafeBufferPointer { unsafe $0.baseAddress.flatMap { unsafe $0[index].id } }
  }

  var haveIDs: Bool {
    for index in indices where id(index) != nil { return true }
    return false
  }
}

extension FrameBuffer {
  /// Encodes the event at an index of a batch.
  mutating func append(_ events: [NewEvent], _ index: Int, _ stamp: RecordStamp, length: Int) {
    unsafe events.withUnsafeBufferPointer { events in
      guard let first = events.baseAddress else { return }
      unsafe append(first + index, stamp, length: length)
    }
  }
}
