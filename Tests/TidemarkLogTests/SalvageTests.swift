import Foundation
import TestSupport
import Testing
import TidemarkLog

/// Copying what can be read of a damaged log into a new one, at the same offsets.
@Suite struct SalvageTests {
  private func sample() throws -> Fixture {
    let fixture = try Fixture { $0.segmentByteCount = 32768 }
    for segment in 0..<4 {
      for number in 0..<10 { try fixture.log.append(event("\(segment)-\(number)", id: id(UInt64(segment * 10 + number)))) }
      if segment == 1 { try fixture.log.stage(control: .receipt, data: [9]) }
      try fixture.log.append([event("\(segment)-a"), event("\(segment)-b")])
      if segment < 3 { try fixture.log.seal() }
      if segment == 2 { try fixture.reopen() }
    }
    try fixture.log.close()
    return fixture
  }

  private func records(_ log: Log) throws -> [UInt64: [UInt8]] {
    var records: [UInt64: [UInt8]] = [:]
    var cursor = try log.read(Query(includesControlEvents: true, onDamage: .skip))
    while let (offset, record) = try cursor.nextRecord() { records[offset] = record }
    return records
  }

  /// Those of a salvaged log, without the last two: the session of who salvaged it, and the event that says so.
  private func salvagedRecords(_ log: Log) throws -> [UInt64: [UInt8]] {
    let size = log.size
    let records = try records(log)
    let session = try #require(records[size - 2]), last = try #require(records[size - 1])
    #expect(session[4] == EventKind.session.rawValue && last[4] == EventKind.salvage.rawValue && last.count == 48 + 32)
    return records.filter { $0.key < size - 2 }
  }

  @Test func `of a healthy log everything is the same but its identity`() throws {
    let fixture = try sample()
    let before = fixture.disk.image
    let report = try Log.salvage(from: "/log", to: "/new", environment: fixture.environment)
    #expect(report.eventCount == 48 && report.controlEventCount == 3 && report.gaps.isEmpty)
    for path in before.files(under: "/log") { #expect(fixture.disk.image.contents(of: path) == before.contents(of: path)) }
    let log = try Log.open(at: "/new", options: fixture.options, environment: fixture.environment)
    #expect(log.recoveryReport.wasClean && log.recoveryReport.findings.isEmpty)
    #expect(try salvagedRecords(log) == records(fixture.reader()))
    let source = try log.event(at: log.size - 1).data
    #expect(source.rawSpan.id(0) == fixture.log.identity.logID && source.rawSpan.id(16) == fixture.log.identity.epochID)
    #expect(log.identity.logID != fixture.log.identity.logID)
    #expect(try log.event(at: 50).session == fixture.reader().event(at: 50).session)
    #expect(try log.append(event("2-7", id: id(27))).isDuplicate)
    try log.append(event("new"))
    try log.seal()
    #expect(try log.verify().findings.isEmpty)
  }

  @Test(arguments: ["sealed frame", "missing segment", "open frame", "oldest", "newest"])
  func `what can't be read is a gap in the new one, at the same place`(_ damage: String) throws {
    let fixture = try sample()
    let sealed = fixture.segmentFiles.filter { $0.hasSuffix(".sealed") }
    let open = try #require(fixture.segmentFiles.last)
    switch damage {
    case "sealed frame": try fixture.disk.image.flipBit(4200 * 8, of: sealed[1])
    case "missing segment": try fixture.disk.image.delete(sealed[1])
    case "open frame": try fixture.disk.image.flipBit(4800 * 8, of: open)
    case "oldest": try fixture.disk.image.delete(sealed[0])
    default: try fixture.disk.image.delete(open)
    }
    let kept = try records(fixture.reader())
    let size = try fixture.reader().size
    let report = try Log.salvage(from: "/log", to: "/new", environment: fixture.environment)
    #expect(UInt64(kept.count) == report.eventCount + report.controlEventCount)
    let log = try Log.open(at: "/new", options: fixture.options, environment: fixture.environment)
    #expect(log.size == size + 2)
    #expect(try salvagedRecords(log) == kept, "\(damage)")
    let lost = report.gaps.compactMap(\.offsets).reduce(0) { $0 + $1.count }
    #expect(lost == Int(size) - kept.count, "\(damage)")
    let check = try log.verify()
    #expect(check.eventCount == report.eventCount && check.findings.allSatisfy { $0.kind == .gap }, "\(damage): \(check.findings)")
    #expect(try log.append(event("new")).offset >= size)
    try log.seal()
    #expect(try log.verify().findings.allSatisfy { $0.kind == .gap })
  }

  /// Longer than a frame of the new log: its parts must stay together.
  @Test func `a batch stays whole`() throws {
    let fixture = try Fixture { $0.segmentByteCount = 1 << 20 }
    let large = [UInt8](repeating: 3, count: 40_000)
    try fixture.log.append(event("before"))
    try fixture.log.append((0..<6).map { NewEvent(type: "t", id: id(UInt64($0)), data: large) })
    try fixture.log.append(event("after"))
    for isSealed in [false, true] {
      if isSealed { try fixture.log.seal() }
      try fixture.log.sync()
      let report = try Log.salvage(from: "/log", to: "/new\(isSealed)", environment: fixture.environment)
      #expect(report.eventCount == 8)
      let log = try Log.open(at: "/new\(isSealed)", options: fixture.options, environment: fixture.environment)
      #expect(log.recoveryReport.findings.isEmpty)
      #expect(try salvagedRecords(log) == records(fixture.log))
      // In an open segment a batch lies in one frame: no frame of it is left without its last event.
      #expect(try log.verify().findings.isEmpty && log.verify().frameCount <= 6)
    }
  }

  @Test func `what nothing records as durable is saved too, and a reader says that it passes over it`() throws {
    let fixture = try Fixture()
    for number in 0..<5 { try fixture.log.append(event("\(number)")) }
    fixture.disk.powerCycle(.losesEverything)
    let reader = try fixture.reader()
    #expect(try Fixture.texts(reader) == ["0", "1", "2", "3"])
    #expect(reader.recoveryReport.findings.map(\.kind) == [.tornTail] && reader.recoveryReport.findings.first?.offsets == 5..<6)
    #expect(try reader.statistics().userEventCount == 4 && reader.statistics().controlEventCount == 1)
    let report = try Log.salvage(from: "/log", to: "/new", environment: fixture.environment)
    #expect(report.eventCount == 5 && report.gaps.isEmpty)
    let log = try Log.open(at: "/new", options: fixture.options, environment: fixture.environment)
    #expect(try Fixture.texts(log) == ["0", "1", "2", "3", "4"])
  }

  @Test func `behind a damaged header of the newest segment everything is saved`() throws {
    let fixture = try sample()
    let before = try records(fixture.reader())
    try fixture.disk.image.flipBit(100 * 8, of: #require(fixture.segmentFiles.last))
    #expect(try records(fixture.reader()).count < before.count)
    let report = try Log.salvage(from: "/log", to: "/new", environment: fixture.environment)
    #expect(report.eventCount == 48 && report.gaps.isEmpty)
    let log = try Log.open(at: "/new", options: fixture.options, environment: fixture.environment)
    #expect(try salvagedRecords(log) == before && log.verify().findings.isEmpty)
  }

  @Test func `the newest segment is missed, whatever it held`() throws {
    let fixture = try sample()
    try fixture.disk.image.delete(#require(fixture.segmentFiles.last))
    let report = try Log.salvage(from: "/log", to: "/new", environment: fixture.environment)
    #expect(report.gaps.map(\.kind) == [.missingNewest])
  }

  @Test func `a trimmed log stays trimmed`() throws {
    let fixture = try sample()
    try fixture.reopen()
    #expect(try fixture.log.trim(below: 20) > 0)
    let first = fixture.log.first
    try fixture.log.close()
    _ = try Log.salvage(from: "/log", to: "/new", environment: fixture.environment)
    let log = try Log.open(at: "/new", options: fixture.options, environment: fixture.environment)
    #expect(log.first == first && log.recoveryReport.findings.isEmpty)
    #expect(try Fixture.texts(log) == Fixture.texts(fixture.reader()))
    #expect(try log.event(at: first).session != nil)
  }

  @Test func `an existing log is no target, and no log is no source`() throws {
    let fixture = try sample()
    #expect(code { _ = try Log.salvage(from: "/log", to: "/log", environment: fixture.environment) } == .alreadyExists)
    #expect(code { _ = try Log.salvage(from: "/none", to: "/new", environment: fixture.environment) } == .notALog)
    #expect(fixture.disk.image.files(under: "/new").isEmpty)
  }

  /// Whatever has the new name is the whole of it.
  @Test func `a crash at any call leaves no new log, or all of it`() throws {
    let fixture = try sample()
    let image = fixture.disk.image
    let before = try records(fixture.reader())
    var call = 0
    while true {
      let disk = SimulatedDisk(image)
      let environment = Environment.simulated(disk, seed: 5)
      disk.plan = FaultPlan(.cut(), at: call)
      let isDone = (try? Log.salvage(from: "/log", to: "/new", environment: environment)) != nil
      disk.powerCycle(.seeded(UInt64(call)))
      if try disk.status("/new") != nil {
        let log = try Log.openForReading(at: "/new", options: fixture.options, environment: environment)
        #expect(try salvagedRecords(log) == before && log.recoveryReport.findings.isEmpty, "call \(call)")
      } else {
        #expect(!isDone, "call \(call)")
        _ = try Log.salvage(from: "/log", to: "/new", environment: environment)
        #expect(try Log.verify(at: "/new", options: fixture.options, environment: environment).findings.isEmpty)
      }
      if isDone { break }
      call += call < 20 ? 1 : 7
    }
    #expect(call > 50)
  }

  @Test func `a place that is in use is refused, an empty directory is taken`() throws {
    let real = try RealLog()
    try real.log.append(event("a"))
    try real.log.close()
    let place = real.path + "-new"
    try FileManager.default.createDirectory(atPath: place + "/mine", withIntermediateDirectories: true)
    #expect(code { _ = try Log.salvage(from: real.path, to: place) } == .alreadyExists)
    try FileManager.default.removeItem(atPath: place + "/mine")
    #expect(try Log.salvage(from: real.path, to: place + "/").eventCount == 1)
    #expect(try Log.verify(at: place, options: real.options).findings.isEmpty)
    let names = try FileManager.default.contentsOfDirectory(atPath: String(real.path.dropLast(4)))
    #expect(names.sorted() == ["log", "log-new"])
  }

  @Test func `it can be watched and stopped`() throws {
    let real = try RealLog()
    for number in 0..<100 { try real.log.append(NewEvent(type: "t", data: [UInt8](repeating: UInt8(number), count: 5000))) }
    try real.log.close()
    let seen = Locked<[TidemarkLog.Progress]>([])
    let report = try Log.salvage(from: real.path, to: real.path + "-new") { progress in
      seen.withLock { $0.append(progress) }
      return true
    }
    #expect(report.eventCount == 100)
    #expect(
      seen.withLock { steps in
        !steps.isEmpty && steps.allSatisfy { $0.done <= $0.total } && zip(steps, steps.dropFirst()).allSatisfy { $0.done < $1.done }
      })
    #expect(code { _ = try Log.salvage(from: real.path, to: real.path + "-stopped") { _ in false } } == .closed)
    #expect(!FileManager.default.fileExists(atPath: real.path + "-stopped"))
  }
}
