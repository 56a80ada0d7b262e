import TestSupport
@testable import TidemarkLog

/// Indexes, footers and id pages: of a sealed segment whose fields are changed, of a merged id index, and from bytes alone.
enum IndexTarget {
  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    do {
      switch input.u8() & 3 {
      case 0: IndexLook.at(input.rest().rawSpan)
      case 1: try run(pages: &input)
      default: try sealed(&input)
      }
    } catch let error as LogError {
      require([.damagedIndex, .corrupt, .unsupportedVersion].contains(error.code), "an index ends with \(error)")
    } catch { violated("an index throws something else than a LogError: \(error)") }
  }

  /// The sealed segment of a vector. Four bytes each: where, counted from the part that bits 14 and 15 name, and what is added.
  private static func sealed(_ input: inout Input) throws {
    let names = ["sealed", "stored-raw", "unsealed", "trimmed"]
    let choice = input.u8()
    let log = Vectors.log(names[Int(choice & 3)])
    guard let original = log.files.first(where: \.isSealed) else { return }
    var changed = LogFiles(files: [original])
    guard let footer = original.footerPosition else { return }
    let parts = [footer, Int(original.bytes.u64(footer + 256)), Int(original.bytes.u64(footer + 272)), 0]
    let index = original.contents(at: parts[2]) ?? []
    var indexBytes = index
    while !input.isAtEnd {
      let place = input.u16()
      let change = input.u8()
      let part = Int(place >> 14)
      let at = Int(place & 0x3FFF)
      if part == 2 {
        if !indexBytes.isEmpty { indexBytes[at % indexBytes.count] &+= change }
      } else if parts[part] + at < original.bytes.count {
        changed.files[0].bytes[parts[part] + at] &+= change
      }
    }
    if indexBytes != index { replaceIndex(of: &changed.files[0], at: parts[2], footer, indexBytes) }
    Repair.all.subtracting(choice & 4 == 0 ? [] : .digests).apply(to: &changed)
    try look(changed.files[0])
  }

  private static func replaceIndex(of file: inout LogFiles.File, at position: Int, _ footer: Int, _ contents: [UInt8]) {
    var header = FrameHeader(
      .index, storedLength: contents.count, rawLength: contents.count, base: file.bytes.u64(position + 24), durable: 0, incarnation: 0)
    header.durable = file.bytes.u64(position + 40)
    var frame = [UInt8](repeating: 0, count: header.frameLength)
    frame.put(contents, at: FrameHeader.byteCount)
    header.encode(into: &frame, seed: 0)
    file.bytes.replaceSubrange(position..<footer, with: frame)
  }

  private static func look(_ file: LogFiles.File) throws {
    let memory = MemoryFile(file.bytes, path: file.path)
    guard let at = file.footerPosition else { return }
    let page = file.bytes.rawSpan.slice(at, Footer.byteCount)
    guard Page.check(page, .footer) == .sound, let footer = Footer(page, fileLength: UInt64(file.bytes.count)) else { return }
    require(footer.encode().rawSpan.slice(32, 280).equals(page.slice(32, 280)), "a footer changes when it is encoded again")
    var check = SealedCheck(memory, footer, name: "x")
    let findings = try check.run()
    let name = SegmentName(base: footer.base, segmentID: footer.segmentID, form: .sealed)
    let map = try SegmentMap(of: memory, name, footer: footer)
    for offset in [footer.base, footer.end &- 1, footer.end, 0, .max] { _ = map.position(for: offset, nil) }
    let run = IDPageRun(file: memory, position: footer.idPagesPosition, pageCount: Int(clamping: footer.idPageCount), seed: footer.seed)
    for id in [footer.ids.low, footer.ids.high, EventID(high: 1, low: 2)] {
      let found = try run.candidates(id)
      require(found.count <= run.pageCount * IDPages.entriesPerPage, "an id has more candidates than there are entries")
      if findings.isEmpty, footer.userCount > 0, id == footer.ids.low { require(!found.isEmpty, "a sound id index does not find an event") }
    }
  }

  /// A merged id index: header fields, then pages.
  private static func run(pages input: inout Input) throws {
    var header = IDIndexHeader(
      logID: EventID(high: 1, low: 2), first: input.u64(), end: input.u64(), pageCount: UInt64(input.u8() & 7),
      low: EventID(high: 0, low: input.u64()), high: EventID(high: .max, low: .max), coverage: .zero)
    let shift = UInt64(input.u32())
    let flags = input.u8()
    if flags & 1 != 0 { header.pageCount = input.u64() }
    let page = header.encode()
    if let read = IDIndexHeader(page.rawSpan) {
      require(read == header, "an id index's header changes when it is read")
      require(read.first <= read.end && read.end <= Record.offsetLimit, "an id index covers offsets that no log has")
    }
    var log = LogFiles(files: [.init(path: "index/x.ids", bytes: page)])
    while !input.isAtEnd, log.files[0].bytes.count < 8 * 4096 {
      let entries = (0..<min(511, 1 + Int(input.u16() & 0x3FF))).map { _ in input.isAtEnd ? IDPages.filler : input.u64() }
      let ordered = flags & 2 == 0 ? entries.sorted() : entries
      log.files[0].bytes += IDPages.encode(ordered[...], number: 0, seed: 0)
    }
    if flags & 4 == 0 { Repair.all.apply(to: &log) }
    let memory = MemoryFile(log.files[0].bytes)
    let pages = IDPageRun(
      file: memory, position: 4096, pageCount: Int(clamping: min(header.pageCount, 1 << 20)),
      seed: IDIndex.seed(header.logID, header.coverage))
    for id in [header.low, header.high, EventID(high: 1, low: 2)] { _ = try pages.candidates(id) }
    let disk = SimulatedDisk()
    let target = try disk.open("/merged", .create)
    let sources = [try IDMerge.Source(pages, shift: shift), try IDMerge.Source(pages, shift: 0)]
    let written = try IDMerge.write(sources, to: target, seed: 9) {}
    let merged = IDPageRun(file: target, position: 4096, pageCount: Int(written), seed: 9)
    _ = try merged.candidates(header.low)
  }

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    var inputs: [(name: String, bytes: [UInt8])] = []
    for (number, name) in ["sealed", "stored-raw", "unsealed", "trimmed"].enumerated() {
      inputs.append((name, [2, UInt8(number)]))
      for part in 0..<4 as Range<UInt8> {
        inputs.append(("\(name)-part-\(part)", [2, UInt8(number) | 4, 90, part << 6, 1, 17, part << 6, 255]))
      }
      guard let file = Vectors.log(name).files.first(where: \.isSealed), let footer = file.footerPosition else { continue }
      if let index = file.contents(at: Int(file.bytes.u64(footer + 272))) { inputs.append(("\(name)-index", [0] + index)) }
    }
    inputs.append(("pages", [1] + (0..<120).map { UInt8($0 * 7 & 0xFF) }))
    return inputs
  }
}
