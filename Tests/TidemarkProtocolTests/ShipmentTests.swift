import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol

/// A log on a simulated disk whose events are of many forms.
private func makeLog(_ count: UInt64, sessions: Int = 1) throws -> Log {
  let environment = Environment.simulated(SimulatedDisk(), seed: 7, clock: SteppingClock())
  var options = LogOptions()
  options.sealing = .manual
  try Log.create(at: "/log", options: options, environment: environment)
  var log = try Log.open(at: "/log", options: options, environment: environment)
  for session in 0..<sessions {
    if session > 0 {
      try log.close()
      log = try Log.open(at: "/log", options: options, environment: environment)
    }
    for number in 0..<count {
      try log.append(TestEvent(number: UInt64(session) * 1_000 + number, dataByteCount: Int(number * 37 % 400)).newEvent())
    }
  }
  return log
}

private func ship(
  _ log: Log, _ range: Range<Offset>, lost: Range<Offset>? = nil, compactRange: CompactRange? = nil, compresses: Bool = true
) throws -> [UInt8] {
  let session = try LeafReader.sessionData(log, at: range.lowerBound)
  var writer = ShipmentWriter(
    logID: log.identity.logID, epochID: log.identity.epochID, from: range.lowerBound, session: session, compactRange: compactRange,
    compresses: compresses)
  for offset in range {
    if let lost, lost.contains(offset) {
      guard offset == lost.upperBound - 1 else { continue }
      writer.addLost(upTo: lost.upperBound, session: try LeafReader.sessionData(log, at: lost.upperBound), why: "a bad sector")
    } else {
      let event = try log.event(at: offset)
      writer.add(event.view)
    }
  }
  return writer.finish(note: Array("a note\n\n\u{2014} n AAAAAAA=\n".utf8))
}

private func open(_ bytes: [UInt8], _ log: Log) throws -> Shipment {
  try Shipment(bytes, logID: log.identity.logID, epochID: log.identity.epochID)
}

private func contents(_ shipment: Shipment) throws -> (events: [(Offset, [UInt8])], lost: [Range<Offset>]) {
  var events: [(Offset, [UInt8])] = []
  var lost: [Range<Offset>] = []
  try shipment.read { (item) throws(LogError) in
    switch item {
    case .event(let event): events.append((event.offset, event.copy().data))
    case .lost(let range, _, _): lost.append(range)
    }
  }
  return (events, lost)
}

@Suite("Shipments")
struct ShipmentTests {
  @Test("hold the events that were put in, whatever the range", arguments: [true, false])
  func roundTrip(compresses: Bool) throws {
    let log = try makeLog(40, sessions: 3)
    for start in stride(from: Offset(0), to: log.size, by: 7) {
      for end in stride(from: start + 1, through: log.size, by: 11) {
        let shipment = try open(ship(log, start..<end, compresses: compresses), log)
        #expect(shipment.offsets == start..<end)
        let found = try contents(shipment)
        #expect(found.events.map(\.0) == Array(start..<end))
        for (offset, data) in found.events { #expect(try log.event(at: offset).data == data) }
      }
    }
  }

  @Test("lead to the tree that the log has, from any size below")
  func tree() throws {
    let log = try makeLog(30, sessions: 3)
    let hasher = SHA256()
    var history = try History(log)
    let head = try history.update()
    for start in [Offset(0), 1, 17, 33, log.size - 1] {
      let shipment = try open(ship(log, start..<log.size), log)
      var size = start
      while size <= log.size {
        let before = size == 0 ? CompactRange() : try open(ship(log, 0..<size), log).extend(CompactRange(), hasher)
        var seen: [Offset] = []
        let after = try shipment.extend(before, hasher) { (event) throws(LogError) in seen.append(event.offset) }
        #expect(after.root(hasher) == head.root)
        #expect(seen == Array(size..<log.size))
        size += 13
      }
    }
  }

  @Test("tell of lost events, and of the session behind them")
  func lost() throws {
    let log = try makeLog(20, sessions: 2)
    // The lost ones hold the second session record.
    let lost: Range<Offset> = 18..<25
    let shipment = try open(ship(log, 3..<log.size, lost: lost), log)
    let found = try contents(shipment)
    #expect(found.lost == [lost])
    #expect(found.events.map(\.0) == Array(3..<18) + Array(25..<log.size))
    let hasher = SHA256()
    let before = try open(ship(log, 0..<3), log).extend(CompactRange(), hasher)
    let whole = try open(ship(log, 25..<log.size), log)
    var expected = try open(ship(log, 3..<18), log).extend(before, hasher)
    for offset in lost { expected.append(Descriptor(lost: offset).leaf(hasher), hasher) }
    #expect(try shipment.extend(before, hasher) == whole.extend(expected, hasher))
  }

  @Test("carry the tree at their beginning if asked to")
  func compactRange() throws {
    let log = try makeLog(20)
    let hasher = SHA256()
    let range = try open(ship(log, 0..<13), log).extend(CompactRange(), hasher)
    let shipment = try open(ship(log, 13..<log.size, compactRange: range), log)
    #expect(shipment.compactRange == range)
    #expect(try open(ship(log, 13..<log.size), log).compactRange == nil)
  }

  @Test("with any bit flipped, any byte missing or one more are refused", arguments: [true, false])
  func damaged(compresses: Bool) throws {
    let log = try makeLog(6)
    let bytes = try ship(log, 0..<log.size, compresses: compresses)
    for position in bytes.indices {
      for bit in 0..<8 {
        var changed = bytes
        changed[position] ^= 1 << UInt8(bit)
        #expect(throws: LogError.self) { try open(changed, log) }
      }
      #expect(throws: LogError.self) { try open(Array(bytes[..<position]), log) }
    }
    #expect(throws: LogError.self) { try open(bytes + [0], log) }
    #expect(throws: LogError.self) { try Shipment(bytes, logID: log.identity.epochID, epochID: log.identity.epochID) }
  }

  @Test("that expand too much count as longer than they are")
  func expansion() throws {
    let environment = Environment.simulated(SimulatedDisk(), seed: 7, clock: SteppingClock())
    try Log.create(at: "/log", options: LogOptions(), environment: environment)
    let log = try Log.open(at: "/log", options: LogOptions(), environment: environment)
    try log.append((0..<64).map { _ in NewEvent(type: "zeros", data: [UInt8](repeating: 0, count: 64 << 10)) })
    var writer = ShipmentWriter(logID: log.identity.logID, epochID: log.identity.epochID, from: 0, session: [])
    for offset in 0..<log.size {
      let event = try log.event(at: offset)
      writer.add(event.view)
    }
    let estimate = writer.byteCount
    let shipment = try open(writer.finish(note: []), log)
    #expect(shipment.rawByteCount > 64 * 64 << 10)
    #expect(shipment.bytes.count < 1 << 17 && estimate * Shipment.expansionLimit > shipment.rawByteCount)
  }

  @Test("whose checksums were made again over nonsense are refused or read, and nothing traps")
  func forged() throws {
    let log = try makeLog(6)
    let bytes = try ship(log, 0..<log.size, compresses: false)
    var refused = 0
    for position in 0..<bytes.count where !(32..<40).contains(position) {
      for value: UInt8 in [0, 1, 0x7F, 0xFF] {
        var changed = bytes
        changed[position] = value
        changed.store(xxh3(changed.rawSpan.slice(40, changed.count - 40)), at: 32)
        guard let shipment = try? open(changed, log) else {
          refused += 1
          continue
        }
        _ = try? contents(shipment)
      }
    }
    #expect(refused > 0)
  }
}
