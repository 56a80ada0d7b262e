import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkSQLite
import TidemarkServer

@Suite struct CrashTests {
  private static let files = ["derived.sqlite", "derived.sqlite-wal", "derived.sqlite-shm"]

  /// Two devices, with duplicates, conflicts, a hole, a new key and a release.
  private func story(_ server: TestServer, _ step: () throws -> Void = {}) throws -> (TestDevice, TestDevice) {
    let (one, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    for index in 0..<4 {
      for device in [one, other] {
        try device.append(3)
        try device.log.append(
          NewEvent(type: "scan", id: EventID(high: 7, low: UInt64(index)), data: [UInt8(index % 2), device === one ? 0 : 1]))
        try device.log.append(NewEvent(type: "scan", id: EventID(high: 8, low: UInt64(index)), data: [1]))
        if index == 2 { try device.evidence.rotateKey() }
        try device.shipRest()
        try step()
      }
    }
    _ = try server.admin("POST", "quarantine/acme/2/release", "")
    _ = try server.admin("POST", "quarantine/acme/1/dismiss", "")
    try other.append(5)
    try other.shakeHands()
    let from = other.log.size - 2
    try other.ship(try other.shipment(from, range: try other.log.range(at: from)))
    try step()
    return (one, other)
  }

  @Test func `rows that are deleted are made again, and come out the same`() throws {
    let server = try TestServer()
    let (one, other) = try story(server)
    let rows = try server.rows()
    let generation = server.server.storage.generation
    let answers = [try one.shakeHands(), try other.shakeHands()]
    #expect(rows.contains { $0.hasPrefix("holes") } && rows.contains { $0.hasPrefix("quarantine") })
    try server.reopen { for name in Self.files { server.folder.remove(name) } }
    #expect(try server.rows() == rows && server.server.storage.generation == generation)
    for (device, answer) in zip([one, other], answers) {
      var again = try device.shakeHands()
      again.sender = answer.sender
      #expect(again == answer)
    }
  }

  @Test func `rows of any earlier state are brought up to date`() throws {
    let server = try TestServer()
    var copies: [String] = []
    let folder = try TemporaryFolder()
    _ = try story(server) {
      let copy = "\(folder.path)/\(copies.count)"
      try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
      for name in Self.files { try? FileManager.default.copyItem(atPath: "\(server.folder.path)/\(name)", toPath: "\(copy)/\(name)") }
      copies.append(copy)
    }
    let rows = try server.rows()
    let changes = try server.changes().map(\.number)
    #expect(copies.count == 9 && changes == Array(1...UInt64(changes.count)))
    for copy in copies {
      try server.reopen {
        for name in Self.files {
          server.folder.remove(name)
          try? FileManager.default.copyItem(atPath: "\(copy)/\(name)", toPath: "\(server.folder.path)/\(name)")
        }
      }
      #expect(try server.rows() == rows)
    }
  }

  @Test func `rows that can't be read are made again`() throws {
    let server = try TestServer()
    _ = try story(server)
    let rows = try server.rows()
    let generation = server.server.storage.generation
    try server.reopen {
      for name in Self.files { server.folder.remove(name) }
      try Data("this is no database, and never was one".utf8).write(to: URL(filePath: "\(server.folder.path)/derived.sqlite"))
    }
    #expect(try server.rows() == rows && server.server.storage.generation == generation)
  }

  @Test func `a log that lost its end gives another generation, and the device ships again`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(3)
    try device.shipRest()
    let image = server.disk.image
    try device.append(3)
    let receipt = try device.shipRest().receipt
    let generation = server.server.storage.generation
    try server.reopen {
      server.disk.processKill()
      server.disk.image = image
      server.disk.processKill()
    }
    #expect(server.server.storage.generation != generation)
    let hands = try device.shakeHands()
    let receipted = try Checkpoint(receipt.text).head.size
    #expect(hands.generation == server.server.storage.generation && hands.accepted.size < receipted)
    #expect(try device.shipRest().accepted == device.log.size)
    #expect(try server.changes().map(\.number) == Array(1...6))
    let now = server.server.storage.generation
    try server.reopen()
    #expect(server.server.storage.generation == now)
  }

  @Test func `whatever call of the disk fails, what was answered is there and nothing is there twice`() throws {
    for call in 0..<60 {
      let server = try TestServer()
      let device = try TestDevice(server)
      try device.append(4)
      try device.shipRest()
      try device.append(4)
      try device.shakeHands()
      let shipment = try device.shipment()
      server.disk.plan = FaultPlan(.cut(), at: server.disk.callCount + call)
      let answer = server.send(device.shipping(shipment))
      let isOver = !server.disk.isCut
      if !isOver { #expect(Problem(answer).map { $0.problemClass == .retryable } ?? true) }
      let told = ShipmentAnswer(answer: answer)
      try server.reopen { server.disk.powerCycle(.losesEverything) }
      try device.shakeHands()
      let again = try device.ship(shipment)
      if let told { #expect(again == told, "call \(call)") }
      #expect(try server.changes().map(\.number) == Array(1...8), "call \(call)")
      let rows = try server.rows()
      try server.reopen { for name in Self.files { server.folder.remove(name) } }
      #expect(try server.rows() == rows, "call \(call)")
      if isOver {
        #expect(call > 3)
        return
      }
    }
    Issue.record("the shipment never ended")
  }

  @Test(arguments: SyncFailure.allCases)
  func `a sync that fails is told, and the same shipment is taken afterwards`(failure: SyncFailure) throws {
    for call in 0..<60 {
      let server = try TestServer()
      let device = try TestDevice(server)
      try device.append(4)
      try device.shipRest()
      try device.append(4)
      try device.shakeHands()
      let shipment = try device.shipment()
      server.disk.plan = FaultPlan(.failedSync(failure), at: server.disk.callCount + call)
      let faults = server.disk.faultCount
      let answer = server.send(device.shipping(shipment))
      let isHit = server.disk.faultCount > faults
      server.disk.plan = FaultPlan()
      if isHit { #expect(answer.status == 200 || Problem(answer)?.code == .storage, "call \(call)") }
      let again = try device.ship(shipment)
      if let told = ShipmentAnswer(answer: answer) { #expect(again == told, "call \(call)") }
      #expect(try server.changes().map(\.number) == Array(1...8), "call \(call)")
      let rows = try server.rows()
      try server.reopen { server.disk.powerCycle(.losesEverything) }
      #expect(try server.rows() == rows, "call \(call)")
      try server.reopen { for name in Self.files { server.folder.remove(name) } }
      #expect(try server.rows() == rows, "call \(call)")
      if isHit { return }
    }
    Issue.record("no sync was met")
  }

  /// - Parameter table: of what is entered once the log has it.
  @Test(arguments: ["requests", "changes", "quarantine", "applied"], [false, true])
  func `rows that fail behind a good append are made up for, and nothing is there twice`(table: String, restarts: Bool) throws {
    let server = try TestServer()
    let (device, other) = (try TestDevice(server, seed: 1), try TestDevice(server, seed: 2))
    for data in [UInt8(0), 1] {
      let sender = data == 0 ? device : other
      try sender.append(3)
      try sender.log.append(NewEvent(type: "scan", id: EventID(high: 7, low: 1), data: [data]))
      try sender.log.append(NewEvent(type: "scan", id: EventID(high: 7, low: 2), data: [7]))
      try sender.shakeHands()
    }
    try device.shipRest()
    let before = try server.changes().map(\.number)
    let shipment = try other.shipment()
    let rows = try Database.forRows("\(server.folder.path)/derived.sqlite", busyTimeoutMilliseconds: 1_000)
    for event in ["INSERT", "UPDATE"] {
      let body = "BEGIN SELECT RAISE(ABORT, 'the disk is bad'); END"
      try rows.execute("CREATE TRIGGER fails_\(event) BEFORE \(event) ON \(table) \(body)", "a test")
    }
    for _ in 0..<2 {
      let answer = server.send(other.shipping(shipment))
      #expect(Problem(answer)?.problemClass == .retryable)
      #expect(try server.changes().map(\.number) == before)
    }
    // It is in the log, once.
    let ingest = try Log.openForReading(at: "/server/ingest", options: LogOptions(), environment: .simulated(server.disk, seed: 9))
    #expect(try ingest.events(in: 0..<ingest.size).filter { $0.type == "shipment" }.count == 2)
    for event in ["INSERT", "UPDATE"] { try rows.execute("DROP TRIGGER fails_\(event)", "a test") }
    if restarts {
      try server.reopen()
      try other.shakeHands()
    } else {
      // Somebody else's commit catches up.
      try device.append(1)
      try device.shipRest()
    }
    let answer = try other.ship(shipment)
    #expect(answer.changes == 6...8 && answer.outcomes.count == 2)
    #expect(try server.changes().map(\.number) == Array(1...(restarts ? 8 : 9)))
    let all = try server.rows()
    try server.reopen { for name in Self.files { server.folder.remove(name) } }
    #expect(try server.rows() == all)
  }

  @Test func `a server that was killed while it was made is made the next time`() throws {
    for call in 0..<200 {
      let (disk, folder) = (SimulatedDisk(), try TemporaryFolder())
      disk.plan = FaultPlan(.cut(), at: call)
      let first = try? Server(at: "/server", rowsPath: folder.path, options: ServerOptions(), environment: .simulated(disk, seed: 1))
      try? first?.close()
      let isOver = !disk.isCut
      disk.powerCycle(call % 2 == 0 ? .losesEverything : .keepsEverything)
      let server = try Server(at: "/server", rowsPath: folder.path, options: ServerOptions(), environment: .simulated(disk, seed: 2))
      #expect(TidemarkServerTests.send(HTTPRequest("GET", "/readyz"), to: server).status == 200, "call \(call)")
      try server.close()
      if isOver {
        #expect(call > 20)
        return
      }
    }
    Issue.record("it never ended")
  }

  @Test func `a full disk refuses, and takes it when there is room again`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(4)
    try device.shipRest()
    try device.log.append(NewEvent(type: "photo", data: (0..<50_000).flatMap { xxh3([UInt8(1)].rawSpan, seed: $0).bytes }))
    try device.shakeHands()
    let shipment = try device.shipment()
    let rows = try server.rows()
    server.disk.capacity = server.disk.image.usedByteCount + 50_000
    #expect(server.send(HTTPRequest("GET", "/readyz")).status == 200)
    #expect(problem { try device.ship(shipment) } == .storage)
    #expect(server.send(HTTPRequest("GET", "/readyz")).status == 503)
    #expect(try server.rows() == rows && server.changes().count == 4)
    server.disk.capacity = nil
    #expect(try device.ship(shipment).changes == 1...5)
    #expect(server.send(HTTPRequest("GET", "/readyz")).status == 200)
    #expect(try server.changes().map(\.number) == Array(1...5))
  }

  @Test func `a shipment with any byte changed is refused, and nothing of it is stored`() throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(2)
    try device.shakeHands()
    let shipment = try device.shipment()
    let rows = try server.rows()
    let size = server.disk.image.usedByteCount
    for index in shipment.indices {
      var damaged = shipment
      damaged[index] ^= UInt8(1 << (index % 8))
      #expect(problem { try device.ship(damaged) } != nil, "byte \(index)")
    }
    for length in stride(from: 0, to: shipment.count, by: 7) {
      #expect(problem { try device.ship(Array(shipment[..<length])) } != nil, "length \(length)")
    }
    var request = device.shipping(shipment)
    request.fields[ContentDigestField.name] = ContentDigestField.value(of: [1])
    #expect(Problem(server.send(request))?.code == .digestMismatch)
    request.fields[ContentDigestField.name] = nil
    #expect(Problem(server.send(request))?.code == .malformed)
    #expect(try server.rows() == rows && server.disk.image.usedByteCount == size)
    try device.ship(shipment)
  }
}

extension UInt64 {
  fileprivate var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> UInt64(8 * $0)) } }
}

@Suite struct ConcurrencyTests {
  @Test func `change numbers have no gaps, however many devices ship at once`() async throws {
    let server = try TestServer()
    let devices = try (0..<6).map { try TestDevice(server, seed: UInt64($0)) }
    let requests = try devices.map { device in
      for _ in 1...5 { try device.append(4) }
      try device.shakeHands()
      return try stride(from: Offset(0), to: device.log.size, by: 5).map { from in
        device.shipping(try device.shipment(from, min(from + 5, device.log.size)))
      }
    }
    let inner = server.server
    await withTaskGroup(of: Void.self) { group in
      for requests in requests {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              // Each shipment comes twice.
              for request in requests { for _ in 0..<2 { #expect(TidemarkServerTests.send(request, to: inner).status == 200) } }
              continuation.resume()
            }
          }
        }
      }
    }
    let changes = try server.changes()
    #expect(changes.map(\.number) == Array(1...120))
    #expect(Set(changes.map { "\($0.log) \($0.offset)" }).count == 120)
    for device in devices {
      let own = changes.filter { $0.log == device.log.identity.logID.hexadecimal }.map(\.offset)
      #expect(own == own.sorted() && own.count == 20)
    }
    let rows = try server.rows()
    try server.reopen { server.folder.remove("derived.sqlite") }
    #expect(try server.rows() == rows)
  }

  @Test func `one shipment that comes from many threads is stored once`() async throws {
    let server = try TestServer()
    let device = try TestDevice(server)
    try device.append(20)
    try device.shakeHands()
    let (inner, request) = (server.server, device.shipping(try device.shipment()))
    let answers = await withTaskGroup(of: [UInt8].self) { group in
      for _ in 0..<8 {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: TidemarkServerTests.send(request, to: inner).body) }
          }
        }
      }
      return await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
    }
    #expect(answers.count == 1)
    #expect(try server.changes().count == 20)
  }
}
