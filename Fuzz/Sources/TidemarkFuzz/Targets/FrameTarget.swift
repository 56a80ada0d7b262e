import TestSupport
@testable import TidemarkLog

/// Bytes, as the frames of a segment file.
enum FrameTarget {
  private static let header = SegmentHeader(
    logID: EventID(high: 1, low: 2), epochID: EventID(high: 3, low: 4), segmentID: EventID(high: 5, low: 6), base: 0,
    created: Timestamp(nanoseconds: 0), incarnation: 1, trimFloor: 0, replaces: .zero, predecessor: .none, userEnd: 0,
    sessionOffset: SegmentHeader.noSession, session: [], durability: .synced)

  /// The first byte: bit 0 leaves checksums wrong, bits 1 to 3 the size of the window, bits 4 and up what is known of the end.
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let flags = input.u8()
    var file = LogFiles.File(path: "segments/x.open", bytes: header.encode() + Packed.unpack(input.rest(), limit: 1 << 18))
    if flags & 1 == 0 {
      var log = LogFiles(files: [file])
      Repair.frames.apply(to: &log)
      file = log.files[0]
    }
    let memory = MemoryFile(file.bytes)
    let window = [64, 128, 300, 1024, 4096, 8192, 65536, FrameReader.windowByteCount][Int(flags >> 1 & 7)]
    do {
      try walk(memory, window)
      try search(memory, window)
      try scan(memory, flags >> 4)
    } catch let error as LogError {
      require(error.code == .unsupportedVersion, "reading frames ends with \(error)")
    } catch { violated("reading frames throws something else than a LogError: \(error)") }
    let alone = Array(file.bytes[SegmentHeader.byteCount...].prefix(512))
    _ = Session(alone.rawSpan)
    EventExtensionLook.at(alone.rawSpan)
  }

  private static func walk(_ file: MemoryFile, _ window: Int) throws {
    var reader = FrameReader(file, seed: header.seed, limit: UInt64(file.bytes.count), window: window)
    var steps = 0
    while steps <= file.bytes.count / 8 {
      steps += 1
      let before = reader.position
      switch try reader.next() {
      case .frame(let frame, let at):
        require(at == before && reader.position > before, "a reader does not go on from byte \(before)")
        require(reader.position <= UInt64(file.bytes.count), "a frame reaches beyond the file")
        // What can be skipped is never decoded: its lengths are its own affair.
        guard !frame.canBeSkipped, reader.decode() else { continue }
        require(reader.payload.byteCount == frame.rawLength, "a frame's contents have another length than its header says")
        if frame.kind == FrameHeader.Kind.events.rawValue { records(reader.payload, frame.base) }
        if frame.kind == FrameHeader.Kind.index.rawValue { IndexLook.at(reader.payload) }
      case .bad(let at, _), .end(let at):
        require(at == before, "a reader stumbles at byte \(at), not where it stands")
        let end = try reader.endOfNonZero()
        require(
          end.map { $0 > at && $0 <= UInt64(file.bytes.count) } ?? true, "the bytes that are not zero end at \(String(describing: end))")
        reader.reread(from: at)
        guard let next = try reader.search(from: at + 8) else { return }
        require(next.at > at, "a search goes back to byte \(next.at)")
      }
    }
  }

  private static func records(_ payload: RawSpan, _ base: Offset) {
    var position = 0
    while let length = Record.length(at: position, in: payload) {
      EventLook.at(EventView(record: payload.slice(position, length), offset: base))
      position += length
    }
  }

  /// Windows of any size find the same frames.
  private static func search(_ file: MemoryFile, _ window: Int) throws {
    var narrow = FrameReader(file, seed: header.seed, limit: UInt64(file.bytes.count), window: window)
    var wide = FrameReader(file, seed: header.seed, limit: UInt64(file.bytes.count))
    var from = UInt64(SegmentHeader.byteCount)
    while let found = try wide.search(from: from) {
      let other = try narrow.search(from: from)
      require(other?.at == found.at && other?.header == found.header, "a narrow window does not find the frame at byte \(found.at)")
      from = found.at + 8
    }
    require(try narrow.search(from: from) == nil, "a narrow window finds a frame that a wide one does not")
  }

  private static func scan(_ file: MemoryFile, _ known: UInt8) throws {
    let pinned: Offset? = known & 1 == 0 ? nil : Offset(known >> 1)
    let floor: Offset = known & 1 == 0 ? Offset(known >> 1) : 0
    let scan = try SegmentScan(file, header, name: "x", pinnedEnd: pinned, knownDurable: floor)
    let length = UInt64(file.bytes.count)
    require(scan.endPosition <= length, "a scan ends behind the file")
    require(scan.summary.end >= header.base, "a scan ends before it begins")
    if let pinned {
      require(scan.summary.end >= pinned || !scan.findings.isEmpty, "a scan says nothing of what lacks before the pinned end")
    }
    if let tail = scan.tail { require(tail.upperBound <= length, "a torn tail reaches beyond the file") }
    for piece in scan.pieces {
      if case .frames(let from, let to) = piece { require(from < to && to <= length, "a scan keeps bytes \(from)..<\(to)") }
    }
    let again = try SegmentScan(file, header, name: "x", pinnedEnd: pinned, knownDurable: floor)
    require(again.pieces == scan.pieces && again.findings == scan.findings, "two scans of one file differ")
    require(again.summary.digest.value == scan.summary.digest.value, "two scans of one file have two digests")
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    var inputs: [(name: String, bytes: [UInt8])] = []
    for name in ["one-event", "all-fields", "batches", "sealed", "stored-raw", "recovered", "trimmed"] {
      for (number, file) in Vectors.log(name).files.enumerated() where file.isSegment {
        var end = file.bytes.count
        if file.isSealed, let footer = file.footerPosition { end = footer }
        // Zeros that were written ahead are all alike.
        while end >= 64 + SegmentHeader.byteCount, file.bytes[(end - 64)..<end].allSatisfy({ $0 == 0 }) { end -= 8 }
        let packed = Packed.pack(Array(file.bytes[SegmentHeader.byteCount..<end]))
        if packed.count > 4 << 10 { continue }
        inputs.append(("\(name)-\(number)", [UInt8(inputs.count % 8) << 1] + packed))
        inputs.append(("\(name)-\(number)-pinned", [0x7E] + packed))
      }
    }
    return inputs
  }
}

/// A file that is only read.
final class MemoryFile: File {
  let path: String
  let bytes: [UInt8]

  init(_ bytes: [UInt8], path: String = "memory") {
    self.bytes = bytes
    self.path = path
  }

  func read(_ count: Int, at position: UInt64, into buffer: inout [UInt8], at index: Int) -> Int {
    guard position < UInt64(bytes.count), count > 0 else { return 0 }
    let got = min(count, bytes.count - Int(position))
    let piece = bytes
    buffer.store(piece.rawSpan.slice(Int(position), got), at: index)
    return got
  }

  func write(_ bytes: RawSpan, at position: UInt64) { violated("a file is written to that is only to be read") }
  func sync() {}
  func byteCount() -> UInt64 { UInt64(bytes.count) }
  func makeReadOnly() {}
  func close() {}
}

enum EventExtensionLook {
  /// What can be taken apart and put together again is the same.
  static func at(_ bytes: RawSpan) {
    guard let extensions = try? EventExtension.decode(bytes) else { return }
    // Text that is no UTF-8 gets longer, perhaps too long to be stored.
    guard let length = try? EventExtension.encodedLength(extensions), length == bytes.byteCount else { return }
    let again = EventExtension.encode(extensions)
    require(again.count == length, "extensions take \(again.count) bytes where \(length) were foretold")
    guard let twice = try? EventExtension.decode(again.rawSpan) else { violated("extensions can't be taken apart a second time") }
    require(twice == extensions, "extensions change when they are encoded again")
  }
}

enum IndexLook {
  static func at(_ bytes: RawSpan) {
    guard let index = SegmentIndex(bytes) else { return }
    let encoded = index.encode()
    guard let again = SegmentIndex(encoded.rawSpan) else { violated("an index can't be read again") }
    require(again == index, "an index changes when it is encoded again")
  }
}
