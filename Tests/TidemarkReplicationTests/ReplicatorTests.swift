import Foundation
import TestSupport
import Testing
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkReplication

/// The server double, behind a transport.
final class DoubleTransport: Transport {
  let server: Locked<ServerDouble>
  /// Whether requests wait until they are cancelled.
  let isHanging = Locked(false)

  init(_ server: sending ServerDouble) { self.server = Locked(server) }

  func send(_ request: HTTPRequest, to address: ServerAddress) async throws -> HTTPResponse {
    if isHanging.withLock({ $0 }) { try await Task.sleep(for: .seconds(60)) }
    return server.withLock { $0.answer(request) }
  }
}

/// Credentials in memory.
final class MemoryStore: CredentialStore {
  private let kept = Locked<Credentials?>(nil)
  func load() throws -> Credentials? { kept.withLock { $0 } }
  func save(_ credentials: Credentials) throws { kept.withLock { $0 = credentials } }
  func erase() throws { kept.withLock { $0 = nil } }
}

@Suite("The replicator") struct ReplicatorTests {
  private let folder: String
  private let transport: DoubleTransport
  private let store = MemoryStore()
  private let conditions = TestConditions()
  private let log: Log
  private let keys: KeyDirectory
  private let evidence: Evidence
  private let address: ServerAddress

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidemark-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    transport = DoubleTransport(try ServerDouble())
    try Log.create(at: folder + "/log")
    log = try Log.open(at: folder + "/log")
    keys = try KeyDirectory(at: folder + "/keys")
    evidence = try Evidence(log, keys: keys)
    address = try ServerAddress("https://server.example")
  }

  private func replicator() -> Replicator {
    Replicator(evidence, keys: keys, credentials: store, transport: transport, conditions: conditions)
  }

  private func enrol(_ code: String = "CODE-1") async throws {
    try await Replicator.enrol(address, code: code, name: "gate 7", keys: keys, credentials: store, transport: transport)
  }

  /// Waits for a status, at most some seconds.
  private func wait(_ replicator: Replicator, for condition: @escaping @Sendable (Status) -> Bool) async throws -> Status {
    let found = Task {
      for await status in replicator.statuses where condition(status) { return status as Status? }
      return nil
    }
    let limit = Task {
      try await Task.sleep(for: .seconds(20))
      found.cancel()
    }
    defer { limit.cancel() }
    return try #require(await found.value)
  }

  @Test("ships as events come, and tells") func ships() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await enrol()
    let replicator = replicator()
    try replicator.start()
    for round in 1...5 {
      let last = try await log.append((0..<20).map { NewEvent(type: "scan", data: [UInt8($0)]) }).last
      let offset = try #require(last).offset
      let status = try await wait(replicator) { $0.accepted > offset && $0.state == .idle }
      #expect(status.saved >= status.accepted)
      #expect(transport.server.withLock { $0.changes } == UInt64(round) * 20)
    }
    await replicator.stop()
    #expect(replicator.status.map(\.state) == [.stopped])
    // Stopped and started again.
    try await log.append(NewEvent(type: "scan"))
    try replicator.start()
    _ = try await wait(replicator) { $0.accepted > 100 && $0.state == .idle }
    await replicator.stop()
  }

  @Test("without a network it waits, and goes on when there is one") func network() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await enrol()
    conditions.set { $0.isReachable = false }
    let replicator = replicator()
    try replicator.start()
    try await log.append(NewEvent(type: "scan"))
    _ = try await wait(replicator) { $0.state == .waitingForNetwork }
    conditions.set { $0.isReachable = true }
    _ = try await wait(replicator) { $0.state == .idle && $0.accepted > 0 }
    await replicator.stop()
  }

  @Test("stops while a request is under way; let go without a stop it ends, too") func stops() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await enrol()
    transport.isHanging.withLock { $0 = true }
    var replicator: Replicator? = replicator()
    try replicator?.start()
    try await Task.sleep(for: .milliseconds(50))
    await replicator?.stop()
    try replicator?.start()
    let statuses = try #require(replicator?.statuses)
    replicator = nil
    for await _ in statuses {}
    try log.close()
  }

  @Test("not enrolled: it says so; a code that is not taken: so, too; a lost answer can be asked for again") func enrols() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(throws: LogError.self) { try replicator().start() }
    await #expect(throws: LogError.self) { try await enrol("NO-SUCH-CODE") }
    let key = try #require(try store.load()?.publicKey)
    try await enrol()
    #expect(try store.load()?.publicKey == key)
    #expect(try store.load()?.grant?.tenant == "acme")
    // As if the answer had been lost.
    try store.save(Credentials(server: address, publicKey: key))
    try await enrol()
    #expect(try store.load()?.grant != nil)
    #expect(transport.server.withLock { $0.devices.count } == 1)
  }

  @Test("signs out only when everything is ashore, or when told to, and leaves nothing behind") func signsOut() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await enrol()
    let replicator = replicator()
    try replicator.start()
    try await log.append(NewEvent(type: "scan"))
    _ = try await wait(replicator) { $0.state == .idle && $0.accepted > 0 }
    await replicator.stop()
    try await log.append(NewEvent(type: "scan"))
    do {
      try await replicator.signOut()
      Issue.record("it signed out")
    } catch let error as LogError { #expect(error.code == .unsentEvents) }
    #expect(try log.events(in: 0..<log.size).count == 2)
    try replicator.start()
    _ = try await wait(replicator) { $0.state == .idle && $0.accepted + 1 >= $0.saved }
    try await replicator.signOut()
    #expect(!FileManager.default.fileExists(atPath: log.path))
    #expect(try keys.publicKeys().isEmpty)
    #expect(try store.load() == nil)
  }

  @Test("credentials are kept as text, and read back") func credentials() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let key = try VerifierKey(name: "s.example", kind: .cosignature, publicKey: [UInt8](repeating: 3, count: 32))
    let grant = Credentials.Grant(device: EventID(high: 1, low: 2), tenant: "a \"b\"", refreshToken: "tmr_x", serverKey: key)
    for grant in [grant, nil] {
      let credentials = Credentials(server: address, publicKey: [UInt8](repeating: 7, count: 32), grant: grant)
      let store = FileCredentialStore(at: folder + "/new/credentials")
      try store.save(credentials)
      #expect(try store.load() == credentials)
      #expect(try POSIXFileSystem().status(store.path)?.isPrivate == true)
      try store.erase()
      try store.erase()
      #expect(try store.load() == nil)
    }
    #expect(throws: LogError.self) { try Credentials(json: Array("{}".utf8)) }
  }
}
