import TestSupport
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkServer

/// A device with a log on a simulated disk, which ships by hand.
final class TestDevice {
  let server: TestServer
  let disk: SimulatedDisk
  let keys: KeyDirectory
  let log: Log
  let evidence: Evidence
  /// The enrolled key.
  let key: [UInt8]
  private(set) var enrolled: EnrolmentAnswer
  var tokens: TokenAnswer
  var sender: EventID?

  init(_ server: TestServer, seed: UInt64 = 1, tenant: String = "acme") throws {
    self.server = server
    disk = SimulatedDisk()
    keys = try KeyDirectory(at: "/keys", disk)
    key = try keys.makeKey()
    var options = LogOptions()
    options.sealing = .manual
    let environment = Environment.simulated(disk, seed: 1_000 + seed)
    try Log.create(at: "/log", options: options, environment: environment)
    log = try Log.open(at: "/log", options: options, environment: environment)
    evidence = try Evidence(log, keys: keys)
    enrolled = try Self.enrol(try server.code(tenant), key, server)
    tokens = try Self.tokens(enrolled.refreshToken, server)
  }

  /// Another one with a copy of a device's disk, and its credentials.
  private init(_ other: TestDevice, _ image: DiskImage, seed: UInt64) throws {
    server = other.server
    disk = SimulatedDisk(image)
    keys = try KeyDirectory(at: "/keys", disk)
    key = other.key
    var options = LogOptions()
    options.sealing = .manual
    log = try Log.open(at: "/log", options: options, environment: .simulated(disk, seed: 1_000 + seed))
    evidence = try Evidence(log, keys: keys)
    enrolled = other.enrolled
    tokens = other.tokens
  }

  func twin(_ image: DiskImage, seed: UInt64) throws -> TestDevice { try TestDevice(self, image, seed: seed) }

  static func enrol(_ code: String, _ key: [UInt8], _ server: TestServer, signature: [UInt8]? = nil) throws -> EnrolmentAnswer {
    var request = HTTPRequest("POST", "/v1/enrol", body: Enrolment(code: code, publicKey: key, name: "gate 7", signature: signature).json)
    request.fields["content-type"] = MediaType.json
    return try read(server.send(request))
  }

  static func tokens(_ refreshToken: String, _ server: TestServer) throws -> TokenAnswer {
    var request = HTTPRequest("POST", "/v1/token", body: TokenRequest(refreshToken: refreshToken).json)
    request.fields["content-type"] = MediaType.json
    return try read(server.send(request))
  }

  func refresh() throws { tokens = try Self.tokens(tokens.refreshToken, server) }

  static func read<Value: Message>(_ response: HTTPResponse) throws -> Value {
    if let problem = Problem(response) { throw problem }
    guard let value = Value(answer: response) else { throw Missing() }
    return value
  }

  var path: String { "/v1/logs/\(log.identity.logID.hexadecimal)/epochs/\(log.identity.epochID.hexadecimal)" }

  func request(_ method: String, _ target: String, _ body: [UInt8] = [], type: String = MediaType.json) -> HTTPRequest {
    var request = HTTPRequest(method, target, body: body)
    request.fields["authorization"] = "Bearer \(tokens.accessToken)"
    request.fields["content-type"] = type
    return request
  }

  func call<Value: Message>(_ method: String, _ target: String, _ body: [UInt8] = []) throws -> Value {
    try Self.read(server.send(request(method, target, body)))
  }

  // MARK: The log

  func append(_ count: Int, type: String = "scan") throws {
    try log.append((0..<count).map { NewEvent(type: type, subject: "gate", data: Array("event \(Int(log.size) + $0)".utf8)) })
  }

  func handshake(parent: Handshake.Parent? = nil) throws -> Handshake {
    let note = try evidence.checkpoint()
    guard let logKey = try evidence.key else { throw Missing() }
    return Handshake(
      oldest: log.first, head: try Checkpoint(note.text).head, key: logKey,
      introduction: try keys.sign(Handshake.introductionMessage(of: logKey), publicKey: key), parent: parent)
  }

  @discardableResult
  func shakeHands(parent: Handshake.Parent? = nil) throws -> HandshakeAnswer {
    let answer: HandshakeAnswer = try call("PUT", path, try handshake(parent: parent).json)
    sender = answer.sender
    return answer
  }

  /// What is to be shipped of a range; all that is there by default.
  func shipment(_ from: Offset = 0, _ to: Offset? = nil, range: CompactRange? = nil, note: SignedNote? = nil) throws -> [UInt8] {
    let note = if let note { note } else if let to { try evidence.checkpoint(at: to) } else { try evidence.checkpoint() }
    let end = try Checkpoint(note.text).head.size
    let session = from == 0 ? [] : try log.session(at: from)
    var writer = ShipmentWriter(
      logID: log.identity.logID, epochID: log.identity.epochID, from: from, session: session, compactRange: range)
    try log.write(from..<end, to: &writer)
    return writer.finish(note: note.bytes)
  }

  func shipping(_ bytes: [UInt8]) -> HTTPRequest {
    var request = request("POST", path + "/frames", bytes, type: MediaType.shipment)
    request.fields[ContentDigestField.name] = ContentDigestField.value(of: bytes)
    request.fields["tidemark-sender"] = sender?.hexadecimal
    return request
  }

  @discardableResult
  func ship(_ bytes: [UInt8]) throws -> ShipmentAnswer { try Self.read(server.send(shipping(bytes))) }

  /// Ships all that the server lacks.
  @discardableResult
  func shipRest() throws -> ShipmentAnswer { try ship(try shipment(try shakeHands().accepted.size)) }

  var policy: Policy { get throws { try Policy(server: enrolled.serverKey) } }
}

extension Log {
  /// The first 16 bytes of an event's content digest.
  func digest(of id: EventID) throws -> String {
    guard let event = try event(id: id) else { throw Missing() }
    let content = ContentDigest.content(of: event.view)
    return String(SHA256().hash(content).hexadecimal.prefix(32))
  }

  /// The tree of the events below an offset.
  func range(at offset: Offset) throws -> CompactRange {
    if offset == 0 { return CompactRange() }
    var writer = ShipmentWriter(logID: identity.logID, epochID: identity.epochID, from: 0, session: [])
    try write(0..<offset, to: &writer)
    let bytes = writer.finish(note: [])
    return try Shipment(bytes, logID: identity.logID, epochID: identity.epochID).extend(CompactRange(), SHA256())
  }

  func session(at offset: Offset) throws -> [UInt8] {
    var cursor = try read(Query(offsets: first..<offset, includesControlEvents: true))
    var session: [UInt8] = []
    while let event = try cursor.next() { if event.kind == .session { session = event.data.array() } }
    return session
  }

  func write(_ offsets: Range<Offset>, to writer: inout ShipmentWriter) throws {
    var cursor = try read(Query(offsets: offsets, includesControlEvents: true))
    while let event = try cursor.next() { writer.add(event) }
  }
}

/// The problem that a body ends with; nil if it ends well.
func problem(_ body: () throws -> Void) -> Problem.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? Problem)?.code
  }
}

extension Shipment {
  /// Whether it holds what a log has at its offsets.
  func isSame(as log: Log) throws -> Bool {
    var writer = ShipmentWriter(logID: logID, epochID: epochID, from: offsets.lowerBound, session: session)
    try log.write(offsets, to: &writer)
    let own = writer.finish(note: note)
    let hasher = SHA256()
    let known = try log.range(at: offsets.lowerBound)
    return try Shipment(own, logID: logID, epochID: epochID).extend(known, hasher) == extend(known, hasher)
  }
}
