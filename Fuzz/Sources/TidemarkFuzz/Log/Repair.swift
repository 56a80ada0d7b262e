@testable import TidemarkLog

/// Makes checksums right again after bytes were changed, so that the code behind them is reached.
struct Repair: OptionSet {
  let rawValue: UInt8

  /// Hashes of the identity's slots, of headers, footers and of the id index's first page.
  static let pages = Repair(rawValue: 1)
  static let frames = Repair(rawValue: 2)
  static let idPages = Repair(rawValue: 4)
  /// The record digest in footers and in the pins of successors, with counts and ends.
  static let digests = Repair(rawValue: 8)
  /// The digest of the whole file.
  static let files = Repair(rawValue: 16)
  static let all: Repair = [.pages, .frames, .idPages, .digests, .files]

  func apply(to log: inout LogFiles) {
    for index in log.files.indices { apply(to: &log.files[index]) }
    if contains(.digests) { pin(&log) }
  }

  private func apply(to file: inout LogFiles.File) {
    if file.path == "identity" {
      finishPage(&file.bytes, at: 0, 4096)
      finishPage(&file.bytes, at: 4096, 4096)
    } else if file.path.hasSuffix(".ids") {
      finishPage(&file.bytes, at: 0, 4096)
      guard contains(.idPages), file.bytes.count >= 4096 else { return }
      let coverage = Digest128(low: file.bytes.u64(104), high: file.bytes.u64(112))
      let seed = IDIndex.seed(file.bytes.id(32), coverage)
      finishIDPages(&file.bytes, at: 4096, count: (file.bytes.count - 4096) / 4096, seed: seed)
    } else {
      segment(&file)
    }
  }

  private func finishPage(_ bytes: inout [UInt8], at start: Int, _ count: Int) {
    guard contains(.pages), start >= 0, bytes.count >= start + count else { return }
    let hash = bytes.hash(start, count - 8)
    bytes.store(hash, at: start + count - 8)
  }

  private func finishIDPages(_ bytes: inout [UInt8], at start: Int, count: Int, seed: UInt64) {
    for number in 0..<count where start + (number + 1) * 4096 <= bytes.count {
      let at = start + number * 4096
      let hash = bytes.hash(at, 4088, seed: seed &+ UInt64(number))
      bytes.store(hash, at: at + 4088)
    }
  }

  private func segment(_ file: inout LogFiles.File) {
    guard file.bytes.count >= SegmentHeader.byteCount else { return }
    finishPage(&file.bytes, at: 0, SegmentHeader.byteCount)
    let seed = file.seed
    if contains(.frames) {
      for at in file.frames() {
        let length = file.frameLength(at: at)
        if length == 0 { continue }
        let hash = file.bytes.hash(at + 8, length - 8, seed: seed)
        file.bytes.store(hash, at: at)
      }
    }
    guard file.isSealed, let footer = file.footerPosition else { return }
    if contains(.idPages), let position = Int(exactly: file.bytes.u64(footer + 256)), position < file.bytes.count {
      let count = Int(clamping: file.bytes.u64(footer + 264))
      finishIDPages(&file.bytes, at: position, count: min(count, file.bytes.count / 4096), seed: seed)
    }
    if contains(.digests) {
      let digest = file.records().digest
      file.bytes.store(digest, at: footer + 176)
    }
    if contains(.files) {
      let (length, digest) = (UInt64(file.bytes.count), file.bytes.digest(upTo: footer))
      file.bytes.store(length, at: footer + 280)
      file.bytes.store(digest, at: footer + 288)
    }
    finishPage(&file.bytes, at: footer, Footer.byteCount)
  }

  /// Makes every segment name what its predecessor is.
  private func pin(_ log: inout LogFiles) {
    let segments = log.files.indices.filter { log.files[$0].isSegment && log.files[$0].bytes.count >= SegmentHeader.byteCount }
    for index in segments {
      guard let before = segments.first(where: { log.files[$0].segmentID == log.files[index].bytes.id(128) }), before != index
      else { continue }
      let (digest, end) = log.files[before].records()
      let base = log.files[before].bytes.u64(80)
      let places = [128] + (log.files[index].isSealed ? log.files[index].footerPosition.map { [$0 + 192] } ?? [] : [])
      for at in places {
        log.files[index].bytes.store(end, at: at + 16)
        log.files[index].bytes.store(end &- base, at: at + 24)
        log.files[index].bytes.store(digest, at: at + 32)
      }
      finishPage(&log.files[index].bytes, at: 0, SegmentHeader.byteCount)
      if log.files[index].isSealed, let footer = log.files[index].footerPosition {
        let digest = log.files[index].bytes.digest(upTo: footer)
        if contains(.files) { log.files[index].bytes.store(digest, at: footer + 288) }
        finishPage(&log.files[index].bytes, at: footer, Footer.byteCount)
      }
    }
  }
}

extension LogFiles.File {
  var segmentID: EventID { bytes.rawSpan.id(64) }

  var seed: UInt64 {
    SegmentHeader.seed(logID: bytes.id(32), epochID: bytes.id(48), segmentID: bytes.id(64))
  }

  var footerPosition: Int? {
    bytes.count >= SegmentHeader.byteCount + Footer.byteCount ? bytes.count - Footer.byteCount : nil
  }

  /// Where frames may begin: the magic bytes stand there.
  func frames() -> [Int] {
    var found: [Int] = []
    var at = SegmentHeader.byteCount
    while at + FrameHeader.byteCount <= bytes.count {
      let isFrame = bytes.rawSpan.u32(at + 8) == FrameHeader.magic
      if isFrame { found.append(at) }
      at += isFrame ? max(8, frameLength(at: at)) : 8
    }
    return found
  }

  /// The length of the frame at a place, or 0 if it does not fit into the file.
  func frameLength(at position: Int) -> Int {
    let stored = Int(bytes.rawSpan.u32(position + 16))
    let length = FrameHeader.frameLength(stored: stored)
    return length <= bytes.count - position ? length : 0
  }

  /// A frame's contents, decompressed. Nil if they can't be.
  func contents(at position: Int) -> [UInt8]? {
    guard frameLength(at: position) > 0 else { return nil }
    let start = position + FrameHeader.byteCount
    let stored = Array(bytes[start..<start + Int(bytes.u32(position + 16))])
    guard bytes.u16(position + 14) & 15 == 1 else { return stored }
    let raw = Int(bytes.u32(position + 20))
    var target: [UInt8] = []
    guard raw <= LogFiles.byteLimit, decompressLZ4(stored.rawSpan, into: &target, rawLength: raw) else { return nil }
    return Array(target.prefix(raw))
  }

  /// The record digest, and the offset after the last record.
  func records() -> (digest: Digest128, end: UInt64) {
    let digest = StreamDigest()
    var end = bytes.rawSpan.u64(80)
    for at in frames() where bytes.u64(at + 24) == end {
      let count = UInt64(bytes.u32(at + 32))
      if bytes.u8(at + 13) == FrameHeader.Kind.events.rawValue, let records = contents(at: at) {
        digest.update(records.rawSpan)
        end &+= count
      } else if bytes.u8(at + 13) == FrameHeader.Kind.gap.rawValue {
        var marker: [UInt8] = []
        marker.add(UInt32.max)
        marker.add(UInt32(truncatingIfNeeded: count))
        marker.add(end)
        digest.update(marker.rawSpan)
        end &+= count
      }
    }
    return (digest.value, end)
  }
}
