import TestSupport
import TidemarkEvidence
import TidemarkLog
import TidemarkProtocol
import TidemarkText

/// A device that ships by hand, and whose own disk never fails.
final class ShippingDevice {
  let log: Log
  let evidence: Evidence
  private let keys: KeyDirectory
  private let enrolledKey: [UInt8]
  private let accessToken: String
  private let policy: Policy

  init(_ server: ServerProcess, seed: UInt64) throws {
    let disk = SimulatedDisk()
    keys = try KeyDirectory(at: "/keys", disk)
    let environment = Environment.simulated(disk, seed: seed)
    try Log.create(at: "/log", options: Driver.options(), environment: environment)
    log = try Log.open(at: "/log", options: Driver.options(segmentByteCount: 1 << 20), environment: environment)
    enrolledKey = try keys.makeKey()
    evidence = try Evidence(log, keys: keys)
    let code = try server.administrate("POST", "codes", #"{"tenant":"\#(ServerProcess.tenant)"}"#).string("code")
    let enrolled: EnrolmentAnswer = try Self.call(
      server, Self.request("POST", "/v1/enrol", Enrolment(code: code, publicKey: enrolledKey, name: "gate", signature: nil).json))
    let tokens: TokenAnswer = try Self.call(
      server, Self.request("POST", "/v1/token", TokenRequest(refreshToken: enrolled.refreshToken).json))
    accessToken = tokens.accessToken
    policy = try Policy(server: enrolled.serverKey)
  }

  private static func request(_ method: String, _ target: String, _ body: [UInt8], type: String = MediaType.json) -> HTTPRequest {
    var request = HTTPRequest(method, target, body: body)
    request.fields["content-type"] = type
    return request
  }

  private static func call<Value: Message>(_ server: ServerProcess, _ request: HTTPRequest) throws -> Value {
    let response = server.send(request)
    if let problem = Problem(response) { throw problem }
    guard let value = Value(answer: response) else { throw Problem(.malformed, "the answer can't be read") }
    return value
  }

  private var path: String { "/v1/logs/\(log.identity.logID.hexadecimal)/epochs/\(log.identity.epochID.hexadecimal)" }

  func shakeHands(_ server: ServerProcess) throws -> HandshakeAnswer {
    let note = try evidence.checkpoint()
    guard let key = try evidence.key else { throw Problem(.internal, "the log has no key") }
    let handshake = Handshake(
      oldest: log.first, head: try Checkpoint(note.text).head, key: key,
      introduction: try keys.sign(Handshake.introductionMessage(of: key), publicKey: enrolledKey))
    var request = Self.request("PUT", path, handshake.json)
    request.fields["authorization"] = "Bearer \(accessToken)"
    return try Self.call(server, request)
  }

  /// All from an offset on, which is where one of its shipments ended.
  func shipment(from: Offset) throws -> [UInt8] {
    let note = try evidence.checkpoint()
    var writer = ShipmentWriter(
      logID: log.identity.logID, epochID: log.identity.epochID, from: from, session: try session(at: from))
    try write(from..<log.size, to: &writer)
    return writer.finish(note: note.bytes)
  }

  /// The session in force there.
  private func session(at offset: Offset) throws -> [UInt8] {
    var cursor = try log.read(Query(offsets: 0..<offset, includesControlEvents: true))
    var session: [UInt8] = []
    while let event = try cursor.next() { if event.kind == .session { session = event.data.array() } }
    return session
  }

  private func write(_ offsets: Range<Offset>, to writer: inout ShipmentWriter) throws {
    var cursor = try log.read(Query(offsets: offsets, includesControlEvents: true))
    while let event = try cursor.next() { writer.add(event) }
  }

  func ship(_ shipment: [UInt8], by sender: EventID, to server: ServerProcess) -> HTTPResponse {
    var request = Self.request("POST", path + "/frames", shipment, type: MediaType.shipment)
    request.fields["authorization"] = "Bearer \(accessToken)"
    request.fields[ContentDigestField.name] = ContentDigestField.value(of: shipment)
    request.fields["tidemark-sender"] = sender.hexadecimal
    return server.send(request)
  }

  /// Throws unless an answer holds a receipt of this log's own history.
  func check(_ answer: ShipmentAnswer) throws {
    let own = try Checkpoint(evidence.checkpoint(at: answer.accepted).text).head
    guard try Checkpoint(answer.receipt.text).head == own else {
      throw Violation(.r12, "a receipt is of \(answer.receipt.text), and the device has \(own) there")
    }
    _ = try Receipt(answer.receipt, policy)
  }

  /// The ids of what was appended.
  func ids() throws -> Set<String> {
    var cursor = try log.read(Query(offsets: 0..<log.size))
    var ids: Set<String> = []
    while let event = try cursor.next() { ids.insert(event.id.description) }
    return ids
  }
}
