import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProjections
import TidemarkProtocol
import TidemarkReplication
import TidemarkServer
import TidemarkText

/// A device that ships and fetches as a real one does, over a network that a test can spoil. Time passes only when it waits.
final class Terminal {
  let server: TestServer
  let disk = SimulatedDisk()
  let environment: Environment
  let options: LogOptions
  let id: EventID
  private let store: FileCredentialStore
  private(set) var log: Log
  private(set) var received: Log
  private(set) var core: ReplicatorCore
  private var now: UInt64 = 1_000_000_000
  /// What happens to a request in the place of reaching the server; nil lets it through.
  var fault: (HTTPRequest) -> Result<HTTPResponse, any Error>? = { _ in nil }
  /// After the server has answered.
  var answered: (HTTPRequest) -> Void = { _ in }
  private(set) var requests: [HTTPRequest] = []
  var conditions = FixedConditions()

  init(_ server: TestServer, seed: UInt64 = 1, scope: String = "") throws {
    self.server = server
    environment = .simulated(disk, seed: 2_000 + seed)
    var options = LogOptions()
    options.segmentByteCount = 1 << 16
    options.zerosAheadByteCount = 2048
    options.sealing = .manual
    options.syncIntervalMilliseconds = 0
    self.options = options
    store = FileCredentialStore(at: "/credentials", disk)
    let keys = try KeyDirectory(at: "/keys", disk)
    let key = try keys.makeKey()
    let code = try server.admin("POST", "codes", #"{"tenant":"acme"\#(scope)}"#).string("code")
    let enrolled = try TestDevice.enrol(code, key, server)
    id = enrolled.device
    let grant = Credentials.Grant(
      device: enrolled.device, tenant: enrolled.tenant, refreshToken: enrolled.refreshToken, serverKey: enrolled.serverKey)
    try store.save(Credentials(server: ServerAddress("http://127.0.0.1:1"), publicKey: key, grant: grant))
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
    received = try ReceivedLog.open(at: "/received", options: options, environment: environment)
    core = ReplicatorCore([], store: store, conditions: conditions)
    try begin()
  }

  private func begin() throws {
    let credentials = try #require(try store.load())
    let keys = try KeyDirectory(at: "/keys", disk)
    let shipper = try Shipper(
      Evidence(log, keys: keys), keys: keys, publicKey: credentials.publicKey, grant: try #require(credentials.grant))
    core = ReplicatorCore([shipper], received: try ReceivedLog(received), store: store, conditions: conditions)
    core.start(now: now)
  }

  func reopen(_ cut: PowerCut?? = .none) throws {
    if let cut {
      if let cut { disk.powerCycle(cut) } else { disk.processKill() }
    } else {
      try? log.close()
      try? received.close()
    }
    log = try Log.open(at: "/log", options: options, environment: environment)
    received = try ReceivedLog.open(at: "/received", options: options, environment: environment)
    try begin()
  }

  /// Ships and fetches until there is nothing more, as far as faults allow.
  func sync(requests limit: Int = 1_000) {
    core.start(now: now)
    // What was accepted by now is asked about once more.
    for _ in 0..<2 {
      run(limit)
      now += 20_000_000_000
    }
  }

  func run(_ limit: Int) {
    var count = 0
    var waits = 0
    while count < limit {
      switch core.poll(now: now) {
      case .send(let request):
        count += 1
        core.received(exchange(request), now: now)
      case .hold(let request):
        count += 1
        core.receivedHeld(exchange(request), now: now)
      case .wait(let deadline):
        guard let deadline, core.statuses[0].state != .idle || core.reception?.isCurrent == false, waits < 50 else { return }
        waits += 1
        now = max(now, deadline)
      }
    }
  }

  private func exchange(_ request: HTTPRequest) -> Result<HTTPResponse, any Error> {
    requests.append(request)
    if let result = fault(request) { return result }
    let response = server.send(request)
    answered(request)
    return .success(response)
  }

  // MARK: What people do

  @discardableResult
  func acknowledge(_ version: UInt64, by person: String = "ann", item: String = "notice") throws -> EventID {
    try log.append(DeviceItems.acknowledgement(of: item, version: version, by: person)).id
  }

  @discardableResult
  func change(_ from: String, _ to: String, item: String = "notice") throws -> EventID {
    try log.append(DeviceItems.transition(of: item, from: from, to: to, by: "ann")).id
  }

  // MARK: What it shows

  func items() throws -> [DeviceItem] { try DeviceItems(received: received, captures: log).current() }

  func item(_ name: String = "notice") throws -> DeviceItem { try #require(try items().first { $0.item.name == name }) }

  /// A line for each item that is in force.
  func lines() throws -> [String] {
    try items().filter { !$0.item.isWithdrawn }.map { "\($0.item.name) \($0.item.version) \($0.state) \($0.acknowledged)" }
  }
}

/// An unhurried network: it asks now and then, and is never held.
struct FixedConditions: ConditionSource {
  var conditions: Conditions

  init() {
    conditions = Conditions()
    conditions.isMetered = true
  }

  func observe(_ changed: @escaping @Sendable () -> Void) {}
}

extension TestServer {
  @discardableResult
  func publish(_ more: String = "", item: String = "notice") throws -> UInt64 {
    try admin("POST", "items", #"{"tenant":"acme","item":"\#(item)","content":{"text":"read this"}\#(more)}"#)
      .number("version", in: 1...UInt64.max)
  }

  func withdraw(_ item: String = "notice") throws { _ = try admin("DELETE", "items/\(item)?tenant=acme") }

  /// All items as they are, for the office.
  func items() throws -> [String] {
    let page = try admin("GET", "changes?tenant=acme&limit=10000")
    var items: [String: (version: UInt64, state: String, acknowledged: UInt64)] = [:]
    for value in try page.array("changes") {
      let change = try value.object("a change")
      guard let name = try change.optionalString("item") else { continue }
      switch try change.string("kind") {
      case "item":
        items[name] = (
          try change.number("version", in: 1...99), try change.optionalString("state") ?? "", try change.number("acknowledged", in: 0...99)
        )
      case "tombstone": items[name] = nil
      case "state": items[name]?.state = try change.string("state")
      case "status": items[name]?.acknowledged = try change.number("acknowledged", in: 0...99)
      default: break
      }
    }
    return items.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.version) \($0.value.state) \($0.value.acknowledged)" }
  }

  /// Rebuilds all that is derived, and looks whether it is the same.
  func expectSameAfterRebuilding(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let before = try rows()
    try reopen { folder.remove("derived.sqlite") }
    #expect(try rows() == before, sourceLocation: sourceLocation)
  }
}
