/// A segment file taken apart for people: header, frames and footer with their positions.
package enum SegmentDump {
  package struct Entry: Sendable {
    package let position: UInt64
    package let kind: String
    package let fields: [(name: String, value: String)]
  }

  /// Calls `show` with each entry, in the order of the file. Damage is shown where it stands, and the dump goes on behind it.
  package static func describe(
    _ path: String, _ files: any FileSystem = POSIXFileSystem(), show: (Entry) throws -> Void
  ) throws {
    let file = try files.open(path, .read)
    defer { file.close() }
    let length = try file.byteCount()
    let footer = try footer(file, length)
    let header: SegmentHeader
    do throws(LogError) { header = try Sealer.header(file) } catch {
      guard error.code == .corrupt else { throw error }
      try show(Entry(position: 0, kind: "damaged header", fields: [("reason", error.why)]))
      return
    }
    try show(Entry(position: 0, kind: "header", fields: fields(header)))
    let limit = footer?.idPagesPosition ?? length
    try frames(file, header, from: UInt64(SegmentHeader.byteCount), limit: limit, show)
    guard let footer else { return }
    if footer.idPageCount > 0 {
      try show(Entry(position: footer.idPagesPosition, kind: "id pages", fields: [("count", "\(footer.idPageCount)")]))
    }
    try frames(file, header, from: footer.indexPosition, limit: length - UInt64(Footer.byteCount), show)
    try show(Entry(position: length - UInt64(Footer.byteCount), kind: "footer", fields: fields(footer)))
  }

  private static func footer(_ file: any File, _ length: UInt64) throws -> Footer? {
    guard length >= UInt64(Footer.byteCount), file.path.hasSuffix(".sealed") else { return nil }
    var page = [UInt8](repeating: 0, count: Footer.byteCount)
    let got = try file.read(page.count, at: length - UInt64(Footer.byteCount), into: &page, at: 0)
    guard got == page.count, Page.check(page.rawSpan, .footer) == .sound else { return nil }
    return Footer(page.rawSpan, fileLength: length)
  }

  private static func frames(_ file: any File, _ header: SegmentHeader, from start: UInt64, limit: UInt64, _ show: (Entry) throws -> Void)
    throws
  {
    var reader = FrameReader(file, seed: header.seed, from: start, limit: limit)
    while reader.position < limit {
      switch try reader.next() {
      case .frame(let frame, let at): try show(Entry(position: at, kind: name(frame.kind), fields: fields(frame)))
      case .end(let at):
        if let end = try reader.endOfNonZero() {
          try show(Entry(position: at, kind: "bytes behind the end", fields: [("up to", "\(end)")]))
        } else {
          try show(Entry(position: at, kind: "zeros", fields: [("up to", "\(limit)")]))
        }
        return
      case .bad(let at, let why):
        try show(Entry(position: at, kind: "damaged", fields: [("reason", why)]))
        guard let next = try reader.search(from: at + 8) else { return }
        reader.seek(to: next.at)
      }
    }
  }

  private static func name(_ kind: UInt8) -> String {
    switch FrameHeader.Kind(rawValue: kind) {
    case .events: "events"
    case .mark: "mark"
    case .close: "close"
    case .gap: "gap"
    case .index: "index"
    case nil: "type \(kind)"
    }
  }

  private static func fields(_ header: SegmentHeader) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = [
      ("log", header.logID.hexadecimal), ("epoch", header.epochID.hexadecimal), ("segment", header.segmentID.hexadecimal),
      ("base", "\(header.base)"),
      ("durability", "\(header.durability)"), ("trim_floor", "\(header.trimFloor)"),
    ]
    if header.replaces != .zero { fields.append(("replaces", header.replaces.hexadecimal)) }
    return fields + [("predecessor", header.predecessor.segmentID == .zero ? "none" : describe(header.predecessor))]
  }

  private static func describe(_ pin: Pin) -> String {
    "\(pin.segmentID.hexadecimal) count \(pin.count) end \(pin.end) digest \(pin.digest.hexadecimal)"
  }

  private static func fields(_ frame: FrameHeader) -> [(name: String, value: String)] {
    [
      ("base", "\(frame.base)"), ("count", "\(frame.count)"), ("stored", "\(frame.storedLength)"), ("raw", "\(frame.rawLength)"),
      ("codec", frame.isCompressed ? "lz4" : "raw"), ("durable", "\(frame.durable)"),
    ]
  }

  private static func fields(_ footer: Footer) -> [(name: String, value: String)] {
    [
      ("base", "\(footer.base)"), ("end", "\(footer.end)"), ("user_events", "\(footer.userCount)"), ("frames", "\(footer.frameCount)"),
      ("raw_bytes", "\(footer.rawByteCount)"), ("digest", footer.digest.hexadecimal), ("file_digest", footer.fileDigest.hexadecimal),
    ]
  }
}
