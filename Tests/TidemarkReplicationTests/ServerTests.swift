import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication
import TidemarkServer
import TidemarkText

/// The server itself, in this process, with its log on a simulated disk.
private final class RealServer {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
  let disk = SimulatedDisk()
  private let clock = SteppingClock()
  private var options = ServerOptions()
  private(set) var server: Server
  private var seed: UInt64 = 1
  private var operatorToken = ""

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    options.limits.rate = 1 << 20
    options.limits.events = 40
    server = try Server(at: "/server", rowsPath: folder, options: options, environment: .simulated(disk, seed: 1, clock: clock))
    operatorToken = String(decoding: try disk.contents("/server/operator-token") ?? [], as: UTF8.self).filter { $0 != "\n" }
    _ = try admin("POST", "tenants", #"{"tenant":"acme"}"#)
  }

  deinit {
    try? server.close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The process ends, or is killed, and begins again.
  func reopen(kills: Bool) throws {
    try? server.close()
    if kills { disk.processKill() }
    seed += 1
    server = try Server(at: "/server", rowsPath: folder, options: options, environment: .simulated(disk, seed: seed, clock: clock))
  }

  func answer(_ request: HTTPRequest) -> HTTPResponse {
    let answered = DispatchSemaphore(value: 0)
    let answer = Locked<HTTPResponse?>(nil)
    server.handle(request) { reply in
      if case .answer(let response) = reply { answer.withLock { $0 = response } }
      answered.signal()
    }
    answered.wait()
    return answer.withLock { $0 } ?? HTTPResponse(0)
  }

  func admin(_ method: String, _ path: String, _ body: String = "") throws -> JSONObject {
    var request = HTTPRequest(method, "/v1/admin/\(path)", body: Array(body.utf8))
    request.fields["authorization"] = "Bearer \(operatorToken)"
    request.fields["content-type"] = MediaType.json
    return try JSONValue(answer(request).body).object("the answer")
  }

  func code() throws -> String { try admin("POST", "codes", #"{"tenant":"acme"}"#).string("code") }

  /// The ids of all events that took a change number, in that order.
  func changes() throws -> [String] {
    var ids: [String] = []
    var since: UInt64 = 0
    while true {
      let page = try admin("GET", "changes?tenant=acme&since=\(since)&limit=500")
      for change in try page.array("changes") { ids.append(try change.object("a change").string("id")) }
      let through = try page.number("through", in: 0...UInt64.max)
      if through == since { return ids }
      since = through
    }
  }
}

@Suite("With the server itself") struct ServerTests {
  private let server: RealServer
  private let fixture: Fixture

  init() throws {
    server = try RealServer()
    fixture = try Fixture(enrols: false)
    try fixture.enrol(server.code(), at: server.answer)
    try fixture.reopen()
  }

  @Test("ships, takes receipts, and all is there once, whatever goes wrong on either side", arguments: 0..<4)
  func schedule(_ seed: Int) throws {
    var random = SeededRandom(seed: UInt64(seed))
    var events: [EventID] = []
    for _ in 0..<40 {
      let appended = try fixture.log.append((0..<random.number(in: 1...30)).map { NewEvent(type: "scan", data: [UInt8($0)]) })
      events += appended.map(\.id)
      fixture.fault = { _ in
        switch random.number(below: 8) {
        case 0: .requestLost
        case 1, 2: .replyLost
        case 3: .damagedRequest
        case 4: .problem(Problem(.storage, "", retryAfter: 1))
        default: nil
        }
      }
      fixture.run(requests: random.number(in: 0...6), waits: 3)
      switch random.number(below: 10) {
      case 0: try server.reopen(kills: false)
      case 1: try server.reopen(kills: true)
      case 2: try fixture.reopen()
      case 3: try fixture.crash(.seeded(random.next()))
      case 4: fixture.pass(1_000_000_000_000)
      default: break
      }
    }
    fixture.fault = { _ in nil }
    fixture.run()
    #expect(fixture.status.state == .idle, "\(String(describing: fixture.status.trouble))")
    #expect(try Set(fixture.ids()) == Set(events))
    let changes = try server.changes()
    #expect(changes.count == events.count)
    #expect(Set(changes) == Set(events.map(\.description)))
    try fixture.expectDelivered(accepted: UInt64(events.count), quarantined: 0)
  }

  @Test("an older copy is refilled; one that went on by itself takes a new epoch", arguments: [false, true])
  func wentBack(_ goesOn: Bool) throws {
    for _ in 0..<4 {
      try fixture.append(20)
      fixture.run()
    }
    let image = fixture.disk.image
    for _ in 0..<3 {
      try fixture.append(20)
      fixture.run()
    }
    #expect(fixture.status.state == .idle)
    fixture.disk.image = image
    try fixture.crash(nil)
    if goesOn { try fixture.append(25) }
    fixture.run()
    #expect(fixture.status.state == .idle, "\(String(describing: fixture.status.trouble))")
    try fixture.append(3)
    fixture.run()
    #expect(fixture.status.state == .idle, "\(String(describing: fixture.status.trouble))")
    #expect(fixture.log.identity.epochs.count == (goesOn ? 2 : 1))
    let changes = try server.changes()
    #expect(Set(changes).count == changes.count)
    #expect(try Set(fixture.ids().map(\.description)).isSubset(of: Set(changes)))
    #expect(changes.count == 140 + 3 + (goesOn ? 25 : 0))
  }

  @Test("an event with an id that was used is set apart, with both digests; a repeated one is a duplicate") func outcomes() throws {
    let id = EventID(high: 4, low: 4)
    try fixture.log.append(NewEvent(type: "scan", id: id, data: [1]))
    fixture.run()
    let other = try Fixture(seed: 9, enrols: false)
    try other.enrol(server.code(), at: server.answer)
    try other.reopen()
    try other.log.append(NewEvent(type: "scan", id: id, data: [2]))
    let same = try fixture.log.append(NewEvent(type: "scan", data: [3]))
    fixture.run()
    try other.log.append(NewEvent(type: "scan", id: same.id, data: [3]))
    other.run()
    let counts = try Delivery(of: other.log).counts()
    #expect((counts.quarantined, counts.duplicate, counts.saved) == (1, 1, 0))
    #expect(try Delivery(of: other.log).quarantined().map(\.reason) == ["conflict"])
  }

  @Test("a revoked device is told so; a suspended one goes on when it is resumed") func access() throws {
    try fixture.append(3)
    fixture.run()
    let device = try #require(try fixture.store.load()?.grant).device.hexadecimal
    _ = try server.admin("POST", "devices/\(device)/suspend")
    try fixture.append(3)
    fixture.run(waits: 3)
    #expect(fixture.status.state == .waiting)
    _ = try server.admin("POST", "devices/\(device)/resume")
    fixture.run()
    #expect(fixture.status.state == .idle)
    _ = try server.admin("POST", "devices/\(device)/revoke")
    try fixture.append(3)
    fixture.run()
    #expect(fixture.status.state == .removed)
  }
}
