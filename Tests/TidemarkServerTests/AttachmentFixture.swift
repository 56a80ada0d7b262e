import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication
import TidemarkServer
import TidemarkText

/// A device that ships by itself to a real server, on a simulated disk, and time that passes only when it waits.
final class AttachmentFixture {
  let server: TestServer
  let disk = SimulatedDisk()
  let conditions = SetConditions()
  private(set) var log: Log
  private(set) var store: AttachmentStore
  private var core: ReplicatorCore
  private(set) var now: UInt64 = 1_000_000_000
  private(set) var requests: [HTTPRequest] = []
  private var seed: UInt64
  /// What becomes of a request, by its number from 0.
  var exchange: (Int, HTTPRequest, TestServer) -> HTTPResponse? = { $2.send($1) }

  init(_ server: TestServer? = nil, seed: UInt64 = 1) throws {
    self.server = try server ?? TestServer()
    self.seed = 100 * seed
    let environment = Environment.simulated(disk, seed: self.seed)
    let keys = try KeyDirectory(at: "/keys", disk)
    try Log.create(at: "/log", options: StoreFixture.options, environment: environment)
    log = try Log.open(at: "/log", options: StoreFixture.options, environment: environment)
    store = AttachmentStore(log)
    let credentials = FileCredentialStore(at: "/credentials", disk)
    core = ReplicatorCore([], store: credentials, conditions: conditions)
    let key = try keys.makeKey()
    let enrolled = try TestDevice.enrol(try self.server.code(), key, self.server)
    let grant = Credentials.Grant(
      device: enrolled.device, tenant: enrolled.tenant, refreshToken: enrolled.refreshToken, serverKey: enrolled.serverKey)
    try credentials.save(Credentials(server: ServerAddress("http://127.0.0.1:1"), publicKey: key, grant: grant))
    try begin()
  }

  var grant: Credentials.Grant { get throws { try #require(try FileCredentialStore(at: "/credentials", disk).load()?.grant) } }

  private func begin() throws {
    let store = FileCredentialStore(at: "/credentials", disk)
    let credentials = try #require(try store.load())
    let grant = try #require(credentials.grant)
    let keys = try KeyDirectory(at: "/keys", disk)
    let shipper = try Shipper(Evidence(log, keys: keys), keys: keys, publicKey: credentials.publicKey, grant: grant)
    core = ReplicatorCore([try AttachmentLane(AttachmentStore(log), grant), shipper], store: store, conditions: conditions)
    core.start(now: now)
  }

  /// The device's process ends, in whatever way, and begins again.
  func reopen(_ crash: () -> Void = {}) throws {
    try? log.close()
    crash()
    seed += 1
    log = try Log.open(at: "/log", options: StoreFixture.options, environment: .simulated(disk, seed: seed))
    store = AttachmentStore(log)
    try begin()
  }

  @discardableResult
  func append(_ files: [TestFile]) throws -> Offset {
    var extensions: [EventExtension] = []
    for (index, file) in files.enumerated() {
      extensions.append(.attachment(try store.put(file.bytes, mediaType: "image/jpeg", name: "\(index).jpg")))
    }
    return try log.append(NewEvent(type: "audit", extensions: extensions)).offset
  }

  var status: Status { core.statuses[0] }
  var attachments: AttachmentStatus { status.attachments ?? AttachmentStatus() }

  /// Lets the device work until it waits for something else than time, or so many requests were sent. Time passes as it waits.
  func run(requests limit: Int = 2_000, waits waitLimit: Int = 200) {
    var sent = 0
    var waited = 0
    while sent < limit {
      switch core.poll(now: now) {
      case .send(let request):
        let number = requests.count
        requests.append(request)
        sent += 1
        if let answer = exchange(number, request, server) {
          core.received(.success(answer), now: now)
        } else {
          core.received(.failure(LogError(LogError.Code(rawValue: "transport"), "no answer")), now: now)
        }
      case .hold, .wait(nil): return
      case .wait(let deadline?):
        if deadline <= now { continue }
        if waited >= waitLimit { return }
        waited += 1
        now = deadline
      }
    }
  }

  /// The server has all files, byte for byte, and the device knows.
  func expectComplete(_ files: [TestFile], _ why: String = "", sourceLocation: SourceLocation = #_sourceLocation) throws {
    for file in files {
      #expect(
        try server.disk.contents("/server/attachments/acme/\(file.digest.hexadecimal)") == file.bytes, "\(why)",
        sourceLocation: sourceLocation)
    }
    #expect(try store.unaccepted().isEmpty, "\(why)", sourceLocation: sourceLocation)
    #expect(attachments.state == .idle && attachments.pending == 0, "\(why)", sourceLocation: sourceLocation)
    #expect(try awaited().isEmpty, "\(why)", sourceLocation: sourceLocation)
  }

  /// What the server says is missing: digests by the offset of their event.
  func awaited() throws -> [Offset: Set<String>] {
    var found: [Offset: Set<String>] = [:]
    for event in try server.admin("GET", "attachments").array("incomplete") {
      let event = try event.object("an event")
      let digests = try event.array("files").map { [UInt8](try $0.object("a file").base64("digest", byteCount: 32)).hexadecimal }
      found[try event.number("offset", in: 0...9_999)] = Set(digests)
    }
    return found
  }
}

final class SetConditions: ConditionSource {
  private let state = Locked(Conditions())
  var conditions: Conditions {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
  func observe(_ changed: @escaping @Sendable () -> Void) {}
}
