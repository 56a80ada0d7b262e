import TestSupport
import Testing
import TidemarkLog

/// The records of a range, one behind the other.
private func records(_ log: Log, _ range: Range<Offset>) throws -> [UInt8] {
  var bytes: [UInt8] = []
  for offset in range {
    let event = try log.event(at: offset)
    bytes.add(event.view.record)
  }
  return bytes
}

/// A log with three sessions, and an older state of it that ends at a size.
private func copies(older size: Offset) throws -> (newer: Fixture, older: Fixture) {
  let newer = try Fixture()
  for session in 0..<3 {
    for number in 0..<7 { try newer.log.append(event("\(session)-\(number)", id: id(UInt64(session * 10 + number)))) }
    try newer.reopen()
  }
  let older = try Fixture(seed: 2)
  try older.log.restore(records(newer.log, 0..<size), at: 0)
  return (newer, older)
}

@Suite("Restoring from another copy")
struct RestoreTests {
  @Test("gives the same records at the same offsets, and goes on behind them with a session of its own")
  func same() throws {
    for size in Offset(1)..<24 {
      let (newer, older) = try copies(older: size)
      #expect(older.log.size == size && older.log.durable == size)
      try older.cutPower()
      try older.log.restore(records(newer.log, size..<newer.log.size), at: size)
      try older.cutPower()
      #expect(older.log.size == newer.log.size)
      #expect(try records(older.log, 0..<older.log.size) == records(newer.log, 0..<newer.log.size))
      #expect(try older.log.append(event("0-3", id: id(3))).isDuplicate)
      try older.log.append(event("new"))
      #expect(try older.log.event(at: newer.log.size).kind == .session)
      #expect(try older.texts() == newer.texts() + ["new"])
      #expect(try older.verify().findings.isEmpty)
    }
  }

  @Test("is refused elsewhere than at the end, for nothing, and for what is malformed, and changes nothing then")
  func refused() throws {
    let (newer, older) = try copies(older: 9)
    let rest = try records(newer.log, 9..<newer.log.size)
    for base in [Offset(0), 8, 10, 99] { #expect(code { try older.log.restore(rest, at: base) } == .unexpectedSize) }
    #expect(code { try older.log.restore([], at: 9) } == .invalidArgument)
    for length in 1..<rest.count {
      let cut = Array(rest[..<length])
      if code({ try older.log.restore(cut, at: 9) }) == nil {
        // Cut between two records.
        #expect(older.log.size > 9)
        return
      }
      #expect(older.log.size == 9)
    }
  }

  @Test("a crash at each call leaves all or nothing of it")
  func crash() throws {
    var step = 0
    while true {
      let (newer, older) = try copies(older: 9)
      let rest = try records(newer.log, 9..<newer.log.size)
      older.disk.plan = FaultPlan(.cut(), at: older.disk.callCount + step)
      let failed = code { try older.log.restore(rest, at: 9) } != nil
      older.disk.plan = FaultPlan()
      if !failed { break }
      try older.cutPower()
      #expect(older.log.size == 9 || older.log.size == newer.log.size, "step \(step)")
      #expect(try records(older.log, 0..<older.log.size) == records(newer.log, 0..<older.log.size), "step \(step)")
      step += 1
    }
    #expect(step > 1)
  }
}

@Suite("Epochs")
struct EpochTests {
  @Test("a new one is named in the identity, and everything stays")
  func begin() throws {
    let fixture = try Fixture()
    for number in 0..<5 { try fixture.log.append(event("\(number)", id: id(UInt64(number)))) }
    let old = fixture.log.identity
    let root = [UInt8](repeating: 7, count: 32)
    let epoch = try fixture.log.beginEpoch(fork: 3, rootHash: root)
    #expect(epoch.parent == old.epochID && epoch.forkSize == 3 && epoch.rootHash == root)
    try fixture.log.append(event("5"))
    for _ in 0..<2 {
      #expect(fixture.log.identity.epochs == old.epochs + [epoch] && fixture.log.identity.epochID == epoch.id)
      #expect(fixture.log.identity.logID == old.logID)
      #expect(try fixture.texts() == (0...5).map(String.init))
      #expect(try fixture.verify().findings.isEmpty)
      try fixture.cutPower()
    }
    #expect(code { try fixture.log.beginEpoch(fork: 99, rootHash: nil) } == .offsetOutOfRange)
    #expect(code { try fixture.reader().beginEpoch(fork: 1, rootHash: nil) } == .readOnly)
  }

  @Test("there may be any number; the oldest are forgotten")
  func many() throws {
    let fixture = try Fixture()
    for number in 0..<50 {
      try fixture.log.append(event("\(number)"))
      try fixture.log.beginEpoch(fork: UInt64(number), rootHash: nil)
    }
    let epochs = fixture.log.identity.epochs
    #expect(epochs.count == 45 && epochs.last?.forkSize == 49)
    try fixture.log.seal()
    try fixture.reopen()
    #expect(fixture.log.identity.epochs == epochs)
    #expect(try fixture.texts().count == 50 && fixture.verify().findings.isEmpty)
  }

  @Test("a crash at each call leaves the old one or the new one, and all events")
  func crash() throws {
    var step = 0
    var seen: Set<Int> = []
    while true {
      let fixture = try Fixture()
      for number in 0..<5 { try fixture.log.append(event("\(number)")) }
      fixture.disk.plan = FaultPlan(.cut(), at: fixture.disk.callCount + step)
      let failed = code { try fixture.log.beginEpoch(fork: 2, rootHash: nil) } != nil
      fixture.disk.plan = FaultPlan()
      if !failed { break }
      try fixture.cutPower()
      seen.insert(fixture.log.identity.epochs.count)
      #expect(try fixture.texts() == (0..<5).map(String.init), "step \(step)")
      #expect(try fixture.verify().findings.isEmpty, "step \(step)")
      try fixture.log.beginEpoch(fork: 2, rootHash: nil)
      try fixture.log.append(event("5"))
      #expect(try fixture.texts().count == 6)
      step += 1
    }
    #expect(step > 4 && seen == [1, 2])
  }
}
