@testable import TidemarkEvidence
@testable import TidemarkLog
@testable import TidemarkProtocol
@testable import TidemarkServer

/// A shipment as a server examines it, and as a device that refills reads it.
///
/// The first byte: bit 0 leaves the checksums wrong, bit 1 says that the server has some of it already. The rest is the shipment.
enum ShipmentsTarget {
  private static let (logID, epochID) = (EventID(high: 1, low: 2), EventID(high: 3, low: 4))
  /// Of offsets, as a server's limits have it.
  private static let offsetLimit = 65_536

  static func run(_ bytes: [UInt8]) {
    var input = Input(bytes)
    let flags = input.u8()
    var body = Packed.unpack(input.rest(), limit: 1 << 18)
    if flags & 1 == 0 { repair(&body) }
    guard let shipment = taken({ () throws(LogError) in try Shipment(body, logID: logID, epochID: epochID) }) else { return }
    require(shipment.bytes == body, "a shipment has other bytes than were read")
    // A server looks at both before it goes on.
    guard shipment.offsets.count <= offsetLimit, shipment.rawByteCount <= Shipment.expansionLimit << 18 else { return }
    guard let known = shipment.compactRange ?? (shipment.offsets.lowerBound == 0 ? CompactRange() : nil) else { return }
    guard let items = taken({ () throws(LogError) in try read(shipment) }) else {
      require(examine(shipment, known) == nil, "a shipment is examined that can't be read")
      return
    }
    guard let whole = examine(shipment, known) else { violated("a shipment that can be read can't be examined") }
    require(items.end == shipment.offsets.upperBound, "a shipment of \(shipment.offsets) ends at \(items.end)")
    require(whole.entries.map(\.offset) == items.events, "not each event of a shipment is examined, or in another order")
    require(whole.range.size == shipment.offsets.upperBound, "the tree behind a shipment has another size")
    if flags & 2 != 0 { continues(shipment, whole, known) }
    rewrite(shipment, whole, known)
    record(shipment, whole)
  }

  /// A server that has the first of the events comes to the same tree with the others.
  private static func continues(_ shipment: Shipment, _ whole: Examination, _ known: CompactRange) {
    let middle = shipment.offsets.lowerBound + UInt64(shipment.offsets.count / 2)
    guard let half = try? shipment.extend(known, upTo: middle, SHA256()) else { violated("half of a shipment can't be read") }
    guard let rest = examine(shipment, half) else { violated("the rest of a shipment can't be examined") }
    require(rest.range == whole.range && rest.base == middle, "in two steps a shipment leads to another tree")
    require(rest.entries.map(\.digest) == whole.entries.filter { $0.offset >= middle }.map(\.digest), "a known event is examined again")
  }

  /// What is served to a device that refills has the same events.
  private static func rewrite(_ shipment: Shipment, _ whole: Examination, _ known: CompactRange) {
    var writer = ShipmentWriter(
      logID: logID, epochID: epochID, from: shipment.offsets.lowerBound, session: shipment.session, compactRange: shipment.compactRange)
    do { try add(shipment, to: &writer) } catch { violated("a shipment can't be read again: \(error)") }
    let written = writer.finish(note: shipment.note)
    guard let again = taken({ () throws(LogError) in try Shipment(written, logID: logID, epochID: epochID) }) else {
      violated("a shipment that was written can't be read")
    }
    require(again.offsets == shipment.offsets && again.note == shipment.note, "a shipment that is written again differs")
    guard let examined = examine(again, known) else { violated("a shipment that was written can't be examined") }
    require(examined.range == whole.range && examined.key == whole.key, "a shipment that is written again leads to another tree")
  }

  private static func add(_ shipment: Shipment, to writer: inout ShipmentWriter) throws(LogError) {
    try shipment.read { (item) throws(LogError) in
      switch item {
      case .event(let event): writer.add(event)
      case .lost(let offsets, let session, let why): writer.addLost(upTo: offsets.upperBound, session: session, why: why)
      }
    }
  }

  /// What the ingest log keeps of it comes back from there.
  private static func record(_ shipment: Shipment, _ whole: Examination) {
    let verdicts = whole.entries.prefix(100).map { Verdict.quarantined($0, .conflict, first: $0.digest) }
    require(Verdict.decode(Verdict.encode(verdicts).rawSpan) == verdicts, "verdicts change when they are written")
    let record = ShipmentRecord(
      tenant: "acme", device: logID, log: logID, epoch: epochID, base: whole.base, changes: verdicts.isEmpty ? nil : 1...9, seconds: 7,
      key: nil, settles: false, verdicts: verdicts)
    guard let back = ShipmentRecord.decode(record.head + shipment.bytes) else { violated("what was kept of a shipment can't be read") }
    require(back.record == record && Array(back.shipment) == shipment.bytes, "what was kept of a shipment is another one")
    // The same reader on bytes that nobody wrote.
    _ = ShipmentRecord.decode(shipment.bytes)
  }

  private static func read(_ shipment: Shipment) throws(LogError) -> (events: [Offset], end: Offset) {
    var events: [Offset] = []
    var next = shipment.offsets.lowerBound
    try shipment.read { (item) throws(LogError) in
      switch item {
      case .event(let event):
        require(event.offset == next, "an event is at \(event.offset), where \(next) is due")
        EventLook.at(event)
        if !event.isControl { events.append(event.offset) }
        next += 1
      case .lost(let offsets, let session, let why):
        require(offsets.lowerBound == next && session.count <= 2_048 && why.utf8.count < 1 << 20, "lost offsets are malformed")
        next = offsets.upperBound
      }
    }
    return (events, next)
  }

  private static func examine(_ shipment: Shipment, _ known: CompactRange) -> Examination? {
    taken { () throws(LogError) in try Examination(of: shipment, from: known, key: [UInt8](repeating: 7, count: 32)) { _ in nil } }
  }

  /// What was refused was refused as corrupt.
  private static func taken<Value>(_ read: () throws(LogError) -> Value) -> Value? {
    do { return try read() } catch {
      explain("\(error)")
      require(error.code == .corrupt && !error.why.isEmpty && !error.advice.isEmpty, "a shipment is refused with \(error)")
      return nil
    }
  }

  /// Makes the checksums right, of its frames and of the whole.
  private static func repair(_ bytes: inout [UInt8]) {
    guard bytes.count >= Shipment.headerByteCount else { return }
    let lengths = Int(bytes.u16(8)) + 32 * Int(bytes.u16(10)) + Int(bytes.u32(12))
    var at = Shipment.headerByteCount + lengths
    while at + FrameHeader.byteCount <= bytes.count {
      let length = FrameHeader.frameLength(stored: Int(bytes.u32(at + 16)))
      guard length <= bytes.count - at else { break }
      let hash = bytes.hash(at + 8, length - 8, seed: Shipment.seed(logID, epochID))
      bytes.store(hash, at: at)
      at += length
    }
    let hash = bytes.hash(Shipment.headerByteCount, bytes.count - Shipment.headerByteCount)
    bytes.store(hash, at: 32)
  }

  // MARK: First inputs

  static func corpus() -> [(name: String, bytes: [UInt8])] {
    var inputs: [(name: String, bytes: [UInt8])] = []
    for name in ["one-event", "all-fields", "batches"] {
      guard let plain = shipment(name, compresses: false, isLost: false) else { violated("the vector \(name) can't be shipped") }
      inputs.append((name, [0] + Packed.pack(plain)))
    }
    if let compressed = shipment("batches", compresses: true, isLost: false) {
      inputs.append(("compressed", [2] + Packed.pack(compressed)))
    }
    if let lost = shipment("batches", compresses: false, isLost: true) { inputs.append(("lost", [2] + Packed.pack(lost))) }
    return inputs
  }

  /// All events of a vector's log.
  private static func shipment(_ name: String, compresses: Bool, isLost: Bool) -> [UInt8]? {
    let records = Vectors.log(name).files.filter(\.isSegment).sorted { $0.path < $1.path }.flatMap { file in
      file.frames().filter { file.bytes.u8($0 + 13) == FrameHeader.Kind.events.rawValue }.compactMap(file.contents)
    }
    var range = CompactRange()
    for _ in 0..<(isLost ? 5 : 0) { range.append(.zero, SHA256()) }
    var writer = ShipmentWriter(
      logID: logID, epochID: epochID, from: range.size, session: [], compactRange: isLost ? range : nil, compresses: compresses)
    if isLost { writer.addLost(upTo: 8, session: [1, 2, 3], why: "the file was damaged") }
    for records in records {
      var at = 0
      while let length = Record.length(at: at, in: records.rawSpan) {
        writer.add(EventView(record: records.rawSpan.slice(at, length), offset: writer.end))
        at += length
      }
    }
    return writer.end == 0 ? nil : writer.finish(note: Array("a\n1\n\n".utf8))
  }
}
