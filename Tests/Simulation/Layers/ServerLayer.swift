import TestSupport
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

/// Devices ship to a server, with duplicates, conflicts and repeats; the power of the server's disk is cut, or its process killed, at any
/// call, and in the start after it again.
///
/// What must hold is what R1, R3, R5, R6, R9 and R12 of `Specs/protocol.md` say.
struct ServerLayer: Layer {
  static let name = "server"
  let seed: UInt64

  func run(_ number: Int, into piece: inout Piece) throws {
    let run = try ServerRun(seed: splitMix(seed &+ UInt64(number) &* splitMixStep), tracing: piece.trace != nil)
    defer {
      piece.states += run.states
      piece.trace? += run.trace ?? []
    }
    try run.run()
  }
}

/// One workload with all its crashes.
private final class ServerRun {
  private(set) var states = 0
  private(set) var trace: [String]?
  private var random: SeededRandom
  private let clock = SteppingClock()
  private let databases: DatabaseFolder
  private let server: ServerProcess
  private let devices: [ShippingDevice]
  private var facts: Facts
  /// The databases as they were before each shipment, the oldest first.
  private var olderDatabases: [DatabaseFolder.Copy] = []

  /// What the server has let others know.
  private struct Facts {
    var key: VerifierKey
    var generation: EventID
    var answers: [Answered] = []
    var changes: [SeenChange] = []
  }

  private struct Answered {
    var device: Int
    var shipment: [UInt8]
    var body: [UInt8]
    var accepted: Offset
  }

  /// The server's disk as a crash at some call finds it, and what was known by then.
  private struct Moment {
    var image: DiskImage
    var databases: DatabaseFolder.Copy
    var facts: Facts
    /// The call that did not happen any more; none between requests.
    var call: Calls = []
  }

  private final class Moments {
    var all: [Moment] = []
    var failure: (any Error)?
  }

  init(seed: UInt64, tracing: Bool) throws {
    random = SeededRandom(seed: seed)
    trace = tracing ? [] : nil
    databases = try DatabaseFolder()
    let disk = SimulatedDisk()
    if random.isOneIn(2) {
      let call = random.number(below: random.isOneIn(2) ? 4 : 40)
      try Self.killWhileMaking(disk, databases, clock, at: call, seed: random.next())
    }
    let made = try ServerProcess(disk, databases, clock, seed: random.next())
    server = made
    if random.isOneIn(2) { disk.startWriteBack(seed: random.next(), oneIn: 4) }
    _ = try server.administrate("POST", "tenants", #"{"tenant":"\#(ServerProcess.tenant)"}"#)
    devices = [try ShippingDevice(made, seed: random.next()), try ShippingDevice(made, seed: random.next())]
    facts = Facts(key: server.server.key, generation: server.generation)
  }

  /// Starts a server for the first time, and kills its process at a call.
  private static func killWhileMaking(
    _ disk: SimulatedDisk, _ databases: DatabaseFolder, _ clock: SteppingClock, at call: Int, seed: UInt64
  ) throws {
    disk.plan = FaultPlan(.cut(), at: call)
    do { _ = try ServerProcess(disk, databases, clock, seed: seed) } catch {}
    disk.processKill()
  }

  func run() throws {
    for _ in 0..<random.number(in: 2...5) {
      let device = random.number(below: devices.count)
      try append(to: devices[device])
      try ship(device)
    }
    try crash(Moment(image: server.disk.image, databases: databases.copy(), facts: facts))
  }

  // MARK: Working

  /// Ids are few, so that the devices have some in common, with the same content or another one.
  private func append(to device: ShippingDevice) throws {
    for _ in 0..<random.number(in: 1...4) {
      let id = random.isOneIn(3) ? EventID(high: 7, low: UInt64(random.number(below: 6))) : EventID(high: random.next(), low: random.next())
      let length = random.isOneIn(8) ? 3_000 : 20
      let data = (0..<length).map { _ in UInt8(random.number(below: 2)) }
      // An id that the log has is no event.
      do {
        try device.log.append(NewEvent(type: "scan", id: id, data: id.high == 7 ? [UInt8(random.number(below: 2))] : data))
      } catch LogError.Code.conflict {}
    }
  }

  /// Ships what the server lacks of a device, and crashes at each call of that.
  private func ship(_ index: Int) throws {
    let device = devices[index]
    let hands = try device.shakeHands(server)
    if hands.accepted.size == device.log.size { return }
    let shipment = try device.shipment(from: hands.accepted.size)
    olderDatabases.append(try databases.copy())
    let moments = Moments()
    server.disk.beforeChange = { [databases, facts] disk, call in
      do { moments.all.append(Moment(image: disk.image, databases: try databases.copy(), facts: facts, call: call)) } catch {
        moments.failure = error
      }
    }
    let response = device.ship(shipment, by: hands.sender, to: server)
    server.disk.beforeChange = nil
    if let failure = moments.failure { throw failure }
    try note(response, shipment, index)
    if random.isOneIn(2) {
      let again = device.ship(shipment, by: hands.sender, to: server)
      if again.body != response.body { throw Violation(.r1, "a shipment that comes twice is answered otherwise: \(text(again.body))") }
    }
    if random.isOneIn(2) { facts.changes = try server.changes() }
    moments.all.append(Moment(image: server.disk.image, databases: try databases.copy(), facts: facts))
    note("\(shipment.count) bytes of device \(index), with \(moments.all.count - 1) calls")
    for moment in moments.all { try crash(moment) }
  }

  private func note(_ response: HTTPResponse, _ shipment: [UInt8], _ device: Int) throws {
    guard let answer = ShipmentAnswer(answer: response) else {
      throw Violation(.operation, "a shipment is refused though nothing is wrong: \(text(response.body))")
    }
    try devices[device].check(answer)
    facts.answers.append(Answered(device: device, shipment: shipment, body: response.body, accepted: answer.accepted))
  }

  // MARK: Crashing

  /// Crashes at a moment, starts the server again, and holds it to what it has let others know.
  private func crash(_ moment: Moment, isStarting: Bool = false) throws {
    states += 1
    var image = moment.image
    var copy = moment.databases
    if random.isOneIn(5) {
      note("  kill at \(moment.call.text)")
      image.processKill()
    } else {
      let seed = random.next()
      note("  power cut at \(moment.call.text), seed \(seed)")
      image.powerCut(.seeded(seed, garbage: .inFreshSectors))
      if random.isOneIn(3) { loseRows(&copy) }
    }
    let disk = SimulatedDisk(image)
    let folder = try DatabaseFolder(copy)
    let moments = Moments()
    if !isStarting, random.isOneIn(4) {
      disk.beforeChange = { disk, call in
        // SQLite writes only before and after what the log does here: the same copy serves.
        moments.all.append(Moment(image: disk.image, databases: copy, facts: moment.facts, call: call))
      }
    }
    let again: ServerProcess
    do { again = try ServerProcess(disk, folder, clock, seed: random.next()) } catch {
      throw Violation(.operation, "the server does not start after a crash: \(error)")
    }
    disk.beforeChange = nil
    try check(again, moment.facts)
    for moment in moments.all where random.isOneIn(4) { try crash(moment, isStarting: true) }
  }

  /// Rows are not synced: a power cut may leave an older state of them, and their file may be lost.
  private func loseRows(_ copy: inout DatabaseFolder.Copy) {
    let older = random.isOneIn(2) ? [:] : olderDatabases[random.number(below: olderDatabases.count)]
    for name in Set(copy.keys).union(older.keys) where name.hasPrefix("derived") { copy[name] = older[name] }
    note("  rows \(older.isEmpty ? "lost" : "of earlier")")
  }

  private func check(_ server: ServerProcess, _ facts: Facts) throws {
    guard server.server.key == facts.key else { throw Violation(.r1, "the server's key is another one") }
    guard server.generation == facts.generation else { throw Violation(.r3, "the generation is another one, and nothing was lost") }
    var senders: [EventID] = []
    for (index, device) in devices.enumerated() {
      let hands = try device.shakeHands(server)
      senders.append(hands.sender)
      let acknowledged = facts.answers.last { $0.device == index }?.accepted ?? 0
      if hands.accepted.size < acknowledged {
        throw Violation(.r3, "\(acknowledged) events of device \(index) were acknowledged, and \(hands.accepted.size) are there")
      }
    }
    for answered in facts.answers {
      let again = devices[answered.device].ship(answered.shipment, by: senders[answered.device], to: server)
      if again.body != answered.body {
        throw Violation(.r1, "what was answered with \(text(answered.body)) is now answered with \(text(again.body))")
      }
    }
    let changes = try server.changes()
    guard changes.starts(with: facts.changes) else {
      throw Violation(.r1, "\(facts.changes) were seen, and \(changes.prefix(facts.changes.count)) are there")
    }
    try shipRest(to: server)
    try checkChanges(server, changes)
  }

  private func shipRest(to server: ServerProcess) throws {
    for device in devices {
      let hands = try device.shakeHands(server)
      guard hands.accepted.size < device.log.size else { continue }
      let response = device.ship(try device.shipment(from: hands.accepted.size), by: hands.sender, to: server)
      guard let answer = ShipmentAnswer(answer: response), answer.accepted == device.log.size else {
        throw Violation(.r5, "what is left is not taken after a crash: \(text(response.body))")
      }
      try device.check(answer)
    }
  }

  private func checkChanges(_ server: ServerProcess, _ before: [SeenChange]) throws {
    let changes = try server.changes()
    guard changes.map(\.number) == (0..<changes.count).map({ UInt64($0) + 1 }) else {
      throw Violation(.r9, "the change numbers are \(changes.map(\.number))")
    }
    guard changes.starts(with: before) else { throw Violation(.r9, "\(before) became \(changes.prefix(before.count))") }
    let ids = try devices.reduce(into: Set<String>()) { try $0.formUnion($1.ids()) }
    guard changes.count == ids.count, Set(changes.map(\.id)) == ids else {
      throw Violation(.r6, "of \(ids.count) events \(changes.count) were accepted: \(changes)")
    }
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  private func note(_ text: @autoclosure () -> String) {
    if trace != nil { trace?.append(text()) }
  }
}
