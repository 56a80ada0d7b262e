internal import TidemarkEvidence
internal import TidemarkLog
internal import TidemarkProtocol
internal import TidemarkReplication

/// A device without a disk: the session that real ones have, over made-up events, put into shipments beforehand.
final class SimulatedDevice {
  let number: Int
  private let logID: EventID
  private let epochID: EventID
  private let seed: [UInt8]
  private let key: VerifierKey
  private var grant: EnrolmentAnswer?
  private var session: DeviceSession
  private var policy: Policy?
  /// All that it has to ship, with the tree at the end of each.
  private var shipments: [(from: Offset, bytes: [UInt8], end: CompactRange)] = []
  /// The tree of all its events.
  private var range = CompactRange()
  private var wanted: DeviceSession.Action?
  private var accessToken = ""
  private var sentAt: UInt64 = 0
  /// When it wants to try again.
  private(set) var deadline: UInt64?
  /// Below it the server has signed for everything.
  private(set) var receipted: Offset = 0
  /// What the server refused, and what did not come through.
  private(set) var refusals: [String: Int] = [:]
  private let hasher: SHA256

  init(_ number: Int, hasher: SHA256) throws {
    self.number = number
    self.hasher = hasher
    let run = monotonicNow()
    logID = EventID(high: run, low: UInt64(number) << 1)
    epochID = EventID(high: run, low: UInt64(number) << 1 | 1)
    seed = hasher.hash(Array("\(run) \(number)".utf8)).bytes
    key = try VerifierKey(
      name: "tidemark/\(logID.hexadecimal)/\(epochID.hexadecimal)", kind: .note, publicKey: Ed25519.keys(seed: seed).publicKey)
    session = DeviceSession(log: logID, epoch: epochID)
  }

  /// How many events it has.
  private var size: Offset { range.size }
  var isDone: Bool { receipted == size && size > 0 }

  func enrolment(_ code: String) -> HTTPRequest {
    HTTPRequest("POST", "/v1/enrol", MediaType.json, Enrolment(code: code, publicKey: key.publicKey).json)
  }

  func enrolled(_ answer: EnrolmentAnswer) throws {
    grant = answer
    policy = try Policy(server: answer.serverKey)
  }

  /// Makes its events, and the shipments that they go in.
  func capture(_ count: Offset, batch: Offset) {
    var leaves = LeafHasher(hasher)
    while size < count {
      let from = size
      var writer = ShipmentWriter(logID: logID, epochID: epochID, from: from, session: [])
      while size < min(count, from + batch) {
        let record = record(size)
        let event = EventView(record: record.rawSpan, offset: size)
        range.append(leaves.leaf(event), hasher)
        writer.add(event)
      }
      let text = Checkpoint(origin: key.name, head: TreeHead(size: size, root: range.root(hasher))).text
      let signature = Ed25519.sign(Array(text.utf8), secretKey: Ed25519.keys(seed: seed).secretKey)
      let note = SignedNote(text: text, signatures: [SignedNote.Signature(name: key.name, keyID: key.keyID, bytes: signature)])
      shipments.append((from, writer.finish(note: note.bytes), range))
    }
  }

  // MARK: Steps

  /// The next request; nil if it waits for a time, or is done.
  func next(now: UInt64) -> HTTPRequest? {
    if session.state == .stopped { take(.started, now) }
    if let deadline, deadline <= now {
      self.deadline = nil
      take(.timerFired, now)
    }
    defer { wanted = nil }
    sentAt = now
    var request: HTTPRequest
    switch wanted {
    case .refresh:
      return HTTPRequest("POST", "/v1/token", MediaType.json, TokenRequest(refreshToken: grant?.refreshToken ?? "").json)
    case .handshake:
      let head = TreeHead(size: size, root: range.root(hasher))
      request = HTTPRequest("PUT", target, MediaType.json, Handshake(oldest: 0, head: head, key: key).json)
    case .ship(let from, _, _):
      guard let shipment = shipment(from) else { return nil }
      request = shipment
    default: return nil
    }
    request.fields["authorization"] = "Bearer \(accessToken)"
    return request
  }

  private var target: String { "/v1/logs/\(logID.hexadecimal)/epochs/\(epochID.hexadecimal)" }

  private func shipment(_ from: Offset) -> HTTPRequest? {
    guard let shipment = shipments.first(where: { $0.from == from }) else { return nil }
    take(.built(from..<shipment.end.size), sentAt)
    var request = HTTPRequest("POST", "\(target)/frames", MediaType.shipment, shipment.bytes)
    request.fields["tidemark-sender"] = session.sender?.hexadecimal
    return request
  }

  /// What came of its request.
  func received(_ answer: HTTPResponse?, _ failure: String, now: UInt64) {
    guard let answer else {
      refusals[failure, default: 0] += 1
      return take(.failed(failure), now)
    }
    if let problem = Problem(answer) {
      refusals[problem.code.rawValue, default: 0] += 1
      return take(.refused(problem), now)
    }
    switch session.state {
    case .refreshing:
      guard let token = TokenAnswer(answer: answer) else { break }
      accessToken = token.accessToken
      grant?.refreshToken = token.refreshToken
      return take(.refreshed(isFresh: true), now)
    case .handshaking: if let answer = HandshakeAnswer(answer: answer) { return take(.welcomed(answer), now) }
    case .shipping: if let answer = ShipmentAnswer(answer: answer) { return take(.answered(answer, nanoseconds: now - sentAt), now) }
    default: break
    }
    take(.failed("that is not the server's answer"), now)
  }

  private func take(_ input: DeviceSession.Input, _ now: UInt64) {
    var next: DeviceSession.Input? = input
    while let input = next {
      next = nil
      for action in session.handle(input, random: UInt64.random(in: 0...UInt64.max)) {
        switch action {
        case .arm(let nanoseconds): deadline = now + nanoseconds
        case .disarm: deadline = nil
        case .settle(let answer): next = settle(answer)
        case .store(let answer): next = store(answer)
        default: wanted = action
        }
      }
    }
  }

  private func settle(_ answer: HandshakeAnswer) -> DeviceSession.Input {
    let accepted = answer.accepted
    guard accepted.size == 0 || tree(at: accepted.size)?.root(hasher) == accepted.root else {
      return .differs("the server has another history")
    }
    if let receipt = answer.receipt { _ = isSigned(receipt, accepted.size) }
    return .settled(from: accepted.size, hasBacklog: size > accepted.size)
  }

  private func store(_ answer: ShipmentAnswer) -> DeviceSession.Input {
    let to = answer.offsets.upperBound
    guard answer.outcomes.isEmpty, isSigned(answer.receipt, to) else { return .notProven("the receipt does not count") }
    return .stored(next: to, hasBacklog: size > to)
  }

  private func tree(at size: Offset) -> CompactRange? { shipments.first { $0.end.size == size }?.end }

  private func isSigned(_ note: SignedNote, _ size: Offset) -> Bool {
    guard let policy, let receipt = try? Receipt(note, policy), receipt.size == size,
      receipt.checkpoint.head.root == tree(at: size)?.root(hasher)
    else { return false }
    receipted = max(receipted, size)
    return true
  }

  // MARK: Events

  /// An event as a field app has it: type, subject, 200 bytes of JSON, a third of which does not repeat. `Specs/format.md` has the layout.
  private func record(_ offset: Offset) -> [UInt8] {
    let (type, subject) = (Array("scan".utf8), Array("gate-\(offset % 97)".utf8))
    var random = (UInt64(number) << 32 | offset) &* 0x9E37_79B9_7F4A_7C15
    var text = "{\"point\":\"hall-\(offset % 61)\",\"count\":\(offset),\"badge\":\""
    for _ in 0..<4 {
      random = (random ^ random >> 29) &* 0xBF58_476D_1CE4_E5B9
      text += String(random, radix: 16)
    }
    text += "\",\"note\":\""
    text += String(repeating: "north stair, door closed; ", count: 8).prefix(198 - text.utf8.count)
    text += "\"}"
    var bytes: [UInt8] = []
    bytes.add(UInt32(48 + type.count + subject.count + text.utf8.count))
    bytes += [1, 0, 1, UInt8(type.count)]
    bytes.add(EventID(high: 0x0192_0000_0000_7000 | offset << 16, low: logID.low << 32 | 1 << 63 | offset))
    bytes.add(UInt64(1_700_000_000_000_000_000 + offset * 60_000_000_000))
    bytes.add(offset * 60_000_000_000)
    bytes.add(UInt16(0))
    bytes += [0, 0]
    bytes.add(UInt16(subject.count))
    bytes.add(UInt16(0))
    bytes += type + subject + text.utf8
    return bytes
  }
}
