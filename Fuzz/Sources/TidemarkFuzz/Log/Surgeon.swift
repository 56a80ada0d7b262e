@testable import TidemarkLog

/// Edits a log as an input says: fields, frames, records and files. Checksums are made right afterwards.
struct Surgeon {
  enum Operation: UInt8, CaseIterable {
    case storeByte
    case storePageField
    case storeFrameField
    case storeInPayload
    case deleteFrame
    case duplicateFrame
    case insertFrame
    case swapFrames
    case truncateFile
    case extendFile
    case removeFile
    case copyFile
    case renameFile
    case packFrame
    case linkSegments
    case storeRecordField
    case insertRecord
    case storeInIndex
    case insertControl
    case insertUnknownFrame
    case chooseEnd
  }

  var log: LogFiles
  /// The file that edits are made to.
  private var current = 0

  init(_ log: LogFiles) { self.log = log }

  mutating func operate(_ input: inout Input) {
    guard !log.files.isEmpty else { return _ = input.rest() }
    guard let operation = Operation(rawValue: input.u8() % UInt8(Operation.allCases.count)) else { return }
    current = Int(input.u8()) % log.files.count
    switch operation {
    case .storeByte: store(input.u8(), at: Int(input.u16()))
    case .storePageField: storePageField(&input)
    case .storeFrameField: storeFrameField(&input)
    case .storeInPayload: storeInPayload(&input)
    case .deleteFrame: deleteFrame(&input)
    case .duplicateFrame: duplicateFrame(&input)
    case .insertFrame: insertFrame(&input)
    case .swapFrames: swapFrames(&input)
    case .truncateFile: truncate(to: Int(input.u16()))
    case .extendFile: log.files[current].bytes += Packed.unpack(input.take(Int(input.u8())), limit: 1 << 16)
    case .removeFile: log.files.remove(at: current)
    case .copyFile: copyFile(&input)
    case .renameFile: renameFile(&input)
    case .packFrame: packFrame(&input)
    case .linkSegments: linkSegments(&input)
    case .storeRecordField: storeRecordField(&input)
    case .insertRecord: insertRecord(&input)
    case .storeInIndex: storeInIndex(&input)
    case .insertControl: insertControl(&input)
    case .insertUnknownFrame: insert(frame: 0x80 | input.u8(), Array(input.take(Int(input.u8() & 31))), count: 0, &input)
    case .chooseEnd: truncateAtFrame(&input)
    }
  }

  // MARK: Values

  /// A number that is likely to be a limit of something.
  private func value(_ input: inout Input, old: UInt64) -> UInt64 {
    switch input.u8() & 15 {
    case 0: 0
    case 1: old &+ 1
    case 2: old &- 1
    case 3: UInt64(input.u8())
    case 4: UInt64(input.u16())
    case 5: input.u64()
    case 6: .max
    case 7: .max - 1
    case 8: 1 << 63
    case 9: 1 << 32
    case 10: (1 << 32) - 1
    case 11: old &+ UInt64(input.u8())
    case 12: old &- UInt64(input.u8())
    case 13: old ^ 1 << UInt64(input.u8() & 63)
    case 14: 1 << UInt64(input.u8() & 63)
    default: old &* 2
    }
  }

  // MARK: Bytes

  private mutating func store(_ byte: UInt8, at position: Int) {
    if position < log.files[current].bytes.count { log.files[current].bytes[position] = byte }
  }

  /// Stores a number of 1, 2, 4 or 8 bytes.
  private mutating func store(_ input: inout Input, at position: Int, width: Int) {
    guard position >= 0, position + width <= log.files[current].bytes.count else { return }
    var old: UInt64 = 0
    for index in (0..<width).reversed() { old = old << 8 | UInt64(log.files[current].bytes[position + index]) }
    var new = value(&input, old: old)
    for index in 0..<width {
      log.files[current].bytes[position + index] = UInt8(truncatingIfNeeded: new)
      new >>= 8
    }
  }

  /// A field of a header, of a footer, or of a slot of the identity.
  private mutating func storePageField(_ input: inout Input) {
    let choice = input.u8()
    let file = log.files[current]
    var start = 0
    if file.path == "identity" { start = choice & 0x40 == 0 ? 0 : 4096 }
    if file.isSealed, choice & 0x40 != 0 { start = file.footerPosition ?? 0 }
    let place = Int(choice & 0x3F) * 8
    if choice & 0x80 != 0 { return store(&input, at: start + place + Int(input.u8() & 7), width: 1 << Int(input.u8() & 1)) }
    store(&input, at: start + place, width: 8)
  }

  private mutating func truncate(to count: Int) {
    if count < log.files[current].bytes.count { log.files[current].bytes.removeLast(log.files[current].bytes.count - count) }
  }

  // MARK: Frames

  private static let fields: [(at: Int, width: Int)] = [
    (24, 8), (32, 4), (40, 8), (13, 1), (14, 2), (16, 4), (20, 4), (12, 1), (36, 4), (48, 8),
  ]

  /// The place of a frame of the current file, taken around.
  private func frame(_ input: inout Input) -> Int? {
    let number = Int(input.u8())
    guard log.files[current].isSegment else { return nil }
    let frames = log.files[current].frames().filter { log.files[current].frameLength(at: $0) > 0 }
    return frames.isEmpty ? nil : frames[number % frames.count]
  }

  private mutating func storeFrameField(_ input: inout Input) {
    guard let at = frame(&input) else { return }
    let field = Self.fields[Int(input.u8()) % Self.fields.count]
    store(&input, at: at + field.at, width: field.width)
  }

  private mutating func storeInPayload(_ input: inout Input) {
    guard let at = frame(&input) else { return }
    let choice = input.u16()
    store(&input, at: at + FrameHeader.byteCount + Int(choice & 0x3FFF), width: 1 << Int(choice >> 14))
  }

  private mutating func deleteFrame(_ input: inout Input) {
    guard let at = frame(&input) else { return }
    log.files[current].bytes.removeSubrange(at..<at + log.files[current].frameLength(at: at))
  }

  private mutating func duplicateFrame(_ input: inout Input) {
    guard let from = frame(&input), let to = frame(&input) else { return }
    let copy = Array(log.files[current].bytes[from..<from + log.files[current].frameLength(at: from)])
    log.files[current].bytes.insert(contentsOf: copy, at: to)
  }

  private mutating func swapFrames(_ input: inout Input) {
    guard let one = frame(&input), let other = frame(&input), one != other else { return }
    let (first, second) = (min(one, other), max(one, other))
    let file = log.files[current]
    let (firstEnd, secondEnd) = (first + file.frameLength(at: first), second + file.frameLength(at: second))
    guard firstEnd <= second else { return }
    let swapped = file.bytes[second..<secondEnd] + file.bytes[firstEnd..<second] + file.bytes[first..<firstEnd]
    log.files[current].bytes.replaceSubrange(first..<secondEnd, with: swapped)
  }

  /// Cuts the file in or behind a frame.
  private mutating func truncateAtFrame(_ input: inout Input) {
    guard let at = frame(&input) else { return }
    truncate(to: at + Int(input.u8()))
  }

  /// Where the frames of the current file end, and the offset after the last.
  private func end() -> (position: Int, offset: UInt64) {
    let file = log.files[current]
    guard file.isSegment, file.bytes.count >= SegmentHeader.byteCount else { return (file.bytes.count, 0) }
    let last = file.frames().last { file.bytes.u8($0 + 13) != FrameHeader.Kind.index.rawValue }
    return (last.map { $0 + file.frameLength(at: $0) } ?? SegmentHeader.byteCount, file.records().end)
  }

  /// Puts a frame behind the last one, for the next offset or for another. In a sealed file id pages, index and footer move.
  private mutating func insert(frame kind: UInt8, _ contents: [UInt8], count: UInt32, _ input: inout Input) {
    let (position, offset) = end()
    guard log.files[current].isSegment, position <= log.files[current].bytes.count else { return }
    var header = FrameHeader(
      .events, storedLength: contents.count, rawLength: contents.count, base: value(&input, old: offset &- 1), count: count,
      durable: value(&input, old: offset), incarnation: 1)
    header.kind = kind
    var frame = [UInt8](repeating: 0, count: header.frameLength)
    frame.put(contents, at: FrameHeader.byteCount)
    header.encode(into: &frame, seed: 0)
    if log.files[current].isSealed {
      log.files[current].bytes.insert(contentsOf: frame, at: position)
      guard let footer = log.files[current].footerPosition else { return }
      for at in [footer + 256, footer + 272] {
        let moved = log.files[current].bytes.u64(at) &+ UInt64(frame.count)
        log.files[current].bytes.store(moved, at: at)
      }
      log.files[current].bytes.store(offset &+ UInt64(count), at: footer + 88)
    } else {
      // Over the zeros that were written ahead.
      log.files[current].bytes.replaceSubrange(position..<min(log.files[current].bytes.count, position + frame.count), with: frame)
    }
  }

  private mutating func insertFrame(_ input: inout Input) {
    let kind = input.u8() % 8
    let count = UInt32(truncatingIfNeeded: value(&input, old: 1))
    insert(frame: kind, input.take(Int(input.u8())), count: count, &input)
  }

  /// Compresses a frame that is not, or the other way.
  private mutating func packFrame(_ input: inout Input) {
    guard let at = frame(&input), let contents = log.files[current].contents(at: at) else { return }
    replace(at, contents, compressing: input.u8() & 1 == 0)
  }

  /// Gives a frame other contents.
  private mutating func replace(_ at: Int, _ contents: [UInt8], compressing: Bool) {
    var target: [UInt8] = []
    let length = compressing ? LZ4Compressor(.fast).compress(contents.rawSpan, into: &target) : nil
    let stored = length.map { Array(target[..<$0]) } ?? contents
    var frame = Array(log.files[current].bytes[at..<at + FrameHeader.byteCount]) + stored
    frame += repeatElement(0, count: FrameHeader.frameLength(stored: stored.count) - frame.count)
    frame.store(UInt16(length == nil ? 0 : 1), at: 14)
    frame.store(UInt32(stored.count), at: 16)
    frame.store(UInt32(contents.count), at: 20)
    let old = log.files[current].frameLength(at: at)
    log.files[current].bytes.replaceSubrange(at..<at + old, with: frame)
    guard log.files[current].isSealed, let footer = log.files[current].footerPosition else { return }
    for place in [footer + 256, footer + 272] where log.files[current].bytes.u64(place) > UInt64(at) {
      let moved = log.files[current].bytes.u64(place) &+ UInt64(frame.count) &- UInt64(old)
      log.files[current].bytes.store(moved, at: place)
    }
  }

  // MARK: Records

  private static let recordFields: [(at: Int, width: Int)] = [
    (0, 4), (4, 1), (5, 1), (6, 1), (7, 1), (8, 8), (16, 8), (24, 8), (32, 8), (40, 2), (42, 1), (43, 1), (44, 2), (46, 2), (48, 4),
    (56, 8),
  ]

  /// A field of a record, or bytes behind it, in a frame that is decompressed for it.
  private mutating func storeRecordField(_ input: inout Input) {
    guard let at = frame(&input), let contents = log.files[current].contents(at: at) else { return }
    let wasCompressed = log.files[current].bytes.u16(at + 14) & 15 == 1
    var places: [Int] = []
    var position = 0
    while let length = Record.length(at: position, in: contents.rawSpan) {
      places.append(position)
      position += length
    }
    let number = Int(input.u8())
    let field = Self.recordFields[Int(input.u8()) % Self.recordFields.count]
    guard !places.isEmpty else { return }
    replace(at, contents, compressing: false)
    store(&input, at: at + FrameHeader.byteCount + places[number % places.count] + field.at, width: field.width)
    if wasCompressed, let edited = log.files[current].contents(at: at) { replace(at, edited, compressing: true) }
  }

  private func record(kind: UInt8, flags: UInt8, _ data: [UInt8], type: Int, extensions: Int) -> [UInt8] {
    var record = [UInt8](repeating: 0, count: Record.fixedLength)
    let type = min(type, data.count)
    let extensions = min(extensions, data.count - type)
    record.store(UInt32(Record.fixedLength + data.count), at: 0)
    record.store(kind, at: 4)
    record.store(flags, at: 5)
    record.store(UInt8(type), at: 7)
    record.store(EventID(high: data.hash(0, data.count), low: UInt64(data.count)), at: 8)
    record.store(UInt16(extensions), at: 46)
    return record + data
  }

  /// One more record at the end of a frame, counted.
  private mutating func insertRecord(_ input: inout Input) {
    guard let at = frame(&input), let contents = log.files[current].contents(at: at) else { return }
    let record = record(
      kind: input.u8() & 7, flags: input.u8(), input.take(Int(input.u8())), type: Int(input.u8()), extensions: Int(input.u8()))
    let count = log.files[current].bytes.u32(at + 32)
    log.files[current].bytes.store(count &+ 1, at: at + 32)
    replace(at, contents + record, compressing: log.files[current].bytes.u16(at + 14) & 15 == 1)
  }

  /// A frame with one control record, such as a trim event with any floor.
  private mutating func insertControl(_ input: inout Input) {
    let kind = input.u8()
    var data = input.take(Int(input.u8() & 63))
    if kind & 7 == EventKind.trim.rawValue {
      data = [UInt8](repeating: 0, count: 14)
      data.store(value(&input, old: end().offset), at: 0)
    }
    insert(frame: 1, record(kind: kind & 0x17, flags: kind >> 7, data, type: 0, extensions: 0), count: 1, &input)
  }

  /// Bytes of a sealed segment's index, decompressed for it.
  private mutating func storeInIndex(_ input: inout Input) {
    let choice = input.u16()
    guard log.files[current].isSegment else { return }
    guard let at = log.files[current].frames().last, let contents = log.files[current].contents(at: at), !contents.isEmpty else { return }
    replace(at, contents, compressing: false)
    store(&input, at: at + FrameHeader.byteCount + Int(choice & 0x3FFF) % contents.count, width: 1 << Int(choice >> 14))
    if choice & 1 == 0, let edited = log.files[current].contents(at: at) { replace(at, edited, compressing: true) }
  }

  // MARK: Files

  /// Gives a file the name that its header has.
  private mutating func nameByHeader(_ index: Int) {
    let file = log.files[index]
    guard file.isSegment, file.bytes.count >= SegmentHeader.byteCount else { return }
    let name = SegmentName(base: file.bytes.u64(80), segmentID: file.segmentID, form: file.isSealed ? .sealed : .open)
    log.files[index].path = "segments/" + name.text
  }

  private mutating func renameFile(_ input: inout Input) {
    let choice = input.u8()
    if choice & 1 == 0 { return nameByHeader(current) }
    let path = log.files[current].path
    guard let dot = path.utf8.lastIndex(of: UInt8(ascii: ".")) else { return }
    log.files[current].path = path[..<dot] + [".open", ".sealed", ".open.tmp", ".ids"][Int(choice >> 1) & 3]
  }

  /// A copy with another base or another id, or with both as they are, in the other form.
  private mutating func copyFile(_ input: inout Input) {
    guard log.files.count < LogFiles.fileLimit else { return }
    let choice = input.u8()
    log.files.append(log.files[current])
    current = log.files.count - 1
    guard log.files[current].isSegment, log.files[current].bytes.count >= SegmentHeader.byteCount else { return }
    if choice & 1 != 0 {
      let id = log.files[current].segmentID
      log.files[current].bytes.store(EventID(high: id.high, low: id.low ^ UInt64(choice)), at: 64)
      if choice & 2 != 0 { log.files[current].bytes.store(id, at: 112) }
    }
    if choice & 4 != 0 { store(&input, at: 80, width: 8) }
    if choice & 8 != 0 { log.files[current].path = log.files[current].isSealed ? "segments/.open" : "segments/.sealed" }
    nameByHeader(current)
  }

  /// Puts the id of one segment into a field of another: its own id, replaces, predecessor, log or epoch.
  private mutating func linkSegments(_ input: inout Input) {
    let other = Int(input.u8()) % log.files.count
    let choice = input.u8()
    guard log.files[current].bytes.count >= SegmentHeader.byteCount, log.files[other].bytes.count >= SegmentHeader.byteCount else { return }
    let id = log.files[other].bytes.id(choice & 0x40 == 0 ? 64 : 32)
    log.files[current].bytes.store(id, at: [112, 128, 64, 48, 32][Int(choice & 7) % 5])
    if choice & 0x80 != 0 { nameByHeader(current) }
  }
}
